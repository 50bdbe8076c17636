import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct LogCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Show what was saved and imported, newest first.",
    discussion: "Example: syncctl log --store shop.sqlite --limit 20 --entity Item")

  @OptionGroup var target: StoreArguments
  @Option(name: .long, help: "Show only transactions after this number.")
  var after: Int64 = 0
  @Option(name: .long, help: "Show at most so many.")
  var limit = 50
  @Option(name: .long, help: "Show only transactions of this author.")
  var author: String?
  @Option(name: .long, help: "Show only changes of this entity.")
  var entity: String?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit is at least 1.") }
  }

  func perform() throws {
    let store = try target.open(reading: true)
    if let entity, store.model.entitiesByName[entity] == nil {
      throw Failure(
        .badData, code: "unknown-element", "The model has no entity \(entity).",
        suggestion: "syncctl model show --store \(target.store.shellWord)")
    }
    let entries = try transactions(of: store).reversed().map(LogEntry.init)
    try output.put(
      ["transactions": entries],
      lines: entries.isEmpty ? ["no transactions"] : entries.flatMap(\.lines))
  }

  /// The last transactions that were asked for, oldest first. What they changed is read for those
  /// alone.
  private func transactions(of store: PersistentStore) throws -> [PersistentHistoryTransaction] {
    var request = PersistentHistoryChangeRequest.fetchHistory(after: nil)
    request.author = author
    request.entityName = entity
    request.includesChanges = false
    let all = try store.fetchHistory(request).filter { $0.transactionNumber > after }
    guard let first = all.suffix(limit).first else { return [] }
    let wanted = Set(all.suffix(limit).map(\.transactionNumber))
    let before = all.last { $0.transactionNumber < first.transactionNumber }
    var detailed =
      before.map { PersistentHistoryChangeRequest.fetchHistory(after: $0) }
      ?? .fetchHistory(after: nil)
    detailed.author = author
    detailed.entityName = entity
    return try store.fetchHistory(detailed).filter { wanted.contains($0.transactionNumber) }
  }
}
