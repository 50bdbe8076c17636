import Driftless
import DriftlessSQLite
import Foundation

/// Owns `ZDL_PENDING`: what an import left pending of an object, as
/// `PendingForm`.
enum PendingState {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [.bytes("state")]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_PENDING(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, transaction_number INTEGER NOT NULL,
      state BLOB NOT NULL, PRIMARY KEY (entity, key)\(RowRule.constraints(rules))) WITHOUT ROWID
    """

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

  /// Hands over each object that has a state, up to which transaction that stands for history, and how to read the state.
  static func forEach(
    on connection: SQLiteConnection, _ body: (ObjectKey, Int64, () -> Data) throws -> Void
  ) throws {
    try connection.forEachRow("SELECT entity, key, transaction_number, state FROM ZDL_PENDING") {
      row in
      try body(row.objectKey(0, 1), row.int64(2)) { row.data(3) }
    }
  }

  static func remove(_ key: ObjectKey, on connection: SQLiteConnection) throws {
    try connection.perform(
      "DELETE FROM ZDL_PENDING WHERE entity = ? AND key = ?",
      [.integer(Int64(key.entity)), .integer(key.key)])
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_PENDING")
  }

  /// Whether any object has a state.
  static func exist(on connection: SQLiteConnection) throws -> Bool {
    try connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_PENDING)") != 0
  }

  // MARK: The form of a state

  static func encode(_ object: PendingObject, entity: SyncSchema.Entity) throws -> Data {
    func names(of mask: PropertyMask) -> [String] {
      entity.properties.filter { mask.contains($0.slot) }.map(\.name)
    }
    func named(_ edit: PendingObject.Edit) -> PendingForm.Edit {
      PendingForm.Edit(transaction: edit.transaction, properties: names(of: edit.properties))
    }
    var form = PendingForm(
      whole: object.whole.rawValue, wholeTransaction: object.wholeTransaction,
      edits: object.edits.map(named))
    form.maker = object.maker == 0 ? nil : object.maker
    form.wasInZone = object.wasInZone ? true : nil
    form.isDeadInZone = object.isDeadInZone ? true : nil
    form.offers = object.offers.isEmpty ? nil : object.offers.map(named)
    form.heldBack = object.heldBack.isEmpty ? nil : names(of: object.heldBack)
    return try form.encoded()
  }

  /// The transactions that set properties last, by the names that a state has, which the model may say from elsewhere by now.
  static func transactions(in data: Data) -> [String: Int64] {
    guard let form = try? PendingForm.decode(data) else { return [:] }
    var transactions: [String: Int64] = [:]
    for edit in form.edits {
      for name in edit.properties { transactions[name] = edit.transaction }
    }
    return transactions
  }

  static func decode(_ data: Data, entity: SyncSchema.Entity) throws -> PendingObject {
    guard let form = try? PendingForm.decode(data),
      let whole = PendingObject.Whole(rawValue: form.whole)
    else {
      throw SyncError.damaged("a pending object of \(entity.name)")
    }
    var object = PendingObject()
    object.whole = whole
    object.wholeTransaction = form.wholeTransaction
    object.maker = form.maker ?? 0
    object.wasInZone = form.wasInZone ?? false
    object.isDeadInZone = form.isDeadInZone ?? false
    func mask(_ names: [String]) -> PropertyMask {
      PropertyMask(names.compactMap { entity.property(namedNowOrBefore: $0)?.slot })
    }
    func edit(_ edit: PendingForm.Edit) -> PendingObject.Edit {
      PendingObject.Edit(transaction: edit.transaction, properties: mask(edit.properties))
    }
    object.edits = form.edits.map(edit)
    object.offers = form.offers?.map(edit) ?? []
    object.heldBack = mask(form.heldBack ?? [])
    return object
  }
}
