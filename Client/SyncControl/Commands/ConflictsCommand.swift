import ArgumentParser
import DriftlessSync
import Foundation
import SyncDaemon

struct ConflictsCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "conflicts", abstract: "List settled conflicts, with the values that lost.")

  @OptionGroup var target: StoreArguments
  @Option(name: .long, help: "Show conflicts after this number.")
  var after: Int64 = 0
  @Option(name: .long, help: "Show at most so many.")
  var limit = 1_000
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(reading: true)
    let entries = try SyncEngine.conflicts(of: store, after: after, limit: limit)
    let labels = ObjectLabels(store)
    try output.put(
      ["conflicts": entries],
      text: entries.isEmpty
        ? "no conflicts" : entries.map { ConflictText.lines($0, labels) }.joined(separator: "\n"))
  }
}
