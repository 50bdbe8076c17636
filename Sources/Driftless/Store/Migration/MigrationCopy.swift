import DriftlessSQLite
import Foundation

/// Copies the rows of a store, attached as `old`, into the fresh tables of another model.
struct MigrationCopy {
  let plan: MigrationPlan
  let old: StoreSchema
  let new: StoreSchema
  let connection: SQLiteConnection

  /// - Parameter progress: Called with the part that is done, 0 … 1.
  func run(progress: (Double) throws -> Void) throws {
    for (index, match) in plan.matches.enumerated() {
      try copyRows(match)
      try progress(Double(index + 1) / Double(plan.matches.count))
    }
    for entity in new.model.entities {
      for case let relationship as RelationshipDescription in entity.ownProperties {
        try copyPairs(relationship)
      }
    }
    try dropLostReferences()
    for root in plan.roots {
      try connection.execute(
        """
        UPDATE main.Z_PRIMARYKEY SET Z_MAX = (SELECT Z_MAX FROM old.Z_PRIMARYKEY
        WHERE Z_ENT = \(old.entityNumber(of: root.source)))
        WHERE Z_ENT = \(new.entityNumber(of: root.destination))
        """)
    }
  }

  // MARK: Rows

  private func copyRows(_ match: MigrationPlan.EntityMatch) throws {
    let table = new.table(for: match.destination)
    let source = old.table(for: match.source)
    let number = new.entityNumber(of: match.destination)
    guard let program = new.program(numbered: number) else { return }
    var columns = ""
    var values = ""
    for binding in table.slotBindings(for: match.destination) {
      let slot = match.destination.layout.slots[binding.slot]
      let former = match.sourceSlots[binding.slot].flatMap { former in
        source.slotBindings(for: match.source).first { $0.slot == former.index }
          .map { (former, $0) }
      }
      func add(_ column: Int, _ value: String) {
        columns += ", \"\(table.columns[column].name)\""
        values += ", \(value)"
      }
      switch slot.kind {
      case .toMany: continue
      case .attribute:
        let step = program.steps[program.stepOfSlot[binding.slot]]
        add(binding.column, attribute(slot, step, former, match, source))
      case .toOne:
        guard let (former, place) = former, case .toOne(let relationship) = former.kind else {
          continue
        }
        let key = "\"\(source.columns[place.column].name)\""
        add(binding.column, key)
        if let column = binding.entityColumn {
          let entity = relationship.destinationEntity.map { old.entityNumber(of: $0) } ?? 0
          add(
            column,
            place.entityColumn.map { "\"\(source.columns[$0].name)\"" }
              ?? "CASE WHEN \(key) IS NOT NULL THEN \(entity) END")
        }
        if let column = binding.orderColumn {
          add(
            column,
            place.orderColumn.map { "\"\(source.columns[$0].name)\"" }
              ?? "CASE WHEN \(key) IS NOT NULL THEN Z_PK * 1024 END")
        }
      }
    }
    try connection.execute(
      """
      INSERT INTO main."\(table.name)" (Z_PK, Z_ENT, Z_OPT\(columns))
      SELECT Z_PK, \(number), Z_OPT\(values) FROM old."\(source.name)"
      WHERE Z_ENT = \(old.entityNumber(of: match.source)) ORDER BY Z_PK
      """)
  }

  private func attribute(
    _ slot: PropertySlot, _ step: RowProgram.Step,
    _ former: (PropertySlot, EntityTable.SlotBinding)?, _ match: MigrationPlan.EntityMatch,
    _ source: EntityTable
  ) -> String {
    let isExternal = step.kind == .externalData
    let value = Self.literal(slot.defaultValue, isExternal: isExternal)
    guard let (old, place) = former, case .attribute(_, let type) = old.kind else { return value }
    var column = "\"\(source.columns[place.column].name)\""
    switch (old.allowsExternalStorage && type.isData, isExternal) {
    case (true, false): column = "\(ExternalData.readFunction)(\(column))"
    case (false, true):
      column = "CASE WHEN \(column) IS NOT NULL THEN CAST(x'01' || \(column) AS BLOB) END"
    default: break
    }
    return slot.isOptional || slot.defaultValue.isNull ? column : "COALESCE(\(column), \(value))"
  }

