import CSQLite

/// Rows in the caller's memory that SQL reads as the table `driftless_rows`, with the columns `c0`, `c1`, `c2` …, or as
/// `driftless_wide_rows`, which has more of them.
///
/// `INSERT INTO t SELECT c0, c1 FROM driftless_rows` writes them in one run of one statement. A statement run once a
/// row costs twice as much: starting and ending it is dearer than the row.
package struct RowsInMemory {
  /// Writes one value. C calls it, so it captures nothing: what it needs lies behind `source`.
  package typealias Emit =
    @convention(c) (
      _ source: UnsafeRawPointer, _ row: Int, _ column: Int32, _ context: OpaquePointer
    ) -> Void

  /// Where a database has a table of one of these names, that one would be read.
  package static let tables = [narrow, wide]
  private static let narrow = "driftless_rows"
  private static let wide = "driftless_wide_rows"

  /// The table that has so many columns. SQLite reads the names of all of them for each connection that asks, which for as
  /// many as a table may have takes as long as a small save.
  package static func table(columns: Int) -> String {
    columns <= RowsTable.narrowColumnCount ? narrow : wide
  }

  fileprivate static func columnCount(ofTable table: String) -> Int {
    table == narrow ? RowsTable.narrowColumnCount : RowsTable.wideColumnCount
  }

  package let count: Int
  let source: UnsafeRawPointer
  let emit: Emit

  init(count: Int, source: UnsafeRawPointer, emit: Emit) {
    assert(count >= 0, "there are rows, or none")
    self.count = count
    self.source = source
    self.emit = emit
  }

  // MARK: Lending

  /// Lends rows of one number each, the column `c0`, for as long as `body` runs.
  package static func lending(_ numbers: [Int64], _ body: (RowsInMemory) throws -> Void) rethrows {
    try numbers.withUnsafeBufferPointer { numbers in
      guard let start = numbers.baseAddress else { return }
      try body(
        RowsInMemory(count: numbers.count, source: start) { source, row, _, context in
          SQLiteResult(context).set(source.assumingMemoryBound(to: Int64.self)[row])
        })
    }
  }

  /// Two numbers, the columns `c0` and `c1`.
  package struct Pair {
    let first: Int64
    let second: Int64

    package init(_ first: Int64, _ second: Int64) {
      self.first = first
      self.second = second
    }
  }

  /// Lends rows of two numbers each for as long as `body` runs.
  package static func lending(_ pairs: [Pair], _ body: (RowsInMemory) throws -> Void) rethrows {
    try pairs.withUnsafeBufferPointer { pairs in
      guard let start = pairs.baseAddress else { return }
      try body(
        RowsInMemory(count: pairs.count, source: start) { source, row, column, context in
          let pair = source.assumingMemoryBound(to: Pair.self)[row]
          SQLiteResult(context).set(column == 0 ? pair.first : pair.second)
        })
    }
  }

  /// Lends rows that `emit` writes from a source of the caller's for as long as `body` runs.
  ///
  /// - Parameters:
  ///   - source: What `emit` gets by ``lent(_:as:)``. It holds handles of what lies elsewhere, so that reading counts no
  ///     references.
  ///   - count: How many rows it has.
  package static func lending<Source>(
    _ source: Source, count: Int, emit: Emit, _ body: (RowsInMemory) throws -> Void
  ) rethrows {
    try withUnsafePointer(to: source) {
      try body(RowsInMemory(count: count, source: $0, emit: emit))
    }
  }

  /// The source that was lent, of the type that it was lent with.
  @inlinable
  @inline(__always)
  package static func lent<Source>(_ source: UnsafeRawPointer, as type: Source.Type) -> Source {
    source.assumingMemoryBound(to: type).pointee
  }
}

extension SQLiteConnection {
  /// Makes the tables known; they are empty but while ``run(_:reading:)`` runs.
  func createRowsTables() throws {
    for table in RowsInMemory.tables {
      let code = sqlite3_create_module_v2(handle, table, RowsTable.module, rowsInMemory, nil)
      guard code == SQLITE_OK else {
        throw SQLiteError(code: code, message: "The table of rows in memory cannot be registered.")
      }
    }
  }

  /// Runs a statement that reads rows in memory.
  package func run(_ statement: SQLiteStatement, reading rows: RowsInMemory) throws {
    rowsInMemory.pointee = rows
    defer { rowsInMemory.pointee = nil }
    try statement.run()
  }

