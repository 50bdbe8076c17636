import DriftlessSQLite

/// The tables and columns that a file has, where a model does not decide alone how they are named.
package struct PresentTables: Sendable {
  private var columnsByTable: [String: Set<String>] = [:]

  init(_ connection: SQLiteConnection) throws {
    for row in try connection.rows(
      """
      SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c
      WHERE t.type = 'table' AND t.name LIKE 'Z%'
      """)
    {
      guard case .text(let table) = row[0], case .text(let column) = row[1] else { continue }
      columnsByTable[table, default: []].insert(column)
    }
  }

  func has(_ table: String) -> Bool { columnsByTable[table] != nil }
  func has(_ column: String, in table: String) -> Bool {
    columnsByTable[table]?.contains(column) == true
  }

  /// The first of several names that the table has as a column; the first of all when it has none.
  func column(_ names: String..., in table: String) -> String {
    names.first { has($0, in: table) } ?? names[0]
  }

  /// The name, or the name with a digit, that a join table has as a column: Core Data numbers those of equal names.
  func numbered(_ name: String, in table: String) -> String {
    let names = [name] + (1...99).map { "\(name)\($0)" }
    return names.first { has($0, in: table) } ?? name
  }
}
