import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Edits that the zone never had, in a store that takes the state of a zone which was replaced: the journal names each, so
/// that a person can put it back.
struct GivenUpEdits {
  /// Entries that are held in memory before they are written.
  private static let batchMax = 1000

  private let transaction: WriteTransaction
  private let reason: String
  /// When a person gave them up: nobody is asked about them once more.
  private let decidedAt: Date?
  private var explanation: String { "\(reason)." }

  /// - Parameters:
  ///   - pending: what the zone has not acknowledged.
  ///   - export: the file with what the store held.
  ///   - decidedAt: when a person gave them up; nil where nobody was asked.
  static func keep(
    _ pending: PendingSet, asOf export: URL?, decidedAt: Date?, _ transaction: WriteTransaction,
    schema: SyncSchema
  ) throws {
    try keep(
      pending,
      because: "The store took the zone's state, which never had this edit"
        + (export.map { ": what the store held is in \($0.path)" } ?? ""),
      decidedAt: decidedAt, transaction, schema: schema)
  }

  private static func keep(
    _ pending: PendingSet, because reason: String, decidedAt: Date? = nil,
    _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    let edits = GivenUpEdits(transaction: transaction, reason: reason, decidedAt: decidedAt)
    var journal = JournalDraft(transaction)
    var count = 0
    for (key, object) in pending.objects {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      try edits.add(key, object, entity, to: &journal)
      count += 1
      if count.isMultiple(of: batchMax) { try journal.write() }
    }
    try journal.write()
  }

  /// Deletes that a zone never acknowledged, in a store that goes to another one: that is not told of them, and where the store
  /// comes back the objects are there again.
  static func keepDeletes(
    of pending: PendingSet, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    var directory = ObjectDirectory(transaction.connection)
    var deletes = PendingSet(through: pending.through)
    // What was sent and never answered may be in the zone.
    let outbox = try Outbox.loadUndamaged(from: transaction.connection)
    let unanswered = ((try? outbox?.allRuns(on: transaction.connection)) ?? [])
      .map { (first: schema.rooted(ObjectKey(entity: $0.entity, key: $0.first)), run: $0) }
      .sorted { ($0.first.entity, $0.first.key) < ($1.first.entity, $1.first.key) }
    for (key, object) in pending.objects where object.whole == .delete {
      let number = try directory.number(root: schema.root(of: key), key: key.key)
      // Made and deleted in between, it never was in the zone.
      let root = schema.rooted(key)
      let last = unanswered.lastHolding {
        ($0.first.entity, $0.first.key) <= (root.entity, root.key)
      }
      let isUnanswered =
        last.map { $0.first.entity == root.entity && $0.run.contains(key.key) } ?? false
      if number != nil || isUnanswered { deletes.objects[key] = object }
    }
    try keep(
      deletes,
      because: "The store was enrolled with another zone before this delete was sent",
      transaction, schema: schema)
  }

  /// Values of the zone's that this model cannot hold, in a store that takes the state of a zone which was replaced: an export
  /// leaves them out, so that what stands in for them is nobody's edit.
  static func keepParked(
    asOf export: URL?, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    let file = export.map { "\($0.path) leaves it out" } ?? "it is kept nowhere else"
    var journal = JournalDraft(transaction)
    for value in try ParkedValues.rows(on: transaction.connection) {
      guard let entity = schema.entity(numbered: value.key.entity),
        let property = entity.property(named: value.property),
        let row = try transaction.knownRow(value.key)?.values
      else { continue }
      try journal.addGivenUp(
        entity: entity, property: property, key: value.key, value: value.value, elements: nil,
        time: HybridTime(value.since), row: row,
        explanation: "The store took the zone's state, and had this value of before set aside: "
          + "\(file).")
    }
    try journal.write()
  }

  private func add(
    _ key: ObjectKey, _ object: PendingObject, _ entity: SyncSchema.Entity,
    to journal: inout JournalDraft
  ) throws {
    let isNew = object.whole != .none && object.offers.isEmpty
    let known = try transaction.knownRow(key)
    let row = known?.values
    if isNew {
      let isDelete = object.whole == .delete
      try journal.addWhole(
        entity: entity, key: key, outcome: .remote,
        localTime: try transaction.editTime(object.wholeTransaction), side: .unknown,
        policy: isDelete ? JournalEntry.deletePolicy : nil, row: row,
        explanation: isDelete ? "It was deleted here. \(explanation)" : explanation)
    }
    guard object.whole == .none || !isNew, object.whole != .delete, let row else { return }
    // What was counted is put back by itself, beside what others count: the object comes back without it.
    let counts = try counted(object, entity, of: key, row)
    var uncounted = row
    for (slot, count) in counts { uncounted[slot] = count.base }
    for edit in object.edits {
      let time = try transaction.editTime(edit.transaction)
      for slot in edit.properties.indexes {
        // What was only offered again is what the zone once had.
        guard object.offer(of: slot) != edit.transaction, let property = entity.property(at: slot),
          // A value whose file is gone is no null that somebody may put back.
          known?.lost.contains(slot) != true
        else { continue }
        if case .place = property.kind { continue }
        var elements: [ObjectKey]?
        if case .elements(let relationship) = property.kind {
          elements = try transaction.toManyKeys(of: key, relationship)
        }
        try journal.addGivenUp(
          entity: entity, property: property, key: key,
          value: counts[slot]?.delta ?? row[property.slot], elements: elements, time: time,
          row: uncounted, explanation: explanation, base: counts[slot]?.base,
          local: row[property.slot], decidedAt: decidedAt)
      }
    }
  }

  /// What was added to the counters of an object and never acknowledged, with what each was without it, by slots.
  private func counted(
    _ object: PendingObject, _ entity: SyncSchema.Entity, of key: ObjectKey, _ row: [PropertyValue]
  ) throws -> [Int: (delta: PropertyValue, base: PropertyValue)] {
    var counts: [Int: (delta: PropertyValue, base: PropertyValue)] = [:]
    for property in entity.properties where property.policy == .counter {
      guard case .attribute = property.kind, object.transaction(of: property.slot) != nil else {
        continue
      }
      let delta = try transaction.deltas(of: key, property.name)
        .reduce(PropertyValue.null) { CounterDelta.sum($0, $1.value) ?? $0 }
      guard !delta.isNull, let base = CounterDelta.difference(row[property.slot], delta) else {
        continue
      }
      counts[property.slot] = (delta, base)
    }
    return counts
  }
}
