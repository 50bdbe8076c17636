package import DriftlessSQLite
package import Foundation

/// Objects of one hierarchy whose primary keys, identities and zone object numbers follow each other: a row of
/// `ZDL_IDENTITY`.
package struct IdentityRun: Sendable {
  package var root: Int32
  package var firstKey: Int64
  package var count: Int64
  /// The first zone object number; nil while the zone has not given one.
  package var number: UInt64?
  /// The first identity; nil for bytes that are none.
  package var identity: UUID?

  package init(root: Int32, firstKey: Int64, count: Int64, number: UInt64?, identity: UUID?) {
    self.root = root
    self.firstKey = firstKey
    self.count = count
    self.number = number
    self.identity = identity
  }

  /// The first key after it.
  package var end: Int64 { firstKey &+ count }
}

/// Owns `ZDL_IDENTITY`, with the other files of this folder: they say how an object comes by its identity and its number
/// (``WriteTransaction``), and how it is found by them (``ReadTransaction``).
package enum IdentityRuns {
  static let table = "ZDL_IDENTITY"
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .integer("first_key", 1...ReadTransaction.greatestNumber),
    .integer("count", 1...ReadTransaction.greatestNumber),
    .integer("number", 1...Int64.max, orNull: true), .bytes("identity", count: 16),
  ]
  static let statements = [
    """
    CREATE TABLE IF NOT EXISTS ZDL_IDENTITY (root_entity INTEGER NOT NULL,
    first_key INTEGER NOT NULL, count INTEGER NOT NULL, number INTEGER, identity BLOB NOT NULL,
    PRIMARY KEY (root_entity, first_key)\(RowRule.constraints(rules))) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS ZDL_IDENTITY_IDENTITY ON ZDL_IDENTITY (identity)",
  ]

  /// One zone object number, one object. False where the file has a number twice: which of the objects it is of cannot be
  /// told here, and enrolling anew lets go of all of them.
  static func makeNumbersUnique(on connection: SQLiteConnection) throws -> Bool {
    let twice = try connection.scalar(
      """
      SELECT 1 FROM ZDL_IDENTITY WHERE number IS NOT NULL GROUP BY number HAVING COUNT(*) > 1
      """)
    guard twice == nil else { return false }
    try connection.execute(
      """
      DROP INDEX IF EXISTS ZDL_IDENTITY_NUMBER;
      CREATE UNIQUE INDEX IF NOT EXISTS ZDL_IDENTITY_UNIQUE_NUMBER ON ZDL_IDENTITY (number)
      WHERE number IS NOT NULL
      """)
    return true
  }

  // MARK: Reading

  /// The run with this number, or the last one before it.
  package static func last(
    upToNumber number: UInt64, on connection: SQLiteConnection
  ) throws -> IdentityRun? {
    let statement = try connection.prepare(
      """
      SELECT root_entity, first_key, count, number, identity FROM ZDL_IDENTITY
      WHERE number <= ? ORDER BY number DESC LIMIT 1
      """)
    defer { statement.reset() }
    statement.bind(Int64(bitPattern: number), at: 1)
    return try statement.step() ? run(statement) : nil
  }

  /// The run that begins at a key, or the last one before it.
  package static func last(
    root: Int32, upToKey key: Int64, on connection: SQLiteConnection
  ) throws -> IdentityRun? {
    let statement = try connection.prepare(
      """
      SELECT root_entity, first_key, count, number, identity FROM ZDL_IDENTITY
      WHERE root_entity = ? AND first_key BETWEEN 1 AND ? ORDER BY first_key DESC LIMIT 1
      """)
    defer { statement.reset() }
    statement.bind(Int64(root), at: 1)
    statement.bind(key, at: 2)
    return try statement.step() ? run(statement) : nil
  }

  /// Up to so many runs that begin at a key or after it.
  package static func runs(
    root: Int32, fromKey key: Int64, most: Int, on connection: SQLiteConnection
  ) throws -> [IdentityRun] {
    let statement = try connection.prepare(
      """
      SELECT root_entity, first_key, count, number, identity FROM ZDL_IDENTITY
      WHERE root_entity = ? AND first_key >= ? ORDER BY first_key LIMIT ?
      """)
    defer { statement.reset() }
    statement.bind(Int64(root), at: 1)
    statement.bind(key, at: 2)
    statement.bind(Int64(most), at: 3)
    var runs: [IdentityRun] = []
    while try statement.step() { runs.append(run(statement)) }
    return runs
  }

  /// Whether a run begins with one of these identities.
  package static func anyBegins(
    within identities: (first: UUID, last: UUID), on connection: SQLiteConnection
  ) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM ZDL_IDENTITY WHERE identity BETWEEN ? AND ?",
      .blob(identities.first.networkBytes), .blob(identities.last.networkBytes)) != nil
  }

  /// Of the columns in the order that every question here has them in.
  ///
  /// A run of a damaged file with keys that no object has is of no object: with those of others one can be reckoned.
  private static func run(_ row: SQLiteStatement) -> IdentityRun {
    let (firstKey, count) = (row.int64(1), row.int64(2))
    let keys = 1...ReadTransaction.greatestNumber
    let isSound = keys.contains(firstKey) && keys.contains(count)
    return IdentityRun(
      root: row.entityNumber(0), firstKey: isSound ? firstKey : keys.lowerBound,
      count: isSound ? count : 0, number: row.isNull(3) ? nil : row.unsigned(3),
      identity: row.uuid(4))
  }

  // MARK: Writing

  /// Gives an object that is a run by itself another identity.
  package static func replaceSingle(
    root: Int32, key: Int64, by identity: UUID, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "UPDATE ZDL_IDENTITY SET identity = ? WHERE root_entity = ? AND first_key = ? AND count = 1",
      .blob(identity.networkBytes), .integer(Int64(root)), .integer(key))
  }

  /// Forgets the identity of an object that is a run by itself.
  static func dropSingle(root: Int32, key: Int64, on connection: SQLiteConnection) throws {
    try connection.run(
      "DELETE FROM ZDL_IDENTITY WHERE root_entity = ? AND first_key = ? AND count = 1",
      .integer(Int64(root)), .integer(key))
  }

  /// No object has a zone object number any more.
  package static func forgetNumbers(on connection: SQLiteConnection) throws {
    try connection.run("UPDATE ZDL_IDENTITY SET number = NULL")
  }

  /// Objects with this zone object number or a higher one have none any more: the zone does not know them, or has given the
  /// numbers to others.
  package static func forgetNumbers(
    from number: UInt64, on connection: SQLiteConnection
  ) throws {
    var split: (run: IdentityRun, identity: UUID, kept: Int64)?
    if number > 0, let run = try last(upToNumber: number - 1, on: connection),
      let first = run.number, let identity = run.identity
    {
      let kept = Int64(bitPattern: number &- first)
      if kept < run.count { split = (run, identity, kept) }
    }
    try connection.run(
      "UPDATE ZDL_IDENTITY SET number = NULL WHERE number >= ?",
      .integer(Int64(bitPattern: number)))
    guard let (run, identity, kept) = split else { return }
    try connection.run(
      "UPDATE ZDL_IDENTITY SET count = ? WHERE root_entity = ? AND first_key = ?",
      .integer(kept), .integer(Int64(run.root)), .integer(run.firstKey))
    let (high, low) = identity.halves
    try connection.run(
      "INSERT INTO ZDL_IDENTITY VALUES (?, ?, ?, NULL, ?)", .integer(Int64(run.root)),
      .integer(run.firstKey &+ kept), .integer(run.count &- kept),
      .blob(UUID(high: high, low: low &+ UInt64(bitPattern: kept)).networkBytes))
  }

  // MARK: Migration

  /// Whether a file that is attached under a name has the table.
  static func exist(in file: String, on connection: SQLiteConnection) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM \(file).sqlite_master WHERE name = '\(table)'") != nil
  }

  /// Takes the runs over from a file that is attached under a name.
  static func copy(from file: String, on connection: SQLiteConnection) throws {
    try connection.execute("INSERT INTO main.ZDL_IDENTITY SELECT * FROM \(file).ZDL_IDENTITY")
  }

  /// The runs of a hierarchy in a file that is attached under a name, in the order of their keys.
  static func runs(
    root: Int32, in file: String, on connection: SQLiteConnection
  ) throws -> [IdentityRun] {
    let statement = try connection.prepareUncached(
      """
      SELECT root_entity, first_key, count, number, identity FROM \(file).ZDL_IDENTITY
      WHERE root_entity = ? ORDER BY first_key
      """)
    statement.bind(Int64(root), at: 1)
    var runs: [IdentityRun] = []
    while try statement.step() { runs.append(run(statement)) }
    return runs
  }

  static func keysOfNone(in entity: String) -> StoreError {
    StoreError(
      .damaged, "ZDL_IDENTITY has keys of \(entity) that no object has.",
      suggestion: "Run syncctl store check FILE, and restore the file from a copy.")
  }

  static func add(_ run: IdentityRun, on connection: SQLiteConnection) throws {
    try connection.run(
      "INSERT INTO main.ZDL_IDENTITY VALUES (?, ?, ?, ?, ?)", .integer(Int64(run.root)),
      .integer(run.firstKey), .integer(run.count),
      run.number.map { .integer(Int64(bitPattern: $0)) } ?? .null,
      run.identity.map { .blob($0.networkBytes) } ?? .null)
  }

  /// Forgets the identities of a hierarchy.
  static func drop(root: Int32, on connection: SQLiteConnection) throws {
    try connection.run(
      "DELETE FROM main.ZDL_IDENTITY WHERE root_entity = ?", .integer(Int64(root)))
  }

  /// Forgets identities that follow from the keys, of objects that the zone does not know.
  static func dropMinted(on connection: SQLiteConnection) throws {
    guard let prefix = try StoreSettings.mintPrefix(on: connection) else { return }
    for row in try connection.rows(
      "SELECT root_entity, first_key, identity FROM main.ZDL_IDENTITY WHERE number IS NULL")
    {
      guard case .integer(let root) = row[0], case .integer(let key) = row[1],
        case .blob(let identity) = row[2],
        identity
          == MintedIdentity.identity(prefix: prefix, root: Int32(exactly: root) ?? -1, key: key)
          .networkBytes
      else { continue }
      try connection.run(
        "DELETE FROM main.ZDL_IDENTITY WHERE root_entity = ? AND first_key = ?", row[0], row[1])
    }
  }
}
