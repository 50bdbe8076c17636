import Driftless
import DriftlessSQLite
import Foundation

/// What a store keeps of its zone when it leaves it, or forgets what it knew of it, for the case that it comes back to that log:
/// history alone does not tell whether the zone had what was made here and is deleted, and up to where the log was known to
/// who deleted it. What is deleted until it comes back is deleted in that log too.
struct LeftZone: Codable {
  static let setting = "sync.leftZone"

  private var generation: UUID
  private var place: UInt64
  /// The last transaction of before it left, and the last one that the zone had acknowledged; nil from programs of before.
  private var transaction: Int64?
  private var acknowledged: Int64?

  /// Pending deletes of what the zone had.
  private struct Delete {
    var key: ObjectKey
    var object: PendingObject
    var entity: SyncSchema.Entity
  }

  /// Does what forgets the zone.
  static func keep(
    in transaction: WriteTransaction, schema: SyncSchema, while body: () throws -> Void
  ) throws {
    // Of a record that is damaged nothing is kept.
    let known = try? deletes(transaction, schema: schema)
    try body()
    guard let known else { return }
    for delete in known.deletes {
      try PendingState.save(
        delete.object, of: delete.key, entity: delete.entity, through: known.through,
        on: transaction.connection)
    }
    let text = String(decoding: try JSONEncoder().encode(known.left), as: UTF8.self)
    try transaction.setSetting(setting, .text(text))
  }

  private static func deletes(
    _ transaction: ReadTransaction, schema: SyncSchema
  ) throws -> (deletes: [Delete], through: Int64, left: LeftZone)? {
    guard let state = try ReplicaState.load(from: transaction.connection) else { return nil }
    let pending = try PendingLoader.load(
      transaction, schema: schema, acknowledged: state.acknowledged)
    var directory = ObjectDirectory(transaction.connection)
    var deletes: [Delete] = []
    for (key, object) in pending.objects where object.whole == .delete {
      guard let entity = schema.entity(numbered: key.entity),
        try directory.number(root: entity.rootNumber, key: key.key) != nil
      else { continue }
      var object = object
      object.wasInZone = true
      deletes.append(Delete(key: key, object: object, entity: entity))
    }
    return (
      deletes, pending.through,
      LeftZone(
        generation: state.generation, place: state.cursor,
        transaction: try transaction.maximumTransactionNumber(), acknowledged: state.acknowledged)
    )
  }

  /// The store is a replica of a log again: of another one nothing is known.
  static func come(
    to generation: UUID, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    guard let left = decode(try transaction.setting(setting)) else { return }
    guard left.generation == generation else { return try forget(transaction) }
    try left.noteDeletes(transaction, schema)
  }

  /// What the zone had and was deleted while the store was no replica is a pending delete.
  private func noteDeletes(_ transaction: WriteTransaction, _ schema: SyncSchema) throws {
    guard let last = self.transaction, let acknowledged else { return }
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
        if header.kind != .imported, header.number > last { deletes[key] = header.number }
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
  }

  static func forget(_ transaction: WriteTransaction) throws {
    try transaction.setSetting(setting, nil)
  }

  /// Up to which place of the log everything was settled with what is pending here.
  static func place(_ transaction: ReadTransaction) throws -> UInt64 {
    decode(try transaction.setting(setting))?.place ?? 0
  }

  static func decode(_ value: SQLiteValue?) -> LeftZone? {
    guard case .text(let text)? = value else { return nil }
    return try? JSONDecoder().decode(LeftZone.self, from: Data(text.utf8))
  }
}
