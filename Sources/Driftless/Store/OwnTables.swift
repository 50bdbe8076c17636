import DriftlessSQLite
import Foundation

/// The tables that Driftless keeps beside Core Data's, and how those of an older version become what they are now.
extension StoreDefinition {
  /// What each row of these tables keeps by itself: the schema refuses another, and a check finds one that came into the
  /// file in another way.
  static let transactionRules: [RowRule] = [
    .integer("number", 1...ReadTransaction.greatestNumber),
    .integer(
      "kind", TransactionKind.local.rawValue...TransactionKind.adopted.rawValue),
    .integer("first_change", 1...ReadTransaction.greatestNumber),
    .integer("last_change", 1...ReadTransaction.greatestNumber),
  ]
  static let identityRules: [RowRule] = [
    .integer("count", 1...ReadTransaction.greatestNumber),
    .integer("number", 1...Int64.max, orNull: true), .bytes("identity", count: 16),
  ]
  static let deltaRules: [RowRule] = [
    .text("property"), .integer("transaction_number"), .bytes("value"), .integer("name"),
    RowRule(
      "(name = 0) = (transaction_number > 0)",
      "what was lost goes by a name, and what was counted here by its transaction"),
  ]

  static let ownTables = [
    "CREATE TABLE IF NOT EXISTS ZDL_STORE (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS ZDL_MODEL (version INTEGER PRIMARY KEY, content BLOB NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS ZDL_TRANSACTION (number INTEGER PRIMARY KEY, kind INTEGER NOT NULL,
    hybrid_time INTEGER NOT NULL, first_change INTEGER NOT NULL, last_change INTEGER NOT NULL,
    name INTEGER NOT NULL DEFAULT 0\(RowRule.constraints(transactionRules)))
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_IDENTITY (root_entity INTEGER NOT NULL,
    first_key INTEGER NOT NULL, count INTEGER NOT NULL, number INTEGER, identity BLOB NOT NULL,
    PRIMARY KEY (root_entity, first_key)\(RowRule.constraints(identityRules))) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS ZDL_IDENTITY_IDENTITY ON ZDL_IDENTITY (identity)",
    """
    CREATE TABLE IF NOT EXISTS ZDL_GRAVE (entity INTEGER NOT NULL, key INTEGER NOT NULL,
    transaction_number INTEGER NOT NULL, row BLOB NOT NULL, PRIMARY KEY (entity, key)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_BASE (entity INTEGER NOT NULL, key INTEGER NOT NULL,
    property TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (entity, key, property)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_DELTA (transaction_number INTEGER NOT NULL,
    entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL, value BLOB NOT NULL,
    name INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (entity, key, property, transaction_number)\(RowRule.constraints(deltaRules)))
    WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_FORMER (entity INTEGER NOT NULL, key INTEGER NOT NULL,
    PRIMARY KEY (entity, key)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_HISTORY_READER (name TEXT PRIMARY KEY,
    number INTEGER NOT NULL) WITHOUT ROWID
    """,
  ]

  /// The setting with the version of these tables.
  static let versionSetting = "tables"
  private static let version: Int64 = 4

  /// Whether the tables are those of an older version.
  static func hasOlderTables(_ connection: SQLiteConnection) throws -> Bool {
    guard
      case .integer(let version)? = try connection.scalar(
        "SELECT value FROM ZDL_STORE WHERE key = ?", .text(versionSetting))
    else { return true }
    return version < Self.version
  }

  /// Creates the tables that a file lacks, and brings those of an older version to this one.
  static func completeOwnTables(on connection: SQLiteConnection) throws {
    for statement in ownTables { try connection.execute(statement) }
    guard try hasOlderTables(connection) else { return }
    if try !hasColumn("name", of: "ZDL_TRANSACTION", connection) {
      try connection.execute(
        """
        ALTER TABLE ZDL_TRANSACTION ADD COLUMN name INTEGER NOT NULL DEFAULT 0;
        UPDATE ZDL_TRANSACTION SET kind = \(TransactionKind.adopted.rawValue)
        WHERE kind = \(TransactionKind.local.rawValue) AND number IN
        (SELECT Z_PK FROM ATRANSACTION WHERE ZBUNDLEIDTS IS NOT NULL OR ZBUNDLEID IS NOT NULL);
        UPDATE ZDL_TRANSACTION SET name = \(TransactionName.derivedSQL("number", "hybrid_time"))
        WHERE kind <> \(TransactionKind.imported.rawValue)
        """)
    }
    if try !hasColumn("name", of: "ZDL_DELTA", connection) {
      try connection.execute("ALTER TABLE ZDL_DELTA ADD COLUMN name INTEGER NOT NULL DEFAULT 0")
    }
    guard try makeNumbersUnique(connection) else { return }
    try connection.run(
      "INSERT OR REPLACE INTO ZDL_STORE VALUES (?, ?)", .text(versionSetting), .integer(version))
  }

  static func hasColumn(
    _ column: String, of table: String, _ connection: SQLiteConnection
  ) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", .text(table), .text(column)) != nil
  }

  /// One zone object number, one object. False where the file has a number twice: which of the objects it is of cannot be
  /// told here, and enrolling anew lets go of all of them.
  private static func makeNumbersUnique(_ connection: SQLiteConnection) throws -> Bool {
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

  /// The history that Core Data recorded, and of which nothing is noted yet, at the times of its clock.
  ///
  /// Two copies of one file that are taken over give its transactions the same names.
  static let takeOverHistory = """
    INSERT OR IGNORE INTO ZDL_TRANSACTION (number, kind, hybrid_time, first_change, last_change,
    name) SELECT number, \(TransactionKind.adopted.rawValue), time, first, last,
    \(TransactionName.derivedSQL("number", "time")) FROM (SELECT t.Z_PK AS number,
    CAST((t.ZTIMESTAMP + \(Date.timeIntervalBetween1970AndReferenceDate)) * 1000 AS INTEGER) << 16
    AS time, MIN(c.Z_PK) AS first, MAX(c.Z_PK) AS last
    FROM ATRANSACTION t JOIN ACHANGE c ON c.ZTRANSACTIONID = t.Z_PK
    WHERE t.Z_PK > (SELECT COALESCE(MAX(number), 0) FROM ZDL_TRANSACTION) GROUP BY t.Z_PK)
    """
}
