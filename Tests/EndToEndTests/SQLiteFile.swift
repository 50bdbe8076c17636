import DriftlessSQLite
import Foundation

/// A database file, looked at past the programs that own it.
enum SQLiteFile {
  /// What `PRAGMA integrity_check` says: "ok" when all is well.
  static func integrity(of file: URL) throws -> String {
    let connection = try SQLiteConnection(path: file.path, mode: .readWrite)
    defer { connection.close() }
    guard case .text(let answer)? = try connection.scalar("PRAGMA integrity_check(1)") else {
      return "no answer"
    }
    return answer
  }

  /// The whole number that a query gives.
  static func number(_ query: String, in file: URL) throws -> Int {
    let connection = try SQLiteConnection(path: file.path, mode: .readWrite)
    defer { connection.close() }
    guard case .integer(let number)? = try connection.scalar(query) else { return -1 }
    return Int(number)
  }

  /// Changes rows as a disk does it, which knows no rules.
  static func damage(_ file: URL, _ sql: String) throws {
    let connection = try SQLiteConnection(path: file.path, mode: .readWrite)
    defer { connection.close() }
    try connection.execute("PRAGMA ignore_check_constraints = ON; \(sql)")
  }
}
