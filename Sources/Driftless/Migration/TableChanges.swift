import DriftlessSQLite

/// What has to be done to the tables of a store so that they are those of another model, where names and new columns are
/// all of it.
struct TableChanges {
  struct Statement {
    let sql: String
    /// That of its parameter; nil where it has none.
    var value: PropertyValue?

    func run(on connection: SQLiteConnection) throws {
      guard let value else { return try connection.execute(sql) }
      let statement = try connection.prepareUncached(sql)
      RowBinder.write(value, to: SQLiteParameter(statement, 1))
      try statement.run()
    }
  }

  /// In their order.
  private(set) var statements: [Statement] = []
  /// What no property and no entity has any more.
  private(set) var leftovers: [DeferredCleanup.Task] = []

  private let keys: MigrationKeys
  private var plan: MigrationPlan { keys.plan }
  private var old: StoreSchema { keys.old }
  private var new: StoreSchema { keys.new }
  /// Renames and new columns; what comes before them and after them.
  private var drops: [String] = []
  private var alterations: [String] = []
  private var additions: [Statement] = []
  /// The tables whose rows say when they were written last.
  private var timedTables: Set<String> = []

  /// Nil when rows have to be written anew.
  init?(_ keys: MigrationKeys) throws {
    self.keys = keys
    guard hierarchiesStay(), relationshipsStay(), try derivationsStay() else { return nil }
    timedTables = try Self.timedTables(of: new)
    for root in new.entities where root.superentity == nil {
      guard change(root) else { return nil }
    }
    guard changeJoinTables() else { return nil }
    for table in old.tables where !keys.ways.contains(where: { $0.source === table.rootEntity }) {
      leftovers.append(
        DeferredCleanup.Task(table: table.name, fileColumns: fileColumns(of: table)))
    }
    if leftovers.contains(where: { $0.column != nil }), !SQLiteConnection.canDropColumns {
      return nil
    }
    changeIndexes()
    statements = (drops + alterations).map { Statement(sql: $0) } + additions
  }

  // MARK: What stays

  /// Every hierarchy is as it was: its number, its keys, and all entities of it; others may have come.
  private func hierarchiesStay() -> Bool {
    let ways = keys.ways
    return ways.allSatisfy {
      $0.offset == 0 && old.entityNumber(of: $0.source) == new.entityNumber(of: $0.destination)
    }
      && Set(ways.map(\.source.name)).count == ways.count
      && Set(ways.map(\.destination.name)).count == ways.count
      && old.entities.allSatisfy { entity in
        plan.match(ofSource: entity) != nil || !ways.contains { $0.source === entity.rootEntity }
      }
      && plan.matches.allSatisfy { !$0.destination.isAbstract || $0.source.isAbstract }
  }

  /// Every relationship that stays has its pairs where they were.
  private func relationshipsStay() -> Bool {
    let joins = Set(old.distinctJoinTables.map(\.name))
    return new.entities.flatMap(\.ownProperties).allSatisfy { property in
      guard let relationship = property as? RelationshipDescription else { return true }
      let inverse = relationship.inverseRelationship
      let formers = plan.formers(of: relationship)
      guard let former = formers.first else {
        // A new one is new at both ends.
        return inverse.map { plan.formers(of: $0).isEmpty } ?? true
          && new.joinTable(for: relationship).map { !joins.contains($0.name) } ?? true
      }
      guard let then = former.destinationEntity, let now = relationship.destinationEntity else {
        return false
      }
      let members = now.selfAndDescendants
      return formers.count == 1 && former.isToMany == relationship.isToMany
        && former.isOrdered == relationship.isOrdered
        && old.joinTable(for: former) == new.joinTable(for: relationship)
        && former.inverseRelationship === inverse.flatMap { plan.former(of: $0)?.1.relationship }
        && then.selfAndDescendants.allSatisfy { entity in
          plan.match(ofSource: entity).map { match in
            members.contains { $0 === match.destination }
          } ?? false
        }
    }
  }

