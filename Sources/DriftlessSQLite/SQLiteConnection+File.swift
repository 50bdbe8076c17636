import CSQLite

extension SQLiteConnection {
  /// Leaves the log beside the file when this connection is the last to close. SQLite copies it into the file otherwise.
  package func keepLogOnClose() { _ = driftless_sqlite_keep_log(handle) }

  /// Whether somebody changes the file this moment, of this process or another.
  package var isReserved: Bool {
    var isReserved: Int32 = 0
    return driftless_sqlite_is_reserved(handle, &isReserved) == SQLITE_OK && isReserved != 0
  }

  /// Whether all of the write-ahead log is in the file: the next transaction may begin the log anew. Asked within a
  /// transaction that writes; nil where there is no log.
  package var isLogInFile: Bool? {
    var (all, inFile) = (UInt32(0), UInt32(0))
    guard driftless_sqlite_log_frames(handle, &all, &inFile) == SQLITE_OK else { return nil }
    return inFile >= all
  }

  /// Whether the file that is open is no more the one of its name: it was moved away, or another has its place.
  package var isMoved: Bool {
    var isMoved: Int32 = 0
    return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &isMoved) == SQLITE_OK
      && isMoved != 0
  }

  /// Bytes of the file as they lie there, whatever the logs beside it say.
  ///
  /// - Throws: `SQLiteError`, also where the file has not as many.
  package func bytesOfFile(_ count: Int, at offset: Int64 = 0) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let code = bytes.withUnsafeMutableBytes {
      driftless_sqlite_read_file(handle, $0.baseAddress, Int32($0.count), offset)
    }
    guard code == SQLITE_OK else {
      throw SQLiteError(code: code, message: String(cString: sqlite3_errstr(code)))
    }
    return bytes
  }
}
