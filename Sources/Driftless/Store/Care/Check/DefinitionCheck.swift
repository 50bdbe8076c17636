import DriftlessSQLite

/// Whether the file has every table and column of its model, and the indexes and triggers without which rows would come to
/// be wrong.
struct DefinitionCheck: TableCheck {
  let tables: [String] = []

  func check(_ inspection: StoreInspection) throws {
    let schema = inspection.schema
    try checkStatements(inspection)
    for table in schema.tables {
      try checkColumns(
        of: table.name, ["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map(\.name), inspection)
    }
    for join in schema.distinctJoinTables where join.held == nil {
      let orders = [join.destinationOrderColumn, join.sourceOrderColumn].compactMap { $0 }
      try checkColumns(
        of: join.name, [join.sourceColumn, join.destinationColumn] + orders, inspection)
    }
    // Core Data names its own, and keeps them.
    guard inspection.isOurs else { return }
    for entity in schema.entities {
      let table = schema.tableName(of: entity)
      for index in StoreDefinition.uniqueIndexes(of: entity, schema)
      where !inspection.has(index.name) {
        inspection.report(
          .damage, table, "\(table) has no index \(index.name): nothing keeps its keys unique.")
      }
      for tree in RTreeIndex.all(of: entity, schema) {
        for statement in tree.statements where !inspection.has(statement.name) {
          inspection.report(
            .damage, table, "\(table) has no \(statement.name): the index does not follow its rows."
          )
        }
      }
    }
    for attribute in try DerivedAttribute.all(in: schema, skipsUnknown: true) {
      let missing = DerivedTriggers(attribute: attribute).all.filter { !inspection.has($0.name) }
      guard !missing.isEmpty else { continue }
      inspection.report(
        .damage, attribute.table.name,
        "\(attribute.table.name) lacks \(missing.count) triggers of "
          + "\(attribute.entityName).\(attribute.name): its values do not follow.",
        suggestion: "Open the store for writing, which makes them anew.")
    }
  }

  /// Each table can be made by what the file says of it. Who only reads takes no look at a table's constraints; who writes is
  /// refused the whole file for one.
  private func checkStatements(_ inspection: StoreInspection) throws {
    let empty = try SQLiteConnection(path: "", mode: .inMemory)
    defer { empty.close() }
    try SQLFunction.register(on: empty)
    let rows = try inspection.connection.rows(
      """
      SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql GLOB 'CREATE TABLE*'
      AND name NOT GLOB 'sqlite_*'
      """)
    for row in rows {
      guard case .text(let name) = row[0], case .text(let statement) = row[1] else { continue }
      do {
        // Looked at, and not run: whatever stands behind the first statement is nobody's.
        _ = try empty.prepare(statement)
      } catch let error as SQLiteError {
        // Another program's own functions and collations: a file is used without them.
        if error.message.contains("no such function")
          || error.message.contains("no such collation")
        {
          continue
        }
        inspection.report(
          .damage, name, "\(name) cannot be used: \(error.message).",
          suggestion: """
            Restore the file. What it holds can be read still: syncctl store export FILE, and import that into a new store.
            """)
      }
    }
  }

  private func checkColumns(
    of table: String, _ columns: [String], _ inspection: StoreInspection
  ) throws {
    guard inspection.has(table) else {
      return inspection.report(.damage, table, "\(table) is missing.")
    }
    let present = try inspection.connection.rows(
      "SELECT name FROM pragma_table_info(?)", .text(table))
    for column in columns where !present.contains([.text(column)]) {
      inspection.report(.damage, table, "\(table) has no column \(column).")
    }
  }
}
