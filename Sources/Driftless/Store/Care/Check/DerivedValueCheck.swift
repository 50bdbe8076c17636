import DriftlessSQLite

/// Values that triggers keep: derived attributes, and R-trees.
struct DerivedValueCheck: TableCheck {
  let tables: [String] = []

  func check(_ inspection: StoreInspection) throws {
    // Core Data works some of them out by functions of its own.
    guard inspection.isOurs else { return }
    for attribute in try DerivedAttribute.all(in: inspection.schema, skipsUnknown: true)
    where inspection.has(attribute.table.name) {
      guard let query = DerivedTriggers(attribute: attribute).differingRows else { continue }
      try inspection.report(
        rowsOf: query, in: attribute.table.name,
        "\(attribute.entityName).\(attribute.name) is not what it derives from", .disagreement,
        suggestion: "Save the objects that it derives from again.")
    }
    for entity in inspection.schema.entities {
      for tree in RTreeIndex.all(of: entity, inspection.schema) where inspection.has(tree.name) {
        for query in tree.differingRows {
          try inspection.report(
            rowsOf: query, in: tree.name, "it is not what the row of \(tree.table) says",
            suggestion: "Save these objects again, which writes the index anew.")
        }
      }
    }
  }
}

extension DerivedTriggers {
  /// A query for the rows whose value is another than its source says; nil for a time.
  fileprivate var differingRows: String? {
    guard let expected = expectedValue else { return nil }
    let column = "\"\(attribute.column)\""
    // What was added up step by step differs in the last digits.
    return """
      SELECT 'Z_PK ' || Z_PK FROM (SELECT Z_PK, \(column) AS kept, \(expected) AS expected
      FROM "\(attribute.table.name)"\(entityCondition)) WHERE kept IS NOT expected AND NOT
      (typeof(kept) IN ('integer', 'real') AND typeof(expected) IN ('integer', 'real')
      AND abs(1.0 * kept - expected) <= 1e-9 * max(abs(1.0 * kept), abs(1.0 * expected), 1.0))
      """
  }
}

extension RTreeIndex {
  /// Queries for rows that the tree lacks, and for those that it has and should not.
  fileprivate var differingRows: [String] {
    let within = dimensions.map {
      "r.\"\($0.column)_MIN\" <= t.\"\($0.column)\" AND r.\"\($0.column)_MAX\" >= t.\"\($0.column)\""
    }.joined(separator: " AND ")
    return [
      """
      SELECT 'Z_PK ' || t.Z_PK FROM "\(table)" t LEFT JOIN "\(name)" r ON r.Z_PK = t.Z_PK
      WHERE \(condition("t")) AND (r.Z_PK IS NULL OR NOT (\(within)))
      """,
      """
      SELECT 'Z_PK ' || r.Z_PK FROM "\(name)" r LEFT JOIN "\(table)" t ON t.Z_PK = r.Z_PK
      WHERE t.Z_PK IS NULL OR NOT (\(condition("t")))
      """,
    ]
  }
}
