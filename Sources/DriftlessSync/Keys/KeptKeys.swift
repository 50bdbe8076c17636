import Driftless
import DriftlessSQLite
import Foundation

/// Values of the zone that a row here cannot have for now, because another object holds the unique key that they are part
/// of. The row has null in their place until the key is free. Owns `ZDL_KEPT`.
final class KeptKeys: KeyKeeper {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .text("property"), .bytes("value"), .integer("time"), .identity("origin"),
    .natural("sequence"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_KEPT(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL, value BLOB NOT NULL,
      time INTEGER NOT NULL, origin BLOB NOT NULL, sequence INTEGER NOT NULL,
      PRIMARY KEY (entity, key, property)\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  /// One value that a row is to have.
  struct Value {
    var value: PropertyValue
    /// The change of the zone's log that said it.
    var side: RemoteSide
  }

  private unowned let transaction: WriteTransaction
  private let schema: SyncSchema
  private(set) var values: [ObjectKey: [Int: Value]] = [:]
  /// How many of them wait for unique keys, and not for partners that say the same (`OwnInverses`).
  private var keyed = 0
  /// Who keeps the half of a pair, by the partner that it says.
  private var halves: [ObjectKey: Set<ObjectKey>] = [:]
  private var owners: [ObjectKey] = []
  /// Objects whose kept values may have become free since they were looked at last.
  private var candidates: Set<ObjectKey> = []
  /// Values that were refused since they were asked for last.
  private var refused: [(key: ObjectKey, slot: Int)] = []
  /// By the object that held their key when they were looked at: those that wait for it.
  private var waiting: [ObjectKey: Set<ObjectKey>] = [:]
  /// What is being applied: the change that a value that is refused now comes from.
  var side: RemoteSide
  /// What is left without a value that its model requires.
  let lacks = LackedValues()

  init(
    _ transaction: WriteTransaction, schema: SyncSchema, replica: UUID, pending: PendingSet
  ) throws {
    self.transaction = transaction
    self.schema = schema
    side = RemoteSide(
      value: .null, time: HybridTime(rawValue: 0), origin: replica, sequence: 0)
    try load()
    try letGoOfOvertaken(by: pending)
  }

  /// Whether any value is kept.
  static func exist(on connection: SQLiteConnection) throws -> Bool {
    // A store that was enrolled by an earlier version may have no table of them.
    guard try EngineTables.has("ZDL_KEPT", on: connection) else { return false }
    return try connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_KEPT)") != 0
  }

  /// Whether a value may have become free, or an edit meet one. Half a pair rests until one of the two is written.
  static func mayClash(_ pending: PendingSet, _ transaction: ReadTransaction) throws -> Bool {
    let (connection, schema) = (transaction.connection, transaction.schema)
    guard try exist(on: connection) else { return false }
    guard schema.hasOwnInverses else { return true }
    var isOfKey = false
    try connection.forEachRow("SELECT DISTINCT entity, property FROM ZDL_KEPT") { row in
      guard let layout = schema.entity(numbered: row.entityNumber(0))?.layout,
        let slot = layout.index(named: row.string(1))
      else { return }
      if layout.slots[slot].relationship?.isOwnOneToOne != true { isOfKey = true }
    }
    return isOfKey
      || pending.objects.containsState { entity, object in
        schema.ownInverses(numbered: entity).indexes.contains { object.transaction(of: $0) != nil }
      }
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_KEPT")
  }

  /// The log above a place is another one: what it said is older than all that comes.
  static func redate(above sequence: UInt64, on connection: SQLiteConnection) throws {
    guard try EngineTables.has("ZDL_KEPT", on: connection) else { return }
    try connection.perform(
      "UPDATE ZDL_KEPT SET sequence = ? WHERE sequence > ?",
      [.unsigned(sequence), .unsigned(sequence)])
  }

  /// Lets go of what objects keep that are gone for good.
  static func dropGone(_ transaction: ReadTransaction) throws {
    guard try exist(on: transaction.connection) else { return }
    var keys: [ObjectKey] = []
    try transaction.connection.forEachRow("SELECT DISTINCT entity, key FROM ZDL_KEPT") {
      keys.append($0.objectKey(0, 1))
    }
    for key in keys {
      guard try transaction.knownOwnRow(key) == nil, try transaction.grave(of: key) == nil else {
        continue
      }
      try transaction.connection.perform(
        "DELETE FROM ZDL_KEPT WHERE entity = ? AND key = ?",
        [.integer(Int64(key.entity)), .integer(key.key)])
    }
  }

  private func load() throws {
    try Self.forEach(on: transaction.connection, schema) { key, property, side, _ in
      values[key, default: [:]][property.slot] = Value(value: side.value, side: side)
      index(key, property.slot, side.value)
      if !isHalf(key, property.slot) { candidates.insert(key) }
    }
  }

  /// Whether a value waits for a partner that says the same.
  private func isHalf(_ key: ObjectKey, _ slot: Int) -> Bool {
    transaction.schema.ownInverses(numbered: key.entity).contains(slot)
  }

  private func index(_ key: ObjectKey, _ slot: Int, _ value: PropertyValue) {
    guard isHalf(key, slot) else {
      keyed += 1
      return
    }
    if case .reference(let partner) = value {
      halves[schema.rooted(partner), default: []].insert(key)
    }
  }

  private func unindex(_ key: ObjectKey, _ slot: Int, _ value: PropertyValue) {
    guard isHalf(key, slot) else {
      keyed -= 1
      return
    }
    guard case .reference(let target) = value else { return }
    let partner = schema.rooted(target)
    let stays = values[key]?.contains { other, kept in
      guard other != slot, isHalf(key, other), case .reference(let its) = kept.value else {
        return false
      }
      return schema.rooted(its) == partner
    }
    guard stays != true else { return }
    halves[partner]?.remove(key)
    if halves[partner]?.isEmpty == true { halves[partner] = nil }
  }

  /// The objects that keep half a pair with an object.
  func halves(with partner: ObjectKey) -> [ObjectKey] {
    (halves[schema.rooted(partner)] ?? []).sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
  }

  /// Reads what is kept, with the change of the log that said it, and the size of that.
  static func forEach(
    on connection: SQLiteConnection, _ schema: SyncSchema,
    _ body: (ObjectKey, SyncSchema.Property, RemoteSide, _ bytes: Int) throws -> Void
  ) throws {
    try connection.forEachRow(
      "SELECT entity, key, property, value, time, origin, sequence FROM ZDL_KEPT"
    ) { row in
      let key = row.objectKey(0, 1)
      let bytes = row.data(3)
      guard let property = schema.entity(numbered: key.entity)?.property(named: row.string(2)),
        let value = try RowArchive.decodeValues(bytes).first
      else { return }
      let side = RemoteSide(
        value: value, time: HybridTime(rawValue: row.unsigned(4)),
        origin: UUID(networkBytes: row.data(5)) ?? RemoteSide.unknown.origin,
        sequence: row.unsigned(6))
      try body(key, property, side, bytes.count)
    }
  }

  /// What was edited here since it waits counts no more: the zone has it, and the edit is one of that. What an import itself
  /// leaves waiting of a pending property it settles before it ends.
  private func letGoOfOvertaken(by pending: PendingSet) throws {
    for (key, kept) in values {
      // Halves of pairs rest, many of them maybe: without an edit there is nothing to look at.
      guard pending[key] != nil || kept.keys.contains(where: { !isHalf(key, $0) }),
        let row = try transaction.knownOwnRow(key)?.values
      else { continue }
      for (slot, value) in kept {
        let edit = pending[key]?.transaction(of: slot)
        // A null says nothing of a new object, and none of what is offered.
        let isEdit = pending[key]?.whole == PendingObject.Whole.none && edit ?? 0 > 0
        guard isEdit || !row[slot].isNull else { continue }
        if edit != nil,
          let name = schema.entity(numbered: key.entity)?.property(at: slot)?.name
        {
          try BaseValues.replace(key, name, with: value.value, on: transaction.connection)
        }
        try drop(key, slot)
      }
    }
  }

  /// An entry of this replica told other values since these were kept.
  static func drop(
    _ told: [ObjectKey: Set<String>], before sequence: UInt64, on connection: SQLiteConnection
  ) throws {
    for (key, names) in told {
      for name in names {
        try connection.perform(
          """
          DELETE FROM ZDL_KEPT WHERE entity = ? AND key = ? AND property = ? AND sequence < ?
          """,
          [.integer(Int64(key.entity)), .integer(key.key), .text(name), .unsigned(sequence)])
      }
    }
  }

  // MARK: KeyKeeper

  var isEmpty: Bool { values.isEmpty }

  var waitsForKeys: Bool { keyed > 0 }

  func forget(_ key: ObjectKey, _ mask: PropertyMask?) throws {
    // What is written may give up a key.
    if let waiting = waiting.removeValue(forKey: key) { candidates.formUnion(waiting) }
    guard let kept = values[key] else { return }
    candidates.insert(key)
    for slot in kept.keys where mask?.contains(slot) ?? true { try drop(key, slot) }
  }

  func keep(_ key: ObjectKey, _ slot: Int, _ value: PropertyValue) throws {
    guard let name = schema.entity(numbered: key.entity)?.property(at: slot)?.name else { return }
    var side = side
    side.value = value
    if let former = values[key]?[slot] { unindex(key, slot, former.value) }
    values[key, default: [:]][slot] = Value(value: value, side: side)
    index(key, slot, value)
    candidates.insert(key)
    if !isHalf(key, slot) { refused.append((key, slot)) }
    try transaction.connection.perform(
      "INSERT OR REPLACE INTO ZDL_KEPT VALUES (?, ?, ?, ?, ?, ?, ?)",
      [
        .integer(Int64(key.entity)), .integer(key.key), .text(name),
        .blob(RowArchive.encode([value])), .unsigned(side.time.rawValue), .uuid(side.origin),
        .unsigned(side.sequence),
      ])
  }

  func noteOwner(_ key: ObjectKey) { owners.append(key) }

  func noteLack(_ key: ObjectKey, _ slot: Int, had: PropertyValue) {
    lacks.note(key, slot, had: had, side)
  }

  func noteFill(_ key: ObjectKey, _ slot: Int) throws {
    try lacks.noteFill(key, slot, transaction)
  }

  func noteGone(_ key: ObjectKey) throws { try lacks.noteGone(key, transaction) }

  func noteNew(_ key: ObjectKey) { lacks.noteNew(key, side) }

  /// The values that were refused, in that order.
  func takeRefused() -> [(key: ObjectKey, slot: Int)] {
    defer { refused.removeAll() }
    return refused
  }

  /// The owners of one-to-one relationships that were written, in that order.
  func takeOwners() -> [ObjectKey] {
    defer { owners.removeAll() }
    return owners
  }

  private func drop(_ key: ObjectKey, _ slot: Int) throws {
    if let former = values[key]?[slot] { unindex(key, slot, former.value) }
    values[key]?[slot] = nil
    if values[key]?.isEmpty == true { values[key] = nil }
    guard let name = schema.entity(numbered: key.entity)?.property(at: slot)?.name else { return }
    try transaction.connection.perform(
      "DELETE FROM ZDL_KEPT WHERE entity = ? AND key = ? AND property = ?",
      [.integer(Int64(key.entity)), .integer(key.key), .text(name)])
  }

  // MARK: Writing what is free

  /// Objects with something kept, in the order in which the log said it.
  var keys: [ObjectKey] { ordered(values.keys) }

  private func ordered(_ keys: some Sequence<ObjectKey>) -> [ObjectKey] {
    let sequences = keys.map { key in
      (sequence: values[key]?.values.map(\.side.sequence).min() ?? 0, key: key)
    }
    return sequences.sorted {
      ($0.sequence, $0.key.entity, $0.key.key) < ($1.sequence, $1.key.entity, $1.key.key)
    }.map(\.key)
  }

  /// Writes each kept value whose key is free by now. One that is written may free the key of another.
  func writeFree() throws {
    while !candidates.isEmpty {
      let looked = ordered(candidates)
      candidates.removeAll()
      for key in looked {
        for slot in (values[key] ?? [:]).keys.sorted() { try write(key, slot) }
      }
    }
  }

  private func write(_ key: ObjectKey, _ slot: Int) throws {
    guard let kept = values[key]?[slot] else { return }
    guard var row = try transaction.knownOwnRow(key)?.values else {
      // What is deleted here, and may come back, comes back with it.
      if try transaction.grave(of: key) == nil { try drop(key, slot) }
      return
    }
    // What waits for a partner that says the same is free when that does.
    guard !isHalf(key, slot) else { return }
    row[slot] = kept.value
    let mask = PropertyMask([slot])
    let holders = try transaction.keyHolders(of: key, row, touching: mask)
    for holder in holders { waiting[holder.holder, default: []].insert(key) }
    if holders.isEmpty { try transaction.update(key, mask, values: row, expectedVersion: nil) }
  }

  /// An object's values with those that wait for their keys.
  func claimed(_ key: ObjectKey, _ values: [PropertyValue]) -> [PropertyValue] {
    var claimed = values
    for (slot, kept) in self.values[key] ?? [:] { claimed[slot] = kept.value }
    return claimed
  }

  /// Who holds the keys that the kept values of an object are part of.
  func holders(of key: ObjectKey) throws -> [KeyHolder] {
    guard let kept = values[key], let row = try transaction.knownRow(key)?.values else { return [] }
    return try transaction.keyHolders(
      of: key, claimed(key, row), touching: PropertyMask(kept.keys))
  }
}
