import DriftlessSQLite
public import Foundation

extension PersistentStore {
  /// The place after everything that the store has recorded.
  public func currentHistoryToken() throws -> PersistentHistoryToken {
    PersistentHistoryToken(
      numbers: [identifier: try read { try $0.maximumTransactionNumber() }])
  }

  /// The transactions that a request asks for, oldest first.
  ///
  /// - Throws: `StoreError` with code `historyTokenExpired` when history after the token was deleted, or when the token
  ///   is of another store.
  public func fetchHistory(
    _ request: PersistentHistoryChangeRequest
  ) throws -> [PersistentHistoryTransaction] {
    try read { transaction in
      try HistoryReader(transaction: transaction, storeID: identifier).transactions(request)
    }
  }

  /// Deletes the transactions before a token's, but never one that a registered reader has not seen.
  ///
  /// - Returns: How many transactions were deleted.
  @discardableResult
  public func deleteHistory(before token: PersistentHistoryToken) throws -> Int {
    guard let number = token.numbers[identifier] else { return 0 }
    return try deleteHistory(before: number)
  }

  @discardableResult
  public func deleteHistory(before date: Date) throws -> Int {
    let number = try read { transaction in
      try transaction.connection.scalar(
        "SELECT COALESCE(MAX(Z_PK), 0) + 1 FROM ATRANSACTION WHERE ZTIMESTAMP < ?",
        .real(date.timeIntervalSinceReferenceDate))
    }
    guard case .integer(let number)? = number else { return 0 }
    return try deleteHistory(before: number)
  }

  private func deleteHistory(before number: Int64) throws -> Int {
    try write(TransactionInfo()) { transaction in
      let connection = transaction.connection
      var bound = number
      if case .integer(let least)? = try connection.scalar(
        "SELECT MIN(number) FROM ZDL_HISTORY_READER")
      {
        bound = min(bound, least + 1)
      }
      if case .integer(let last)? = try connection.scalar(
        "SELECT last_change FROM ZDL_TRANSACTION WHERE number < ? ORDER BY number DESC LIMIT 1",
        .integer(bound))
      {
        try connection.run("DELETE FROM ACHANGE WHERE Z_PK <= ?", .integer(last))
      }
      // The newest stays: the hybrid clock goes on from it.
      try connection.run(
        """
        DELETE FROM ZDL_TRANSACTION WHERE number < ?
        AND number < (SELECT MAX(number) FROM ZDL_TRANSACTION)
        """, .integer(bound))
      try connection.run("DELETE FROM ATRANSACTION WHERE Z_PK < ?", .integer(bound))
      let deleted = connection.changes
      try transaction.setSetting("historyFloor", .integer(bound - 1))
      return deleted
    }.0
  }

  /// Registers a reader of the history, or notes how far it has read: nothing after that is deleted.
  public func registerHistoryReader(_ name: String, at token: PersistentHistoryToken) throws {
    let number = token.numbers[identifier] ?? 0
    _ = try write(TransactionInfo()) { transaction in
      try transaction.registerHistoryReader(name, through: number)
    }
  }

  public func unregisterHistoryReader(_ name: String) throws {
    _ = try write(TransactionInfo()) { transaction in
      try transaction.connection.run(
        "DELETE FROM ZDL_HISTORY_READER WHERE name = ?", .text(name))
    }
  }
}

extension WriteTransaction {
  package func registerHistoryReader(_ name: String, through number: Int64) throws {
    try connection.run(
      "INSERT OR REPLACE INTO ZDL_HISTORY_READER VALUES (?, ?)", .text(name), .integer(number))
  }
}

/// Reads transactions as the public API gives them.
struct HistoryReader {
  let transaction: ReadTransaction
  let storeID: String

