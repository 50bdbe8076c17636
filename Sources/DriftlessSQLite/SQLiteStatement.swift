import CSQLite
package import Foundation

/// A prepared statement. It belongs to its connection and is used where the connection is.
package final class SQLiteStatement {
  let handle: OpaquePointer
  private let database: OpaquePointer
  package let sql: String
  /// The table whose rows it gives, once who reads them has made sure of it.
  package var knownTable: String?

  private let user: ConnectionUser

  /// What SQLite said of a value that it did not take. It would run the statement with NULL in its place.
  private var refusal = SQLITE_OK

  init(handle: OpaquePointer, database: OpaquePointer, sql: String, user: ConnectionUser) {
    self.user = user
    self.handle = handle
    self.database = database
    self.sql = sql
  }

  deinit { sqlite3_finalize(handle) }

  nonisolated(unsafe) static let emptyText: UnsafePointer<CChar> = {  // never written
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    text.initialize(to: 0)
    return UnsafePointer(text)
  }()

  /// The file that the statement works on.
  package var databasePath: String {
    sqlite3_db_filename(database, "main").map { String(cString: $0) } ?? ""
  }

  // MARK: Binding. Indexes start at 1, as SQLite's do.

  @inline(__always)
  package func bind(_ value: Int64, at index: Int32) {
    assertParameter(index)
    sqlite3_bind_int64(handle, index, value)
  }

  @inline(__always)
  package func bind(_ value: Double, at index: Int32) {
    assertParameter(index)
    sqlite3_bind_double(handle, index, value)
  }

  @inline(__always)
  package func bindNull(at index: Int32) {
    assertParameter(index)
    sqlite3_bind_null(handle, index)
  }

  /// SQLite refuses another index, and the value would be missing without a word.
  @inline(__always)
  private func assertParameter(_ index: Int32) {
    assert(
      index >= 1 && index <= sqlite3_bind_parameter_count(handle),
      "\(sql) has no parameter \(index)")
  }

  package func bind(_ value: String, at index: Int32) {
    var value = value
    value.withUTF8 { bind(text: $0, at: index) }
  }

  func bind(text: UnsafeBufferPointer<UInt8>, at index: Int32) {
    assertParameter(index)
    text.withMemoryRebound(to: CChar.self) { characters in
      // SQLite takes a copy: the text's memory may end soon. An empty text may have no address, and a null address
      // would bind NULL.
      note(
        sqlite3_bind_text64(
          handle, index, characters.baseAddress ?? Self.emptyText, sqlite3_uint64(text.count),
          driftless_sqlite_transient(), UInt8(SQLITE_UTF8)))
    }
  }

  /// A text or bytes may be too large for a row, or for the memory that there is.
  @inline(__always)
  private func note(_ code: Int32) {
    if code != SQLITE_OK { refusal = code }
  }

  package func bind(_ value: Data, at index: Int32) {
    value.withUnsafeBytes { bind($0, at: index) }
  }

  package func bind(_ value: UUID, at index: Int32) {
    withUnsafeBytes(of: value.uuid) { bind($0, at: index) }
  }

  package func bind(_ bytes: UnsafeRawBufferPointer, at index: Int32) {
    assertParameter(index)
    if bytes.isEmpty {
      note(sqlite3_bind_zeroblob(handle, index, 0))
    } else {
      note(
        sqlite3_bind_blob64(
          handle, index, bytes.baseAddress, sqlite3_uint64(bytes.count),
          driftless_sqlite_transient()))
    }
  }

  /// Binds a text where it lies. The caller keeps it there until the statement has run.
  @inline(__always)
  private func bindBorrowed(_ text: UnsafeBufferPointer<UInt8>, at index: Int32) {
    guard let start = text.baseAddress else { return bind("", at: index) }
    assertParameter(index)
    start.withMemoryRebound(to: CChar.self, capacity: text.count) {
      note(
        sqlite3_bind_text64(
          handle, index, $0, sqlite3_uint64(text.count), driftless_sqlite_static(),
          UInt8(SQLITE_UTF8)))
    }
  }

  /// Binds data where it lies, and runs `body`, which runs the statement.
  @inline(__always)
  package func withBorrowed<Result>(
    _ data: Data, at index: Int32, _ body: () throws -> Result
  ) rethrows -> Result {
    try data.withUnsafeBytes {
      bindBorrowed($0, at: index)
      return try body()
    }
  }

  /// Binds a text where it lies, and runs `body`, which runs the statement.
  @inline(__always)
  package func withBorrowed<Result>(
    _ text: String, at index: Int32, _ body: () throws -> Result
  ) rethrows -> Result {
    var text = text
    return try text.withUTF8 {
      bindBorrowed($0, at: index)
      return try body()
    }
  }

  package func bind(_ bytes: [UInt8], at index: Int32) {
    bytes.withUnsafeBytes { bind($0, at: index) }
  }

  /// Binds bytes where they lie. The caller keeps them there until the statement has run.
  @inline(__always)
  private func bindBorrowed(_ bytes: UnsafeRawBufferPointer, at index: Int32) {
    guard !bytes.isEmpty else { return bind(bytes, at: index) }
    assertParameter(index)
    note(
      sqlite3_bind_blob64(
        handle, index, bytes.baseAddress, sqlite3_uint64(bytes.count), driftless_sqlite_static()))
  }

  package func bind(_ value: SQLiteValue, at index: Int32) {
    switch value {
    case .null: bindNull(at: index)
    case .integer(let value): bind(value, at: index)
    case .real(let value): bind(value, at: index)
    case .text(let value): bind(value, at: index)
    case .blob(let value): bind(value, at: index)
    }
  }

  /// Binds all parameters.
  package func bind(_ values: [SQLiteValue]) {
    assert(
      values.count == sqlite3_bind_parameter_count(handle),
      "\(sql) has other parameters than \(values.count)")
    var index: Int32 = 1
    for value in values {
      bind(value, at: index)
      index += 1
    }
  }

  // MARK: Running

  /// Steps to the next row. False at the end, after which the statement is ready to run again.
  @inline(__always)
  package func step() throws -> Bool {
    user.enter()
    defer { user.leave() }
    guard refusal == SQLITE_OK else { throw refused() }
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    guard code == SQLITE_DONE else { throw failure() }
    sqlite3_reset(handle)
    return false
  }

  /// Runs a statement that gives no rows.
  @inline(__always)
  package func run() throws {
    user.enter()
    defer { user.leave() }
    guard refusal == SQLITE_OK else { throw refused() }
    let code = sqlite3_step(handle)
    guard code == SQLITE_DONE || code == SQLITE_ROW else { throw failure() }
    sqlite3_reset(handle)
  }

  package func reset() {
    refusal = SQLITE_OK
    sqlite3_reset(handle)
  }

  /// Ends a run, and lets go of what was bound for it: a statement is kept for the next time, and would keep megabytes with it.
  package func letGo() {
    reset()
    clearBindings()
  }

  package func clearBindings() {
    refusal = SQLITE_OK
    sqlite3_clear_bindings(handle)
  }

  private func refused() -> SQLiteError {
    defer { refusal = SQLITE_OK }
    return SQLiteError(
      code: refusal, message: String(cString: sqlite3_errstr(refusal)), sql: sql)
  }

  private func failure() -> SQLiteError {
    let error = SQLiteError(
      code: sqlite3_extended_errcode(database), message: String(cString: sqlite3_errmsg(database)),
      sql: sql, systemNumber: sqlite3_system_errno(database))
    sqlite3_reset(handle)
    return error
  }

  // MARK: Reading. Columns start at 0, as SQLite's do.

  package var columnCount: Int { Int(sqlite3_column_count(handle)) }

  package func columnName(_ column: Int32) -> String {
    sqlite3_column_name(handle, column).map { String(cString: $0) } ?? ""
  }

  @inline(__always)
  package func int64(_ column: Int32) -> Int64 {
    assertColumn(column)
    return sqlite3_column_int64(handle, column)
  }

  @inline(__always)
  package func double(_ column: Int32) -> Double {
    assertColumn(column)
    return sqlite3_column_double(handle, column)
  }

  @inline(__always)
  package func isNull(_ column: Int32) -> Bool {
    assertColumn(column)
    return sqlite3_column_type(handle, column) == SQLITE_NULL
  }

  /// Without a row, or beyond its columns, SQLite gives null: a zero that nobody wrote.
  @inline(__always)
  private func assertColumn(_ column: Int32) {
    assert(
      column >= 0 && column < sqlite3_data_count(handle),
      "\(sql) has no row with a column \(column)")
  }

  @inline(__always) package static var nullType: Int32 { SQLITE_NULL }
  @inline(__always) package static var blobType: Int32 { SQLITE_BLOB }

  @inline(__always)
  package func type(_ column: Int32) -> Int32 {
    assertColumn(column)
    return sqlite3_column_type(handle, column)
  }

  /// How SQLite keeps a value.
  package enum Storage: Sendable {
    case null, integer, real, text, blob
  }

  package func storage(_ column: Int32) -> Storage {
    switch type(column) {
    case SQLITE_INTEGER: .integer
    case SQLITE_FLOAT: .real
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    default: .null
    }
  }

  /// Whether the bytes of a text are UTF-8: SQLite keeps whatever it is given.
  package func isUTF8(_ column: Int32) -> Bool {
    guard let text = sqlite3_column_text(handle, column) else { return true }
    let bytes = UnsafeBufferPointer(
      start: text, count: Int(sqlite3_column_bytes(handle, column)))
    return bytes.allSatisfy { $0 < 0x80 } || String(validating: bytes, as: UTF8.self) != nil
  }

  // MARK: Numbers that a file says. One that does not fit gives what stands for nothing, and never another number.

  /// The number of an entity; -1, which is none's, for one that no entity can have.
  @inline(__always)
  package func entityNumber(_ column: Int32) -> Int32 { Int32(exactly: int64(column)) ?? -1 }

  /// How many; 0 for what is less, and as many as there can be for what is more.
  @inline(__always)
  package func count(_ column: Int32) -> Int { max(0, Int(clamping: int64(column))) }

  /// A number of the wire: the same 64 bits.
  @inline(__always)
  package func unsigned(_ column: Int32) -> UInt64 { UInt64(bitPattern: int64(column)) }

  @inline(__always)
  package func string(_ column: Int32) -> String {
    assertColumn(column)
    guard let text = sqlite3_column_text(handle, column) else { return "" }
    return String(
      decoding: UnsafeBufferPointer(
        start: text, count: Int(sqlite3_column_bytes(handle, column))), as: UTF8.self)
  }

  /// The bytes of the column. They are valid inside `body` only.
  @inline(__always)
  package func withBytes<T>(_ column: Int32, _ body: (UnsafeRawBufferPointer) throws -> T) rethrows
    -> T
  {
    assertColumn(column)
    let start = sqlite3_column_blob(handle, column)
    return try body(
      UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
  }

  package func data(_ column: Int32) -> Data { withBytes(column) { Data($0) } }

  /// The column's 16 bytes as a UUID; nil for another count.
  package func uuid(_ column: Int32) -> UUID? {
    withBytes(column) {
      $0.count == 16 ? UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) : nil
    }
  }

  package func value(_ column: Int32) -> SQLiteValue {
    switch type(column) {
    case SQLITE_INTEGER: .integer(int64(column))
    case SQLITE_FLOAT: .real(double(column))
    case SQLITE_TEXT: .text(string(column))
    case SQLITE_BLOB: .blob(data(column))
    default: .null
    }
  }
}
