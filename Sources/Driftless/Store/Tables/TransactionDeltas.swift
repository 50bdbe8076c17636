package import DriftlessSQLite

/// What one transaction did to a property whose edits add up.
package struct TransactionDelta: Hashable, Sendable {
  /// The number of a local transaction; below zero for one of another replica, or one that a server lost.
  package var transaction: Int64
  /// What the transaction drew; 0 where that is not known.
  package var name: UInt64
  /// Of a counter what was added, or null where that is not known.
  package var value: PropertyValue

  package init(transaction: Int64, name: UInt64, value: PropertyValue) {
    self.transaction = transaction
    self.name = name
    self.value = value
  }
}

/// Owns `ZDL_DELTA`: what each local transaction of a store that syncs did to the properties whose edits add up. Of a counter
/// it keeps what the transaction added; of a text or a list of elements the value that it left, or null for a long one.
package enum TransactionDeltas {
  static let table = "ZDL_DELTA"
  static let rules: [RowRule] = [
    .text("property"), .integer("transaction_number"), .bytes("value"), .integer("name"),
    RowRule(
      "(name = 0) = (transaction_number > 0)",
      "what was lost goes by a name, and what was counted here by its transaction"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_DELTA (transaction_number INTEGER NOT NULL,
    entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL, value BLOB NOT NULL,
    name INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (entity, key, property, transaction_number)\(RowRule.constraints(rules)))
    WITHOUT ROWID
    """

  /// Brings the table of an older version to this one.
  static func complete(on connection: SQLiteConnection) throws {
    guard try !hasNames(connection) else { return }
    try connection.execute("ALTER TABLE ZDL_DELTA ADD COLUMN name INTEGER NOT NULL DEFAULT 0")
  }

  /// What a connection runs that reads the table of an older version, and may not change it; nil for one of this version.
  static func overlay(on connection: SQLiteConnection) throws -> String? {
    try hasNames(connection)
      ? nil : "CREATE TEMP VIEW ZDL_DELTA AS SELECT *, 0 AS name FROM main.ZDL_DELTA"
  }

  private static func hasNames(_ connection: SQLiteConnection) throws -> Bool {
    try StoreDefinition.hasColumn("name", of: table, connection)
  }

  package static func dropAll(on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM main.ZDL_DELTA")
  }
}

/// A transaction of this store has its name in `ZDL_TRANSACTION`: two questions here join both tables.
extension ReadTransaction {
  private static let deltaName = "CASE d.name WHEN 0 THEN coalesce(t.name, 0) ELSE d.name END"

  /// What transactions did to a property, oldest first; those that a server lost before all others.
  package func deltas(of key: ObjectKey, _ property: String) throws -> [TransactionDelta] {
    let statement = try connection.prepare(
      """
      SELECT d.transaction_number, \(Self.deltaName), d.value FROM ZDL_DELTA d
      LEFT JOIN ZDL_TRANSACTION t ON t.number = d.transaction_number
      WHERE d.entity = ? AND d.key = ? AND d.property = ? ORDER BY d.transaction_number
      """)
    defer { statement.reset() }
    statement.bind(Int64(key.entity), at: 1)
    statement.bind(key.key, at: 2)
    statement.bind(property, at: 3)
    var deltas: [TransactionDelta] = []
    while try statement.step() {
      guard let value = try RowArchive.decodeValues(statement.data(2)).first else { continue }
      deltas.append(
        TransactionDelta(
          transaction: statement.int64(0), name: statement.unsigned(1), value: value))
    }
    return deltas
  }

  /// Hands over each property of which something is kept, with the names of the transactions that did it.
  package func forEachNamedDelta(
    through number: Int64, _ body: (ObjectKey, String, UInt64) throws -> Void
  ) throws {
    let statement = try connection.prepare(
      """
      SELECT d.entity, d.key, d.property, \(Self.deltaName) FROM ZDL_DELTA d
      LEFT JOIN ZDL_TRANSACTION t ON t.number = d.transaction_number
      WHERE d.transaction_number <= ? AND \(Self.deltaName) <> 0
      """)
    defer { statement.reset() }
    statement.bind(number, at: 1)
    while try statement.step() {
      let key = statement.objectKey(0, 1)
      try body(key, statement.string(2), statement.unsigned(3))
    }
  }

  /// The properties of which something is kept that a server lost, by object.
  ///
  /// - Parameter key: of this object alone.
  package func propertiesWithLostDeltas(
    of key: ObjectKey? = nil
  ) throws -> [ObjectKey: Set<String>] {
    let query = "SELECT DISTINCT entity, key, property FROM ZDL_DELTA WHERE transaction_number < 0"
    guard let key else { return try properties(query) }
    return try properties(
      query + " AND entity = ? AND key = ?", .integer(Int64(key.entity)), .integer(key.key))
  }

  /// The properties of which something is kept, by object.
  package func propertiesWithDeltas() throws -> [ObjectKey: Set<String>] {
    try properties("SELECT DISTINCT entity, key, property FROM ZDL_DELTA")
  }

  private func properties(
    _ query: String, _ values: SQLiteValue...
  ) throws -> [ObjectKey: Set<String>] {
    let statement = try connection.prepare(query)
    defer { statement.reset() }
    statement.bind(values)
    var properties: [ObjectKey: Set<String>] = [:]
    while try statement.step() {
      let key = statement.objectKey(0, 1)
      properties[key, default: []].insert(statement.string(2))
    }
    return properties
  }
}

extension WriteTransaction {
  /// Adds to what this transaction added to a counter so far.
  func addDelta(_ delta: PropertyValue, of key: ObjectKey, _ property: String) throws {
    let own = try deltas(of: key, property).last { $0.transaction == number }?.value ?? .null
    guard let sum = CounterDelta.sum(own, delta) else { return }
    try setDelta(sum, of: key, property)
  }

  /// Keeps what this transaction did to a property.
  func setDelta(_ value: PropertyValue, of key: ObjectKey, _ property: String) throws {
    try connection.run(
      """
      INSERT OR REPLACE INTO ZDL_DELTA (transaction_number, entity, key, property, value)
      VALUES (?, ?, ?, ?, ?)
      """, .integer(number), .integer(Int64(key.entity)), .integer(key.key), .text(property),
      .blob(RowArchive.encode([value])))
  }

  /// Keeps once more what a transaction of this store did.
  package func keepDelta(
    _ delta: TransactionDelta, of key: ObjectKey, _ property: String
  ) throws {
    assert(delta.transaction > 0, "what was lost goes by a name")
    try connection.run(
      """
      INSERT OR REPLACE INTO ZDL_DELTA (transaction_number, entity, key, property, value)
      VALUES (?, ?, ?, ?, ?)
      """, .integer(delta.transaction), .integer(Int64(key.entity)), .integer(key.key),
      .text(property), .blob(RowArchive.encode([delta.value])))
  }

  /// Keeps what a transaction added to a counter that a server lost.
  ///
  /// - Parameters:
  ///   - delta: its number is below zero, and lowered until no other has it: a push up to its time tells it.
  package func keepLostDelta(
    _ delta: TransactionDelta, of key: ObjectKey, _ property: String
  ) throws {
    assert(delta.transaction < 0, "a transaction of this store keeps its number")
    var number = delta.transaction
    let taken = try Set(deltas(of: key, property).map(\.transaction))
    while taken.contains(number) { number &-= 1 }
    try connection.run(
      """
      INSERT INTO ZDL_DELTA (transaction_number, entity, key, property, value, name)
      VALUES (?, ?, ?, ?, ?, ?)
      """, .integer(number), .integer(Int64(key.entity)), .integer(key.key), .text(property),
      .blob(RowArchive.encode([delta.value])), .integer(Int64(bitPattern: delta.name)))
  }

  /// Lets go of what transactions up to one did to a property, or to all of an object's.
  package func dropDeltas(
    of key: ObjectKey, _ property: String? = nil, through number: Int64 = .max
  ) throws {
    try connection.run(
      """
      DELETE FROM ZDL_DELTA WHERE entity = ?1 AND key = ?2 AND (?3 IS NULL OR property = ?3)
      AND transaction_number <= ?4
      """, .integer(Int64(key.entity)), .integer(key.key), property.map { .text($0) } ?? .null,
      .integer(number))
  }

  /// Lets go of what one transaction did to a property.
  package func dropDelta(of key: ObjectKey, _ property: String, transaction: Int64) throws {
    try connection.run(
      """
      DELETE FROM ZDL_DELTA WHERE entity = ? AND key = ? AND property = ?
      AND transaction_number = ?
      """, .integer(Int64(key.entity)), .integer(key.key), .text(property), .integer(transaction))
  }

  /// Of what transactions did that history does not have any more, and that go by no name therefore, one sum of each counter stays, and
  /// of what else adds up the value that the last of them left.
  ///
  /// - Parameter bound: transactions before it may be gone.
  func foldDeltas(before bound: Int64) throws {
    let statement = try connection.prepare(
      """
      SELECT entity, key, property, max(transaction_number) FROM ZDL_DELTA d
      WHERE transaction_number > 0 AND transaction_number < ?
      AND NOT EXISTS (SELECT 1 FROM ZDL_TRANSACTION t WHERE t.number = d.transaction_number)
      GROUP BY entity, key, property HAVING count(*) > 1
      """)
    var found: [(key: ObjectKey, property: String, last: Int64)] = []
    do {
      defer { statement.reset() }
      statement.bind(bound, at: 1)
      while try statement.step() {
        found.append((statement.objectKey(0, 1), statement.string(2), statement.int64(3)))
      }
    }
    for (key, property, last) in found {
      let gone = try deltas(of: key, property).filter {
        $0.transaction > 0 && $0.transaction <= last && $0.name == 0
      }
      guard let newest = gone.last else { continue }
      let isKnown = gone.allSatisfy { !$0.value.isNull }
      let sum = gone.dropLast().reversed().reduce(newest.value as PropertyValue?) { sum, delta in
        sum.flatMap { CounterDelta.sum($0, delta.value) }
      }
      for delta in gone { try dropDelta(of: key, property, transaction: delta.transaction) }
      try keepDelta(
        TransactionDelta(
          transaction: newest.transaction, name: 0,
          value: isKnown ? sum ?? newest.value : .null), of: key, property)
    }
  }
}
