import DriftlessSQLite

/// The fetch indexes of an entity as SQL, under the names that Core Data gives them.
///
/// An index makes a fetch faster and changes nothing else: what SQLite cannot index is left out. An expression or a
/// partial index is by the same SQL that a fetch by that expression or predicate has, so that SQLite sees the one in the
/// other. Where that SQL calls a function of ours (see ``SQLFunction``), only those who have it can write the table.
struct FetchIndexes {
  /// What makes one index, or one part of it.
  struct Statement {
    /// The name of the index, table or trigger.
    let name: String
    let sql: String
  }

  private let entity: EntityDescription
  private let schema: StoreSchema
  private let table: String

  init(_ entity: EntityDescription, _ schema: StoreSchema) {
    self.entity = entity
    self.schema = schema
    table = schema.tableName(of: entity)
  }

  var statements: [Statement] {
    var statements: [Statement] = []
    for index in declared {
      if index.elements.first?.collationType == .rTree {
        statements += RTreeIndex(index, of: entity, schema)?.statements ?? []
      } else if let statement = statement(of: index) {
        statements.append(statement)
      }
    }
    return statements
  }

  private var declared: [FetchIndexDescription] {
    entity.indexes
      + entity.ownProperties.filter { $0.isIndexed && $0 is AttributeDescription }.map {
        FetchIndexDescription(
          name: $0.name, elements: [FetchIndexElementDescription(propertyName: $0.name)])
      }
  }

  private func statement(of index: FetchIndexDescription) -> Statement? {
    var parts: [String] = []
    for element in index.elements {
      guard let part = sql(of: element) else { return nil }
      parts.append("\(part) \(element.isAscending ? "ASC" : "DESC")")
    }
    guard !parts.isEmpty else { return nil }
    var condition = ""
    if index.partialIndexPredicateFormat != nil {
      let compilation = QueryCompilation(schema: schema, entity: entity)
      guard let predicate = index.partialIndexPredicate,
        let compiled = try? compilation.condition(predicate),
        let sql = ownColumnsOnly(compiled, compilation)
      else { return nil }
      condition = " WHERE \(sql)"
    }
    let name = "Z_\(entity.name)_\(index.name)"
    return Statement(
      name: name,
      sql: """
        CREATE INDEX IF NOT EXISTS "\(name)" ON "\(table)" (\(parts.joined(separator: ", ")))\(condition)
        """)
  }

  private func sql(of element: FetchIndexElementDescription) -> String? {
    if let format = element.expressionFormat {
      let compilation = QueryCompilation(schema: schema, entity: entity)
      guard let expression = try? FetchExpression(format: format),
        case .computed(let compiled, _)? = try? compilation.operand(expression)
      else { return nil }
      return ownColumnsOnly(compiled, compilation).map { "(\($0))" }
    }
    guard let slot = entity.layout.index(named: element.propertyName) else {
      return FetchIndexElementDescription.rowWords[element.propertyName].map {
        "\($0) COLLATE BINARY"
      }
    }
    guard let column = schema.columnName(of: slot, in: entity) else { return nil }
    if case .attribute(_, let type) = entity.layout.slots[slot].kind,
      type == .double || type == .float
    {
      return QueryCompilation.comparable(.identifier(column)).sql
    }
    return "\"\(column)\" COLLATE BINARY"
  }

  /// The SQL without an alias before the columns; nil when it needs rows of other tables.
  private func ownColumnsOnly(
    _ fragment: SQLFragment, _ compilation: QueryCompilation
  ) -> String? {
    let alias = SQLFragment.identifier(QueryCompilation.rootAlias).sql + "."
    let from = compilation.root.scope.from.sql
    guard !from.contains(" JOIN "), !fragment.sql.contains("SELECT ") else { return nil }
    return fragment.withLiterals.replacing(alias, with: "")
  }
}

