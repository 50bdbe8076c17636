import DriftlessSQLite

/// A transaction's header, as the change feed meets it.
package struct HistoryHeader: Hashable, Sendable {
  package let number: Int64
  package let kind: TransactionKind
  package let hybridTime: HybridTime
  /// 0 for an import without one.
  package let name: UInt64
}

extension ReadTransaction {
  /// Whether the history has all that came after a transaction.
  func tellsHistory(after number: Int64) throws -> Bool {
    guard case .integer(let floor)? = try setting(StoreSettings.historyFloor) else { return true }
    return number >= floor
  }

  /// Calls `body` with each change after a transaction, oldest first: its transaction, what it did, to which object, and
  /// for an update the slots.
  ///
  /// - Parameter kind: transactions of this kind are passed over, and their changes not read.
  package func forEachChange(
    after number: Int64, through last: Int64 = .max, passingOver kind: TransactionKind? = nil,
    _ body: (HistoryHeader, ChangeType, ObjectKey, PropertyMask?) throws -> Void
  ) throws {
    try forEachNumberedChange(after: number, through: last, passingOver: kind) {
      header, _, type, key, mask in
      try body(header, type, key, mask)
    }
  }

  /// As `forEachChange`, with the number of each change.
  package func forEachNumberedChange(
    after number: Int64 = 0, through last: Int64 = .max, passingOver kind: TransactionKind? = nil,
    _ body: (HistoryHeader, Int64, ChangeType, ObjectKey, PropertyMask?) throws -> Void
  ) throws {
    let headers = try TransactionNotes.Headers(
      after: number, through: last, passingOver: kind, on: connection)
    let changes = try connection.prepareUncached(
      """
      SELECT ZCHANGETYPE, ZENTITY, ZENTITYPK, ZCOLUMNS, Z_PK FROM ACHANGE
      WHERE Z_PK BETWEEN ? AND ? ORDER BY Z_PK
      """)
    let newest = try maximumTransactionNumber()
    var program: RowProgram?
    while let (header, firstChange, lastChange) = try headers.next() {
      // Whoever acknowledges what there is would never come to the end of it.
      guard header.number <= newest else { throw HistoryReader.neverGivenOut(header.number) }
      guard firstChange <= lastChange else { throw HistoryReader.damaged(header.number) }
      changes.bind(firstChange, at: 1)
      changes.bind(lastChange, at: 2)
      while try changes.step() {
        let entity = changes.entityNumber(1)
        let type = ChangeType(rawValue: changes.count(0)) ?? .update
        var mask: PropertyMask?
        if type == .update {
          if program?.number != entity { program = schema.program(numbered: entity) }
          mask =
            header.kind == .adopted
            ? program?.storedSlots : changes.withBytes(3) { program?.mask(ofColumns: $0) }
        }
        try body(
          header, changes.int64(4), type, changes.objectKey(1, 2), mask)
      }
    }
  }

  /// Author and context name of a transaction.
  package func origin(ofTransaction number: Int64) throws -> (author: String?, contextName: String?)
  {
    let statement = try connection.prepare(
      """
      SELECT a.ZNAME, c.ZNAME FROM ATRANSACTION t
      LEFT JOIN ATRANSACTIONSTRING a ON a.Z_PK = t.ZAUTHORTS
      LEFT JOIN ATRANSACTIONSTRING c ON c.Z_PK = t.ZCONTEXTNAMETS WHERE t.Z_PK = ?
      """)
    defer { statement.reset() }
    statement.bind(number, at: 1)
    guard try statement.step() else { return (nil, nil) }
    return (
      statement.isNull(0) ? nil : statement.string(0),
      statement.isNull(1) ? nil : statement.string(1)
    )
  }
}
