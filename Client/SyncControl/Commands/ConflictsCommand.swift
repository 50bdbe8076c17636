import ArgumentParser
import Driftless
import DriftlessProtocol
import DriftlessSync
import Foundation
import SyncDaemon

struct ConflictsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conflicts",
    abstract: "List settled conflicts, put back what lost, or decide what waits.",
    subcommands: [
      ConflictsListCommand.self, ConflictsUndoCommand.self, ConflictsKeepCommand.self,
    ],
    defaultSubcommand: ConflictsListCommand.self)
}

struct ConflictsListCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List settled conflicts, with the values that lost.",
    discussion: "Example: syncctl conflicts list --store shop.sqlite --waiting")

  @OptionGroup var target: StoreArguments
  @Option(name: .long, help: "Show conflicts after this number.")
  var after: Int64 = 0
  @Option(name: .long, help: "Show at most so many.")
  var limit = 1_000
  @Flag(name: .long, help: "Show only conflicts that wait for a person (policy manual).")
  var waiting = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit is at least 1.") }
  }

  func perform() throws {
    let store = try target.open(reading: true)
    let (entries, hasMore) = try entries(
      of: store, keys: try? KeySource.of(store: target.url)?.read())
    let labels = ObjectLabels(store)
    try output.put(
      ["conflicts": entries.map(ConflictReport.init)],
      lines: entries.isEmpty
        ? ["no conflicts"] : entries.flatMap { ConflictText.lines($0, labels) })
    if hasMore, let last = entries.last {
      output.note("there are more: --after \(last.number), or a greater --limit, shows them")
    }
  }

  /// Those that are asked for, and whether there are more of them.
  func entries(
    of store: PersistentStore, keys: KeyRing? = nil
  ) throws -> ([JournalEntry], hasMore: Bool) {
    var (found, last) = ([JournalEntry](), after)
    while found.count <= limit {
      let page = try SyncEngine.conflicts(of: store, after: last, limit: Self.pageCount, keys: keys)
      guard let end = page.last else { return (found, false) }
      found += page.filter { !waiting || $0.isWaiting }
      last = end.number
    }
    return (Array(found.prefix(limit)), true)
  }

  /// Conflicts that are read at once.
  private static let pageCount = 1_000
}

struct ConflictsUndoCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "undo", abstract: "Put the value that lost a conflict back, as an edit of now.",
    discussion: """
      The next sync sends it. A deleted object comes back with it, and with the members of its to-many relationships: \
      those that are deleted by now, or another object's, are named and stay so. Where values of it are lost, or set \
      aside still, the command says so, and --without-lost brings it back without them.

      Example: syncctl conflicts undo --store shop.sqlite 12
      """)

  @OptionGroup var target: StoreArguments
  @Argument(help: "The conflict's number, as the list shows it.")
  var number: Int64
  @Flag(
    name: .long,
    help: "Bring a deleted object back though values of it are lost with their files, or set aside."
  )
  var withoutLost = false
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    let store = try target.open()
    let keys = try? KeySource.of(store: target.url)?.read()
    let entry = try SyncEngine.undo(
      conflict: number, of: store, author: NSUserName(), keys: keys, withoutLost: withoutLost)
    await DaemonClient.wake(store: target.url)
    try output.put(
      ConflictReport(entry: entry), lines: ConflictText.lines(entry, ObjectLabels(store)))
    if entry.outcome == .combined, let property = entry.property {
      output.note(
        "\(property) was made of both sides, and is now what one side had: what the other one added, or wrote, is out of it. To have it in "
          + "again, set it by hand; the conflict has both values")
    }
  }
}

struct ConflictsKeepCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "keep", abstract: "Decide that the value that stands shall stand.",
    discussion: """
      A conflict of a property whose policy is manual waits for this, or for undo.

      Example: syncctl conflicts keep --store shop.sqlite 12
      """)

  @OptionGroup var target: StoreArguments
  @Argument(help: "The conflict's number, as the list shows it.")
  var number: Int64
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    let store = try target.open()
    let entry = try SyncEngine.keep(conflict: number, of: store)
    await DaemonClient.wake(store: target.url)
    try output.put(
      ConflictReport(entry: entry), lines: ConflictText.lines(entry, ObjectLabels(store)))
  }
}
