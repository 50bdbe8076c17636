import CSQLite
import Testing

@testable import DriftlessSQLite

/// Rows that SQL reads from memory.
struct RowsInMemoryTests {
  private static let emit: RowsInMemory.Emit = { source, row, column, context in
    let result = SQLiteResult(context)
    let number = source.assumingMemoryBound(to: Int64.self)[row]
    switch column {
    case 0: result.set(number)
    case 1: result.set("text \(number)")
    default: result.setNull()
    }
  }

  @Test("A statement reads the rows, and none once it has run")
  func reads() throws {
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    try connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c)")
    let insert = try connection.prepare("INSERT INTO t SELECT c0, c1, c1999 FROM driftless_rows")
    let numbers: [Int64] = [7, 3, 9]
    try numbers.withUnsafeBytes { bytes in
      let source = try #require(bytes.baseAddress)
      let rows = RowsInMemory(count: numbers.count, source: source, emit: Self.emit)
      try connection.run(insert, reading: rows)
    }
    #expect(connection.changes == 3)
    let stored = try connection.rows("SELECT a, b, c FROM t ORDER BY a")
    #expect(stored.map { $0[0] } == [.integer(3), .integer(7), .integer(9)])
    #expect(stored[1] == [.integer(7), .text("text 7"), .null])
    #expect(try connection.scalar("SELECT count(*) FROM driftless_rows") == .integer(0))
  }

  @Test("A row that breaks a constraint leaves none of them, and the next statement reads none")
  func constraint() throws {
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    try connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    let insert = try connection.prepare("INSERT INTO t SELECT c0 FROM driftless_rows")
    let numbers: [Int64] = [1, 2, 1]
    try numbers.withUnsafeBytes { bytes in
      let source = try #require(bytes.baseAddress)
      let rows = RowsInMemory(count: numbers.count, source: source, emit: Self.emit)
      #expect(throws: SQLiteError.self) { try connection.run(insert, reading: rows) }
    }
    #expect(try connection.scalar("SELECT count(*) FROM t") == .integer(0))
    try insert.run()
    #expect(try connection.scalar("SELECT count(*) FROM t") == .integer(0))
  }
}
