package import DriftlessSQLite
package import Foundation

/// Reads of one snapshot of a store. It is used inside the closure that it was given to.
package class ReadTransaction {
  package let connection: SQLiteConnection
  package let schema: StoreSchema

  init(connection: SQLiteConnection, schema: StoreSchema) {
    self.connection = connection
    self.schema = schema
  }

  package struct Row {
    package let key: ObjectKey
    /// `Z_OPT`.
    package let version: Int64
    /// By slot; to-many slots are null.
    package var values: [PropertyValue]
    /// Slots that are null because their values lie in files that cannot be read.
    package var lost = PropertyMask()
  }

  /// Calls `body` with each row of a query that selects rows.
  package func forEachRow(of query: CompiledQuery, _ body: (inout RowReader) throws -> Void) throws
  {
    let statement = try connection.prepareUncached(query.sql)
    statement.bind(query.bindings)
    var reader = RowReader(statement: statement, schema: schema)
    while try statement.step() { try body(&reader) }
  }

  /// The keys that a query selects.
  package func keys(of query: CompiledQuery) throws -> [ObjectKey] {
    let statement = try connection.prepareUncached(query.sql)
    statement.bind(query.bindings)
    var keys: [ObjectKey] = []
    while try statement.step() {
      keys.append(
        statement.objectKey(1, 0))
    }
    return keys
  }

  /// Hands over the key of every object of one entity, ascending; those of the entities below it are not among them.
  package func forEachKey(
    of entity: EntityDescription, _ body: (ObjectKey) throws -> Void
  ) throws {
    let number = schema.entityNumber(of: entity)
    let statement = try connection.prepare(
      "SELECT Z_PK FROM \"\(schema.table(for: entity).name)\" WHERE Z_ENT = ? ORDER BY Z_PK")
    defer { statement.reset() }
    statement.bind(Int64(number), at: 1)
    while try statement.step() {
      try body(ObjectKey(entity: number, key: statement.int64(0)))
    }
  }

  /// How many objects there are of one entity; those of the entities below it do not count.
  package func objectCount(of entity: EntityDescription) throws -> Int {
    let number = schema.entityNumber(of: entity)
    return try count(
      "SELECT COUNT(*) FROM \"\(schema.table(for: entity).name)\" WHERE Z_ENT = \(number)")
  }

  /// How many objects a hierarchy has.
  package func objectCount(ofHierarchy root: EntityDescription) throws -> Int {
    try count("SELECT COUNT(*) FROM \"\(schema.table(for: root).name)\"")
  }

  /// How many objects of a hierarchy have keys up to one.
  package func objectCount(
    ofHierarchy root: EntityDescription, through key: Int64
  ) throws -> Int {
    try count("SELECT COUNT(*) FROM \"\(schema.table(for: root).name)\" WHERE Z_PK <= \(key)")
  }

  private func count(_ sql: String) throws -> Int {
    let statement = try connection.prepareUncached(sql)
    return try statement.step() ? statement.count(0) : 0
  }

  package func count(of query: CompiledQuery) throws -> Int {
    let statement = try connection.prepareUncached(query.sql)
    statement.bind(query.bindings)
    return try statement.step() ? statement.count(0) : 0
  }

  /// The row of an object, found by its hierarchy and key; nil when there is none.
  ///
  /// It may say another entity than the key does; its values have a place for each property of either.
  package func row(_ key: ObjectKey, mapsFiles: Bool = false) throws -> Row? {
    var row: Row?
    let least = schema.program(numbered: key.entity)?.slotCount ?? 0
    _ = try withRow(key) { reader in
      row = Row(
        key: reader.key, version: reader.version,
        values: try reader.values(least: least, mapsFiles: mapsFiles))
    }
    return row
  }

  /// The row of an object, as `row(_:)` has it, also where values lie in files that cannot be read: they are null.
  package func knownRow(_ key: ObjectKey) throws -> Row? {
    var row: Row?
    let least = schema.program(numbered: key.entity)?.slotCount ?? 0
    _ = try withRow(key) { reader in
      let values = try reader.knownValues(least: least)
      row = Row(
        key: reader.key, version: reader.version, values: values, lost: reader.lost(of: values))
    }
    return row
  }

  /// The row of an object, where it is one of the object's entity. Where it is of another, another object has the key by
  /// now, and the row of this one is gone.
  package func ownRow(_ key: ObjectKey) throws -> Row? {
    guard let row = try row(key), row.key.entity == key.entity else { return nil }
    return row
  }

  /// The same, as ``knownRow(_:)`` has it: for what is asked of its version, and of values that lie in no file.
  package func knownOwnRow(_ key: ObjectKey) throws -> Row? {
    guard let row = try knownRow(key), row.key.entity == key.entity else { return nil }
    return row
  }

  /// What the store worked out of an object, by slot; nil where there is no ``ownRow(_:)``. Its other values are not read: they
  /// may be large, and lie in files that are gone.
  package func derivedValues(of key: ObjectKey) throws -> [PropertyValue]? {
    var values: [PropertyValue]?
    _ = try withRow(key) { reader in
      guard reader.key.entity == key.entity else { return }
      values = try reader.values { $0.property is DerivedAttributeDescription }
    }
    return values
  }

  /// Whether there is an ``ownRow(_:)``, without a look at its values.
  package func hasOwnRow(_ key: ObjectKey) throws -> Bool {
    try concreteKey(root: key)?.entity == key.entity
  }

  /// Hands over the row of an object. False when there is none.
  package func withRow(_ key: ObjectKey, _ body: (inout RowReader) throws -> Void) throws -> Bool {
    guard let program = schema.program(numbered: key.entity) else { return false }
    let statement = try connection.prepare(program.selectSQL)
    statement.bind(key.key, at: 1)
    guard try statement.step() else { return false }
    defer { statement.reset() }
    var reader = RowReader(statement: statement, schema: schema)
    try body(&reader)
    return true
  }

  /// The key with its concrete entity of the object with this key in a hierarchy; nil when there is no row.
  package func concreteKey(root key: ObjectKey) throws -> ObjectKey? {
    guard let program = schema.program(numbered: key.entity) else { return nil }
    let statement = try connection.prepare(
      "SELECT Z_ENT FROM \"\(program.table.name)\" WHERE Z_PK = ?")
    statement.bind(key.key, at: 1)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    return ObjectKey(entity: statement.entityNumber(0), key: key.key)
  }

  /// The objects that a to-many relationship of an object holds, in their order if it is ordered.
  package func toManyKeys(
    of key: ObjectKey, _ relationship: RelationshipDescription
  ) throws -> [ObjectKey] {
    guard let destination = relationship.destinationEntity else { return [] }
    let table = schema.table(for: destination)
    if let join = schema.joinTable(for: relationship) {
      return try keys(
        """
        FROM "\(join.name)" j JOIN "\(table.name)" t
        ON t.Z_PK = j."\(join.destinationColumn)" WHERE j."\(join.sourceColumn)" = ?
        """, key.key, place: join.destinationOrderColumn.map { "j.\"\($0)\"" })
    }
    guard let inverse = relationship.inverseRelationship, let binding = binding(of: inverse) else {
      return []
    }
    return try keys(
      "FROM \"\(table.name)\" t WHERE t.\"\(table.columns[binding.column].name)\" = ?", key.key,
      place: binding.orderColumn.map { "t.\"\(table.columns[$0].name)\"" })
  }

  /// - Parameters:
  ///   - source: what comes after the columns, which are of the table `t`, with the owner's key to bind.
  ///   - place: the column of the places; nil where there is no order.
  private func keys(_ source: String, _ owner: Int64, place: String?) throws -> [ObjectKey] {
    guard let place else {
      return try keys("SELECT t.Z_PK, t.Z_ENT \(source) ORDER BY t.Z_PK", owner)
    }
    let statement = try connection.prepare(
      "SELECT t.Z_PK, t.Z_ENT, \(place) \(source) ORDER BY \(place), t.Z_PK")
    defer { statement.reset() }
    statement.bind(owner, at: 1)
    var order = PlaceOrder()
    while try statement.step() {
      order.append(statement.objectKey(1, 0), placeIn: statement, 2)
    }
    return try order.keys(self)
  }

  /// The objects whose to-one relationship refers to `target`.
  package func keys(
    referring relationship: RelationshipDescription, to target: ObjectKey
  ) throws -> [ObjectKey] {
    guard let entity = relationship.entity, let binding = binding(of: relationship) else {
      return []
    }
    let table = schema.table(for: entity)
    return try keys(
      """
      SELECT Z_PK, Z_ENT FROM "\(table.name)"
      WHERE "\(table.columns[binding.column].name)" = ? ORDER BY Z_PK
      """, target.key)
  }

  /// The objects of one entity, with keys of some ranges, that have nothing in one of some properties.
  package func keys(
    of number: Int32, withoutAnyOf slots: PropertyMask, in ranges: [ClosedRange<Int64>]
  ) throws -> [ObjectKey] {
    guard let entity = schema.entity(numbered: number) else { return [] }
    let table = schema.table(for: entity)
    let tests = table.slotBindings(for: entity).filter { slots.contains($0.slot) }
      .map { "+\"\(table.columns[$0.column].name)\" IS NULL" }
    guard !tests.isEmpty else { return [] }
    let statement = try connection.prepare(
      """
      SELECT Z_PK FROM "\(table.name)" WHERE Z_PK BETWEEN ? AND ? AND Z_ENT = ?
      AND (\(tests.joined(separator: " OR "))) ORDER BY Z_PK
      """)
    var keys: [ObjectKey] = []
    for range in ranges {
      defer { statement.reset() }
      statement.bind(range.lowerBound, at: 1)
      statement.bind(range.upperBound, at: 2)
      statement.bind(Int64(number), at: 3)
      while try statement.step() { keys.append(ObjectKey(entity: number, key: statement.int64(0))) }
    }
    return keys
  }

  /// The objects whose many-to-many relationship holds `target`.
  package func sources(
    holding target: ObjectKey, in relationship: RelationshipDescription
  ) throws -> [ObjectKey] {
    guard let entity = relationship.entity, let join = schema.joinTable(for: relationship) else {
      return []
    }
    let table = schema.table(for: entity)
    return try keys(
      """
      SELECT t.Z_PK, t.Z_ENT FROM "\(join.name)" j JOIN "\(table.name)" t
      ON t.Z_PK = j."\(join.sourceColumn)" WHERE j."\(join.destinationColumn)" = ? ORDER BY t.Z_PK
      """, target.key)
  }

  func binding(of relationship: RelationshipDescription) -> EntityTable.SlotBinding? {
    guard let entity = relationship.entity,
      let slot = entity.layout.index(named: relationship.name)
    else { return nil }
    return schema.table(for: entity).slotBindings(for: entity).first { $0.slot == slot }
  }

  private func keys(_ sql: String, _ value: Int64) throws -> [ObjectKey] {
    let statement = try connection.prepare(sql)
    defer { statement.reset() }
    statement.bind(value, at: 1)
    var keys: [ObjectKey] = []
    while try statement.step() {
      keys.append(
        statement.objectKey(1, 0))
    }
    return keys
  }

  /// The number of the newest transaction that there ever was: purging does not change it.
  package func maximumTransactionNumber() throws -> Int64 {
    try PrimaryKeyTable.lastKey(of: HistoryEntity.transaction, on: connection)
  }

  /// The greatest number that is given out: identities have room for these bits.
  static let greatestNumber: Int64 = 1 << 62 - 1

  /// The `count` numbers after the last one that was given out.
  ///
  /// - Throws: `StoreError` with code `damaged` when there are none left: no store comes that far by itself.
  static func numbers(
    after last: Int64, count: Int64, of what: String
  ) throws -> ClosedRange<Int64> {
    guard last >= 0, count > 0, count <= greatestNumber, last <= greatestNumber - count else {
      throw StoreError(
        .damaged,
        "The store says in \(PrimaryKeyTable.table) that it gave out \(what) up to \(last):"
          + " there are no more.",
        suggestion: "Check the store, and restore its file from a copy.")
    }
    return last + 1...last + count
  }

  /// A whole row that was kept, with a value for each property of its entity.
  ///
  /// - Throws: `StoreError` with code `damaged` for bytes that are none.
  package func archivedRow(_ bytes: Data, of entity: Int32) throws -> [PropertyValue] {
    let values = try RowArchive.decodeValues(bytes)
    guard let slots = schema.entity(numbered: entity)?.layout.slots, values.count == slots.count,
      zip(values, slots).allSatisfy({ $0.fits($1) })
    else {
      throw StoreError(
        .damaged, "The kept row of a deleted object has other properties than its entity.",
        suggestion: "Check the store, and restore its file from a copy.")
    }
    return values
  }
}
