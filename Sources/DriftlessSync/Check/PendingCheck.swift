import Driftless
import DriftlessSQLite
import Foundation

/// `ZDL_PENDING`: what imports left pending of objects, as states that can be read, with edits in the order in which they
/// were made.
struct PendingCheck: EngineCheck {
  let tables = ["ZDL_PENDING"]

  private static let suggestion =
    "Keep a copy of the file; then run syncctl enroll --anew: what is pending goes on from its rows."

  func check(_ inspection: StoreInspection, _ schema: SyncSchema) throws {
    let newest = try inspection.transaction.maximumTransactionNumber()
    try inspection.check(
      "ZDL_PENDING", key: ["entity", "key"],
      [
        inspection.objectRule(), .integer("transaction_number", 0...max(0, newest)),
      ] + PendingState.rules, suggestion: Self.suggestion)
    var (broken, unordered, later) = (
      StoreInspection.Tally(), StoreInspection.Tally(), StoreInspection.Tally()
    )
    try inspection.connection.forEachRow(
      "SELECT entity, key, transaction_number, state FROM ZDL_PENDING"
    ) { row in
      guard let entity = schema.entity(numbered: row.entityNumber(0)) else { return }
      let name = "entity \(entity.number), key \(row.int64(1))"
      guard let object = try? PendingState.decode(row.data(3), entity: entity) else {
        return broken.add(name)
      }
      for edits in [object.edits, object.offers] {
        let numbers = edits.map(\.transaction)
        if zip(numbers, numbers.dropFirst()).contains(where: { $0 >= $1 }) { unordered.add(name) }
      }
      if object.lastTransaction > newest { later.add(name) }
    }
    try checkObjects(schema, inspection)
    inspection.report(
      broken, in: "ZDL_PENDING", "its state cannot be read", suggestion: Self.suggestion)
    inspection.report(
      unordered, in: "ZDL_PENDING", "its edits are not in the order in which they were made",
      .disagreement, suggestion: Self.suggestion)
    inspection.report(
      later, in: "ZDL_PENDING", "it has edits of transactions that are not there yet",
      suggestion: Self.suggestion)
  }

  /// What is deleted and not sent yet has no row, and its row is kept; all else that is pending has one. Of what was deleted
  /// while the store was no replica none is.
  private func checkObjects(_ schema: SyncSchema, _ inspection: StoreInspection) throws {
    let transaction = inspection.transaction
    guard let state = try? ReplicaState.load(from: inspection.connection),
      let pending = try? PendingLoader.load(
        transaction, schema: schema, acknowledged: state.acknowledged)
    else { return }
    var directory = ObjectDirectory(inspection.connection, readsAhead: true)
    // What came back to its zone has deletes of long ago pending until it has read the log.
    let isComingBack = try transaction.setting(LeftZone.setting) != nil
    func isKept(_ key: ObjectKey, _ object: PendingObject) throws -> Bool {
      if object.wasInZone || isComingBack { return true }
      return try directory.number(root: schema.root(of: key), key: key.key) == nil
        || transaction.grave(of: key) != nil
    }
    var (there, gone, unkept) = (
      StoreInspection.Tally(), StoreInspection.Tally(), StoreInspection.Tally()
    )
    for (key, object) in pending.objects {
      let name = "entity \(key.entity), key \(key.key)"
      let isThere = try transaction.concreteKey(root: key) == key
      if object.whole != .delete {
        if !isThere { gone.add(name) }
      } else if isThere {
        there.add(name)
      } else if try !isKept(key, object) {
        unkept.add(name)
      }
    }
    var unheard = StoreInspection.Tally()
    try SyncEngine.forEachUnheard(pending, schema, transaction) { key, entity in
      let identity = try transaction.identity(of: key).uuidString.lowercased()
      unheard.add("\(entity.name) \(identity)")
    }
    inspection.report(
      unheard, in: "ZDL_IDENTITY",
      "it is here, the zone never heard of it, and nothing of it waits to be pushed: another program wrote it without a history",
      .disagreement,
      suggestion: "syncctl verify --take-in makes edits of it, which the next sync sends.")
    inspection.report(
      there, in: "ZDL_PENDING", "its delete is pending, and it is there", .disagreement,
      suggestion: Self.suggestion)
    inspection.report(
      gone, in: "ZDL_PENDING", "an edit is pending, and it is not there", .disagreement,
      suggestion: Self.suggestion)
    inspection.report(
      unkept, in: "ZDL_GRAVE", "its delete is pending, and its row is not kept", .disagreement,
      suggestion: Self.suggestion)
  }
}
