public import Driftless
public import DriftlessProtocol
import DriftlessSQLite
public import Foundation

extension SyncEngine {
  /// Makes a store a replica of a zone. What the store holds is pending from then on, and the first
  /// sync merges it with what the zone holds.
  ///
  /// Enrolling again with the same zone and generation changes only the server's address. With a
  /// new generation, or with another zone under the name, the store starts over: nothing here is
  /// deleted, and everything is offered to the zone.
  ///
  /// - Parameters:
  ///   - store: the store that becomes a replica.
  ///   - server: the server's address, which the store keeps.
  ///   - zone: the zone's name.
  ///   - info: the zone's answer.
  ///   - answered: when it came, by this host's clock: the first edits have the zone's time already.
  ///     Nil for now.
  /// - Throws: `SyncError` when the store is enrolled with another zone, `StoreError`.
  public static func enroll(
    store: PersistentStore, server: URL, zone: String, info: ZoneInfo, answered: Date? = nil
  ) throws {
    let answered = answered ?? store.now
    try makeReplica(store, server: server, zone: zone, info: info)
    // A server that says no time leaves the clock as it is.
    let time = Double(info.serverTimeMilliseconds) - answered.timeIntervalSince1970 * 1000
    if info.serverTimeMilliseconds > 0, let offset = Int64(exactly: time.rounded()) {
      try store.setClockOffset(milliseconds: offset)
    }
  }

  private static func makeReplica(
    _ store: PersistentStore, server: URL, zone: String, info: ZoneInfo
  ) throws {
    guard !store.isReadOnly else {
      throw SyncError(
        .readOnlyStore, "The store \(store.label) can only be read.",
        suggestion: "Give the process the right to write the file and its folder.")
    }
    let schema = SyncSchema(store.schema)
    _ = try store.write(
      TransactionInfo(author: importAuthor, contextName: nil, kind: .imported, hybridTime: nil)
    ) { transaction in
      let connection = transaction.connection
      try EngineTables.create(in: transaction)
      if var state = try ReplicaState.load(from: connection) {
        guard state.zone == zone else {
          throw SyncError(
            .alreadyEnrolled, "The store \(store.label) is enrolled with zone \(state.zone).",
            suggestion: "Copy its data into a new store with export and import, and enroll that.")
        }
        state.server = server.absoluteString
        if state.generation != info.generation || state.zoneID != info.zoneID {
          try startOver(&state, info: info, transaction, schema: schema)
        }
        return try state.save(in: transaction)
      }
      let state = ReplicaState(
        replica: UUID(), zoneID: info.zoneID, generation: info.generation, cursor: 0,
        chain: .start(generation: info.generation), mark: nil, pushNumber: 0, acknowledged: 0,
        server: server.absoluteString, zone: zone,
        head: info.head, lastSync: nil, lastError: nil)
      try state.save(in: transaction)
      try transaction.setSyncing(true)
      try offerRowsWithoutHistory(transaction, schema: schema)
    }
  }

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
    state.zoneID = info.zoneID
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
    let pending = try PendingLoader.load(
      transaction, schema: schema, acknowledged: state.acknowledged)
    var history = try EditHistory(transaction, schema: schema, acknowledged: state.acknowledged)
    let log = try LostEdits(after: 0, transaction, schema: schema)
    history.follow(log)
    if offersDeletes {
      try OfferedDeletes.keep(of: pending, from: 0, transaction, schema: schema) {
        let known = history.offer($0, $2)
        var kept = $1.offered(as: known, $2)
        // They say that the zone had the object.
        kept.offers = known.offers
        return kept
      }
      try OfferedDeletes.offer(history, of: log, beside: pending, transaction, schema: schema)
    }
    try forgetLog(&state, generation, head: head, transaction)
    return try offerRows(
      transaction, schema: schema, through: pending.through, history, pending
    ) { _ in true }
  }

  /// Puts the cursor at the beginning of a log and forgets the former one: places, entries, numbers.
  /// Values that the model cannot hold stay as long as their objects do.
  static func forgetLog(
    _ state: inout ReplicaState, _ generation: UUID, head: UInt64, _ transaction: WriteTransaction
  ) throws {
    let connection = transaction.connection
    state.generation = generation
    // Entries of its own come back whole to another ID.
    state.renewReplica()
    state.move(to: Cursor.start(generation: generation).mark)
    state.mark = nil
    state.head = head
    try Outbox.clear(on: connection)
    for table in [
      "ZDL_PARKED", "ZDL_STRUCK", "ZDL_DANGLING", "ZDL_CHAIN", "ZDL_FRAME", "ZDL_ZONE",
    ] {
      try connection.perform("DELETE FROM \(table)")
    }
    try transaction.forgetNumbers(from: 0)
  }

  /// Rows that history does not know, because it was purged or came with a Core Data file, are
  /// pending as inserts.
  private static func offerRowsWithoutHistory(
    _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    let pending = try PendingLoader.load(transaction, schema: schema, acknowledged: 0)
    _ = try offerRows(
      transaction, schema: schema, through: pending.through, EditHistory(), PendingSet()
    ) { pending[$0] == nil }
  }

  private static func offerRows(
    _ transaction: WriteTransaction, schema: SyncSchema, through number: Int64,
    _ history: EditHistory, _ pending: PendingSet, where isOffered: (ObjectKey) -> Bool
  ) throws -> Int {
    var count = 0
    for entity in schema.entities {
      var keys: [ObjectKey] = []
      try transaction.forEachKey(of: entity) { key in
        if isOffered(key) { keys.append(key) }
      }
      for key in keys {
        let known = history.offer(key, entity)
        let object = pending[key]?.offered(as: known, entity) ?? known
        try OfferedSets.begin(object, after: pending[key], of: key, entity, transaction)
        try PendingState.save(
          object, of: key, entity: entity, through: number, on: transaction.connection)
      }
      count += keys.count
    }
    return count
  }
}

extension ReadTransaction {
  /// Hands over the key of every object of one concrete entity, ascending.
  func forEachKey(of entity: SyncSchema.Entity, _ body: (ObjectKey) throws -> Void) throws {
    let table = schema.table(for: entity.description).name
    try connection.forEachRow(
      "SELECT Z_PK FROM \"\(table)\" WHERE Z_ENT = ? ORDER BY Z_PK",
      [.integer(Int64(entity.number))]
    ) { row in
      try body(ObjectKey(entity: entity.number, key: row.int64(0)))
    }
  }
}
