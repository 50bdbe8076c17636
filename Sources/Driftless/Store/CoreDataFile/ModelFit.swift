import DriftlessSQLite

/// Whether a file was written with a model, by what the file itself tells: for files whose version hashes are Core Data's, which
/// only its compiler can work out.
///
/// The copy of the model that Core Data left in the file says all that a version hash does. Where there is none, tables, columns,
/// their types, indexes, the numbers of entities, and the keys in references tell what they can: a model that differs in
/// nothing of these is taken.
struct ModelFit {
  let file: StoreFile
  let connection: SQLiteConnection
  let schema: StoreSchema

  /// Checks that every entity has its number, and every property its column.
  func checkTables() throws {
    for entity in schema.entities where schema.entityNumber(of: entity) == 0 {
      throw lacks("entity \(entity.name)")
    }
    for table in schema.tables {
      guard try StoreFile.isTable(table.name, connection) else {
        throw lacks("table \(table.name)")
      }
      let present = try columns(of: table.name)
      for (index, column) in table.columns.enumerated() where present[column.name] == nil {
        let property = property(index, of: table).map { " for \($0)" } ?? ""
        throw lacks("column \(table.name).\(column.name)\(property)")
      }
    }
    for join in schema.distinctJoinTables where join.held == nil {
      guard try StoreFile.isTable(join.name, connection) else { throw lacks("table \(join.name)") }
      let present = try columns(of: join.name)
      for column in [join.sourceColumn, join.destinationColumn] where present[column] == nil {
        throw lacks("column \(join.name).\(column)")
      }
    }
  }

  /// Checks that what is there is what the model says of it.
  ///
  /// - Parameter stored: The model that the file has inside, where it has one.
  func checkMeaning(stored: ManagedObjectModel?) throws {
    if let stored { try check(stored: stored, mayLack: true) }
    try checkParents()
    for table in schema.tables {
      try checkTypes(of: table)
      try checkUnique(table)
    }
    guard stored == nil else { return }
    for entity in schema.entities {
      for case let relationship as RelationshipDescription in entity.ownProperties {
        try checkDestination(of: relationship, from: entity)
      }
    }
  }

