import DriftlessSQLite

/// What a migration does to all tables that know objects, the store's own and the engine's: they name an object in `entity`
/// and `key`, and one of its properties in `property`. Which do, the file's own schema says: a table that is added needs no
/// place in a list.
struct ObjectTables {
  private let connection: SQLiteConnection
  /// The tables that name objects.
  private let names: [String]
  /// Of these, those that name a property.
  private let namesWithProperty: [String]
  /// Of these, those that keep values of it, with the columns of their keys.
  private let keysByTable: [String: [String]]

  /// Marks what is changed already, so that names may change places.
  static let mark = "\u{1}"

  init(on connection: SQLiteConnection) throws {
    self.connection = connection
    func tables(with columns: [String]) throws -> [String] {
      let conditions = columns.map {
        "EXISTS (SELECT 1 FROM pragma_table_info(t.name, 'main') WHERE name = '\($0)')"
      }
      return try connection.rows(
        """
        SELECT name FROM main.sqlite_master t WHERE type = 'table' AND name GLOB 'ZDL_*'
        AND \(conditions.joined(separator: " AND ")) ORDER BY name
        """
      ).compactMap { if case .text(let name) = $0[0] { name } else { nil } }
    }
    names = try tables(with: ["entity", "key"])
    namesWithProperty = try tables(with: ["entity", "key", "property"])
    var keys: [String: [String]] = [:]
    for table in try tables(with: ["entity", "key", "property", "value"]) {
      keys[table] = try connection.rows(
        "SELECT name FROM pragma_table_info(?, 'main') WHERE pk > 0 ORDER BY pk", .text(table)
      ).compactMap { if case .text(let name) = $0[0] { name } else { nil } }
    }
    keysByTable = keys
  }

  /// Forgets the objects of an entity.
  func drop(entity: Int64) throws {
    for table in names {
      try connection.run("DELETE FROM main.\(table) WHERE entity = ?", .integer(entity))
    }
  }

  /// Gives properties of an entity other names, which may be former ones of others; those whose name is empty now are
  /// forgotten.
  func rename(_ properties: [String: String], ofEntity entity: Int64) throws {
    guard !properties.isEmpty else { return }
    for table in namesWithProperty {
      for (former, name) in properties {
        if name.isEmpty {
          try connection.run(
            "DELETE FROM main.\(table) WHERE entity = ? AND property = ?", .integer(entity),
            .text(former))
        } else {
          try connection.run(
            "UPDATE main.\(table) SET property = ? WHERE entity = ? AND property = ?",
            .text(Self.mark + name), .integer(entity), .text(former))
        }
      }
      try connection.run(
        """
        UPDATE main.\(table) SET property = ltrim(property, '\(Self.mark)')
        WHERE entity = ? AND substr(property, 1, 1) = '\(Self.mark)'
        """, .integer(entity))
    }
  }

  /// Says in other words what is kept of the properties of an entity's objects.
  ///
  /// - Parameter values: gets a property by its name of now, with what a row keeps of it.
  func mapValues(
    ofEntity entity: Int64, _ values: (String, [PropertyValue]) throws -> [PropertyValue]
  ) throws {
    for (table, key) in keysByTable.sorted(by: { $0.key < $1.key }) where !key.isEmpty {
      let condition = key.map { "\($0) = ?" }.joined(separator: " AND ")
      let update = try connection.prepare("UPDATE main.\(table) SET value = ? WHERE \(condition)")
      defer { update.reset() }
      for row in try connection.rows(
        """
        SELECT property, value, \(key.joined(separator: ", ")) FROM main.\(table)
        WHERE entity = ?
        """, .integer(entity))
      {
        guard case .text(let property) = row[0], case .blob(let bytes) = row[1],
          let former = try? RowArchive.decodeValues(bytes)
        else { continue }
        let changed = RowArchive.encode(try values(property, former))
        guard changed != bytes else { continue }
        update.reset()
        update.bind([.blob(changed)] + row.dropFirst(2))
        try update.run()
      }
    }
  }

  /// Moves the keys of an entity's objects.
  func shiftKeys(ofEntity entity: Int64, by offset: Int64) throws {
    for table in names {
      // By way of negative keys, since a new key may be another's old one.
      try connection.execute(
        """
        UPDATE main.\(table) SET key = -(key + \(offset)) WHERE entity = \(entity);
        UPDATE main.\(table) SET key = -key WHERE entity = \(entity) AND key < 0
        """)
    }
  }
}