  /// Calls `body` with each row of a statement that reads rows in memory.
  package func forEachRow(
    of statement: SQLiteStatement, reading rows: RowsInMemory, _ body: () throws -> Void
  ) throws {
    rowsInMemory.pointee = rows
    defer {
      statement.reset()
      rowsInMemory.pointee = nil
    }
    while try statement.step() { try body() }
  }
}

/// The virtual table, in SQLite's terms: an eponymous one, which no statement creates.
private enum RowsTable {
  /// More than the rows of most entities have.
  static let narrowColumnCount = 64
  /// As many as SQLite allows a table by default.
  static let wideColumnCount = 2000

  private static let narrow = declaration(RowsInMemory.table(columns: narrowColumnCount))
  private static let wide = declaration(RowsInMemory.table(columns: wideColumnCount))

  private static func declaration(_ table: String) -> String {
    let names = (0..<RowsInMemory.columnCount(ofTable: table)).map { "c\($0)" }
    return "CREATE TABLE \(table)(\(names.joined(separator: ",")))"
  }

  /// Begins with what SQLite knows of a table.
  struct Table {
    var base = sqlite3_vtab()
    let rows: UnsafeMutablePointer<RowsInMemory?>
  }

  /// Begins with what SQLite knows of a cursor.
  struct Cursor {
    var base = sqlite3_vtab_cursor()
    let rows: RowsInMemory?
    var row = 0
  }

  nonisolated(unsafe) static let module: UnsafePointer<sqlite3_module> = {  // never written
    let module = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
    var methods = sqlite3_module()
    methods.xConnect = { database, rows, _, names, table, _ in
      // The first of the names is the module's.
      let isWide = names?.pointee.map { String(cString: $0) == RowsInMemory.tables[1] } ?? true
      let code = sqlite3_declare_vtab(database, isWide ? wide : narrow)
      guard code == SQLITE_OK, let rows else { return code == SQLITE_OK ? SQLITE_MISUSE : code }
      let made = UnsafeMutablePointer<Table>.allocate(capacity: 1)
      made.initialize(to: Table(rows: rows.assumingMemoryBound(to: RowsInMemory?.self)))
      table?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab.self)
      return SQLITE_OK
    }
    methods.xDisconnect = { table in
      UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: Table.self).deallocate()
      return SQLITE_OK
    }
    methods.xBestIndex = { _, plan in
      plan?.pointee.estimatedCost = 1
      return SQLITE_OK
    }
    methods.xOpen = { table, cursor in
      guard let table = UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: Table.self) else {
        return SQLITE_MISUSE
      }
      let made = UnsafeMutablePointer<Cursor>.allocate(capacity: 1)
      made.initialize(to: Cursor(rows: table.pointee.rows.pointee))
      cursor?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(
        to: sqlite3_vtab_cursor.self)
      return SQLITE_OK
    }
    methods.xClose = { cursor in
      UnsafeMutableRawPointer(cursor)?.assumingMemoryBound(to: Cursor.self).deallocate()
      return SQLITE_OK
    }
    methods.xFilter = { cursor, _, _, _, _ in
      RowsTable.cursor(cursor).pointee.row = 0
      return SQLITE_OK
    }
    methods.xNext = { cursor in
      RowsTable.cursor(cursor).pointee.row += 1
      return SQLITE_OK
    }
    methods.xEof = { cursor in
      let cursor = RowsTable.cursor(cursor)
      return cursor.pointee.row < cursor.pointee.rows?.count ?? 0 ? 0 : 1
    }
    methods.xColumn = { cursor, context, column in
      let cursor = RowsTable.cursor(cursor)
      guard let rows = cursor.pointee.rows, let context else { return SQLITE_MISUSE }
      assert(cursor.pointee.row < rows.count, "a row beyond those that are lent")
      rows.emit(rows.source, cursor.pointee.row, column, context)
      return SQLITE_OK
    }
    methods.xRowid = { cursor, row in
      row?.pointee = Int64(RowsTable.cursor(cursor).pointee.row)
      return SQLITE_OK
    }
    module.initialize(to: methods)
    return UnsafePointer(module)
  }()

  @inline(__always)
  static func cursor(
    _ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?
  ) -> UnsafeMutablePointer<Cursor> {
    // SQLite hands back what xOpen gave it, never null.
    UnsafeMutableRawPointer(cursor).unsafelyUnwrapped.assumingMemoryBound(to: Cursor.self)
  }
}