  /// A value as SQL writes it.
  static func literal(_ value: PropertyValue, isExternal: Bool) -> String {
    func text(_ text: String) -> String { "'\(text.replacingOccurrences(of: "'", with: "''"))'" }
    func blob(_ data: Data) -> String {
      "x'" + data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
    }
    switch value {
    case .null, .reference: return "NULL"
    case .bool(let value): return value ? "1" : "0"
    case .integer(let value): return "\(value)"
    case .double(let value): return value.isFinite ? "\(value)" : "NULL"
    case .date(let value): return "\(value.timeIntervalSinceReferenceDate)"
    case .decimal(let value): return "\(value)"
    case .string(let value): return text(value)
    case .uri(let value): return text(value.absoluteString)
    case .uuid(let value): return blob(value.networkBytes)
    case .data(let value): return blob(isExternal ? ExternalValue.inline(value) : value)
    }
  }

  // MARK: Relationships

  /// Fills a join table, or the keys of a relationship whose other end is new.
  private func copyPairs(_ relationship: RelationshipDescription) throws {
    guard relationship.isToMany, let (match, former) = plan.former(of: relationship),
      let pairs = pairs(of: former, match)
    else { return }
    if let join = new.joinTable(for: relationship) {
      // Both ends of a relationship have it: it is filled from the one that comes first.
      if let inverse = relationship.inverseRelationship, inverse !== relationship,
        plan.former(of: inverse) != nil, inverse.isToMany,
        (inverse.entity?.name ?? "", inverse.name)
          < (relationship.entity?.name ?? "", relationship.name)
      {
        return
      }
      var columns = "\"\(join.sourceColumn)\", \"\(join.destinationColumn)\""
      var values = "source, destination"
      if let order = join.destinationOrderColumn {
        columns += ", \"\(order)\""
        values += ", COALESCE(place, destination * 1024)"
      }
      if let order = join.sourceOrderColumn {
        columns += ", \"\(order)\""
        values += ", COALESCE(otherPlace, source * 1024)"
      }
      return try connection.execute(
        "INSERT OR IGNORE INTO main.\"\(join.name)\" (\(columns)) SELECT \(values) FROM (\(pairs))")
    }
    guard case .toOne = former.kind, let inverse = relationship.inverseRelationship,
      plan.former(of: inverse) == nil, let entity = inverse.entity,
      let slot = entity.layout.index(named: inverse.name)
    else { return }
    let table = new.table(for: entity)
    guard let binding = table.slotBindings(for: entity).first(where: { $0.slot == slot }) else {
      return
    }
    guard
      try connection.rows(
        "SELECT 1 FROM (\(pairs)) GROUP BY destination HAVING COUNT(*) > 1 LIMIT 1"
      ).isEmpty
    else {
      throw MigrationPlan.refusal(
        "several objects share one at the end of \(match.destination.name).\(relationship.name)",
        "Make its inverse to-many too.")
    }
    try connection.execute(
      """
      UPDATE main."\(table.name)" SET "\(table.columns[binding.column].name)" =
      (SELECT source FROM (\(pairs)) WHERE destination = Z_PK)
      """)
  }

  /// The pairs of a relationship as the old store has them: `source`, `destination`, `place`, `otherPlace`.
  private func pairs(of slot: PropertySlot, _ match: MigrationPlan.EntityMatch) -> String? {
    guard let relationship = slot.relationship, let owner = relationship.entity else { return nil }
    func column(_ name: String?, _ alias: String) -> String {
      "\(name.map { "\"\($0)\"" } ?? "NULL") AS \(alias)"
    }
    if let join = old.joinTable(for: relationship) {
      return """
        SELECT "\(join.sourceColumn)" AS source, "\(join.destinationColumn)" AS destination,
        \(column(join.destinationOrderColumn, "place")),
        \(column(join.sourceOrderColumn, "otherPlace")) FROM old."\(join.name)"
        """
    }
    let isOwn = !relationship.isToMany
    guard let keyed = isOwn ? relationship : relationship.inverseRelationship,
      let entity = isOwn ? owner : keyed.entity,
      let index = entity.layout.index(named: keyed.name)
    else { return nil }
    let table = old.table(for: entity)
    guard let binding = table.slotBindings(for: entity).first(where: { $0.slot == index }) else {
      return nil
    }
    let key = "\"\(table.columns[binding.column].name)\""
    let order = binding.orderColumn.map { table.columns[$0].name }
    return """
      SELECT \(isOwn ? "Z_PK" : key) AS source, \(isOwn ? key : "Z_PK") AS destination,
      \(column(isOwn ? nil : order, "place")), \(column(isOwn ? order : nil, "otherPlace"))
      FROM old."\(table.name)" WHERE \(key) IS NOT NULL
      """
  }

  /// Empties references to objects of entities that are gone.
  private func dropLostReferences() throws {
    guard old.model.entities.contains(where: { plan.match(ofSource: $0) == nil }) else { return }
    for entity in new.model.entities {
      let table = new.table(for: entity)
      for binding in table.slotBindings(for: entity) {
        guard case .toOne(let relationship) = entity.layout.slots[binding.slot].kind,
          relationship.entity === entity, let destination = relationship.destinationEntity
        else { continue }
        let columns = [binding.column, binding.entityColumn, binding.orderColumn]
          .compactMap { $0 }.map { "\"\(table.columns[$0].name)\" = NULL" }
        let key = table.columns[binding.column].name
        try connection.execute(
          """
          UPDATE main."\(table.name)" SET \(columns.joined(separator: ", "))
          WHERE "\(key)" NOT IN (SELECT Z_PK FROM main."\(new.table(for: destination).name)")
          """)
      }
    }
    for join in new.distinctJoinTables { try dropLostPairs(join) }
  }

  private func dropLostPairs(_ join: JoinTable) throws {
    for entity in new.model.entities {
      for case let relationship as RelationshipDescription in entity.ownProperties {
        guard let mine = new.joinTable(for: relationship), mine.name == join.name,
          let destination = relationship.destinationEntity
        else { continue }
        try connection.execute(
          """
          DELETE FROM main."\(join.name)" WHERE "\(mine.destinationColumn)" NOT IN
          (SELECT Z_PK FROM main."\(new.table(for: destination).name)")
          OR "\(mine.sourceColumn)" NOT IN
          (SELECT Z_PK FROM main."\(new.table(for: entity).name)")
          """)
      }
    }
  }
}
