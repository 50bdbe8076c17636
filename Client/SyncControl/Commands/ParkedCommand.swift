import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct ParkedCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "parked",
    abstract: "Look at what could not be taken in from the zone, or try it again.",
    discussion: """
      Such an entry of the log is kept as it came, and everything else syncs. A newer program or \
      model takes it in by itself. Deletes of a large part of the store are listed behind them: those \
      wait for the word of a person, which is one of the options of syncctl sync.
      """,
    subcommands: [
      ParkedListCommand.self, ParkedShowCommand.self, ParkedRetryCommand.self,
      ParkedAcceptCommand.self,
    ],
    defaultSubcommand: ParkedListCommand.self)
}

/// The number of an entry that is set aside, as a list shows it: its place in the log, and a dot and the part where several share that.
struct ParkedNumber: ExpressibleByArgument, CustomStringConvertible {
  let sequence: UInt64
  let part: Int?

  init?(argument: String) {
    let parts = argument.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, let sequence = UInt64(parts[0]) else { return nil }
    self.sequence = sequence
    guard parts.count == 2 else {
      part = nil
      return
    }
    guard let part = Int(parts[1]), part > 0 else { return nil }
    self.part = part
  }

  var description: String { "\(sequence)" + (part.map { ".\($0)" } ?? "") }

  func means(_ entry: ParkedEntry) -> Bool { entry.isMeant(by: sequence, part) }
}

struct ParkedListCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List what is set aside, with the sender and the reason.",
    discussion: "Example: syncctl parked list --store shop.sqlite")

  @OptionGroup var target: StoreArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(reading: true)
    let entries = try SyncEngine.parked(of: store)
    let deletes = try SyncEngine.deletesSetAside(of: store)
    let labels = ObjectLabels(store)
    try output.put(
      ParkedListReport(entries, deletes),
      lines: entries.isEmpty && deletes.isEmpty
        ? ["nothing is parked"]
        : entries.flatMap { ParkedText.lines($0, labels) } + ParkedText.lines(of: deletes, labels))
  }
}

struct ParkedShowCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show all that is set aside of one entry of the log.",
    discussion: "Example: syncctl parked show --store shop.sqlite 41")

  @OptionGroup var target: StoreArguments
  @Argument(
    help:
      "The entry's number, as the list shows it: 41 is all that is set aside of entry 41, and 41.204817365 one part."
  )
  var number: ParkedNumber
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(reading: true)
    let entries = try SyncEngine.parked(of: store).filter(number.means)
    let deletes = try SyncEngine.deletesSetAside(of: store).filter {
      number.part == nil && $0.sequence == number.sequence
    }
    guard !entries.isEmpty || !deletes.isEmpty else {
      throw Failure(
        .badData, code: "unknown-element", "Entry \(number) of the log is not set aside here.",
        suggestion: "syncctl parked --store \(target.store.shellWord)")
    }
    let labels = ObjectLabels(store)
    try output.put(
      ParkedListReport(entries, deletes),
      lines: entries.flatMap { ParkedText.lines($0, labels, all: true) }
        + ParkedText.lines(of: deletes, labels, all: true))
  }
}

struct ParkedRetryCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Let the next pull try again what is set aside.",
    discussion: "Example: syncctl parked retry --store shop.sqlite")

  @OptionGroup var target: StoreArguments
  @Argument(
    help: "The entry's number, or that of a part, as the list shows it; without it, all.")
  var number: ParkedNumber?
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    let count = try SyncEngine.retryParked(
      of: try target.open(), sequence: number?.sequence, part: number?.part)
    await DaemonClient.wake(store: target.url)
    try output.put(
      ["retried": count],
      line: "\(count) entr\(count == 1 ? "y" : "ies") will be tried again by the next pull")
  }
}

struct ParkedAcceptCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept", abstract: "Have what is set aside wait for nobody any more.",
    discussion: """
      It stays kept, and a newer program or model takes it in. What the model here does not know is \
      accepted in all entries to come: a model that was made narrower on purpose has no need of it. \
      `syncctl parked retry` takes it back.

      Example: syncctl parked accept --store shop.sqlite 41
      """)

  @OptionGroup var target: StoreArguments
  @Argument(
    help: "The entry's number, or that of a part, as the list shows it; without it, all.")
  var number: ParkedNumber?
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let count = try SyncEngine.acceptParked(
      of: try target.open(), sequence: number?.sequence, part: number?.part)
    try output.put(
      ["accepted": count],
      line: count == 1
        ? "1 entry waits for nobody any more, and stays kept"
        : "\(count) entries wait for nobody any more, and stay kept")
  }
}
