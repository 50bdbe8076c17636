import DriftlessSQLite

/// The tables that Driftless keeps beside Core Data's, and how those of an older version become what they are now. Each has
/// an owner, which says how.
extension StoreDefinition {
  static let ownTables =
    [StoreSettings.statement, ModelInside.statement, TransactionNotes.statement]
    + IdentityRuns.statements
    + [
      Graves.statement, BaseValues.statement, TransactionDeltas.statement, FormerEntities.statement,
      RegisteredReaders.statement,
    ]

  /// The setting with the version of these tables.
  static let versionSetting = "tables"
  private static let version: Int64 = 4

  /// Whether the tables are those of an older version.
  static func hasOlderTables(_ connection: SQLiteConnection) throws -> Bool {
    guard
      case .integer(let version)? = try StoreSettings.value(of: versionSetting, on: connection)
    else { return true }
    return version < Self.version
  }

  /// Creates the tables that a file lacks, and brings those of an older version to this one.
  static func completeOwnTables(on connection: SQLiteConnection) throws {
    for statement in ownTables { try connection.execute(statement) }
    guard try hasOlderTables(connection) else { return }
    try TransactionNotes.complete(on: connection)
    try TransactionDeltas.complete(on: connection)
    guard try IdentityRuns.makeNumbersUnique(on: connection) else { return }
    try StoreSettings.set(versionSetting, .integer(version), on: connection)
  }

  static func hasColumn(
    _ column: String, of table: String, _ connection: SQLiteConnection
  ) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", .text(table), .text(column)) != nil
  }
}