  private static func timedTables(of schema: StoreSchema) throws -> Set<String> {
    Set(
      try DerivedAttribute.all(in: schema).compactMap {
        if case .now = $0.source { $0.table.name } else { nil }
      })
  }

  private func derivationsStay() throws -> Bool {
    func triggers(_ schema: StoreSchema) throws -> [String] {
      try DerivedAttribute.all(in: schema)
        .flatMap { DerivedTriggers(attribute: $0).all.map(\.sql) }.sorted()
    }
    return try triggers(old) == triggers(new)
  }

  // MARK: Tables

  private mutating func change(_ root: EntityDescription) -> Bool {
    let table = new.table(for: root)
    let taken = Set(old.tables.map(\.name) + old.ownJoinTables.map(\.name))
    guard let way = keys.ways.first(where: { $0.destination === root }) else {
      add(StoreDefinition.definition(of: table, new))
      return !taken.contains(table.name)
    }
    let former = old.table(for: way.source)
    let isRenamed = former.name != table.name
    let matches = plan.matches.filter { $0.destination.rootEntity === root }
    guard !isRenamed || !taken.contains(table.name),
      let pairs = columns(of: table, former, matches)
    else { return false }
    if isRenamed {
      drops.append("DROP INDEX IF EXISTS \"\(former.name)_Z_ENT_INDEX\"")
      alterations.append("ALTER TABLE \"\(former.name)\" RENAME TO \"\(table.name)\"")
    }
    let names = Set(former.columns.map { $0.name.uppercased() })
    for (index, column) in table.columns.enumerated() {
      let name = "\"\(column.name)\""
      if let place = pairs[index] {
        let kept = former.columns[place].name
        guard kept != column.name || isRenamed else { continue }
        if kept != column.name {
          guard !names.contains(column.name.uppercased()) else { return false }
          alterations.append(
            "ALTER TABLE \"\(table.name)\" RENAME COLUMN \"\(kept)\" TO \(name)")
        }
        if column.kind == .reference { drops.append(Self.dropIndex(kept, former)) }
      } else {
        guard !names.contains(column.name.uppercased()) else { return false }
        alterations.append(
          "ALTER TABLE \"\(table.name)\" ADD COLUMN \(name) \(column.declaration.type)")
      }
      if column.kind == .reference {
        add(["CREATE INDEX \"\(table.name)_\(column.name)_INDEX\" ON \"\(table.name)\" (\(name))"])
      }
    }
    for (index, column) in former.columns.enumerated() where !pairs.values.contains(index) {
      if column.kind == .reference { drops.append(Self.dropIndex(column.name, former)) }
      leftovers.append(
        DeferredCleanup.Task(
          table: table.name, column: column.name,
          fileColumns: fileColumns(of: former).filter { $0 == column.name }))
    }
    if table.entities.count > 1 {
      add([
        "CREATE INDEX IF NOT EXISTS \"\(table.name)_Z_ENT_INDEX\" ON \"\(table.name)\" (Z_ENT)"
      ])
    }
    return matches.allSatisfy { fill($0, table, pairs) }
  }

  private mutating func add(_ statements: [String]) {
    additions += statements.map { Statement(sql: $0) }
  }

  private func fileColumns(of table: EntityTable) -> [String] {
    old.externalColumns.filter { $0.table == table.name }.map(\.column)
  }

  private static func dropIndex(_ column: String, _ table: EntityTable) -> String {
    "DROP INDEX IF EXISTS \"\(table.name)_\(column)_INDEX\""
  }

