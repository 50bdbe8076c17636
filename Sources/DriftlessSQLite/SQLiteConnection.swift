import CSQLite
package import Foundation

/// A connection to one database file. It is not Sendable: its owner confines it to one thread at a time.
///
/// No connection checkpoints by itself (see the store's checkpointer), and none maps the file into memory.
package final class SQLiteConnection {
  package enum Mode: Sendable {
    case readWriteCreate
    case readWrite
    case readOnly
    /// Reads a file that nobody changes: without locks, and without files beside it.
    case immutable
    /// A database in memory, of this connection alone.
    case inMemory
  }

  let handle: OpaquePointer
  package let path: String
  private var statements: [String: SQLiteStatement] = [:]
  private var isClosed = false
  /// Who is inside of the connection, in debug builds: it is one thread's at a time.
  private let user = ConnectionUser()
  /// What the tables of rows in memory hold now.
  let rowsInMemory = UnsafeMutablePointer<RowsInMemory?>.allocate(capacity: 1)
  /// Who keeps in memory what a table has, and is told by the table's owner what is written to it.
  package weak var follower: AnyObject?
  /// The time-out that the connection was opened with.
  package let usualBusyTimeoutMilliseconds: Int32
  /// How long a statement waits for another connection.
  package var busyTimeoutMilliseconds: Int32 {
    didSet { sqlite3_busy_timeout(handle, busyTimeoutMilliseconds) }
  }

  /// Runs what waits until no other connection writes. It may do so again and again, and let go of what others need in between.
  /// Nil where SQLite waits by itself.
  package var whileWaiting: ((() throws -> Void) throws -> Void)?

  /// The number of the file's schema at which its owner looked at the content last (``schemaNumber()``).
  package var knownSchemaNumber: Int64?
  // Each read asks for them.
  var beginStatement: SQLiteStatement?
  var commitStatement: SQLiteStatement?
  var schemaStatement: SQLiteStatement?

  /// Opens the file.
  ///
  /// - Throws: `SQLiteError`, with nothing left open.
  package init(path: String, mode: Mode, busyTimeoutMilliseconds: Int32 = 10_000) throws {
    var opened: OpaquePointer?
    let access: Int32 =
      switch mode {
      case .readWriteCreate: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .readWrite: SQLITE_OPEN_READWRITE
      case .readOnly: SQLITE_OPEN_READONLY
      case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      case .inMemory: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY
      }
    let name =
      switch mode {
      case .inMemory: ":memory:"
      case .immutable: Self.immutableURI(path)
      default: path
      }
    let code = sqlite3_open_v2(
      name, &opened, access | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let opened else {
      let message =
        opened.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
      let number = sqlite3_system_errno(opened)
      sqlite3_close_v2(opened)
      throw SQLiteError(code: code, message: "\(message): \(path)", systemNumber: number)
    }
    handle = opened
    self.path = path
    sqlite3_extended_result_codes(handle, 1)
    usualBusyTimeoutMilliseconds = busyTimeoutMilliseconds
    self.busyTimeoutMilliseconds = busyTimeoutMilliseconds
    sqlite3_busy_timeout(handle, busyTimeoutMilliseconds)
    rowsInMemory.initialize(to: nil)
    try createRowsTables()
    try execute("PRAGMA wal_autocheckpoint=0; PRAGMA mmap_size=0")
  }

  private static func immutableURI(_ path: String) -> String {
    let escaped = path.reduce(into: "") { text, character in
      switch character {
      case "%": text += "%25"
      case "?": text += "%3f"
      case "#": text += "%23"
      default: text.append(character)
      }
    }
    return "file:\(escaped)?immutable=1"
  }

  deinit {
    close()
    rowsInMemory.deallocate()
  }

  /// Finalises every statement and closes the file. A second call does nothing.
  package func close() {
    guard !isClosed else { return }
    isClosed = true
    letGoOfState()
    (beginStatement, commitStatement, schemaStatement) = (nil, nil, nil)
    statements.removeAll()
    sqlite3_close_v2(handle)
  }

  /// Runs one or more statements that give no rows.
  package func execute(_ sql: String) throws {
    user.enter()
    defer { user.leave() }
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
  }

  /// The statement of `sql`: prepared once, and kept for the next time.
  package func prepare(_ sql: String) throws -> SQLiteStatement {
    if let statement = statements[sql] {
      statement.reset()
      return statement
    }
    let statement = try prepareUncached(sql)
    statements[sql] = statement
    return statement
  }

  /// A statement of the caller's own: for one that stays open while the same text may run again.
  package func prepareUncached(_ sql: String) throws -> SQLiteStatement {
    user.enter()
    defer { user.leave() }
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(
      handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK, let prepared else { throw failure(sql) }
    return SQLiteStatement(handle: prepared, database: handle, sql: sql, user: user)
  }

  /// Runs `sql` with values bound to its parameters.
  package func run(_ sql: String, _ values: SQLiteValue...) throws {
    let statement = try prepare(sql)
    defer { statement.clearBindings() }
    statement.bind(values)
    try statement.run()
  }

  /// The same with bytes for the last parameter, which are read where they lie: a copy of what has megabytes is not made.
  package func run(_ sql: String, _ values: [SQLiteValue], lending bytes: Data) throws {
    let statement = try prepare(sql)
    defer { statement.clearBindings() }
    for (place, value) in values.enumerated() { statement.bind(value, at: Int32(place + 1)) }
    try statement.withBorrowed(bytes, at: Int32(values.count + 1)) { try statement.run() }
  }

  /// The rows of a small query.
  package func rows(_ sql: String, _ values: SQLiteValue...) throws -> [[SQLiteValue]] {
    let statement = try prepareUncached(sql)
    statement.bind(values)
    var rows: [[SQLiteValue]] = []
    while try statement.step() {
      rows.append((0..<Int32(statement.columnCount)).map(statement.value))
    }
    return rows
  }

  /// The first column of the first row, or nil when there is no row.
  package func scalar(_ sql: String, _ values: SQLiteValue...) throws -> SQLiteValue? {
    let statement = try prepare(sql)
    statement.bind(values)
    defer { statement.letGo() }
    return try statement.step() ? statement.value(0) : nil
  }

  /// Runs `body` with another page cache than the usual one: work that passes over much of the file fills a large one with
  /// pages that it needs once. Where it filled more than half of it, they are let go of at the end; what is less stays for the
  /// next time.
  package func withCache<T>(kibibytes: Int, _ body: () throws -> T) throws -> T {
    guard case .integer(let usual)? = try scalar("PRAGMA cache_size") else { return try body() }
    try execute("PRAGMA cache_size = -\(kibibytes)")
    defer {
      if cacheBytes > kibibytes << 9 { sqlite3_db_release_memory(handle) }
      try? execute("PRAGMA cache_size = \(usual)")
    }
    return try body()
  }

  /// Bytes of pages that the connection holds.
  var cacheBytes: Int {
    var (bytes, most) = (Int32(0), Int32(0))
    sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_USED, &bytes, &most, 0)
    return Int(bytes)
  }

  package var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(handle) }
  package var changes: Int { Int(sqlite3_changes64(handle)) }
  /// How many rows were changed since the connection was opened.
  package var totalChanges: Int { Int(sqlite3_total_changes64(handle)) }
  package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Makes a statement that runs in another thread end with an error.
  package func interrupt() { sqlite3_interrupt(handle) }

  /// SQLite 3.35 and newer.
  package static var canDropColumns: Bool { sqlite3_libversion_number() >= 3_035_000 }
  package static var libraryVersion: String { String(cString: sqlite3_libversion()) }

  func failure(_ sql: String) -> SQLiteError {
    SQLiteError(
      code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)),
      sql: sql, systemNumber: sqlite3_system_errno(handle))
  }
}
