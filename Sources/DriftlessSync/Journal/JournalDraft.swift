import Driftless
import DriftlessSQLite
import Foundation

/// Collects the conflicts that an import settles, and writes them in its transaction.
struct JournalDraft {
  private let transaction: WriteTransaction
  private var entries: [(entry: JournalEntry, values: Journal.Values)] = []

  init(_ transaction: WriteTransaction) {
    self.transaction = transaction
  }

  mutating func add(
    _ conflict: PropertyConflict, _ verdict: Verdict, entity: SyncSchema.Entity,
    property: SyncSchema.Property, key: ObjectKey, sequence: UInt64
  ) throws {
    let (kept, outcome): (PropertyValue, JournalEntry.Outcome) =
      switch verdict.settlement {
      case .same, .remote: (conflict.remote, .remote)
      case .local, .sameButLater: (conflict.local, .local)
      case .combined(let value): (value, .combined)
      }
    let entry = JournalEntry(
      number: 0, object: try transaction.identity(of: key), entity: entity.name,
      property: property.name, policy: conflict.policy.text,
      base: try conflict.base.map(text), local: try text(conflict.local),
      remote: try text(conflict.remote), kept: try text(kept), outcome: outcome,
      origin: conflict.remoteReplica, localTime: conflict.localTime,
      remoteTime: conflict.remoteTime, transaction: 0, sequence: sequence,
      explanation: verdict.explanation(of: property.name, policy: conflict.policy))
    entries.append((entry, Journal.Values(local: conflict.local, remote: conflict.remote)))
  }

  /// A property value that a delete took, or that came for an object deleted here.
  ///
  /// - Parameter row: the object as it was, when it is deleted from now on.
  mutating func addDeleteConflict(
    entity: SyncSchema.Entity, property: SyncSchema.Property?, key: ObjectKey,
    local: PropertyValue?, remote: PropertyValue?, outcome: JournalEntry.Outcome,
    localTime: HybridTime, side: RemoteSide, row: [PropertyValue]? = nil, explanation: String
  ) throws {
    let kept = outcome == .local ? local : remote
    let entry = JournalEntry(
      number: 0, object: try transaction.identity(of: key), entity: entity.name,
      property: property?.name, policy: entity.description.deletePolicy.rawValue, base: nil,
      local: try local.map(text), remote: try remote.map(text), kept: try kept.map(text),
      outcome: outcome, origin: side.origin, localTime: localTime, remoteTime: side.time,
      transaction: 0, sequence: side.sequence, explanation: explanation)
    entries.append((entry, Journal.Values(local: local, remote: remote, row: row)))
  }

  mutating func addRevival(
    entity: SyncSchema.Entity, key: ObjectKey, _ frame: FrameContext
  ) throws {
    let side = RemoteSide(
      value: .null, time: frame.newestTime, origin: frame.origin, sequence: frame.sequence)
    try addDeleteConflict(
      entity: entity, property: nil, key: key, local: nil, remote: nil, outcome: .remote,
      localTime: HybridTime(rawValue: 0), side: side,
      explanation: "Deleted here, edited by another replica: the edit wins, the object is back.")
  }

  /// Writes what was collected under the number of the import's transaction.
  mutating func write(transaction number: Int64) throws {
    for index in entries.indices { entries[index].entry.transaction = number }
    try Journal.append(entries.map { ($0.entry, $0.values) }, on: transaction.connection)
    entries.removeAll()
  }

  private func text(_ value: PropertyValue) throws -> String {
    var json = JSONText()
    try json.value(value) { key, json in json.uuid(try transaction.identity(of: key)) }
    return String(decoding: json.bytes, as: UTF8.self)
  }
}
