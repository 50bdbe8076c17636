import DriftlessSQLite

/// To-one relationships: what a row refers to is there, is of the entity that the row says, and refers back where the
/// inverse is to-one as well.
struct ReferenceCheck: TableCheck {
  let tables: [String] = []

  private static let suggestion =
    "Take what the zone has of them (syncctl verify --repair), or set the relationship anew in these objects."

  func check(_ inspection: StoreInspection) throws {
    for table in inspection.schema.tables where inspection.has(table.name) {
      for entity in table.entities {
        for case let relationship as RelationshipDescription in entity.ownProperties
        where !relationship.isToMany {
          try check(relationship, of: entity, table, inspection)
        }
      }
    }
  }

  private func check(
    _ relationship: RelationshipDescription, of entity: EntityDescription, _ table: EntityTable,
    _ inspection: StoreInspection
  ) throws {
    let schema = inspection.schema
    guard let destination = relationship.destinationEntity,
      let binding = inspection.transaction.binding(of: relationship),
      inspection.has(schema.tableName(of: destination))
    else { return }
    let column = table.columns[binding.column].name
    let other = schema.tableName(of: destination)
    let name = "\(entity.name).\(relationship.name)"
    let pairs =
      "FROM \"\(table.name)\" s JOIN \"\(other)\" d ON d.Z_PK = s.\"\(column)\" WHERE"
    func report(_ query: String, _ breach: String) throws {
      try inspection.report(
        rowsOf: "SELECT 'Z_PK ' || s.Z_PK \(query)", in: table.name, "\(name) \(breach)",
        .disagreement, suggestion: Self.suggestion)
    }
    // A delete leaves a reference as it was where there is no inverse, or one that does nothing then.
    let mayDangle = relationship.inverseRelationship.map { $0.deleteRule == .noAction } ?? true
    let last = inspection.lastKey(schema.entityNumber(of: destination.rootEntity))
    let wasThere = mayDangle ? "AND s.\"\(column)\" > \(last)" : ""
    try report(
      """
      FROM "\(table.name)" s WHERE s."\(column)" IS NOT NULL \(wasThere) AND NOT EXISTS
      (SELECT 1 FROM "\(other)" d WHERE d.Z_PK = s."\(column)")
      """, "refers to an object that is not there")
    let numbers = schema.numbers(of: destination, includingSubentities: true)
      .map { "\($0)" }.joined(separator: ", ")
    try report("\(pairs) d.Z_ENT NOT IN (\(numbers))", "refers to an object of another entity")
    if let entityColumn = binding.entityColumn.map({ table.columns[$0].name }) {
      try report(
        "\(pairs) s.\"\(entityColumn)\" IS NOT d.Z_ENT",
        "says another entity than the object has that it refers to")
    }
    guard let inverse = relationship.inverseRelationship, !inverse.isToMany,
      let back = inspection.transaction.binding(of: inverse), let owner = inverse.entity
    else { return }
    let backColumn = schema.table(for: owner).columns[back.column].name
    try report(
      "\(pairs) d.\"\(backColumn)\" IS NOT s.Z_PK",
      "refers to an object that does not refer back")
  }
}
