import DriftlessSQLite

/// A model worked out from the tables of a file, for reading one that carries none.
///
/// Tables keep less than a model says: names are in lower case, whole numbers and truth values are both integers,
/// properties of subentities belong to the root of their hierarchy, and a to-many relationship whose other end is to-one
/// is named `<entity>_<property>`. A column of integers is a reference when it has the index that Core Data gives
/// references, and its destination is the entity that its name resembles and that has all the keys in it.
struct InferredModel {
  private struct Entity {
    let number: Int64
    let name: String
    let parent: Int64
    var table: String { "Z" + name.uppercased() }
  }

  private let connection: SQLiteConnection
  private let entities: [Entity]
  private var properties: [String: [PropertyDescription]] = [:]

  static func read(_ connection: SQLiteConnection) throws -> ManagedObjectModel {
    var inferred = try InferredModel(connection)
    for entity in inferred.entities where entity.parent == 0 { try inferred.addColumns(of: entity) }
    try inferred.addJoinTables()
    let model = ManagedObjectModel(
      entities: inferred.entities.map { entity in
        let description = EntityDescription(entity.name)
        description.superentityName =
          inferred.entities.first { $0.number == entity.parent }?.name
        description.properties = inferred.properties[entity.name] ?? []
        return description
      })
    try model.freeze()
    return model
  }

  private init(_ connection: SQLiteConnection) throws {
    self.connection = connection
    entities = try PrimaryKeyTable.modelEntities(on: connection).compactMap { entity in
      entity.parent.map { Entity(number: entity.number, name: entity.name, parent: $0) }
    }
  }

  private func entity(numbered number: Int64?) -> Entity? {
    entities.first { $0.number == number }
  }

  private mutating func add(_ property: PropertyDescription, to entity: Entity) {
    if !isTaken(property.name, of: entity) {
      properties[entity.name, default: []].append(property)
    }
  }

  /// Whether a property of the name is in the hierarchy: an heir cannot have it as well.
  private func isTaken(_ name: String, of entity: Entity) -> Bool {
    let root = root(of: entity)
    return entities.contains { other in
      properties[other.name]?.contains { $0.name == name } == true && self.root(of: other) == root
    }
  }

  private func root(of entity: Entity) -> Int64 {
    var current = entity
    for _ in entities {
      guard let parent = self.entity(numbered: current.parent) else { break }
      current = parent
    }
    return current.number
  }

  /// The name, or the name with a digit that is free: both ends of a relationship are there, or none.
  private func free(_ name: String, of entity: Entity) -> String {
    let names = [name] + (1...99).map { "\(name)_\($0)" }
    return names.first { !isTaken($0, of: entity) } ?? name
  }

  // MARK: Columns

  private mutating func addColumns(of entity: Entity) throws {
    let columns = try connection.rows(
      "SELECT name, type FROM pragma_table_info(?)", .text(entity.table))
    let names = Set(columns.map { $0[0] })
    for row in columns {
      guard case .text(let column) = row[0], case .text(let type) = row[1],
        column.hasPrefix("Z"), !column.hasPrefix("Z_"), let first = column.dropFirst().first
      else { continue }
      let upper = String(column.dropFirst())
      guard !first.isNumber else {
        addHolder(upper, of: entity, isOrdered: names.contains(.text("Z_FOK_" + upper)))
        continue
      }
      let isOrdered = names.contains(.text("Z_FOK_" + upper))
      if type == "INTEGER",
        let destination = try destination(of: column, in: entity, names, isOrdered)
      {
        addReference(upper.lowercased(), from: entity, to: destination, isOrdered: isOrdered)
      } else {
        add(AttributeDescription(upper.lowercased(), Self.type(of: type)), to: entity)
      }
    }
  }

  private static func type(of declaration: String) -> AttributeType {
    switch declaration {
    case "INTEGER": .integer64
    case "FLOAT": .double
    case "TIMESTAMP": .date
    case "DECIMAL": .decimal
    case "VARCHAR": .string
    default: .binaryData
    }
  }

  private mutating func addReference(
    _ name: String, from entity: Entity, to destination: Entity, isOrdered: Bool
  ) {
    guard !isTaken(name, of: entity) else { return }
    let inverse = free("\(entity.name.lowercased())_\(name)", of: destination)
    add(RelationshipDescription(name, to: destination.name, inverse: inverse), to: entity)
    add(
      RelationshipDescription(
        inverse, to: entity.name, inverse: name, toMany: true, isOrdered: isOrdered),
      to: destination)
  }

