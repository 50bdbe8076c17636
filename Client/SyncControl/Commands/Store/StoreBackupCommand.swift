import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct StoreBackupCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copy a store as it is now, while it goes on being used.",
    discussion: """
      The copy appears whole or not at all. Large values of attributes that allow external storage lie in a folder beside it: both \
      belong together.

      Example: syncctl store backup shop.sqlite /backup/shop.sqlite
      """)

  @OptionGroup var target: StoreFileArguments
  @Argument(help: "Where the copy goes: no file may be there.", completion: .file())
  var copy: String
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let url = URL(fileURLWithPath: copy).standardizedFileURL
    let store = try target.inspect(output)
    try store.backup(to: url)
    let size =
      try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? NSNumber
    let folder = url.deletingLastPathComponent()
      .appendingPathComponent(".\(url.deletingPathExtension().lastPathComponent)_SUPPORT")
    let hasFolder = FileManager.default.fileExists(atPath: folder.path)
    let report = Report(
      copy: url.path, bytes: size?.int64Value ?? 0, largeValues: hasFolder ? folder.path : nil)
    var lines = ["\(report.copy): \(report.bytes) bytes"]
    if let folder = report.largeValues { lines.append("\(folder): its large values") }
    try output.put(report, lines: lines)
    let lost = try store.lostValues().count
    guard lost > 0 else { return }
    // The copy is what the store is, and somebody counts on it.
    output.note(
      "\(lost) large values are in neither: their files are gone (syncctl store give-up-lost \(target.file.shellWord) names them)."
    )
    throw ExitCode(ExitStatus.badData.rawValue)
  }

  private struct Report: Encodable {
    let copy: String
    let bytes: Int64
    /// The folder beside it, where there is one.
    let largeValues: String?
  }
}