  func transactions(
    _ request: PersistentHistoryChangeRequest
  ) throws -> [PersistentHistoryTransaction] {
    var conditions = ["1"]
    var values: [SQLiteValue] = []
    switch request.start {
    case .number(let number):
      conditions.append("t.Z_PK > ?")
      values.append(.integer(number))
    case .token(let token):
      conditions.append("t.Z_PK > ?")
      values.append(.integer(try number(of: token)))
    case .date(let date):
      conditions.append("t.ZTIMESTAMP > ?")
      values.append(.real(date.timeIntervalSinceReferenceDate))
    }
    if let author = request.author {
      conditions.append("COALESCE(a.ZNAME, t.ZAUTHOR) = ?")
      values.append(.text(author))
    }
    let statement = try transaction.connection.prepareUncached(
      """
      SELECT t.Z_PK, t.ZTIMESTAMP, COALESCE(a.ZNAME, t.ZAUTHOR), COALESCE(c.ZNAME, t.ZCONTEXTNAME),
      COALESCE(p.ZNAME, t.ZPROCESSID), z.hybrid_time, z.kind, z.first_change, z.last_change
      FROM ATRANSACTION t LEFT JOIN ATRANSACTIONSTRING a ON a.Z_PK = t.ZAUTHORTS
      LEFT JOIN ATRANSACTIONSTRING c ON c.Z_PK = t.ZCONTEXTNAMETS
      LEFT JOIN ATRANSACTIONSTRING p ON p.Z_PK = t.ZPROCESSIDTS
      LEFT JOIN ZDL_TRANSACTION z ON z.number = t.Z_PK
      WHERE \(conditions.joined(separator: " AND ")) ORDER BY t.Z_PK
      """)
    statement.bind(values)
    var transactions: [PersistentHistoryTransaction] = []
    while try statement.step() {
      func text(_ column: Int32) -> String? {
        statement.isNull(column) ? nil : statement.string(column)
      }
      var changes: [PersistentHistoryChange]?
      if request.includesChanges || request.entityName != nil {
        let all = try self.changes(
          of: statement.int64(0),
          range: statement.isNull(7) ? nil : statement.int64(7)...statement.int64(8))
        changes = all.filter { request.entityName == nil || $0.entityName == request.entityName }
        if request.entityName != nil, changes?.isEmpty == true { continue }
      }
      transactions.append(
        PersistentHistoryTransaction(
          transactionNumber: statement.int64(0), storeID: storeID,
          timestamp: Date(timeIntervalSinceReferenceDate: statement.double(1)),
          hybridTime: HybridTime(rawValue: UInt64(bitPattern: statement.int64(5))),
          author: text(2), contextName: text(3), processID: text(4),
          isImported: statement.int64(6) == TransactionKind.imported.rawValue,
          changes: request.includesChanges ? changes : nil))
      if request.fetchLimit > 0, transactions.count == request.fetchLimit { break }
    }
    return transactions
  }

  private func number(of token: PersistentHistoryToken?) throws -> Int64 {
    guard let token, !token.numbers.isEmpty else { return 0 }
    guard let number = token.numbers[storeID] else {
      throw StoreError(
        .historyTokenExpired, "The history token is of another store.",
        suggestion: "Read everything again, and take the store's current token.")
    }
    if case .integer(let floor)? = try transaction.setting("historyFloor"), number < floor {
      throw StoreError(
        .historyTokenExpired, "The history after the token was deleted.",
        suggestion: "Read everything again, and take the store's current token.")
    }
    return number
  }

  private func changes(
    of number: Int64, range: ClosedRange<Int64>?
  ) throws -> [PersistentHistoryChange] {
    let statement = try transaction.connection.prepareUncached(
      "SELECT * FROM ACHANGE WHERE "
        + (range == nil ? "ZTRANSACTIONID = ?" : "Z_PK BETWEEN ? AND ?") + " ORDER BY Z_PK")
    if let range {
      statement.bind(range.lowerBound, at: 1)
      statement.bind(range.upperBound, at: 2)
    } else {
      statement.bind(number, at: 1)
    }
    var changes: [PersistentHistoryChange] = []
    let columns = Dictionary(
      (0..<Int32(statement.columnCount)).map { (statement.columnName($0), $0) }
    ) { first, _ in first }
    func column(_ name: String) -> Int32 { columns[name] ?? 0 }
    while try statement.step() {
      let entity = Int32(truncatingIfNeeded: statement.int64(column("ZENTITY")))
      let type = ChangeType(rawValue: Int(statement.int64(column("ZCHANGETYPE")))) ?? .update
      let program = transaction.schema.program(numbered: entity)
      let layout = transaction.schema.entity(numbered: entity)?.layout
      var updated: Set<String>?
      if type == .update, let program, let layout {
        let mask = statement.withBytes(column("ZCOLUMNS")) { program.mask(ofColumns: $0) }
        updated = Set(mask.indexes.map { layout.slots[$0].name })
      }
      var tombstone: [String: PropertyValue]?
      if type == .delete, let program, let layout, !program.tombstoneSlots.isEmpty {
        tombstone = [:]
        for (index, slot) in program.tombstoneSlots.enumerated() {
          guard let place = columns["ZTOMBSTONE\(index)"] else { continue }
          tombstone?[layout.slots[slot].name] = program.value(
            ofSlot: slot, in: statement, at: place)
        }
      }
      changes.append(
        PersistentHistoryChange(
          changeID: statement.int64(column("Z_PK")), changeType: type,
          entityName: layout?.entity.name ?? "",
          changedObjectKey: ObjectKey(entity: entity, key: statement.int64(column("ZENTITYPK"))),
          updatedProperties: updated, tombstone: tombstone))
    }
    return changes
  }
}
