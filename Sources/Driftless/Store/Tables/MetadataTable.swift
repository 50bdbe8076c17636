import DriftlessSQLite
import Foundation

/// Owns `Z_METADATA`: one row with the identifier of the store, and what it says of itself (``StoreMetadata``).
enum MetadataTable {
  static let table = "Z_METADATA"
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .integer("Z_VERSION", 1...1), .bytes("Z_PLIST"),
    RowRule("typeof(Z_UUID) = 'text' AND length(Z_UUID) = 36", "its Z_UUID is no identifier"),
  ]
  static let statement = """
    CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)
    """
  /// The identifier of the store, in SQL.
  static let identifierSQL = "(SELECT Z_UUID FROM Z_METADATA LIMIT 1)"

  // MARK: Reading

  /// What a file says of itself, and its identifier.
  ///
  /// - Throws: `StoreError` with code `notAStore` for another database than a store, `damaged` for metadata that cannot be
  ///   read.
  static func read(
    on connection: SQLiteConnection, path: String
  ) throws -> (identifier: String, StoreMetadata) {
    guard try StoreFile.isTable(table, connection),
      try StoreFile.isTable(PrimaryKeyTable.table, connection)
    else {
      throw StoreError(
        .notAStore, "\(path) is an SQLite database, but no store of Core Data's layout.",
        suggestion: "Check the path.")
    }
    // Its length is asked first: a text or a list of any size may stand there.
    let most = BoundedPropertyList.bytesMax
    if case .integer(let size)? = try connection.scalar(
      "SELECT max(length(Z_UUID), length(Z_PLIST)) FROM Z_METADATA LIMIT 1"), size > most
    {
      throw StoreError(
        .damaged, "\(path) has metadata of \(size) bytes; no more than \(most) are read.",
        suggestion: "Restore the file from a copy.")
    }
    let rows = try connection.rows("SELECT Z_UUID, Z_PLIST FROM Z_METADATA LIMIT 1")
    guard let row = rows.first, case .text(let identifier) = row[0], case .blob(let plist) = row[1]
    else {
      throw StoreError(
        .damaged, "\(path) has no metadata.", suggestion: "Restore the file from a copy.")
    }
    return (identifier, try StoreMetadata(plist: plist))
  }

  /// The identifier alone; nil where there is none.
  static func identifier(on connection: SQLiteConnection) throws -> String? {
    let found = try connection.scalar("SELECT Z_UUID FROM main.Z_METADATA LIMIT 1")
    guard case .text(let identifier)? = found else { return nil }
    return identifier
  }

  // MARK: Writing

  /// Writes the row of a new store.
  static func write(
    _ metadata: StoreMetadata, identifier: UUID, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT INTO Z_METADATA VALUES (1, ?, ?)", .text(identifier.uuidString),
      .blob(metadata.plist()))
  }

  static func set(_ metadata: StoreMetadata, on connection: SQLiteConnection) throws {
    try connection.run("UPDATE main.Z_METADATA SET Z_PLIST = ?", .blob(metadata.plist()))
  }

  static func setIdentifier(_ identifier: String, on connection: SQLiteConnection) throws {
    try connection.run("UPDATE main.Z_METADATA SET Z_UUID = ?", .text(identifier))
  }
}
