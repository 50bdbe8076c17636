import CSQLite

extension SQLiteConnection {
  /// The instructions of SQLite's machine that the statements took which the connection keeps: a measure of work that is the same
  /// on every host.
  package var statementWork: Int {
    var work = 0
    var statement = sqlite3_next_stmt(handle, nil)
    while let current = statement {
      work += Int(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_VM_STEP, 0))
      statement = sqlite3_next_stmt(handle, current)
    }
    return work
  }

  /// Pages that the connection has asked its cache for, whether they were there or came from the file: such a measure of what is read.
  package var pagesAsked: Int {
    [SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS].reduce(0) { sum, counter in
      var (count, most): (Int32, Int32) = (0, 0)
      sqlite3_db_status(handle, counter, &count, &most, 0)
      return sum + Int(count)
    }
  }
}
