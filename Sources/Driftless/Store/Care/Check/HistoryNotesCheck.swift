import DriftlessSQLite

/// What Driftless notes of the history: `ZDL_TRANSACTION`, with the changes of each transaction, and who reads it
/// (`ZDL_HISTORY_READER`).
struct HistoryNotesCheck: TableCheck {
  let tables = ["ZDL_TRANSACTION", "ZDL_HISTORY_READER"]

  func check(_ inspection: StoreInspection) throws {
    try inspection.check(
      "ZDL_TRANSACTION", key: ["number"],
      TransactionNotes.rules + [
        .integer("name"),
        RowRule(
          "name <> 0 OR kind = \(TransactionKind.imported.rawValue)", "it has no name"),
      ])
    try checkTimes(inspection)
    for row in try inspection.connection.rows(
      "SELECT number FROM ZDL_TRANSACTION WHERE last_change < first_change LIMIT 3")
    {
      guard case .integer(let number) = row[0] else { continue }
      inspection.report(.damage, "ZDL_TRANSACTION", HistoryReader.damaged(number).message)
    }
    try checkRanges(inspection)
    try checkNumbers(inspection)
    try checkReaders(inspection)
  }

  /// Times need not ascend: what lay ahead of the zone's clock and was not sent yet is moved back to it.
  private func checkTimes(_ inspection: StoreInspection) throws {
    try inspection.check(
      "ZDL_TRANSACTION", key: ["number"],
      [
        .integer("hybrid_time"),
        RowRule(
          "hybrid_time >= 0", "its hybrid_time lies thousands of years ahead",
          weight: .disagreement),
      ])
  }

  /// Changes of transactions follow each other, and each has the number of its own.
  private func checkRanges(_ inspection: StoreInspection) throws {
    try inspection.report(
      rowsOf: """
        SELECT 'number ' || number FROM (SELECT number, first_change,
        lag(last_change) OVER (ORDER BY number) AS former FROM ZDL_TRANSACTION)
        WHERE first_change <= former
        """, in: "ZDL_TRANSACTION", "its changes begin before those of the one before it end")
    guard inspection.isOurs else { return }
    try inspection.report(
      rowsOf: """
        SELECT 'Z_PK ' || c.Z_PK FROM ACHANGE c LEFT JOIN ZDL_TRANSACTION t
        ON t.number = c.ZTRANSACTIONID WHERE t.number IS NULL
        OR c.Z_PK NOT BETWEEN t.first_change AND t.last_change
        """, in: "ACHANGE", "ZDL_TRANSACTION does not have it among its transaction's changes")
  }

  /// A transaction is in both tables, or was purged; and one made here has a name that is no other's.
  private func checkNumbers(_ inspection: StoreInspection) throws {
    let floor = "ifnull((SELECT value FROM ZDL_STORE WHERE key = 'historyFloor'), 0)"
    guard inspection.isOurs else { return }
    try inspection.report(
      rowsOf: """
        SELECT 'number ' || number FROM ZDL_TRANSACTION t WHERE number > \(floor)
        AND NOT EXISTS (SELECT 1 FROM ATRANSACTION a WHERE a.Z_PK = t.number)
        """, in: "ZDL_TRANSACTION", "ATRANSACTION does not have it")
    try inspection.report(
      rowsOf: """
        SELECT 'Z_PK ' || Z_PK FROM ATRANSACTION a
        WHERE NOT EXISTS (SELECT 1 FROM ZDL_TRANSACTION t WHERE t.number = a.Z_PK)
        """, in: "ATRANSACTION", "ZDL_TRANSACTION does not have it")
    try inspection.report(
      rowsOf: """
        SELECT 'number ' || MAX(number) FROM ZDL_TRANSACTION WHERE name <> 0
        AND kind <> \(TransactionKind.imported.rawValue) GROUP BY name HAVING COUNT(*) > 1
        """, in: "ZDL_TRANSACTION", "an earlier transaction has its name")
    let last = try inspection.connection.scalar("SELECT MAX(last_change) FROM ZDL_TRANSACTION")
    if case .integer(let last)? = last {
      let given = try PrimaryKeyTable.lastKey(
        of: HistoryEntity.change, on: inspection.connection)
      if last > given {
        inspection.report(
          .damage, "ZDL_TRANSACTION",
          "ZDL_TRANSACTION has change \(last), but changes were numbered up to \(given) only.")
      }
    }
  }

  private func checkReaders(_ inspection: StoreInspection) throws {
    let newest = try inspection.transaction.maximumTransactionNumber()
    try inspection.check(
      "ZDL_HISTORY_READER", key: ["name"],
      RegisteredReaders.rules + [
        .integer("number", 0...Int64.max),
        RowRule(
          "number <= \(newest)", "it has read more than there is", weight: .disagreement),
      ], suggestion: "Let the reader read everything again, and register where it is.")
  }
}
