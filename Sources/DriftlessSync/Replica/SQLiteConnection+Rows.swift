import Driftless
import DriftlessSQLite
import Foundation

extension SQLiteConnection {
  /// Runs a statement that gives no rows.
  func perform(_ sql: String, _ values: [SQLiteValue] = []) throws {
    try forEachRow(sql, values) { _ in }
  }

  /// Runs a statement and hands over each row. The body must not run the same statement.
  func forEachRow(
    _ sql: String, _ values: [SQLiteValue] = [], _ body: (SQLiteStatement) throws -> Void
  ) throws {
    let statement = try prepare(sql)
    defer { statement.letGo() }
    statement.bind(values)
    while try statement.step() { try body(statement) }
  }

  /// The first column of the first row as a number, or 0.
  func number(_ sql: String, _ values: [SQLiteValue] = []) throws -> Int64 {
    var number: Int64 = 0
    try forEachRow(sql, values) { number = $0.int64(0) }
    return number
  }
}

extension SQLiteValue {
  /// A number of the wire as SQLite keeps it: the same 64 bits.
  static func unsigned(_ value: UInt64) -> SQLiteValue { .integer(Int64(bitPattern: value)) }

  static func uuid(_ value: UUID) -> SQLiteValue { .blob(value.networkBytes) }

  static func optional(_ value: String?) -> SQLiteValue { value.map { .text($0) } ?? .null }
}
