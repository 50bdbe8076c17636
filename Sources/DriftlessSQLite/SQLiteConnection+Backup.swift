import CSQLite

extension SQLiteConnection {
  /// Copies the database over that of another connection. Inside a snapshot it does not start over when others commit.
  ///
  /// - Parameters:
  ///   - destination: Its content is replaced in one transaction of its own.
  ///   - progress: Called with the part that is done, 0 … 1, every `pages` pages; it ends the copying by throwing.
  package func backUp(
    to destination: SQLiteConnection, pages: Int32 = 1024, progress: (Double) throws -> Void
  ) throws {
    guard let backup = sqlite3_backup_init(destination.handle, "main", handle, "main") else {
      throw destination.lastError
    }
    var code = SQLITE_OK
    do {
      repeat {
        code = sqlite3_backup_step(backup, pages)
        let (total, left) = (sqlite3_backup_pagecount(backup), sqlite3_backup_remaining(backup))
        if code == SQLITE_OK, total > 0 { try progress(1 - Double(left) / Double(total)) }
      } while code == SQLITE_OK
    } catch {
      sqlite3_backup_finish(backup)
      throw error
    }
    let finished = sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE, finished == SQLITE_OK else {
      throw SQLiteError(
        code: finished == SQLITE_OK ? code : finished,
        message: "The copy failed: \(String(cString: sqlite3_errstr(code)))")
    }
    try progress(1)
  }

  /// Runs `body` without triggers: what it writes is the same as before in another form.
  package func withoutTriggers<T>(_ body: () throws -> T) throws -> T {
    guard driftless_sqlite_enable_triggers(handle, 0) == SQLITE_OK else { throw lastError }
    defer { _ = driftless_sqlite_enable_triggers(handle, 1) }
    return try body()
  }

  /// Makes the file an empty database, under the locks that other processes honour.
  package func emptyDatabase() throws {
    // A damaged file says none, and nobody has it open who could know one.
    let number = (try? schemaNumber()) ?? Int64.random(in: 1..<1 << 30)
    try resettingDatabase { try execute("VACUUM") }
    // The number would begin anew, and come to where it was as the next tables are made: who has the file open would take those
    // for the ones that it knows.
    try execute("PRAGMA main.schema_version = \((number + 1) & 0x7fff_ffff)")
  }

  private func resettingDatabase(_ body: () throws -> Void) throws {
    guard driftless_sqlite_reset_database(handle, 1) == SQLITE_OK else { throw lastError }
    defer { _ = driftless_sqlite_reset_database(handle, 0) }
    try body()
  }

  private var lastError: SQLiteError {
    SQLiteError(
      code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
  }
}
