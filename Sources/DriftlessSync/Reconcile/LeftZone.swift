import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What a store keeps of its zone when it leaves it, or forgets what it knew of it, for the case that it comes back to that log:
/// history alone does not tell whether the zone had what was made here and is deleted, and up to where the log was known to
/// who deleted it. What is deleted until it comes back is deleted in that log too.
struct LeftZone: Codable {
  static let setting = "sync.leftZone"

  /// The zone's own; nil from programs of before.
  private var zoneID: UUID?
  private var generation: UUID
  /// Up to which place of the log everything was settled with what is pending here.
  private(set) var place: UInt64
  /// Places of the log that the store knew, the last one first: the server may be put back while it is away. Nil from programs
  /// of before.
  private var places: [Place]?
  /// The log was asked, since the store came back, whether it has the last of them.
  private var isFollowed: Bool?
  /// The last transaction of before it left, and the last one that the zone had acknowledged; nil from programs of before.
  private var transaction: Int64?
  private(set) var acknowledged: Int64?
  /// Counters have their bases, and what was counted since (`LeftCounts`); nil from programs of before.
  private var counts: Bool?
  /// What it knew of a zone that it had left for this one (`FormerZone`).
  private var former: Int64?
  /// Deletes up to this transaction were looked for.
  private var noted: Int64?
  /// From which ends the model said relationships (`CarriedEnds`): what is pending then goes over to those that say them when the
  /// store comes back. Nil from programs of before.
  private var ends: Int64?

  private struct Place: Codable {
    var sequence: UInt64
    var chain: Data
  }

  /// Pending deletes of what the zone had.
  private struct Delete {
    var key: ObjectKey
    var object: PendingObject
    var entity: SyncSchema.Entity
  }

  /// Does what forgets the zone.
  ///
  /// - Parameter keepsCounts: whether what was counted and not sent is kept, and what is counted from now on.
  static func keep(
    in transaction: WriteTransaction, schema: SyncSchema, keepsCounts: Bool = true,
    while body: () throws -> Void
  ) throws {
    // Of a record that is damaged nothing is kept.
    var known = try? deletes(transaction, schema: schema)
    let counts = keepsCounts ? known?.counts : nil
    known?.left.counts = counts == nil ? nil : true
    try body()
    guard let known else { return }
    try counts?.keep(transaction)
    try known.unsent?.save(on: transaction.connection)
    if let former = known.left.former { try FormerZone.leave(through: former, transaction) }
    for delete in known.deletes {
      try PendingState.save(
        delete.object, of: delete.key, entity: delete.entity, through: known.through,
        on: transaction.connection)
    }
    try known.left.save(transaction)
  }

  private func save(_ transaction: WriteTransaction) throws {
    let text = String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
    try transaction.setSetting(Self.setting, .text(text))
  }

  private static func deletes(
    _ transaction: WriteTransaction, schema: SyncSchema
  ) throws -> (
    deletes: [Delete], unsent: UnsentBases?, counts: LeftCounts?, through: Int64, left: LeftZone
  )? {
    guard let state = try ReplicaState.load(from: transaction.connection) else { return nil }
    let pending = try PendingLoader.load(
      transaction, schema: schema, acknowledged: state.acknowledged)
    // What is damaged of a push or of bases keeps no delete from being kept.
    try? SyncEngine.rebaseUnanswered(pending, transaction, schema: schema)
    let unsent = try? UnsentBases(pending, transaction, schema: schema)
    var counts = try? LeftCounts(pending, transaction, schema: schema)
    var directory = ObjectDirectory(transaction.connection)
    var deletes: [Delete] = []
    for (key, object) in pending.objects where object.whole == .delete {
      guard let entity = schema.entity(numbered: key.entity),
        try object.wasInZone || directory.number(root: entity.rootNumber, key: key.key) != nil
      else { continue }
      var object = object
      object.wasInZone = true
      deletes.append(Delete(key: key, object: object, entity: entity))
    }
    var left = LeftZone(
      zoneID: state.zoneID, generation: state.generation, place: state.cursor,
      transaction: try transaction.maximumTransactionNumber(), acknowledged: state.acknowledged,
      former: try FormerZone.last(transaction))
    left.places = try knownPlaces(state, transaction)
    if case .integer(let ends)? = try transaction.setting(CarriedEnds.setting) { left.ends = ends }
    // It left the zone before, and has not read the log anew since.
    if let before = decode(try transaction.setting(setting)), before.generation == left.generation {
      if before.place >= left.place {
        left.place = before.place
        left.places = before.places
      }
      left.noted = before.noted
      // A program of before came back, and knows no bases of what was pending then.
      if before.counts == nil { counts = nil }
      left.ends = left.ends ?? before.ends
      left.transaction = before.transaction
      left.acknowledged = before.acknowledged.map { max($0, state.acknowledged) }
    }
    return (deletes, unsent, counts, pending.through, left)
  }

