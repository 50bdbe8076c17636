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
}
