public import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What becomes of counts, texts and lists that were edited here before the names of saves begin which a purged zone still
/// tells: nobody can tell whether another copy of the store sent them.
public enum OldCountDecision: String, Hashable, Sendable, CaseIterable {
  /// They are sent, beside what the zone has. Right where no other copy of the store ever synced.
  case countAgain = "count-again"
  /// They are taken out of the store, and the journal has them. Right where another copy of the store sent them.
  case leaveOut = "leave-out"
}

extension SyncEngine {
  static let oldCountsSetting = "sync.oldCounts"

  /// Says what the next sync does with counts, texts and lists that are older than what a purged zone remembers of saves, where
  /// it would wait for a person (`SyncError.Code.oldCounts`). The journal names each.
  ///
  /// ```swift
  /// try SyncEngine.decideOldCounts(.countAgain, of: store)
  /// ```
  ///
  /// - Throws: `StoreError`.
  public static func decideOldCounts(
    _ decision: OldCountDecision, of store: PersistentStore
  ) throws {
    _ = try store.write(TransactionInfo(author: importAuthor, kind: .imported)) {
      try $0.setSetting(oldCountsSetting, .text(decision.rawValue))
    }
  }

  static func oldCountDecision(_ transaction: ReadTransaction) throws -> OldCountDecision? {
    guard case .text(let text)? = try transaction.setting(oldCountsSetting) else { return nil }
    return OldCountDecision(rawValue: text)
  }
}

/// A count, a text or a list that is pending here, and was edited before the names begin that a snapshot tells.
private struct OldCount {
  var key: ObjectKey
  var entity: SyncSchema.Entity
  var property: SyncSchema.Property
  /// When it was edited last.
  var time: HybridTime
  /// What saves of then did to it.
  var old: [TransactionDelta]
  /// Whether something was done to it since, which the names tell.
  var hasLater: Bool
}

extension PageApplier {
  /// Settles what is pending, adds up, and may be in the zone's totals, or not: the names of saves that a snapshot tells begin
  /// later. Where there is no log, a person decides.
  ///
  /// - Throws: `UnfitSnapshot` where the log can be read instead, `SyncError` (`.oldCounts`) where nobody has decided.
  func settleOldCounts(before forgotten: HybridTime) throws {
    let old = try oldCounts(before: forgotten)
    guard let first = old.first else { return }
    guard !hasLog else {
      throw UnfitSnapshot(reason: "what was added here is older than the names of saves in it")
    }
    guard let decision = try SyncEngine.oldCountDecision(transaction) else {
      throw SyncError.oldCounts(
        old.count, "\(first.property.name) of \(first.entity.name) \(try name(of: first))")
    }
    for count in old {
      guard let row = try transaction.knownOwnRow(count.key)?.values else {
        throw SyncError.damaged("object \(count.key.key) of entity number \(count.key.entity)")
      }
      try journal.addGivenUp(
        entity: count.entity, property: count.property, key: count.key,
        value: row[count.property.slot], elements: nil, time: count.time, row: row,
        explanation: decision == .countAgain
          ? "It is sent by a person's word, beside what the zone has: whether another copy of the store sent it before, the "
            + "zone does not tell any more."
          : "It was left out by a person's word: whether another copy of the store sent it before, the zone does not tell "
            + "any more.",
        outcome: decision == .countAgain ? .local : .remote)
      report.conflicts += 1
      if decision == .leaveOut { try leaveOut(count, row) }
    }
  }

  private func name(of count: OldCount) throws -> String {
    try transaction.identity(of: count.key).uuidString
  }

  private func oldCounts(before forgotten: HybridTime) throws -> [OldCount] {
    var mayHave = false
    pending.objects.forEachState { entity, object, _ in
      let adding = schema.entity(numbered: entity)?.adding ?? PropertyMask()
      if object.whole == .none, object.properties.intersects(adding) { mayHave = true }
    }
    guard mayHave else { return [] }
    var found: [OldCount] = []
    for (key, object) in pending.objects where object.whole == .none {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      for property in entity.properties where property.keepsDeltas {
        guard let last = object.transaction(of: property.slot), last != 0 else { continue }
        let time = try transaction.editTime(last)
        let old = try transaction.deltas(of: key, property.name).filter {
          try $0.transaction > 0 && transaction.editTime($0.transaction) < forgotten
        }
        guard time < forgotten || !old.isEmpty else { continue }
        found.append(
          OldCount(
            key: key, entity: entity, property: property, time: time, old: old,
            hasLater: time >= forgotten))
      }
    }
    return found.sorted {
      ($0.key.entity, $0.key.key, $0.property.name) < ($1.key.entity, $1.key.key, $1.property.name)
    }
  }

  /// Takes what saves did to a property out of the store: it is what the zone had, with what was counted since.
  private func leaveOut(_ count: OldCount, _ row: [PropertyValue]) throws {
    let (key, property) = (count.key, count.property)
    var values = row
    let mask = PropertyMask([property.slot])
    if property.policy == .counter, count.hasLater,
      let less = count.old.reduce(
        Optional(row[property.slot]),
        { value, delta in
          value.flatMap { CounterDelta.difference($0, delta.value) }
        })
    {
      values[property.slot] = less
      try transaction.update(key, mask, values: values, expectedVersion: nil)
      for delta in count.old {
        try transaction.dropDelta(of: key, property.name, transaction: delta.transaction)
      }
      return
    }
    guard let base = try baseValue(of: key, property) else {
      throw SyncError.logPurged(
        "what \(property.name) of \(count.entity.name) was before it was edited here is not known")
    }
    values[property.slot] = base
    try transaction.update(key, mask, values: values, expectedVersion: nil)
    setPending(key) { $0.clear(mask) }
    try dropBase(of: key, property)
  }
}

extension SyncError {
  fileprivate static func oldCounts(_ count: Int, _ first: String) -> SyncError {
    SyncError(
      .oldCounts,
      "The zone's log was purged, and \(count) \(count == 1 ? "count, text or list was" : "counts, texts or lists were") edited "
        + "here before the saves that the zone still remembers (\(first)): whether another copy of this store sent them "
        + "nobody can tell. Nothing was changed.",
      suggestion:
        "Where no other copy of the store ever synced: syncctl sync --old-counts count-again, which sends them. Where one "
        + "did: syncctl sync --old-counts leave-out, which takes them out. The journal names each (syncctl conflicts)."
    )
  }
}
