import CSQLite

/// Transactions of a connection: each is begun and ended here, so that none is left open, and nothing is committed that was
/// to be taken back.
///
/// Nobody else says `BEGIN`, `COMMIT`, `ROLLBACK` or `SAVEPOINT`. The statements are prepared once a connection: a read of one
/// object is a transaction too.
extension SQLiteConnection {
  /// How a transaction begins.
  package enum TransactionStart: String {
    /// As the first statement asks for it.
    case deferred = "BEGIN"
    /// No other connection writes from now on.
    case immediate = "BEGIN IMMEDIATE"
    /// No other connection reads or writes from now on.
    case exclusive = "BEGIN EXCLUSIVE"
  }

  /// Runs `body` in one transaction. When it throws, nothing was done.
  ///
  /// - Throws: What `body` throws, and `SQLiteError` where the transaction cannot be begun or committed.
  package func transaction<T>(_ start: TransactionStart, _ body: () throws -> T) throws -> T {
    try begin(start)
    do {
      let result = try body()
      try checkIsInTransaction()
      try say("COMMIT")
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Where it is to be known who waits for another writer (``whileWaiting``), it is tried without waiting first.
  private func begin(_ start: TransactionStart) throws {
    guard let whileWaiting, start == .immediate, busyTimeoutMilliseconds > 0 else {
      return try say(start.rawValue)
    }
    do {
      let patience = busyTimeoutMilliseconds
      busyTimeoutMilliseconds = 0
      defer { busyTimeoutMilliseconds = patience }
      return try say(start.rawValue)
    } catch let error as SQLiteError where error.isBusy {}
    try whileWaiting { try say(start.rawValue) }
  }

  /// Runs `body` as a part of the open transaction that can be taken back by itself: when it throws, what it did is undone,
  /// and the rest of the transaction stands. Parts may have parts.
  ///
  /// - Throws: What `body` throws. `SQLiteError` where no transaction is open: SQLite ends one by itself when the disk is
  ///   full, and what was written after that would be committed a statement at a time.
  package func savepoint<T>(_ body: () throws -> T) throws -> T {
    try checkIsInTransaction()
    try say("SAVEPOINT part")
    do {
      let result = try body()
      try checkIsInTransaction()
      try say("RELEASE part")
      return result
    } catch {
      takeBackPart()
      throw error
    }
  }

  /// Runs `body` in the open transaction to see what it gives, and takes back what it did.
  ///
  /// - Throws: As ``savepoint(_:)``.
  package func probing<T>(_ body: () throws -> T) throws -> T {
    try checkIsInTransaction()
    try say("SAVEPOINT part")
    let outcome = Result { try body() }
    takeBackPart()
    let result = try outcome.get()
    try checkIsInTransaction()
    return result
  }

  /// Runs `body` on one state of the database, as of its first look; inside of a transaction it is part of that.
  package func reading<T>(_ body: () throws -> T) throws -> T {
    if isInTransaction { return try body() }
    let begin = try beginStatement ?? prepare(TransactionStart.deferred.rawValue)
    beginStatement = begin
    try begin.run()
    defer { endReading() }
    return try body()
  }

  /// The number that SQLite counts with each change of the file's tables. Within a transaction it is that of the state that the
  /// transaction has from here on.
  package func schemaNumber() throws -> Int64 {
    let statement = try schemaStatement ?? prepare("PRAGMA main.schema_version")
    schemaStatement = statement
    guard try statement.step() else { return 0 }
    defer { statement.reset() }
    return statement.int64(0)
  }

  /// Runs `body` on the state that the database has now, while others go on writing. No transaction may be open.
  package func withSnapshot<T>(_ body: () throws -> T) throws -> T {
    try holdState()
    defer { endReading() }
    return try body()
  }

  /// Has all that is read from now on be of the state that the database has now, until the connection is closed.
  package func holdState() throws {
    try say(TransactionStart.deferred.rawValue)
    do {
      // A transaction has no state before it reads something.
      _ = try scalar("SELECT COUNT(*) FROM sqlite_master")
    } catch {
      rollBack()
      throw error
    }
  }

  func letGoOfState() { rollBack() }

  /// A statement that begins or ends something, which gives no rows.
  private func say(_ sql: String) throws { try prepare(sql).run() }

  /// Some failures (a full disk) have SQLite end the transaction: what comes after them is none.
  private func checkIsInTransaction() throws {
    guard isInTransaction else {
      throw SQLiteError(
        code: SQLITE_ABORT,
        message: "the transaction was taken back when one of its statements failed")
    }
  }

  /// Where that fails the transaction as a whole is ended: what was to be taken back must not be committed with the rest.
  private func takeBackPart() {
    guard isInTransaction else { return }
    do {
      try say("ROLLBACK TO part")
      try say("RELEASE part")
    } catch {
      rollBack()
    }
  }

  private func rollBack() {
    if isInTransaction { try? say("ROLLBACK") }
  }

  /// In a transaction that only reads, what is read from now on is of the state that the database has now.
  ///
  /// - Throws: `SQLiteError`; no transaction is open then.
  package func renewState() throws {
    guard sqlite3_txn_state(handle, "main") == SQLITE_TXN_READ else { return }
    endReading()
    try holdState()
  }

  /// Commits, for a reader may have made tables of its own. A connection that stayed in the transaction would give its next
  /// reader the state of this one.
  private func endReading() {
    guard isInTransaction else { return }
    do {
      let commit = try commitStatement ?? prepare("COMMIT")
      commitStatement = commit
      try commit.run()
    } catch {
      rollBack()
    }
  }
}
