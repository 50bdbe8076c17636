import DriftlessSQLite
import Foundation

/// Reads transactions as the public API gives them.
struct HistoryReader {
  let transaction: ReadTransaction
  let storeID: String

  func transactions(
    _ request: PersistentHistoryChangeRequest
  ) throws -> [PersistentHistoryTransaction] {
    let rows = try rows(for: request)
    let reader = ChangeTable.Reader(transaction: transaction, storeID: storeID)
    var transactions: [PersistentHistoryTransaction] = []
    let wantsChanges = request.fetchRequest?.target == .change
    while let row = try rows.next() {
      var found = PersistentHistoryTransaction(row, storeID: storeID)
      if request.includesChanges || request.entityName != nil || wantsChanges {
        let range = try row.changes.map { noted in
          guard noted.first <= noted.last else { throw Self.damaged(row.number) }
          return noted.first...noted.last
        }
        var changes = try reader.changes(of: row.number, range: range, kind: row.kind)
        if let name = request.entityName { changes.removeAll { $0.entityName != name } }
        if let predicate = request.fetchRequest?.predicate, wantsChanges {
          changes = try changes.filter { change in
            var change = change
            change.transaction = found
            return try predicate.matches(change)
          }
        }
        if changes.isEmpty, wantsChanges || request.entityName != nil { continue }
        found.changes = changes
      }
      if !wantsChanges, let predicate = request.fetchRequest?.predicate,
        try !predicate.matches(found)
      {
        continue
      }
      if !request.includesChanges { found.changes = nil }
      transactions.append(found)
      if request.fetchLimit > 0, transactions.count == request.fetchLimit { break }
    }
    return transactions
  }

  private func rows(
    for request: PersistentHistoryChangeRequest
  ) throws -> TransactionTable.Rows {
    let connection = transaction.connection
    return switch request.start {
    case .token(let token):
      try TransactionTable.Rows(
        after: number(of: token), since: nil, author: request.author, on: connection)
    case .date(let date):
      try TransactionTable.Rows(
        after: nil, since: date, author: request.author, on: connection)
    }
  }

  /// The number of a token's transaction in this store.
  ///
  /// - Throws: `StoreError` with code `historyTokenExpired` when what came after it cannot all be told.
  func number(of token: PersistentHistoryToken?) throws -> Int64 {
    guard let token, !token.numbers.isEmpty else { return 0 }
    guard let number = token.numbers[storeID] else {
      throw Self.expired("The history token is of another store")
    }
    if try !transaction.tellsHistory(after: number) {
      throw Self.expired("The history after the token was purged")
    }
    try checkCourse(of: token, number)
    return number
  }

  /// Throws when the store never was where the token says: it is an older copy that was put back, whatever was saved
  /// in it since.
  func checkCourse(of token: PersistentHistoryToken, _ number: Int64) throws {
    guard number <= (try transaction.maximumTransactionNumber()) else {
      throw Self.expired(
        "The history token is newer than the store, which is an older copy put back")
    }
    if let name = token.names[storeID] {
      // A transaction that is purged tells nothing.
      guard try transaction.time(ofTransaction: number) != nil,
        try transaction.transactionName(number) != name
      else { return }
      throw Self.anotherCourse
    }
    if let time = token.times[storeID], let own = try transaction.time(ofTransaction: number),
      own != time
    {
      throw Self.anotherCourse
    }
  }

  private static let anotherCourse = expired(
    "The history token is of what the store was before an older copy was put back")

  private static func expired(_ reason: String) -> StoreError {
    StoreError(
      .historyTokenExpired, "\(reason).",
      suggestion: "Read everything again, and go on from the store's current token.")
  }

  static func neverGivenOut(_ number: Int64) -> StoreError {
    StoreError(
      .damaged, "The history has transaction \(number), and no store has given out this number.",
      suggestion: "Check the store, and restore its file from a copy.")
  }

  static func damaged(_ number: Int64) -> StoreError {
    StoreError(
      .damaged,
      "The history says of transaction \(number) that its last change came before its first.",
      suggestion: "Check the store, and restore its file from a copy.")
  }
}

extension PersistentHistoryTransaction {
  fileprivate init(_ row: TransactionTable.Row, storeID: String) {
    self.init(
      transactionNumber: row.number, storeID: storeID, timestamp: row.time,
      hybridTime: row.hybridTime, name: row.name, author: row.author,
      contextName: row.contextName, bundleID: row.bundleID, processID: row.processID,
      isImported: row.kind == .imported)
  }
}
