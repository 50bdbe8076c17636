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
      Ends with 0 when the stores hold the same, and with \(differentCode) when they do not. Values that cannot be read in one \
      of them, those whose files are gone too, are not compared, and told on standard error; where all else is the same, it ends \
      with 65. With --json each difference is a line.

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
    var left: Set<LeftOutValues.Place> = []
    try StoreDifference.forEach(
      between: try lines(of: first, &left), and: try lines(of: second, &left), but: left
    ) { difference in
      isSame = false
      try output.put(difference, lines: difference.lines(first: first, second: second))
    }
    guard isSame else { throw ExitCode(Self.differentCode) }
    if !left.isEmpty { throw ExitCode(ExitStatus.badData.rawValue) }
  }

  /// A store's export, which may be larger than memory.
  ///
  /// - Parameter left: gets what it leaves out.
  private func lines(
    of path: String, _ left: inout Set<LeftOutValues.Place>
  ) throws -> ExportLines {
    let store = try open(path)
    defer { store.close() }
    if let lost = try store.lostCommits() {
      let text = lost.text(lastSync: try SyncEngine.status(of: store).lastSync)
      output.note("\(path): \(AdvisedCommand.naming(store: path, in: text))")
    }
    var values = LeftOutValues(path, output)
    let lines = try ExportLines { line in
      try ReplicaExport.write(
        store, entity: entity, lost: { values.note($0) }, unreadable: { try values.note($0, $1) },
        to: line)
    }
    values.finish()
    left.formUnion(values.places)
    return lines
  }

  /// Two stores are compared that are there: to make one is no way out.
  private func open(_ path: String) throws -> PersistentStore {
    do {
      return try StoreAccess.open(
        URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath(), reading: true)
    } catch var failure as Failure where failure.code == StoreAccess.noStoreCode {
      failure.suggestion = "check the path: diff takes the files of two stores that are there"
      throw failure
    }
  }
}