  /// A to-many relationship without inverse: the column has the number of the entity that holds, and its name.
  private mutating func addHolder(_ name: String, of held: Entity, isOrdered: Bool) {
    let digits = name.prefix { $0.isNumber }
    let rest = name.dropFirst(digits.count)
    guard !rest.hasPrefix("_"), !rest.isEmpty, let holder = entity(numbered: Int64(digits)) else {
      return
    }
    add(
      RelationshipDescription(
        rest.lowercased(), to: held.name, inverse: nil, toMany: true, isOrdered: isOrdered),
      to: holder)
  }

  /// The entity that a column refers to; nil for a column of plain numbers.
  private func destination(
    of column: String, in entity: Entity, _ names: Set<SQLiteValue>, _ isOrdered: Bool
  ) throws -> Entity? {
    let upper = String(column.dropFirst())
    // A column beside it says of which entity of a hierarchy the other object is.
    for candidate in entities where names.contains(.text("Z\(candidate.number)_\(upper)")) {
      return candidate
    }
    let index = "\(entity.table)_\(column)_INDEX"
    guard
      try isOrdered
        || connection.scalar(
          "SELECT 1 FROM sqlite_master WHERE type = 'index' AND upper(name) = ?", .text(index))
          != nil
    else { return nil }
    let roots = try entities.filter { try $0.parent == 0 && holdsKeys(of: column, entity, $0) }
    func resembles(_ candidate: Entity) -> Int {
      let name = candidate.name.uppercased()
      if name == upper { return 3 }
      if name.hasSuffix(upper) || upper.hasSuffix(name) { return 2 }
      return name.hasPrefix(upper) || upper.hasPrefix(name) ? 1 : 0
    }
    if roots.count == 1 { return roots[0] }
    guard let best = roots.max(by: { resembles($0) < resembles($1) }), resembles(best) > 0 else {
      return nil
    }
    return best
  }

  private func holdsKeys(of column: String, _ entity: Entity, _ other: Entity) throws -> Bool {
    try connection.rows(
      """
      SELECT 1 FROM "\(entity.table)" WHERE "\(column)" IS NOT NULL
      AND "\(column)" NOT IN (SELECT Z_PK FROM "\(other.table)") LIMIT 1
      """
    ).isEmpty
  }

  // MARK: Join tables

  private mutating func addJoinTables() throws {
    let tables = try connection.rows(
      """
      SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'Z_[0-9]*' ORDER BY name
      """)
    for row in tables {
      guard case .text(let table) = row[0] else { continue }
      let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", .text(table))
        .compactMap { row -> String? in
          if case .text(let name) = row[0] { return name }
          return nil
        }
      addJoinTable(columns)
    }
  }

  private mutating func addJoinTable(_ columns: [String]) {
    let ends = columns.filter { !$0.hasPrefix("Z_FOK_") }
    guard ends.count == 2 else { return }
    func end(_ column: String) -> (entity: Entity, name: String)? {
      let rest = column.dropFirst(2)
      let digits = rest.prefix { $0.isNumber }
      let name = rest.dropFirst(digits.count).lowercased()
      guard let entity = entity(numbered: Int64(digits)), !name.isEmpty else { return nil }
      return (entity, name)
    }
    func isOrdered(_ column: String) -> Bool {
      columns.contains("Z_FOK_" + column.dropFirst(2))
    }
    let reflexive = ends.firstIndex(of: "REFLEXIVE")
    guard let first = end(ends[reflexive == 0 ? 1 : 0]) else { return }
    if reflexive != nil {
      return add(
        RelationshipDescription(
          first.name, to: first.entity.name, inverse: first.name, toMany: true),
        to: first.entity)
    }
    // A column is named after the relationship that leads to what it holds, and its name tells the column: where one is
    // taken, the relationship is left out at both ends.
    guard let second = end(ends[1]), !isTaken(second.name, of: first.entity),
      !isTaken(first.name, of: second.entity),
      first.name != second.name || root(of: first.entity) != root(of: second.entity)
    else { return }
    add(
      RelationshipDescription(
        second.name, to: second.entity.name, inverse: first.name, toMany: true,
        isOrdered: isOrdered(ends[1])), to: first.entity)
    add(
      RelationshipDescription(
        first.name, to: first.entity.name, inverse: second.name, toMany: true,
        isOrdered: isOrdered(ends[0])), to: second.entity)
  }
}
