import Driftless
import DriftlessSQLite
import Foundation

/// Reads the pending set out of the store: local history, and the states that imports left.
enum PendingLoader {
  /// The whole pending set.
  static func load(
    _ transaction: ReadTransaction, schema: SyncSchema, acknowledged: Int64
  ) throws -> PendingSet {
    try transaction.connection.withCache(kibibytes: SyncTuning.walkCacheKibibytes) {
      try read(transaction, schema: schema, acknowledged: acknowledged)
    }
  }

  private static func read(
    _ transaction: ReadTransaction, schema: SyncSchema, acknowledged: Int64
  ) throws -> PendingSet {
    var pending = PendingSet(through: acknowledged)
    var overrides: [ObjectKey: Int64] = [:]
    try transaction.connection.forEachRow(
      "SELECT entity, key, transaction_number, state FROM ZDL_PENDING"
    ) { row in
      let key = row.objectKey(0, 1)
      overrides[key] = row.int64(2)
      guard let entity = schema.entity(numbered: key.entity) else { return }
      let object = try PendingState.decode(row.data(3), entity: entity)
      if !object.isEmpty { pending.objects[key] = object }
    }
    try extend(&pending, transaction, schema: schema, overrides: overrides)
    return pending
  }

  /// Takes in local history that is newer than the set.
  static func extend(
    _ pending: inout PendingSet, _ transaction: ReadTransaction, schema: SyncSchema,
    overrides: [ObjectKey: Int64] = [:]
  ) throws {
    var set = pending
    set.through = try transaction.forEachLocalChange(after: pending.through) {
      number, key, change in
      guard let entity = schema.entity(numbered: key.entity) else { return }
      if let override = overrides[key], number <= override { return }
      set.update(key) { $0.record(change, by: number, all: entity.all) }
    }
    pending = set
  }
}

/// The state of a pending object as `ZDL_PENDING` keeps it: JSON with property names, which outlive
/// a model's slots.
enum PendingState {
  private struct Form: Codable {
    var whole: PendingObject.Whole
    var wholeTransaction: Int64
    var maker: UInt64?
    var wasInZone: Bool?
    var isDeadInZone: Bool?
    var edits: [Edit]
    var offers: [Edit]?
  }

  private struct Edit: Codable {
    var transaction: Int64
    var properties: [String]
  }

  /// Makes `object` the pending state of an object in place of all history up to `through`.
  static func save(
    _ object: PendingObject, of key: ObjectKey, entity: SyncSchema.Entity, through: Int64,
    on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_PENDING VALUES (?, ?, ?, ?)",
      [
        .integer(Int64(key.entity)), .integer(key.key), .integer(through),
        .blob(try encode(object, entity: entity)),
      ])
  }

  static func encode(_ object: PendingObject, entity: SyncSchema.Entity) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    func named(_ edit: PendingObject.Edit) -> Edit {
      Edit(
        transaction: edit.transaction,
        properties: entity.properties.filter { edit.properties.contains($0.slot) }.map(\.name))
    }
    return try encoder.encode(
      Form(
        whole: object.whole, wholeTransaction: object.wholeTransaction,
        maker: object.maker == 0 ? nil : object.maker,
        wasInZone: object.wasInZone ? true : nil,
        isDeadInZone: object.isDeadInZone ? true : nil, edits: object.edits.map(named),
        offers: object.offers.isEmpty ? nil : object.offers.map(named)))
  }

  static func decode(_ data: Data, entity: SyncSchema.Entity) throws -> PendingObject {
    guard let form = try? JSONDecoder().decode(Form.self, from: data) else {
      throw SyncError.damaged("a pending object of \(entity.name)")
    }
    var object = PendingObject()
    object.whole = form.whole
    object.wholeTransaction = form.wholeTransaction
    object.maker = form.maker ?? 0
    object.wasInZone = form.wasInZone ?? false
    object.isDeadInZone = form.isDeadInZone ?? false
    func edit(_ edit: Edit) -> PendingObject.Edit {
      let slots = edit.properties.compactMap { entity.property(named: $0)?.slot }
      return PendingObject.Edit(transaction: edit.transaction, properties: PropertyMask(slots))
    }
    object.edits = form.edits.map(edit)
    object.offers = form.offers?.map(edit) ?? []
    return object
  }
}