/// An index of ranges of numbers: a virtual table that triggers keep, as in Core Data's files.
struct RTreeIndex {
  /// SQLite's bound.
  private static let dimensionsMax = 5

  let name: String
  let table: String
  /// The properties, and their columns in the entity's table.
  let dimensions: [(property: String, column: String)]
  private let entityNumbers: [Int32]?

  /// Nil for what has no column of numbers.
  init?(_ index: FetchIndexDescription, of entity: EntityDescription, _ schema: StoreSchema) {
    name = "Z_RT_\(entity.name)_\(index.name)"
    table = schema.tableName(of: entity)
    entityNumbers =
      entity.superentity == nil ? nil : schema.numbers(of: entity, includingSubentities: true)
    var dimensions: [(property: String, column: String)] = []
    for element in index.elements.prefix(Self.dimensionsMax) {
      guard element.expressionFormat == nil, index.partialIndexPredicateFormat == nil,
        let slot = entity.layout.index(named: element.propertyName),
        case .attribute(_, let type) = entity.layout.slots[slot].kind,
        [.integer16, .integer32, .integer64, .float, .double, .date].contains(type),
        let column = schema.columnName(of: slot, in: entity)
      else { return nil }
      dimensions.append((element.propertyName, column))
    }
    guard !dimensions.isEmpty else { return nil }
    self.dimensions = dimensions
  }

  /// Those of an entity that the file has.
  static func all(of entity: EntityDescription, _ schema: StoreSchema) -> [RTreeIndex] {
    entity.indexes.filter { $0.elements.first?.collationType == .rTree }
      .compactMap { RTreeIndex($0, of: entity, schema) }.filter(schema.has)
  }

  /// Those of the virtual table beside the key.
  var columns: Set<String> {
    Set(dimensions.flatMap { ["\($0.column)_MIN", "\($0.column)_MAX"] })
  }

  /// The R-tree indexes of a file with their columns, by name.
  static func all(on connection: SQLiteConnection) throws -> [String: Set<String>] {
    let rows = try connection.rows(
      """
      SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c
      WHERE t.type = 'table' AND t.name GLOB 'Z_RT_*' AND t.sql LIKE 'CREATE VIRTUAL TABLE%'
      """)
    var trees: [String: Set<String>] = [:]
    for row in rows {
      guard case .text(let name) = row[0], case .text(let column) = row[1] else { continue }
      trees[name, default: []].formUnion(column == "Z_PK" ? [] : [column])
    }
    return trees
  }

  /// Takes away the index, which has other columns, and what fills it.
  fileprivate func drop(on connection: SQLiteConnection) throws {
    let triggers = try connection.rows(
      "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", .text(table))
    for row in triggers {
      guard case .text(let trigger) = row[0], case .text(let sql) = row[1], isNamed(in: sql) else {
        continue
      }
      try connection.execute("DROP TRIGGER \(SQLFragment.identifier(trigger).sql)")
    }
    try connection.execute("DROP TABLE \(SQLFragment.identifier(name).sql)")
  }

  private func isNamed(in sql: String) -> Bool {
    sql.ranges(of: name).contains { range in
      guard range.upperBound < sql.endIndex else { return true }
      let next = sql[range.upperBound]
      return !next.isLetter && !next.isNumber && next != "_"
    }
  }

