import CSQLite
package import Foundation

extension SQLiteConnection {
  /// The bytes of a blob behind others, read where they are to lie. A column of a statement is put together by SQLite first, which
  /// takes as much memory once more, and a copy: of what has megabytes that is most of the work.
  ///
  /// - Parameters:
  ///   - column: A column without an index, of a table with row IDs.
  ///   - row: The row ID.
  ///   - head: What stands before the blob.
  /// - Returns: Nil where the row is not there, or its value is no blob.
  /// - Throws: `SQLiteError` where the bytes cannot be read.
  package func blob(
    _ column: String, of table: String, row: Int64, after head: Data
  ) throws -> Data? {
    var opened: OpaquePointer?
    let code = sqlite3_blob_open(handle, "main", table, column, row, 0, &opened)
    guard code == SQLITE_OK, let blob = opened else {
      sqlite3_blob_close(opened)
      guard code & 0xff == SQLITE_ERROR else { throw failure("\(table).\(column)") }
      return nil
    }
    defer { sqlite3_blob_close(blob) }
    let count = Int(sqlite3_blob_bytes(blob))
    var bytes = Data(count: head.count + count)
    let read = bytes.withUnsafeMutableBytes { bytes in
      bytes.copyBytes(from: head)
      return sqlite3_blob_read(blob, bytes.baseAddress?.advanced(by: head.count), Int32(count), 0)
    }
    guard read == SQLITE_OK else { throw failure("\(table).\(column)") }
    return bytes
  }
}
