import DriftlessSQLite
import Foundation

/// Reads transactions as the public API gives them.
struct HistoryReader {
  let transaction: ReadTransaction
  let storeID: String

  func transactions(
    _ request: PersistentHistoryChangeRequest
  ) throws -> [PersistentHistoryTransaction] {
    let statement = try statement(for: request)
    var transactions: [PersistentHistoryTransaction] = []
    let wantsChanges = request.fetchRequest?.target == .change
    while try statement.step() {
      var found = read(statement)
      if request.includesChanges || request.entityName != nil || wantsChanges {
        let (first, last) = (statement.int64(8), statement.int64(9))
        guard first <= last else { throw Self.damaged(found.transactionNumber) }
        var changes = try self.changes(
          of: found.transactionNumber, range: statement.isNull(8) ? nil : first...last,
          kind: TransactionKind(rawValue: statement.int64(7)) ?? .local)
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

  private func statement(
    for request: PersistentHistoryChangeRequest
  ) throws -> SQLiteStatement {
    var conditions = ["1"]
    var values: [SQLiteValue] = []
    switch request.start {
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
    // A join of Core Data's row of a transaction with what is noted of it (``TransactionNotes``): one pass over both.
    let statement = try transaction.connection.prepareUncached(
      """
      SELECT t.Z_PK, t.ZTIMESTAMP, COALESCE(a.ZNAME, t.ZAUTHOR), COALESCE(c.ZNAME, t.ZCONTEXTNAME),
      COALESCE(p.ZNAME, t.ZPROCESSID), COALESCE(b.ZNAME, t.ZBUNDLEID), z.hybrid_time, z.kind,
      z.first_change, z.last_change, z.name
      FROM ATRANSACTION t LEFT JOIN ATRANSACTIONSTRING a ON a.Z_PK = t.ZAUTHORTS
      LEFT JOIN ATRANSACTIONSTRING c ON c.Z_PK = t.ZCONTEXTNAMETS
      LEFT JOIN ATRANSACTIONSTRING p ON p.Z_PK = t.ZPROCESSIDTS
      LEFT JOIN ATRANSACTIONSTRING b ON b.Z_PK = t.ZBUNDLEIDTS
      LEFT JOIN ZDL_TRANSACTION z ON z.number = t.Z_PK
      WHERE \(conditions.joined(separator: " AND ")) ORDER BY t.Z_PK
      """)
    statement.bind(values)
    return statement
  }

  private func read(_ statement: SQLiteStatement) -> PersistentHistoryTransaction {
    func text(_ column: Int32) -> String? {
      statement.isNull(column) ? nil : statement.string(column)
    }
    return PersistentHistoryTransaction(
      transactionNumber: statement.int64(0), storeID: storeID,
      timestamp: Date(timeIntervalSinceReferenceDate: statement.double(1)),
      hybridTime: HybridTime(rawValue: statement.unsigned(6)),
      name: statement.unsigned(10),
      author: text(2), contextName: text(3), bundleID: text(5), processID: text(4),
      isImported: statement.int64(7) == TransactionKind.imported.rawValue)
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

  private func changes(
    of number: Int64, range: ClosedRange<Int64>?, kind: TransactionKind
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
    let columns = Dictionary(
      (0..<Int32(statement.columnCount)).map { (statement.columnName($0), $0) }
    ) { first, _ in first }
    var changes: [PersistentHistoryChange] = []
    while try statement.step() { changes.append(change(statement, columns, kind)) }
    return changes
  }

  private func change(
    _ statement: SQLiteStatement, _ columns: [String: Int32], _ kind: TransactionKind
  ) -> PersistentHistoryChange {
    func column(_ name: String) -> Int32 { columns[name] ?? 0 }
    let number = statement.entityNumber(column("ZENTITY"))
    let type = ChangeType(rawValue: statement.count(column("ZCHANGETYPE"))) ?? .update
    let entity = transaction.schema.entity(numbered: number)
    var updated: Set<String>?
    var tombstone: [String: PropertyValue]?
    if let program = transaction.schema.program(numbered: number), let layout = entity?.layout {
      if type == .update {
        let mask =
          kind == .adopted
          ? program.storedSlots
          : statement.withBytes(column("ZCOLUMNS")) { program.mask(ofColumns: $0) }
        updated = Set(mask.indexes.map { layout.slots[$0].name })
      } else if type == .delete, !program.tombstoneSlots.isEmpty {
        tombstone = [:]
        for (index, slot) in program.tombstoneSlots.enumerated() {
          guard let place = columns["ZTOMBSTONE\(index)"] else { continue }
          tombstone?[layout.slots[slot].name] = program.value(
            ofSlot: slot, in: statement, at: place)
        }
      }
    }
    return PersistentHistoryChange(
      changeID: statement.int64(column("Z_PK")), changeType: type, changedEntity: entity,
      changedObjectKey: ObjectKey(entity: number, key: statement.int64(column("ZENTITYPK"))),
      updatedProperties: updated, tombstone: tombstone, storeID: storeID)
  }
}
