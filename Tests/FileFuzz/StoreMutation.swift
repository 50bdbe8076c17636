import DriftlessSQLite
import Foundation
import TestSupport

/// Changes of a store's file that leave it a database: of its tables, and of what they hold.
enum StoreMutation {
  /// One to three changes; those that SQLite itself refuses are none.
  static func apply(to file: URL, _ numbers: inout SeededNumbers) throws {
    let connection = try SQLiteConnection(path: file.path, mode: .readWrite)
    defer { connection.close() }
    try? connection.execute("PRAGMA journal_mode = DELETE; PRAGMA ignore_check_constraints = ON")
    for _ in 0...numbers.number(below: 3) {
      let tables = try names("SELECT name FROM sqlite_master WHERE type = 'table'", connection)
        .filter { !$0.hasPrefix("sqlite_") }
      guard !tables.isEmpty else { return }
      let table = tables[numbers.number(below: tables.count)]
      let columns = try names("SELECT name FROM pragma_table_info('\(table)')", connection)
      guard !columns.isEmpty else { continue }
      let column = columns[numbers.number(below: columns.count)]
      for text in statements(table, column, columns, &numbers) {
        FileTrial.show(text)
        try? connection.execute(text)
      }
    }
  }

  private static func names(_ query: String, _ connection: SQLiteConnection) throws -> [String] {
    try connection.rows(query).compactMap { if case .text(let name) = $0[0] { name } else { nil } }
  }

  private static func statements(
    _ table: String, _ column: String, _ columns: [String], _ numbers: inout SeededNumbers
  ) -> [String] {
    let endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
    let values = [
      "NULL", "0", "-1", "9223372036854775807", "-9223372036854775808", "1e300", "''", "'x'",
      "zeroblob(1000000)", "x'00'", "hex(randomblob(500000))", "x'62706c69737430'",
    ]
    let value = values[numbers.number(below: values.count)]
    let list = columns.map { "n AS \"\($0)\"" }.joined(separator: ", ")
    switch numbers.number(below: 12) {
    case 0: return ["DROP TABLE \"\(table)\""]
    case 1: return ["ALTER TABLE \"\(table)\" RENAME TO \"\(table)x\""]
    case 2: return ["ALTER TABLE \"\(table)\" DROP COLUMN \"\(column)\""]
    case 3: return ["ALTER TABLE \"\(table)\" RENAME COLUMN \"\(column)\" TO \"\(column)x\""]
    case 4:
      return [
        "DROP TABLE \"\(table)\"", "CREATE VIEW \"\(table)\" AS \(endless) SELECT \(list) FROM c",
      ]
    case 5:
      return [
        "ALTER TABLE \"\(table)\" RENAME TO \"\(table)x\"",
        "CREATE VIEW \"\(table)\" AS SELECT * FROM \"\(table)x\"",
      ]
    case 6:
      return [
        "CREATE TRIGGER t\(numbers.number(below: 9)) AFTER UPDATE ON \"\(table)\" BEGIN "
          + "UPDATE \"\(table)\" SET \"\(column)\" = \(value); END"
      ]
    case 7: return ["DELETE FROM \"\(table)\" WHERE rowid % 2 = \(numbers.number(below: 2))"]
    case 8:
      return [
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, '\(column)', '\(column)y') "
          + "WHERE name = '\(table)'", "PRAGMA writable_schema = OFF",
      ]
    case 9: return ["INSERT INTO \"\(table)\" SELECT * FROM \"\(table)\" LIMIT 5"]
    default:
      let condition = numbers.chance(50) ? "" : " WHERE rowid = \(1 + numbers.number(below: 6))"
      return ["UPDATE OR IGNORE \"\(table)\" SET \"\(column)\" = \(value)\(condition)"]
    }
  }
}
