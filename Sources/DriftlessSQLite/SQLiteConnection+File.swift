import CSQLite

#if canImport(Glibc)
  import Glibc
#endif

extension SQLiteConnection {
  /// Leaves the log beside the file when this connection is the last to close. SQLite copies it into the file otherwise.
  package func keepLogOnClose() { _ = driftless_sqlite_keep_log(handle) }

  /// Whether somebody changes the file this moment, of this process or another.
  package var isReserved: Bool {
    var isReserved: Int32 = 0
    return driftless_sqlite_is_reserved(handle, &isReserved) == SQLITE_OK && isReserved != 0
  }

  /// Whether nobody else has the file open, of this process or another.
  ///
  /// - Throws: `SQLiteError` where the file cannot be read or locked.
  package func isAlone() throws -> Bool {
    try withSnapshot {
      var isAlone: Int32 = 0
      let code = driftless_sqlite_is_alone(handle, &isAlone)
      guard code == SQLITE_OK else {
        throw SQLiteError(code: code, message: String(cString: sqlite3_errstr(code)))
      }
      return isAlone != 0
    }
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

  /// What tells the write-ahead log that is open from the one before it: numbers that SQLite draws when it begins one. Nil where
  /// none is begun.
  package var saltsOfLog: UInt64? {
    var salts: UInt64 = 0
    let code = withUnsafeMutableBytes(of: &salts) {
      driftless_sqlite_read_log(handle, $0.baseAddress, 8, 16)
    }
    return code == SQLITE_OK ? salts : nil
  }

  /// How a database begins.
  package static let magic = Array("SQLite format 3\0".utf8)

  /// Whether a file begins as a database does, whoever has it open; nil where it cannot be read.
  package static func isDatabase(at path: String) -> Bool? {
    head(ofFileAt: path, bytesMax: magic.count).map { $0 == magic }
  }

  /// The first bytes of a plain file, whatever it is, as many as it has up to a number. Nil where it cannot be read.
  ///
  /// SQLite reads them. The locks of a database belong to the process: whoever closes a descriptor of a file that is open in this
  /// process as a database lets go of all of SQLite's locks on it, and two write at once. SQLite alone knows when it may close one.
  package static func head(ofFileAt path: String, bytesMax: Int) -> [UInt8]? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      let connection = try? SQLiteConnection(path: path, mode: .immutable)
    else { return nil }
    defer { connection.close() }
    let count = min(bytesMax, Int(status.st_size))
    return count > 0 ? try? connection.bytesOfFile(count) : []
  }
}
