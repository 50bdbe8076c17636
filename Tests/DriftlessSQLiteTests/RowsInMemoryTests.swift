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

  @Test("A statement reads the rows, and none once it has run", arguments: [64, 65, 2000])
  func reads(columns: Int) throws {
    let table = RowsInMemory.table(columns: columns)
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    try connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c)")
    let insert = try connection.prepare(
      "INSERT INTO t SELECT c0, c1, c\(columns - 1) FROM \(table)")
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
    #expect(try connection.scalar("SELECT count(*) FROM \(table)") == .integer(0))
  }

  @Test(
    "A table has as many columns as most rows take, and the wide one as many as a table may have")
  func columns() throws {
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    for (columns, count) in [(1, 64), (64, 64), (65, 2000)] {
      let table = RowsInMemory.table(columns: columns)
      #expect(try connection.prepare("SELECT * FROM \(table)").columnCount == count)
    }
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

  private struct Source {
    let base: Int64
  }

  @Test("Numbers, pairs and a source of the caller's own are lent, each row once; none are no rows")
  func lends() throws {
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    try connection.execute("CREATE TABLE t (a, b)")
    let numbers = try connection.prepareUncached("INSERT INTO t SELECT c0, c1 FROM driftless_rows")
    try RowsInMemory.lending([5, 6]) { try connection.run(numbers, reading: $0) }
    #expect(
      try connection.rows("SELECT a FROM t ORDER BY a").map { $0[0] } == [.integer(5), .integer(6)])
    try connection.execute("DELETE FROM t")
    try RowsInMemory.lending([RowsInMemory.Pair(1, 2), .init(3, 4)]) {
      try connection.run(numbers, reading: $0)
    }
    #expect(
      try connection.rows("SELECT a, b FROM t ORDER BY a")
        == [[.integer(1), .integer(2)], [.integer(3), .integer(4)]])
    try connection.execute("DELETE FROM t")
    try RowsInMemory.lending(
      Source(base: 40), count: 3,
      emit: { source, row, column, context in
        let base = RowsInMemory.lent(source, as: Source.self).base
        SQLiteResult(context).set(base + Int64(row) + Int64(column) * 100)
      },
      { try connection.run(numbers, reading: $0) })
    #expect(
      try connection.rows("SELECT a, b FROM t ORDER BY a")
        == (40..<43).map { [.integer($0), .integer($0 + 100)] })
    try connection.execute("DELETE FROM t")
    try RowsInMemory.lending([Int64]()) { try connection.run(numbers, reading: $0) }
    #expect(try connection.rows("SELECT a FROM t").isEmpty)
  }
}
