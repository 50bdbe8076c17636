import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// A replica that meets another log than its own: it reads that from the start, and offers what it holds.
extension SyncEngine {
  /// Another log: the zone may have lost what it acknowledged, so everything is pending again, each
  /// property with the time of its last edit. What was never acknowledged stays pending as it is.
  ///
  /// - Returns: how many objects are offered.
  @discardableResult
  static func startOver(
    _ state: inout ReplicaState, info: ZoneInfo, _ transaction: WriteTransaction,
    schema: SyncSchema
  ) throws -> Int {
    // What was deleted from another zone is no delete for this one.
    let isSameZone = state.zoneID == info.zoneID
    if !isSameZone { try FormerZone.leave(through: state.acknowledged, transaction) }
    state.zoneID = info.zoneID
    try FormerLog.forget(transaction)
    try FormerParking.keep(transaction)
    return try startOver(
      &state, in: info.generation, head: info.head, transaction, schema: schema,
      offersDeletes: isSameZone)
  }

  static func startOver(
    _ state: inout ReplicaState, in generation: UUID, head: UInt64, _ transaction: WriteTransaction,
    schema: SyncSchema, offersDeletes: Bool = true
  ) throws -> Int {
    // Of a counter the total is offered.
    try LostCounts.forget(transaction, schema: schema)
    var pending = try PendingLoader.load(
      transaction, schema: schema, acknowledged: state.acknowledged)
    try rebaseUnanswered(pending, transaction, schema: schema)
    try offerUnanswered(&pending, transaction, schema: schema)
    var history = try EditHistory(transaction, schema: schema, acknowledged: state.acknowledged)
    let log = try LostEdits(after: 0, transaction, schema: schema)
    history.follow(log)
    try log.saves.keep(transaction)
    try MeantDeletes.keep(of: log, beside: pending, transaction)
    let states = OfferedStates(
      history.origins, through: pending.through, on: transaction.connection)
    if offersDeletes {
      try OfferedDeletes.keep(of: pending, from: 0, transaction, schema: schema, states) {
        let known = history.offer($0, $2)
        var kept = $1.offered(as: known, $2)
        // They say that the zone had the object.
        kept.offers = known.offers
        return kept
      }
      try OfferedDeletes.offer(
        history, of: log, beside: pending, transaction, schema: schema, states)
    } else {
      try OfferedDeletes.end(&pending, transaction, schema: schema, states)
    }
    try forgetLog(&state, generation, head: head, transaction)
    let standIns = try OfferedStandIns(log.unsaid, transaction, schema: schema)
    return try offerRows(
      transaction, schema: schema, states, history, pending, ofZone: offersDeletes,
      without: standIns
    ) { _ in true }
  }

  /// What was sent and never answered may be known to the zone all the same.
  static func rebaseUnanswered(
    _ pending: PendingSet, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    guard let outbox = try Outbox.loadUndamaged(from: transaction.connection) else { return }
    try outbox.forEachPart(on: transaction.connection) { part, madeBefore in
      var sent = SentFrame(part, after: madeBefore, transaction, schema: schema)
      try sent.rebaseUnanswered(pending)
    }
  }

  /// New objects that were sent and never answered may have been edited and deleted by others since: they are offered as
  /// what the zone had, by the times of their making. Where the zone never heard of them, that is how they are new to it.
  private static func offerUnanswered(
    _ pending: inout PendingSet, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    guard let outbox = try Outbox.loadUndamaged(from: transaction.connection) else { return }
    for run in try outbox.allRuns(on: transaction.connection) {
      for offset in 0..<max(0, run.count) {
        let key = ObjectKey(entity: run.entity, key: run.first &+ offset)
        guard let object = pending[key], object.whole == .insert, object.wholeTransaction > 0,
          object.wholeTransaction <= outbox.throughTransaction
        else { continue }
        var offered = try object.stamped(through: outbox.throughTransaction, transaction)
        offered.maker = try transaction.transactionName(object.wholeTransaction)
        offered.offers = offered.edits.filter { EditStamp.time($0.transaction) != nil }
        pending.objects[key] = offered
        guard let entity = schema.entity(numbered: key.entity) else { continue }
        try offerTotals(of: key, entity, through: outbox.throughTransaction, transaction)
      }
    }
  }

  /// What was counted up to a transaction is in the totals that are offered.
  private static func offerTotals(
    of key: ObjectKey, _ entity: SyncSchema.Entity, through number: Int64,
    _ transaction: WriteTransaction
  ) throws {
    let values = try transaction.knownRow(key)?.values
    for property in entity.properties where property.keepsDeltas {
      try transaction.dropDeltas(of: key, property.name, through: number)
      let rest = try transaction.deltas(of: key, property.name)
      guard property.policy == .counter, let values,
        try BaseValues.value(of: key, property.name, on: transaction.connection) != nil
      else { continue }
      let total = rest.reduce(values[property.slot]) { CounterDelta.difference($0, $1.value) ?? $0 }
      try BaseValues.replace(key, property.name, with: total, on: transaction.connection)
    }
  }

  /// Puts the cursor at the beginning of a log and forgets the former one: places, entries, numbers.
  /// Values that the model cannot hold stay as long as their objects do.
  static func forgetLog(
    _ state: inout ReplicaState, _ generation: UUID, head: UInt64, _ transaction: WriteTransaction
  ) throws {
    let connection = transaction.connection
    state.generation = generation
    // Entries of its own come back whole to another ID. Who has none keeps it: its token may be bound to it.
    if state.mayHaveSent { state.renewReplica() }
    state.move(to: Cursor.start(generation: generation).mark)
    state.mark = nil
    state.head = head
    try EngineTables.forgetLog(on: connection)
    try LeftZone.forget(transaction)
    try UnknownBases.forget(transaction)
    try AcceptedParking.forgetPlaces(transaction)
    try IdentityRuns.forgetNumbers(from: 0, on: connection)
  }
}
