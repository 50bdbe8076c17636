import CSQLite
package import Foundation

/// Where one value goes: a parameter of a statement, or a column of a row in memory.
package protocol SQLiteDestination {
  func setNull()
  func set(_ value: Int64)
  func set(_ value: Double)
  /// SQLite takes a copy.
  func setText(_ text: UnsafeBufferPointer<UInt8>)
  /// SQLite takes a copy.
  func setBytes(_ bytes: UnsafeRawBufferPointer)
}

extension SQLiteDestination {
  @inline(__always)
  package func set(_ text: String) {
    // Lent without a copy where the text lies in one piece, as it does here always.
    if text.utf8.withContiguousStorageIfAvailable({ setText($0) }) == nil {
      var text = text
      text.withUTF8 { setText($0) }
    }
  }

  @inline(__always)
  package func set(_ bytes: Data) { bytes.withUnsafeBytes { setBytes($0) } }

  /// The sixteen bytes.
  @inline(__always)
  package func set(_ value: UUID) { withUnsafeBytes(of: value.uuid) { setBytes($0) } }

  /// The bytes of a number, the lowest first.
  @inline(__always)
  package func setBytes(of number: UInt64) {
    withUnsafeBytes(of: number.littleEndian) { setBytes($0) }
  }

  /// A text's bytes, as bytes.
  package func setBytes(of text: String) {
    var text = text
    text.withUTF8 { setBytes(UnsafeRawBufferPointer($0)) }
  }
}

/// A parameter of a statement. Indexes start at 1.
package struct SQLiteParameter: SQLiteDestination {
  let statement: SQLiteStatement
  let index: Int32

  @inline(__always)
  package init(_ statement: SQLiteStatement, _ index: Int32) {
    self.statement = statement
    self.index = index
  }

  @inline(__always) package func setNull() { statement.bindNull(at: index) }
  @inline(__always) package func set(_ value: Int64) { statement.bind(value, at: index) }
  @inline(__always) package func set(_ value: Double) { statement.bind(value, at: index) }

  @inline(__always)
  package func setText(_ text: UnsafeBufferPointer<UInt8>) {
    statement.bind(text: text, at: index)
  }

  @inline(__always)
  package func setBytes(_ bytes: UnsafeRawBufferPointer) { statement.bind(bytes, at: index) }
}

/// The value that a function or a column of ``RowsInMemory`` gives.
package struct SQLiteResult: SQLiteDestination {
  let context: OpaquePointer

  @inline(__always)
  package init(_ context: OpaquePointer) { self.context = context }

  @inline(__always) package func setNull() { sqlite3_result_null(context) }
  @inline(__always) package func set(_ value: Int64) { sqlite3_result_int64(context, value) }
  @inline(__always) package func set(_ value: Double) { sqlite3_result_double(context, value) }

  /// With its length: a NUL inside a text does not end it.
  @inline(__always)
  package func setText(_ text: UnsafeBufferPointer<UInt8>) {
    text.withMemoryRebound(to: CChar.self) {
      sqlite3_result_text64(
        context, $0.baseAddress ?? SQLiteStatement.emptyText, sqlite3_uint64(text.count),
        driftless_sqlite_transient(), UInt8(SQLITE_UTF8))
    }
  }

  @inline(__always)
  package func setBytes(_ bytes: UnsafeRawBufferPointer) {
    if bytes.isEmpty {
      sqlite3_result_zeroblob(context, 0)
    } else {
      sqlite3_result_blob64(
        context, bytes.baseAddress, sqlite3_uint64(bytes.count), driftless_sqlite_transient())
    }
  }
}