  /// The store is a replica of a log again. Another zone is told of no delete of before, and where the zone began anew, nothing
  /// is known of its log.
  static func come(
    to info: ZoneInfo, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    let found = decode(try transaction.setting(setting))
    try LeftCounts.come(
      areKept: found?.keepsCounts == true && found?.generation == info.generation, transaction,
      schema: schema)
    guard var left = found else { return }
    if left.generation != info.generation { left.counts = nil }
    if let last = left.transaction {
      try UnsentBases(after: last, transaction, schema: schema).save(on: transaction.connection)
    }
    guard left.generation == info.generation || left.zoneID == info.zoneID else {
      let newest = try transaction.maximumTransactionNumber()
      try FormerZone.leave(through: newest, transaction)
      try FormerZone.endDeletes(through: newest, transaction, schema: schema)
      return try forget(transaction)
    }
    if let former = left.former {
      try FormerZone.endDeletes(through: former, transaction, schema: schema)
    }
    if left.generation != info.generation {
      left.generation = info.generation
      left.place = 0
      left.places = nil
    }
    left.isFollowed = nil
    if let ends = left.ends, try transaction.setting(CarriedEnds.setting) == nil {
      try transaction.setSetting(CarriedEnds.setting, .integer(ends))
    }
    try left.noteDeletes(transaction, schema)
  }

  /// Until the log is read again, the store does not know by it what of the objects here the zone has.
  ///
  /// - Returns: whether some were deleted since they were looked for.
  static func noteDeletes(_ transaction: WriteTransaction, schema: SyncSchema) throws -> Bool {
    guard var left = decode(try transaction.setting(setting)), let noted = left.noted else {
      return false
    }
    var hasMore = false
    try transaction.forEachChange(after: noted, passingOver: .imported) { _, type, _, _ in
      if type == .delete { hasMore = true }
    }
    if hasMore { try left.noteDeletes(transaction, schema) }
    return hasMore
  }

  /// What the zone had and was deleted since the store was no replica is a pending delete.
  private mutating func noteDeletes(_ transaction: WriteTransaction, _ schema: SyncSchema) throws {
    guard let last = self.transaction, let acknowledged else { return try save(transaction) }
    let noted = self.noted ?? last
    var isTold: [ObjectKey: Bool] = [:]
    var deletes: [ObjectKey: Int64] = [:]
    try transaction.forEachNumberedChange { header, _, type, key, _ in
      switch type {
      case .update: break
      case .insert:
        deletes[key] = nil
        isTold[key] =
          header.number <= last && (header.kind == .imported || header.number <= acknowledged)
      case .delete:
        if header.kind != .imported, header.number > noted { deletes[key] = header.number }
      }
    }
    let through = try transaction.maximumTransactionNumber()
    // What history does not know the making of any more is older than that.
    for (key, number) in deletes where isTold[key] ?? true {
      guard let entity = schema.entity(numbered: key.entity),
        try transaction.concreteKey(root: key) == nil
      else { continue }
      var object = PendingObject()
      object.whole = .delete
      object.wholeTransaction = number
      object.wasInZone = true
      try PendingState.save(
        object, of: key, entity: entity, through: through, on: transaction.connection)
    }
    self.noted = through
    try save(transaction)
  }

  /// The place of the log up to which it was known, and others before it at distances that double.
  private static func knownPlaces(
    _ state: ReplicaState, _ transaction: ReadTransaction
  ) throws -> [Place] {
    let all = try LogPlaces.all(
      of: state.generation, through: state.cursor, on: transaction.connection)
    var places: [Place] = []
    var distance: UInt64 = 0
    for mark in all.reversed() where state.cursor - mark.sequence >= distance {
      places.append(Place(sequence: mark.sequence, chain: mark.chain.bytes))
      distance = max(1, 2 * (state.cursor - mark.sequence))
    }
    return places
  }

  /// The places of the log that the store knew, while the log was not asked whether it has the last of them; nil where it was, or none
  /// are known.
  var placesToFollow: [LogMark]? {
    guard isFollowed != true, let places, !places.isEmpty else { return nil }
    return places.compactMap { place in
      LogChain(bytes: place.chain).map { LogMark(sequence: place.sequence, chain: $0) }
    }
  }

  /// The log goes on from what the store knew of it.
  static func follow(_ transaction: WriteTransaction) throws {
    guard var left = decode(try transaction.setting(setting)) else { return }
    left.isFollowed = true
    try left.save(transaction)
  }

  /// Of the log that the store knew, what came after a place is lost: of what it counted nothing is known but the totals.
  static func lose(
    after place: UInt64, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    guard var left = decode(try transaction.setting(setting)) else { return }
    left.place = min(left.place, place)
    left.places = nil
    left.counts = nil
    try LeftCounts.come(areKept: false, transaction, schema: schema)
    try left.save(transaction)
  }

  static func forget(_ transaction: WriteTransaction) throws {
    try transaction.setSetting(setting, nil)
  }

  /// What is kept of the zone's log while it is read again; nil once it was read, and where the store never left.
  static func kept(_ transaction: ReadTransaction) throws -> LeftZone? {
    decode(try transaction.setting(setting))
  }

  var keepsCounts: Bool { counts == true }

  /// Whether it was kept of a zone, whatever generation that has by now.
  func isOf(_ info: ZoneInfo) -> Bool {
    zoneID.map { $0 == info.zoneID } ?? (generation == info.generation)
  }

  /// The last transaction of before the store left; nil from programs of before.
  var lastTransaction: Int64? { transaction }

  static func decode(_ value: SQLiteValue?) -> LeftZone? {
    guard case .text(let text)? = value else { return nil }
    return try? JSONDecoder().decode(LeftZone.self, from: Data(text.utf8))
  }
}
