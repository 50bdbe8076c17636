import DriftlessSQLite

/// The tables of many-to-many relationships: a row is two objects that are there, and the place of each where the
/// relationship is ordered.
struct JoinTableCheck: TableCheck {
  let tables: [String] = []

  private static let suggestion =
    "Take what the zone has of them (syncctl verify --repair), or set the relationship anew in these objects."

  func check(_ inspection: StoreInspection) throws {
    let schema = inspection.schema
    for join in schema.ownJoinTables where inspection.has(join.name) {
      let orders = [join.destinationOrderColumn, join.sourceOrderColumn].compactMap { $0 }
      let columns = [join.sourceColumn, join.destinationColumn]
      try inspection.check(
        join.name, key: columns,
        columns.map { .integer($0, 1...Int64.max) } + orders.map { .integer($0, orNull: true) })
      if join.isSymmetric { try checkSymmetry(join, inspection) }
    }
    let isReplica = (try? inspection.transaction.isReplica) ?? false
    for entity in schema.entities {
      for case let relationship as RelationshipDescription in entity.ownProperties {
        guard let join = schema.joinTable(for: relationship), join.held == nil,
          inspection.has(join.name),
          let destination = relationship.destinationEntity
        else { continue }
        let name = "\(entity.name).\(relationship.name)"
        try check(
          join, join.destinationColumn, destination, name, inspection,
          keepsGone: relationship.inverseRelationship == nil && isReplica)
        // Where there is an inverse, it looks at the other column.
        if relationship.inverseRelationship == nil || join.isSymmetric {
          try check(join, join.sourceColumn, entity, name, inspection)
        }
      }
    }
  }

  private func check(
    _ join: JoinTable, _ column: String, _ entity: EntityDescription, _ name: String,
    _ inspection: StoreInspection, keepsGone: Bool = false
  ) throws {
    let row = StoreInspection.name([join.sourceColumn, join.destinationColumn], of: "j")
    let table = inspection.schema.tableName(of: entity)
    guard inspection.has(table) else { return }
    // A replica keeps those of a deleted object that does not know who held it, for when that comes back.
    let last = inspection.lastKey(inspection.schema.entityNumber(of: entity.rootEntity))
    let wasThere = keepsGone ? "AND j.\"\(column)\" > \(last)" : ""
    try inspection.report(
      rowsOf: """
        SELECT \(row) FROM "\(join.name)" j WHERE j."\(column)" IS NOT NULL \(wasThere)
        AND NOT EXISTS (SELECT 1 FROM "\(table)" d WHERE d.Z_PK = j."\(column)")
        """, in: join.name, "\(name) holds an object that is not there", .disagreement,
      suggestion: Self.suggestion)
    let numbers = inspection.schema.numbers(of: entity, includingSubentities: true)
      .map { "\($0)" }.joined(separator: ", ")
    try inspection.report(
      rowsOf: """
        SELECT \(row) FROM "\(join.name)" j JOIN "\(table)" d ON d.Z_PK = j."\(column)"
        WHERE d.Z_ENT NOT IN (\(numbers))
        """, in: join.name, "\(name) holds an object of another entity", .disagreement,
      suggestion: Self.suggestion)
  }

  /// Of a relationship that is its own inverse, both directions are rows.
  private func checkSymmetry(_ join: JoinTable, _ inspection: StoreInspection) throws {
    let (source, destination) = (join.sourceColumn, join.destinationColumn)
    try inspection.report(
      rowsOf: """
        SELECT \(StoreInspection.name([source, destination], of: "j")) FROM "\(join.name)" j
        WHERE NOT EXISTS (SELECT 1 FROM "\(join.name)" k
        WHERE k."\(source)" = j."\(destination)" AND k."\(destination)" = j."\(source)")
        """, in: join.name, "the pair is there in one direction alone", .disagreement,
      suggestion: Self.suggestion)
  }
}