  /// By column of the new table that of the old one which holds its values; nil when the values would have to change.
  private func columns(
    of table: EntityTable, _ former: EntityTable, _ matches: [MigrationPlan.EntityMatch]
  ) -> [Int: Int]? {
    var places: [Int: Int?] = [:]
    for match in matches {
      for binding in table.slotBindings(for: match.destination) {
        let slot = match.destination.layout.slots[binding.slot]
        let was = match.sourceSlots[binding.slot]
        let place = was.flatMap { was in
          former.slotBindings(for: match.source).first { $0.slot == was.index }
        }
        if let was,
          old.holdsExternalData(was.index, of: match.source)
            != new.holdsExternalData(slot.index, of: match.destination)
        {
          return nil
        }
        for (now, then) in [
          (binding.column, place?.column), (binding.entityColumn, place?.entityColumn),
          (binding.orderColumn, place?.orderColumn),
        ] {
          guard let now else {
            if then != nil { return nil }
            continue
          }
          if place != nil, then == nil { return nil }
          if let known = places[now], known != then { return nil }
          if let then, former.columns[then].declaration != table.columns[now].declaration {
            return nil
          }
          places[now] = .some(then)
        }
      }
    }
    // Those of relationships without inverse are no property's.
    let held = Set(old.distinctJoinTables.compactMap(\.held).flatMap { $0.columns.map(\.name) })
    for (now, column) in table.columns.enumerated()
    where places[now] == nil && held.contains(column.name) {
      let then = former.columns.firstIndex { $0 == column }
      if let then, !places.values.contains(then) { places[now] = .some(then) }
    }
    let kept = places.compactMapValues { $0 }
    return Set(kept.values).count == kept.count ? kept : nil
  }

  /// Default values, for properties that are new or became required. False where the file would take that for an edit.
  private mutating func fill(
    _ match: MigrationPlan.EntityMatch, _ table: EntityTable, _ pairs: [Int: Int]
  ) -> Bool {
    for binding in table.slotBindings(for: match.destination) {
      let slot = match.destination.layout.slots[binding.slot]
      let isNew = pairs[binding.column] == nil
      guard case .attribute(let attribute, _) = slot.kind, !slot.defaultValue.isNull,
        !(attribute is DerivedAttributeDescription),
        isNew || (!slot.isOptional && match.sourceSlots[binding.slot]?.isOptional == true)
      else { continue }
      let column = "\"\(table.columns[binding.column].name)\""
      guard !timedTables.contains(table.name) else { return false }
      additions.append(
        Statement(
          sql: """
            UPDATE "\(table.name)" SET \(column) = ?
            WHERE Z_ENT = \(new.entityNumber(of: match.destination)) AND \(column) IS NULL
            """,
          value: DefaultValue.stored(
            slot.defaultValue,
            isExternal: new.holdsExternalData(slot.index, of: match.destination))))
    }
    return true
  }

  private mutating func changeJoinTables() -> Bool {
    let former = Set(old.ownJoinTables.map(\.name))
    let present = Set(new.ownJoinTables.map(\.name))
    let tables = Set(old.tables.map(\.name))
    for join in new.ownJoinTables where !former.contains(join.name) {
      guard !tables.contains(join.name) else { return false }
      add(join.definition)
    }
    leftovers += former.subtracting(present).sorted().map { DeferredCleanup.Task(table: $0) }
    return true
  }

  // MARK: Indexes

  /// Fetch indexes and those of uniqueness constraints go where they would be others; new fetch indexes are made with those
  /// that any store lacks.
  private mutating func changeIndexes() {
    func all(_ schema: StoreSchema) -> [FetchIndexes.Statement] {
      schema.entities.flatMap {
        FetchIndexes($0, schema).statements + StoreDefinition.uniqueIndexes(of: $0, schema)
      }
    }
    let wanted = Set(all(new).map(\.sql))
    let kept = Set(all(old).map(\.sql)).intersection(wanted)
    var tables: [String] = []
    for statement in all(old) where !kept.contains(statement.sql) {
      let kind =
        statement.sql.hasPrefix("CREATE VIRTUAL TABLE")
        ? "TABLE"
        : statement.sql.hasPrefix("CREATE TRIGGER") ? "TRIGGER" : "INDEX"
      let drop = "DROP \(kind) IF EXISTS \"\(statement.name)\""
      if kind == "TABLE" { tables.append(drop) } else { drops.insert(drop, at: 0) }
    }
    drops += tables
    for entity in new.entities
    where keys.ways.contains(where: { $0.destination === entity.rootEntity }) {
      add(
        StoreDefinition.uniqueIndexes(of: entity, new).map(\.sql).filter { !kept.contains($0) })
    }
  }
}