  var statements: [FetchIndexes.Statement] {
    let columns = dimensions.map { "\"\($0.column)_MIN\" FLOAT, \"\($0.column)_MAX\" FLOAT" }
      .joined(separator: ", ")
    func values(_ row: String) -> String {
      dimensions.map { "\(row).\"\($0.column)\", \(row).\"\($0.column)\"" }.joined(separator: ", ")
    }
    let changes = (["Z_PK"] + dimensions.map(\.column)).map { "\"\($0)\"" }
      .joined(separator: ", ")
    let put = "INSERT INTO \"\(name)\" SELECT NEW.Z_PK, \(values("NEW")) WHERE \(condition("NEW"))"
    let drop = "DELETE FROM \"\(name)\" WHERE Z_PK = OLD.Z_PK"
    func trigger(_ role: String, _ event: String, _ body: String) -> FetchIndexes.Statement {
      FetchIndexes.Statement(
        name: "\(name)_\(role)",
        sql: """
          CREATE TRIGGER IF NOT EXISTS "\(name)_\(role)" AFTER \(event) ON "\(table)" FOR EACH ROW \
          BEGIN \(body); END
          """)
    }
    return [
      FetchIndexes.Statement(
        name: name,
        sql: """
          CREATE VIRTUAL TABLE IF NOT EXISTS "\(name)" USING RTREE (Z_PK INTEGER PRIMARY KEY, \(columns))
          """),
      trigger("INSERT", "INSERT", put),
      trigger("UPDATE", "UPDATE OF \(changes)", "\(drop); \(put)"),
      trigger("DELETE", "DELETE", drop),
    ]
  }

  /// Fills the table from rows that are there already.
  var filling: String {
    let put = dimensions.map { "\"\($0.column)\", \"\($0.column)\"" }.joined(separator: ", ")
    return """
      INSERT INTO "\(name)" SELECT Z_PK, \(put) FROM "\(table)" WHERE \(condition("\"\(table)\""))
      """
  }

  /// Whether the index has an entry for a row.
  func condition(_ row: String) -> String {
    var conditions = dimensions.map { "\(row).\"\($0.column)\" NOT NULL" }
    if let entityNumbers {
      let list = entityNumbers.map { "\($0)" }.joined(separator: ", ")
      conditions.append("\(row).Z_ENT IN (\(list))")
    }
    return conditions.joined(separator: " AND ")
  }
}

extension StoreDefinition {
  /// Makes the indexes that a model got since the file was made: they are in no version hash. Those that it no longer has
  /// stay.
  static func completeIndexes(_ schema: StoreSchema, on connection: SQLiteConnection) throws {
    let present = try RTreeIndex.all(on: connection)
    for entity in schema.entities {
      for tree in entity.indexes.compactMap({ RTreeIndex($0, of: entity, schema) }) {
        if let columns = present[tree.name], columns != tree.columns {
          try tree.drop(on: connection)
        }
      }
      for statement in FetchIndexes(entity, schema).statements {
        let kept = try connection.scalar(
          "SELECT sql FROM sqlite_master WHERE name = ?", .text(statement.name))
        let wanted = statement.sql.replacing("IF NOT EXISTS ", with: "")
        if kept == .text(wanted) { continue }
        if kept != nil, wanted.hasPrefix("CREATE INDEX") {
          try connection.execute("DROP INDEX \"\(statement.name)\"")
        }
        try connection.execute(statement.sql)
        let tree = entity.indexes.compactMap { RTreeIndex($0, of: entity, schema) }
          .first { $0.name == statement.name }
        if kept == nil, let tree { try connection.execute(tree.filling) }
      }
    }
  }

  static func uniqueIndexes(
    of entity: EntityDescription, _ schema: StoreSchema
  ) -> [FetchIndexes.Statement] {
    let table = schema.tableName(of: entity)
    return entity.uniquenessConstraints.compactMap { constraint in
      let columns = constraint.compactMap { name -> String? in
        guard let slot = entity.layout.index(named: name) else { return nil }
        return schema.columnName(of: slot, in: entity).map { "\"\($0)\"" }
      }
      guard columns.count == constraint.count, !columns.isEmpty else { return nil }
      let name = "Z_\(entity.name)_UNIQUE_\(constraint.joined(separator: "_"))"
      return FetchIndexes.Statement(
        name: name,
        sql: """
          CREATE UNIQUE INDEX "\(name)"
          ON "\(table)" (\(columns.joined(separator: ", ")))
          """)
    }
  }
}
