import DriftlessSQLite

/// Copies the rows of a store, attached as `old`, into the fresh tables of another model.
struct MigrationCopy {
  let keys: MigrationKeys
  let connection: SQLiteConnection
  /// The zone has no places where the model had no order, so a replica has none: numbers that only this store knows would put
  /// what is moved next among them elsewhere than with others.
  var isReplica = false

  var plan: MigrationPlan { keys.plan }
  var old: StoreSchema { keys.old }
  var new: StoreSchema { keys.new }

  /// - Parameter progress: Called with the part that is done, 0 … 1.
  func run(progress: (Double) throws -> Void) throws {
    for (index, match) in plan.matches.enumerated() {
      do {
        try copyRows(match)
      } catch let error as SQLiteError where error.isConstraint {
        if let duplicates = try duplicates(in: match) { throw duplicates }
        throw error
      }
      try progress(Double(index + 1) / Double(plan.matches.count))
    }
    for entity in new.entities {
      for case let relationship as RelationshipDescription in entity.ownProperties {
        try copyPairs(relationship)
      }
    }
    try writeLastKeys()
  }

  /// Keys go on where they were.
  func writeLastKeys() throws {
    for root in new.entities where root.superentity == nil {
      try PrimaryKeyTable.raiseLastKey(
        to: keys.lastKey(ofDestination: root), of: new.entityNumber(of: root), on: connection)
    }
  }

  // MARK: Rows

  private func copyRows(_ match: MigrationPlan.EntityMatch) throws {
    let table = new.table(for: match.destination)
    let source = old.table(for: match.source)
    let number = new.entityNumber(of: match.destination)
    let formerNumber = old.entityNumber(of: match.source)
    try checkConcrete(match, source)
    var columns = ""
    var values = ""
    for value in try columnValues(match) {
      columns += ", \"\(table.columns[value.column].name)\""
      values += ", \(value.sql)"
    }
    try connection.execute(
      """
      INSERT INTO main."\(table.name)" (Z_PK, Z_ENT, Z_OPT\(columns))
      SELECT Z_PK + \(keys.offset(of: match.source) ?? 0), \(number), Z_OPT\(values)
      FROM old."\(source.name)" WHERE Z_ENT = \(formerNumber) ORDER BY Z_PK
      """)
  }

  /// What a column of the new table holds, in SQL over the old one.
  struct ColumnValue {
    let column: Int
    /// The property that it is the value of; nil for what stands beside a reference.
    let slot: Int?
    let sql: String
  }

  func columnValues(_ match: MigrationPlan.EntityMatch) throws -> [ColumnValue] {
    let table = new.table(for: match.destination)
    let source = old.table(for: match.source)
    guard let program = new.program(numbered: new.entityNumber(of: match.destination)) else {
      return []
    }
    var values: [ColumnValue] = []
    for binding in table.slotBindings(for: match.destination) {
      let slot = match.destination.layout.slots[binding.slot]
      let former = match.sourceSlots[binding.slot].flatMap { former in
        source.slotBindings(for: match.source).first { $0.slot == former.index }
          .map { (former, $0) }
      }
      switch slot.kind {
      case .toMany: continue
      case .attribute:
        let step = program.steps[program.stepOfSlot[binding.slot]]
        let sql = try attribute(slot, step, former, match, source)
        values.append(ColumnValue(column: binding.column, slot: slot.index, sql: sql))
      case .toOne(let now):
        guard let (former, place) = former else { continue }
        values += reference(now, binding, former, place, source)
      }
    }
    return values
  }

  private func reference(
    _ now: RelationshipDescription, _ binding: EntityTable.SlotBinding, _ former: PropertySlot,
    _ place: EntityTable.SlotBinding, _ source: EntityTable
  ) -> [ColumnValue] {
    guard case .toOne(let then) = former.kind, let target = then.destinationEntity,
      let destination = now.destinationEntity
    else { return [] }
    func name(_ column: Int?) -> String? { column.map { "\"\(source.columns[$0].name)\"" } }
    let entity = name(place.entityColumn) ?? "\(old.entityNumber(of: target))"
    let key = keys.sql(
      "\"\(source.columns[place.column].name)\"", entity: entity, of: target, as: destination)
    func beside(_ column: Int?, _ value: String) -> ColumnValue? {
      column.map {
        ColumnValue(
          column: $0, slot: nil, sql: "CASE WHEN \(key) IS NOT NULL THEN \(value) END")
      }
    }
    let values = [
      ColumnValue(column: binding.column, slot: binding.slot, sql: key),
      beside(binding.entityColumn, entity),
      beside(binding.orderColumn, name(place.orderColumn) ?? newPlace("Z_PK")),
    ]
    return values.compactMap { $0 }
  }

  /// The place of what had none.
  func newPlace(_ key: String) -> String { isReplica ? "NULL" : "\(key) * 1024" }

  /// An entity that becomes abstract may have no objects.
  private func checkConcrete(_ match: MigrationPlan.EntityMatch, _ source: EntityTable) throws {
    guard match.destination.isAbstract,
      try connection.scalar(
        "SELECT 1 FROM old.\"\(source.name)\" WHERE Z_ENT = ? LIMIT 1",
        .integer(Int64(old.entityNumber(of: match.source)))) != nil
    else { return }
    throw MigrationPlan.refusal(
      "\(match.destination.name) is abstract, and the store has objects of it",
      "Leave it concrete, or move its objects to another entity first.")
  }

  private func attribute(
    _ slot: PropertySlot, _ step: RowProgram.Step,
    _ former: (PropertySlot, EntityTable.SlotBinding)?, _ match: MigrationPlan.EntityMatch,
    _ source: EntityTable
  ) throws -> String {
    let isExternal = step.kind == .externalData
    let value = try DefaultValue.sql(slot.defaultValue, isExternal: isExternal, on: connection)
    guard let (slotBefore, place) = former, case .attribute(_, let type) = slotBefore.kind else {
      return value
    }
    var column = "\"\(source.columns[place.column].name)\""
    if step.kind == .decimal, type == .double || type == .float {
      column = ExactDouble.decimal(of: column)
    }
    switch (old.holdsExternalData(slotBefore.index, of: match.source), isExternal) {
    case (true, false): column = "\(ExternalData.readFunction)(\(column))"
    case (false, true):
      column = "CASE WHEN \(column) IS NOT NULL THEN CAST(x'01' || \(column) AS BLOB) END"
    default: break
    }
    return slot.isOptional || slot.defaultValue.isNull ? column : "COALESCE(\(column), \(value))"
  }
}
