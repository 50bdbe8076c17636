import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct DiffCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Show what two stores hold differently.",
    discussion: """
      Objects are told by their ids, values as export prints them. Each store is looked at in one \
      state of its own: of two that sync, the later one may have more.
      Ends with 0 when the stores hold the same, and with \(differentCode) when they do not. With \
      --json each difference is a line.

      Example: syncctl diff yesterday.sqlite shop.sqlite
      """)

  @Argument(help: "A store's file.", completion: .file())
  var first: String
  @Argument(help: "The store's file to compare it with.", completion: .file())
  var second: String
  @Option(name: .long, help: "Only objects of this entity.")
  var entity: String?
  @OptionGroup var output: OutputOptions

  /// How the command ends when the stores differ.
  static let differentCode: Int32 = 20

  func perform() throws {
    var isSame = true
    try StoreDifference.forEach(
      between: try lines(of: first), and: try lines(of: second)
    ) { difference in
      isSame = false
      try output.put(difference, lines: difference.lines(first: first, second: second))
    }
    guard isSame else { throw ExitCode(Self.differentCode) }
  }

  /// A store's export, which may be larger than memory.
  private func lines(of path: String) throws -> ExportLines {
    let store = try StoreAccess.open(
      URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath(), reading: true)
    defer { store.close() }
    if let lost = try store.lostCommits() {
      output.note("\(path): \(lost.text(lastSync: try SyncEngine.status(of: store).lastSync))")
    }
    return try ExportLines { line in try ReplicaExport.write(store, entity: entity, to: line) }
  }
}
