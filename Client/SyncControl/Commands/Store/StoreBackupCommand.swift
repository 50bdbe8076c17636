import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct StoreBackupCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copy a store as it is now, while it goes on being used.",
    discussion: "The copy appears whole or not at all.")

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
    let report = Report(copy: url.path, bytes: size?.int64Value ?? 0)
    try output.put(report, line: "\(report.copy): \(report.bytes) bytes")
  }

  private struct Report: Encodable {
    let copy: String
    let bytes: Int64
  }
}
