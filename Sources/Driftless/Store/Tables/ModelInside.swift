import DriftlessSQLite
import Foundation

/// Owns `ZDL_MODEL`: the model that travels inside a store, in the form of `ModelArchive`.
enum ModelInside {
  static let table = "ZDL_MODEL"
  /// What the row keeps by itself.
  static let rules: [RowRule] = [
    RowRule(
      "version = 1", "its version is not 1", declared: "typeof(version) = 'integer'"),
    .bytes("content"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_MODEL (version INTEGER PRIMARY KEY,
    content BLOB NOT NULL\(RowRule.constraints(rules)))
    """

  /// Whether the file has the table: one that Core Data wrote has it once it was opened for writing.
  static func exists(on connection: SQLiteConnection) throws -> Bool {
    try StoreFile.hasTable(table, connection)
  }

  /// Whether the table has its row.
  static func isWritten(on connection: SQLiteConnection) throws -> Bool {
    try connection.scalar("SELECT 1 FROM ZDL_MODEL") != nil
  }

  static func content(on connection: SQLiteConnection) throws -> Data? {
    guard case .blob(let content)? = try connection.scalar("SELECT content FROM ZDL_MODEL") else {
      return nil
    }
    return content
  }

  static func write(_ content: Data, on connection: SQLiteConnection) throws {
    try connection.run("INSERT OR REPLACE INTO ZDL_MODEL VALUES (1, ?)", .blob(content))
  }

  /// Puts another model in the place of the one that is there.
  static func replace(by content: Data, on connection: SQLiteConnection) throws {
    try connection.run("UPDATE main.ZDL_MODEL SET content = ?", .blob(content))
  }
}
