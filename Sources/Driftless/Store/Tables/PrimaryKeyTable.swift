import DriftlessSQLite

/// Owns `Z_PRIMARYKEY`: the number, name and parent of each entity, and the greatest key that was given out in its hierarchy,
/// which counts at the root. The tables of the history have their rows here as well.
enum PrimaryKeyTable {
  static let table = "Z_PRIMARYKEY"
  /// A store that is at the end of its keys can take nothing more, and no store comes there by itself.
  static let greatestKey = ReadTransaction.greatestNumber / 2
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .integer("Z_ENT", 1...Int64(Int32.max)), .text("Z_NAME"),
    .integer("Z_SUPER", 0...Int64(Int32.max)),
    RowRule(
      "typeof(Z_MAX) = 'integer' AND Z_MAX BETWEEN -1 AND \(greatestKey)",
      "so many keys were never given out"),
  ]
  static let statement = """
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER,
    Z_MAX INTEGER)
    """

  // MARK: Keys

  /// The greatest key that was given out for an entity's hierarchy, or a table of the history; 0 for none.
  ///
  /// - Parameter entity: the number of the root, or of the history's entity.
  static func lastKey(of entity: Int64, on connection: SQLiteConnection) throws -> Int64 {
    let statement = try connection.prepare("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?")
    defer { statement.reset() }
    statement.bind(entity, at: 1)
    return try statement.step() ? max(0, statement.int64(0)) : 0
  }

  static func setLastKey(
    _ key: Int64, of entity: Int64, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", .integer(key), .integer(entity))
  }

  /// The greatest keys that were given out, by the names of the model's entities.
  static func lastKeys(on connection: SQLiteConnection) throws -> [String: Int64] {
    var keys: [String: Int64] = [:]
    for row in try connection.rows(
      "SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT < \(HistoryEntity.first)")
    {
      guard case .text(let name) = row[0], case .integer(let key) = row[1],
        (1...greatestKey).contains(key)
      else { continue }
      keys[name] = key
    }
    return keys
  }

  /// Lets the keys of entities go on after some, or where they are if that is further.
  static func raiseLastKeys(to keys: [String: Int64], on connection: SQLiteConnection) throws {
    for (name, key) in keys {
      try connection.run(
        "UPDATE main.Z_PRIMARYKEY SET Z_MAX = MAX(Z_MAX, ?) WHERE Z_NAME = ? AND Z_ENT < ?",
        .integer(key), .text(name), .integer(HistoryEntity.first))
    }
  }

  static func tooManyKeys(of entity: String) -> StoreError {
    StoreError(
      .damaged,
      "Z_PRIMARYKEY says that more keys of \(entity) were given out than a store has.",
      suggestion: "Run syncctl store check FILE, and restore the file from a copy.")
  }

  // MARK: Entities

  /// An entity as the file has it, damaged or not.
  struct Entity {
    let number: SQLiteValue
    let name: SQLiteValue
    let parent: SQLiteValue
  }

  /// All entities by number, those of the history too.
  static func entities(on connection: SQLiteConnection) throws -> [Entity] {
    try connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY ORDER BY Z_ENT").map {
      Entity(number: $0[0], name: $0[1], parent: $0[2])
    }
  }

  /// The entities of the model by number: those whose row says number and name.
  static func modelEntities(
    on connection: SQLiteConnection
  ) throws -> [(number: Int64, name: String, parent: Int64?)] {
    try entities(on: connection).compactMap { entity in
      guard case .integer(let number) = entity.number, case .text(let name) = entity.name,
        number < HistoryEntity.first
      else { return nil }
      if case .integer(let parent) = entity.parent { return (number, name, parent) }
      return (number, name, nil)
    }
  }

  /// Writes the entities of a new store.
  static func write(_ schema: StoreSchema, on connection: SQLiteConnection) throws {
    for (entity, number) in schema.numbers {
      try connection.run(
        "INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, 0)", .integer(Int64(number)),
        .text(entity.name), .integer(Int64(parent(of: entity, schema))))
    }
  }

  /// Gives a file that lacks them the rows of the history.
  static func completeHistory(on connection: SQLiteConnection) throws {
    for (number, name) in [
      (HistoryEntity.change, "CHANGE"), (HistoryEntity.transaction, "TRANSACTION"),
      (HistoryEntity.string, "TRANSACTIONSTRING"),
    ] {
      try connection.run(
        "INSERT OR IGNORE INTO Z_PRIMARYKEY VALUES (?, ?, 0, 0)", .integer(number), .text(name))
    }
  }

  private static func parent(of entity: EntityDescription, _ schema: StoreSchema) -> Int32 {
    entity.superentity.map { schema.entityNumber(of: $0) } ?? 0
  }

  // MARK: Migration

  /// The greatest key that was given out in a hierarchy of one of the connection's files; nil where it has no row.
  static func lastKey(
    of entity: Int32, in file: String, on connection: SQLiteConnection
  ) throws -> Int64? {
    let last = try connection.scalar(
      "SELECT Z_MAX FROM \(file).Z_PRIMARYKEY WHERE Z_ENT = ?", .integer(Int64(entity)))
    if case .integer(let last)? = last { return last }
    return nil
  }

  /// Lets keys go on after one, or where they are if that is further.
  static func raiseLastKey(
    to key: Int64, of entity: Int32, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "UPDATE main.Z_PRIMARYKEY SET Z_MAX = MAX(Z_MAX, ?) WHERE Z_ENT = ?", .integer(key),
      .integer(Int64(entity)))
  }

  /// Puts the entities of another model in the place of those that are there. Numbers that stay keep their last keys.
  static func replaceEntities(
    by schema: StoreSchema, on connection: SQLiteConnection
  ) throws {
    try connection.execute(
      """
      DELETE FROM Z_PRIMARYKEY WHERE Z_ENT < \(HistoryEntity.first) AND Z_ENT NOT IN
      (\(schema.numbers.map { "\($0.number)" }.joined(separator: ", ")))
      """)
    for (entity, number) in schema.numbers {
      try connection.run(
        """
        INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, 0)
        ON CONFLICT (Z_ENT) DO UPDATE SET Z_NAME = excluded.Z_NAME, Z_SUPER = excluded.Z_SUPER
        """, .integer(Int64(number)), .text(entity.name),
        .integer(Int64(parent(of: entity, schema))))
    }
  }

  /// Takes over the history's rows of a file that is attached under a name.
  static func copyHistory(from file: String, on connection: SQLiteConnection) throws {
    try connection.execute(
      """
      INSERT OR REPLACE INTO main.Z_PRIMARYKEY SELECT * FROM \(file).Z_PRIMARYKEY
      WHERE Z_ENT >= \(HistoryEntity.first)
      """)
  }

  /// Lets the numbers of the history begin anew.
  static func resetHistory(on connection: SQLiteConnection) throws {
    try connection.execute(
      "UPDATE main.Z_PRIMARYKEY SET Z_MAX = 0 WHERE Z_ENT >= \(HistoryEntity.first)")
  }
}
