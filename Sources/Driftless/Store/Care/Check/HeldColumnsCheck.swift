import DriftlessSQLite

/// To-many relationships without inverse that are columns of the objects that are held: who holds one is there, is of the
/// entity that the row and the model say, and nothing is said of a place where nobody holds it.
struct HeldColumnsCheck: TableCheck {
  let tables: [String] = []

  private static let suggestion = "Set the relationship anew in the objects that hold these."

  func check(_ inspection: StoreInspection) throws {
    for entity in inspection.schema.entities {
      for case let relationship as RelationshipDescription in entity.ownProperties {
        guard let held = inspection.schema.joinTable(for: relationship)?.held,
          let destination = relationship.destinationEntity,
          inspection.has(held.table), inspection.has(held.source)
        else { continue }
        let name = "\(entity.name).\(relationship.name)"
        try checkRows(held, name, destination, inspection)
        try checkHolders(held, name, entity, inspection)
      }
    }
  }

  private func checkRows(
    _ held: HeldColumns, _ name: String, _ destination: EntityDescription,
    _ inspection: StoreInspection
  ) throws {
    let beside = [held.entity, held.order].compactMap { $0 }
    var rules: [RowRule] = [.integer(held.key, 1...Int64.max, orNull: true)]
    rules += beside.map { .integer($0, orNull: true) }
    rules.append(
      RowRule(
        "\"\(held.key)\" IS NULL OR Z_ENT IN (\(Self.numbers(of: destination, inspection)))",
        "\(name) holds an object of another entity", weight: .disagreement))
    if !beside.isEmpty {
      let isNothing = beside.map { "\"\($0)\" IS NULL" }.joined(separator: " AND ")
      rules.append(
        RowRule(
          "\"\(held.key)\" IS NOT NULL OR (\(isNothing))",
          "its columns of \(name) say where it is held, and nobody holds it",
          weight: .disagreement))
    }
    try inspection.check(held.table, key: ["Z_PK"], rules, suggestion: Self.suggestion)
  }

  private func checkHolders(
    _ held: HeldColumns, _ name: String, _ entity: EntityDescription,
    _ inspection: StoreInspection
  ) throws {
    func report(_ query: String, _ breach: String) throws {
      try inspection.report(
        rowsOf: "SELECT 'Z_PK ' || d.Z_PK FROM \"\(held.table)\" d \(query)", in: held.table,
        breach, .disagreement, suggestion: Self.suggestion)
    }
    try report(
      """
      WHERE d."\(held.key)" IS NOT NULL AND NOT EXISTS
      (SELECT 1 FROM "\(held.source)" s WHERE s.Z_PK = d."\(held.key)")
      """, "the object that holds it by \(name) is not there")
    let pairs = "JOIN \"\(held.source)\" s ON s.Z_PK = d.\"\(held.key)\" WHERE"
    try report(
      "\(pairs) s.Z_ENT NOT IN (\(Self.numbers(of: entity, inspection)))",
      "the object that holds it by \(name) is of another entity")
    if let column = held.entity {
      try report(
        "\(pairs) d.\"\(column)\" IS NOT s.Z_ENT",
        "it says another entity than the object has that holds it by \(name)")
    }
  }

  private static func numbers(
    of entity: EntityDescription, _ inspection: StoreInspection
  ) -> String {
    inspection.schema.numbers(of: entity, includingSubentities: true)
      .map { "\($0)" }.joined(separator: ", ")
  }
}
