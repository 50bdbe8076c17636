import DriftlessSQLite

/// Core Data's part of the history: `ATRANSACTION`, `ATRANSACTIONSTRING` and `ACHANGE`.
///
/// A transaction has its strings; a change has its transaction, and lies in the order of transactions; what was done to
/// an object last tells whether it has a row.
struct HistoryCheck: TableCheck {
  let tables = ["ATRANSACTION", "ATRANSACTIONSTRING", "ACHANGE"]

  func check(_ inspection: StoreInspection) throws {
    try checkTransactions(inspection)
    try checkChanges(inspection)
    try checkCourses(inspection)
  }

  private func checkTransactions(_ inspection: StoreInspection) throws {
    try inspection.check("ATRANSACTIONSTRING", key: ["Z_PK"], TransactionTable.stringRules)
    try inspection.check("ATRANSACTION", key: ["Z_PK"], TransactionTable.rules)
    for column in TransactionTable.stringColumns {
      try inspection.report(
        rowsOf: """
          SELECT 'Z_PK ' || Z_PK FROM ATRANSACTION t WHERE \(column) IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM ATRANSACTIONSTRING s WHERE s.Z_PK = t.\(column))
          """, in: "ATRANSACTION", "its \(column) is no string of ATRANSACTIONSTRING")
    }
  }

  private func checkChanges(_ inspection: StoreInspection) throws {
    let object =
      inspection.isOurs
      ? inspection.objectRule("ZENTITY", "ZENTITYPK") : .integer("ZENTITYPK", 1...Int64.max)
    try inspection.check("ACHANGE", key: ["Z_PK"], ChangeTable.rules(object: object))
    try inspection.report(
      rowsOf: """
        SELECT 'Z_PK ' || Z_PK FROM ACHANGE c WHERE NOT EXISTS
        (SELECT 1 FROM ATRANSACTION t WHERE t.Z_PK = c.ZTRANSACTIONID)
        """, in: "ACHANGE", "the change belongs to no transaction")
    try inspection.report(
      rowsOf: """
        SELECT 'Z_PK ' || Z_PK FROM (SELECT Z_PK, ZTRANSACTIONID,
        lag(ZTRANSACTIONID) OVER (ORDER BY Z_PK) AS former FROM ACHANGE)
        WHERE ZTRANSACTIONID < former
        """, in: "ACHANGE", "the change is of an earlier transaction than the one before it")
    guard inspection.isOurs, inspection.has("ZDL_TRANSACTION") else { return }
    // What Core Data recorded counts properties in another way.
    let local = "t.kind <> \(TransactionKind.adopted.rawValue)"
    let update = ChangeType.update.rawValue
    let sizes = inspection.schema.numbers.map { entity, number in
      "WHEN \(number) THEN \((entity.layout.slots.count + 7) / 8)"
    }.joined(separator: " ")
    guard !sizes.isEmpty else { return }
    try inspection.report(
      rowsOf: """
        SELECT 'Z_PK ' || c.Z_PK FROM ACHANGE c
        JOIN ZDL_TRANSACTION t ON t.number = c.ZTRANSACTIONID AND \(local)
        WHERE (c.ZCHANGETYPE = \(update)) <> (c.ZCOLUMNS IS NOT NULL)
        OR (c.ZCHANGETYPE = \(update) AND length(c.ZCOLUMNS) NOT BETWEEN 1
        AND CASE c.ZENTITY \(sizes) ELSE 0 END)
        """, in: "ACHANGE", "its ZCOLUMNS does not fit an entity's properties", .disagreement)
  }

  private func checkCourses(_ inspection: StoreInspection) throws {
    let schema = inspection.schema
    for table in schema.tables where inspection.has(table.name) {
      let numbers = table.entities.map { "\(schema.entityNumber(of: $0))" }.joined(separator: ", ")
      try inspection.report(
        rowsOf: """
          SELECT 'Z_PK ' || last.key FROM (SELECT ZENTITYPK AS key, ZCHANGETYPE AS type, MAX(Z_PK)
          FROM ACHANGE WHERE ZENTITY IN (\(numbers)) GROUP BY ZENTITYPK) last WHERE (last.type = 2) =
          EXISTS (SELECT 1 FROM "\(table.name)" t WHERE t.Z_PK = last.key)
          """, in: table.name, "the history tells otherwise whether the object is there",
        .disagreement)
      let (insert, delete) = (ChangeType.insert.rawValue, ChangeType.delete.rawValue)
      try inspection.report(
        rowsOf: """
          SELECT 'Z_PK ' || Z_PK FROM (SELECT Z_PK, ZCHANGETYPE AS type, ZTRANSACTIONID AS id,
          lag(ZCHANGETYPE) OVER object AS former, lag(ZTRANSACTIONID) OVER object AS formerID
          FROM ACHANGE WHERE ZENTITY IN (\(numbers))
          WINDOW object AS (PARTITION BY ZENTITYPK ORDER BY Z_PK))
          WHERE id <> formerID AND (type = \(insert)) <> (former = \(delete))
          """, in: "ACHANGE",
        "the change does not follow from the one before it of the same object", .disagreement)
    }
  }
}
