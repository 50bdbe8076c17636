import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct StoreBackupCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copy a store as it is now, while it goes on being used.",
    discussion: """
      The copy appears whole or not at all. Large values of attributes that allow external storage lie in a folder beside it: both \
      belong together. On the same file system their files are the store's under a second name (hard links): no value that is \
      written or deleted later changes the copy, but damage in the place of such a file hits both. --copies-files makes files of \
      their own; so does a copy on another disk.

      Example: syncctl store backup shop.sqlite /backup/shop.sqlite
      """)

  @OptionGroup var target: StoreFileArguments
  @Argument(help: "Where the copy goes: no file may be there.", completion: .file())
  var copy: String
  @Flag(help: "Copy the files of large values, also on the same file system.")
  var copiesFiles = false
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let url = URL(fileURLWithPath: copy).standardizedFileURL
    let store = try target.inspect(output)
    try store.backup(to: url, copiesFiles: copiesFiles)
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
    let lost = try store.lostValues()
    guard !lost.isEmpty else { return }
    // The copy is what the store is, and somebody counts on it.
    output.note(
      "\(Self.text(lost)) (syncctl store give-up-lost \(target.file.shellWord) names \(lost.count == 1 ? "it" : "them"))"
    )
    throw ExitCode(ExitStatus.badData.rawValue)
  }

  static func text(_ lost: [LostValue]) -> String {
    let gone = lost.count { !FileManager.default.fileExists(atPath: $0.file.path) }
    func files(_ count: Int, _ what: String) -> String? {
      count == 0
        ? nil : count == 1 ? "the file of 1 is \(what)" : "the files of \(count) are \(what)"
    }
    let parts = [
      files(gone, "gone"), files(lost.count - gone, "cut off, or cannot be read"),
    ].compactMap(\.self)
    return "\(lost.count) large value\(lost.count == 1 ? " is" : "s are") in neither: "
      + parts.joined(separator: ", ")
  }

  private struct Report: Encodable {
    let copy: String
    let bytes: Int64
    /// The folder beside it, where there is one.
    let largeValues: String?
  }
}