  /// Refuses a model that knows less than the file: what it would insert lacks values that others rely on.
  func checkNothingIsMissing(stored: ManagedObjectModel?) throws {
    let numbers = Set(schema.numbers.map { Int64($0.number) })
    for entity in try PrimaryKeyTable.modelEntities(on: connection)
    where !numbers.contains(entity.number) {
      throw unknown("the entity \(entity.name)")
    }
    for table in schema.tables {
      let known = Set(["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map(\.name))
      for column in try columns(of: table.name).keys.sorted() where !known.contains(column) {
        throw unknown("the column \(table.name).\(column)")
      }
      for (name, columns) in try uniqueIndexes(of: table.name)
      where name.contains("_UNIQUE_")
        && !constraints(of: table).contains(where: { $0.columns == columns })
      {
        throw refusal(
          "the file keeps \(columns.sorted().joined(separator: ", ")) of \(table.name) unique (\(name)), and this model does not",
          "Give the entity this uniqueness constraint")
      }
    }
    let joins = Set(schema.distinctJoinTables.map(\.name))
    for name in try joinTables() where !joins.contains(name) {
      throw unknown("the table \(name), which keeps a relationship to many at both ends")
    }
    if let stored { try check(stored: stored, mayLack: false) }
  }

  // MARK: By the model that is inside

  private func check(stored: ManagedObjectModel, mayLack: Bool) throws {
    guard
      let difference = ModelDifference.first(of: schema.model, from: stored, mayLack: mayLack)
    else { return }
    throw Self.refusal(difference, file)
  }

  static func refusal(_ difference: ModelDifference, _ file: StoreFile) -> StoreError {
    StoreError(
      .incompatibleModel,
      "\(another(file)): \(difference.element) \(difference.stored) in the file, and \(difference.given) in this model.",
      suggestion: "\(difference.change), or open the file with its own model, or migrate it.")
  }

  static func another(_ file: StoreFile) -> String { "\(file.name) was written with another model" }

  // MARK: By the tables

  private func checkParents() throws {
    let entities = try PrimaryKeyTable.modelEntities(on: connection)
    for entity in entities {
      guard let number = Int32(exactly: entity.number), let parent = entity.parent,
        let mine = schema.entity(numbered: number)
      else { continue }
      let expected = mine.superentity.map { Int64(schema.entityNumber(of: $0)) } ?? 0
      guard expected != parent else { continue }
      let name = entities.first { $0.number == parent }?.name
      throw refusal(
        "\(mine.name) inherits from \(name ?? "none") in the file, and from \(mine.superentity?.name ?? "none") in this model",
        "Let \(mine.name) inherit from \(name ?? "no entity")")
    }
  }

  /// What a column of a declared type can keep.
  private static let keeps = [
    "INTEGER": "Integer 16, 32 or 64, Boolean, or a relationship", "FLOAT": "Double or Float",
    "TIMESTAMP": "Date", "DECIMAL": "Decimal", "VARCHAR": "String or URI",
    "BLOB": "Binary, UUID or Transformable",
  ]

  private func checkTypes(of table: EntityTable) throws {
    let present = try columns(of: table.name)
    for (index, column) in table.columns.enumerated() {
      let said: String
      switch column.kind {
      // Of these nothing is known of what a column keeps.
      case .attribute(.undefined), .attribute(.objectID), .attribute(.composite): continue
      case .attribute(let type): said = type.nameInFiles
      case .reference, .referenceEntity, .order: said = "a relationship"
      }
      guard let declared = present[column.name]?.uppercased(), let keeps = Self.keeps[declared],
        declared != column.declaration.type
      else { continue }
      let property = property(index, of: table) ?? "\(table.name).\(column.name)"
      throw refusal(
        "\(property) is \(keeps) in the file (\(table.name).\(column.name) \(declared)), and \(said) in this model",
        "Give \(property) the type that the file has")
    }
  }

  private typealias Constraint = (entity: String, names: [String], columns: Set<String>)

  private func constraints(of table: EntityTable) -> [Constraint] {
    table.entities.flatMap { entity in
      entity.uniquenessConstraints.compactMap { names in
        let columns = names.compactMap { name in
          entity.layout.index(named: name).flatMap { schema.columnName(of: $0, in: entity) }
        }
        return columns.count == names.count ? (entity.name, names, Set(columns)) : nil
      }
    }
  }

  private func checkUnique(_ table: EntityTable) throws {
    let constraints = constraints(of: table)
    guard !constraints.isEmpty else { return }
    let present = Set(try uniqueIndexes(of: table.name).map(\.columns))
    for constraint in constraints where !present.contains(constraint.columns) {
      let list = constraint.names.joined(separator: ", ")
      throw refusal(
        "\(constraint.entity) is unique by (\(list)) in this model, and nothing keeps it so in the file",
        "Take the uniqueness constraint (\(list)) from \(constraint.entity)")
    }
  }

  /// Keys that are all of one other entity, and none of the destination's, are no references to that.
  private func checkDestination(
    of relationship: RelationshipDescription, from entity: EntityDescription
  ) throws {
    guard !relationship.isToMany, !relationship.isTransient,
      let destination = relationship.destinationEntity,
      schema.entityNumber(of: destination) != 0,
      let slot = entity.layout.index(named: relationship.name),
      let column = schema.columnName(of: slot, in: entity)
    else { return }
    let keys = try connection.rows(
      """
      SELECT DISTINCT "\(column)" FROM "\(schema.tableName(of: entity))" WHERE "\(column)" > 0
      LIMIT \(Self.keysMax)
      """
    ).compactMap { row -> Int64? in if case .integer(let key) = row[0] { key } else { nil } }
    guard keys.count > 1, try count(keys, in: schema.tableName(of: destination)) == 0 else {
      return
    }
    let roots = schema.entities.filter { $0.superentity == nil && $0 !== destination.rootEntity }
    let found = try roots.filter { try count(keys, in: schema.tableName(of: $0)) == keys.count }
    guard let other = found.first else { return }
    let name = "\(entity.name).\(relationship.name)"
    throw refusal(
      "\(name) leads to \(other.name) in the file, by its keys, and to \(destination.name) in this model",
      "Give \(name) the destination \(found.map(\.name).joined(separator: " or "))")
  }

  /// Keys of a column that are looked up.
  private static let keysMax = 200

  private func count(_ keys: [Int64], in table: String) throws -> Int {
    let list = keys.map { "\($0)" }.joined(separator: ", ")
    let count = try connection.scalar("SELECT COUNT(*) FROM \"\(table)\" WHERE Z_PK IN (\(list))")
    if case .integer(let count)? = count { return Int(count) }
    return 0
  }

  // MARK: The file

  /// The declared types by name.
  private func columns(of table: String) throws -> [String: String] {
    try connection.rows("SELECT name, type FROM pragma_table_info(?)", .text(table))
      .reduce(into: [:]) { columns, row in
        if case .text(let name) = row[0], case .text(let type) = row[1] { columns[name] = type }
      }
  }

  private func uniqueIndexes(of table: String) throws -> [(name: String, columns: Set<String>)] {
    var indexes: [(name: String, columns: Set<String>)] = []
    for row in try connection.rows(
      "SELECT name FROM pragma_index_list(?) WHERE \"unique\" AND origin <> 'pk' ORDER BY name",
      .text(table))
    {
      guard case .text(let name) = row[0] else { continue }
      let columns = try connection.rows("SELECT name FROM pragma_index_info(?)", .text(name))
      indexes.append(
        (
          name,
          Set(columns.compactMap { if case .text(let column) = $0[0] { column } else { nil } })
        )
      )
    }
    return indexes
  }

  private func joinTables() throws -> [String] {
    try connection.rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'Z_[0-9]*' ORDER BY name"
    ).compactMap { row in
      guard case .text(let name) = row[0] else { return nil }
      // Both ends are named after entities of the file; a table of somebody's own is none.
      let ends = try columns(of: name).keys.filter { !$0.hasPrefix("Z_FOK_") }
      let isJoin = ends.count == 2 && ends.allSatisfy { $0.hasPrefix("Z_") || $0 == "REFLEXIVE" }
      return isJoin ? name : nil
    }
  }

  /// `ENTITY.PROPERTY`, by the topmost entity that has it.
  private func property(_ column: Int, of table: EntityTable) -> String? {
    for entity in table.entities {
      for binding in table.slotBindings(for: entity)
      where [binding.column, binding.entityColumn, binding.orderColumn].contains(column) {
        return "\(entity.name).\(entity.layout.slots[binding.slot].name)"
      }
    }
    return nil
  }

  // MARK: Words

  private func lacks(_ missing: String) -> StoreError {
    StoreError(
      .incompatibleModel, "\(Self.another(file)): the file has no \(missing).",
      suggestion: "Open it with its own model, or migrate it.")
  }

  private func unknown(_ what: String) -> StoreError {
    StoreError(
      .incompatibleModel, "\(Self.another(file)): this one has no property for \(what).",
      suggestion: "Open it with its own model, or for reading only, or migrate it.")
  }

  private func refusal(_ difference: String, _ change: String) -> StoreError {
    StoreError(
      .incompatibleModel, "\(Self.another(file)): \(difference).",
      suggestion: "\(change), or open the file with its own model, or migrate it.")
  }
}
