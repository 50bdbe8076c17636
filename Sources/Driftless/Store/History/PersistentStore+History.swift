import DriftlessSQLite
public import Foundation

extension PersistentStore {
  /// The place after everything that the store has recorded.
  ///
  /// - Throws: ``StoreError`` where the history cannot be read.
  public func currentHistoryToken() throws -> PersistentHistoryToken {
    try read { transaction in
      let number = try transaction.maximumTransactionNumber()
      let time = try transaction.time(ofTransaction: number)
      let name = try transaction.transactionName(number)
      return PersistentHistoryToken(
        numbers: [identifier: number], times: time.map { [identifier: $0] } ?? [:],
        names: name > 0 ? [identifier: name] : [:])
    }
  }

  /// Answers a request, or purges the history when it says so.
  ///
  /// - Throws: `StoreError` with code `historyTokenExpired` when what came after the token cannot all be told: it was
  ///   purged, the token is of another store, or of a later state of a store that was put back.
  public func execute(_ request: PersistentHistoryChangeRequest) throws -> PersistentHistoryResult {
    var result = PersistentHistoryResult(request.resultType)
    if request.isDelete {
      let deleted = try deleteHistory(request)
      if request.resultType == .count { result.count = deleted } else { result.status = true }
      return result
    }
    let transactions = try fetchHistory(request)
    switch request.resultType {
    case .statusOnly: result.status = !transactions.isEmpty
    case .count:
      result.count =
        request.fetchRequest?.target == .change
        ? transactions.reduce(0) { $0 + ($1.changes?.count ?? 0) } : transactions.count
    case .transactionsOnly, .transactionsAndChanges: result.transactions = transactions
    case .changesOnly: result.changes = try Self.changes(of: transactions, request)
    case .objectIDs:
      var seen: Set<ObjectKey> = []
      result.objectIDs = try Self.changes(of: transactions, request).compactMap { change in
        seen.insert(change.changedObjectKey).inserted ? change.changedObjectID : nil
      }
    }
    return result
  }

  /// The transactions that a request asks for, oldest first.
  ///
  /// - Throws: As ``execute(_:)``.
  public func fetchHistory(
    _ request: PersistentHistoryChangeRequest
  ) throws -> [PersistentHistoryTransaction] {
    let transactions = try read { transaction in
      try HistoryReader(transaction: transaction, storeID: identifier).transactions(request)
    }
    guard let fetch = request.fetchRequest, fetch.target == .transaction else {
      return transactions
    }
    return try Self.cut(transactions, fetch)
  }

  private static func changes(
    of transactions: [PersistentHistoryTransaction], _ request: PersistentHistoryChangeRequest
  ) throws -> [PersistentHistoryChange] {
    let changes = transactions.flatMap { transaction in
      var bare = transaction
      bare.changes = nil
      return (transaction.changes ?? []).map { change in
        var change = change
        change.transaction = bare
        return change
      }
    }
    guard let fetch = request.fetchRequest, fetch.target == .change else { return changes }
    return try cut(changes, fetch)
  }

  /// Sorts, and takes the part that a fetch request means.
  static func cut<Item: PropertySource>(
    _ items: [Item], _ fetch: PersistentHistoryFetchRequest
  ) throws -> [Item] {
    var items = items
    if !fetch.sort.isEmpty {
      try items.sort { try fetch.sort.areInIncreasingOrder($0, $1) }
    }
    items = Array(items.dropFirst(max(0, fetch.offset)))
    return fetch.limit > 0 ? Array(items.prefix(fetch.limit)) : items
  }

  // MARK: Purging

  /// Deletes the transactions before a token's, but never one that a registered reader has not seen. A token of another
  /// store deletes none.
  ///
  /// - Returns: How many transactions were deleted.
  /// - Throws: `StoreError` with code `historyTokenExpired` when an older copy of the store was put back since.
  @discardableResult
  public func deleteHistory(before token: PersistentHistoryToken) throws -> Int {
    try deleteHistory(.deleteHistory(before: token))
  }

  /// Deletes the transactions before a date, but never one that a registered reader has not seen.
  ///
  /// - Throws: ``StoreError`` where the history cannot be read or written; nothing is deleted then.
  @discardableResult
  public func deleteHistory(before date: Date) throws -> Int {
    try deleteHistory(.deleteHistory(before: date))
  }

  private func deleteHistory(_ request: PersistentHistoryChangeRequest) throws -> Int {
    try write(TransactionInfo()) { transaction in
      let number: Int64
      switch request.start {
      case .token(let token):
        guard let token, let start = token.numbers[identifier], start > 0 else { return 0 }
        try HistoryReader(transaction: transaction, storeID: identifier)
          .checkCourse(of: token, start)
        number = start
      case .date(let date):
        guard
          let first = try TransactionTable.first(
            since: date, now: now, on: transaction.connection)
        else { return 0 }
        number = first
      }
      return try transaction.deleteHistory(before: number)
    }.0
  }

  // MARK: Readers

  /// Registers a reader of the history, or notes how far it has read: nothing after that is deleted.
  ///
  /// - Throws: `StoreError` with code `historyTokenExpired` when history after the token is gone already.
  public func registerHistoryReader(_ name: String, at token: PersistentHistoryToken) throws {
    _ = try write(TransactionInfo()) { transaction in
      let number = try HistoryReader(transaction: transaction, storeID: identifier)
        .number(of: token)
      try transaction.registerHistoryReader(name, through: number)
    }
  }

  /// Lets purges pass what the reader has not read. A name that nobody registered is no error.
  ///
  /// - Throws: ``StoreError`` where the store cannot be written.
  public func unregisterHistoryReader(_ name: String) throws {
    _ = try write(TransactionInfo()) { transaction in
      try RegisteredReaders.remove(name, on: transaction.connection)
    }
  }

  /// Who reads the history; the sync engine is one.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read.
  public func historyReaders() throws -> [PersistentHistoryReader] {
    try read { try RegisteredReaders.all(on: $0.connection) }
  }
}

extension ReadTransaction {
  /// Whether the history has all that came after a transaction.
  func tellsHistory(after number: Int64) throws -> Bool {
    guard case .integer(let floor)? = try setting(StoreSettings.historyFloor) else { return true }
    return number >= floor
  }
}

extension WriteTransaction {
  package func registerHistoryReader(_ name: String, through number: Int64) throws {
    try RegisteredReaders.register(name, through: number, on: connection)
  }

  package func removeHistoryReader(_ name: String) throws {
    try RegisteredReaders.remove(name, on: connection)
  }

  /// Deletes the transactions before a number that every reader has seen. Returns how many.
  fileprivate func deleteHistory(before number: Int64) throws -> Int {
    var bound = number
    if let least = try RegisteredReaders.least(on: connection) {
      bound = min(bound, least == .max ? .max : least + 1)
    }
    if let last = try TransactionNotes.lastChange(before: bound, on: connection) {
      try ChangeTable.drop(through: last, on: connection)
    }
    try TransactionNotes.drop(before: bound, on: connection)
    try foldDeltas(before: bound)
    let deleted = try TransactionTable.drop(before: bound, on: connection)
    var floor = bound - 1
    if case .integer(let former)? = try setting(StoreSettings.historyFloor) {
      floor = max(floor, former)
    }
    try setSetting(StoreSettings.historyFloor, .integer(floor))
    return deleted
  }
}
