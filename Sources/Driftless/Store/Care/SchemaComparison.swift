import DriftlessSQLite
package import Foundation

/// How the schemas of two store files differ: tables, columns, indexes, the numbers of entities, and version hashes.
///
/// The order of columns is no difference, since every statement names them. What Driftless adds (`ZDL_…`) is left out unless it
/// is asked for: a file that Core Data wrote has nothing of it.
package struct SchemaComparison: Sendable {
  /// What is compared.
  package enum Kind: String, Sendable, Encodable, CaseIterable {
    case table, column, index, entity, hash
  }

  /// One thing that the files do not have alike.
  package struct Difference: Hashable, Sendable, Encodable {
    package let kind: Kind
    package let name: String
    /// What the first file has; nil for nothing.
    package let first: String?
    /// What the second file has; nil for nothing.
    package let second: String?
  }

  /// By kind, and by name within.
  package let differences: [Difference]

  /// Reads both files, and changes nothing in them.
  ///
  /// - Parameter includesOwn: Whether tables of Driftless's own are compared too.
  /// - Throws: `StoreError` for a file that cannot be read, or is no store.
  package init(_ first: URL, _ second: URL, includesOwn: Bool = false) throws {
    let (a, b) = (
      try Self.parts(of: first, includesOwn), try Self.parts(of: second, includesOwn)
    )
    differences = Kind.allCases.flatMap { kind -> [Difference] in
      let (mine, other) = (a[kind] ?? [:], b[kind] ?? [:])
      return Set(mine.keys).union(other.keys).sorted().compactMap { name -> Difference? in
        guard mine[name] != other[name] else { return nil }
        // What a table has that one file lacks goes without saying.
        if kind == .column || kind == .index, let table = name.split(separator: ".").first {
          let table = String(table)
          guard a[.table]?[table] != nil, b[.table]?[table] != nil else { return nil }
        }
        return Difference(kind: kind, name: name, first: mine[name], second: other[name])
      }
    }
  }

  private typealias Parts = [Kind: [String: String]]

  private static func parts(of url: URL, _ includesOwn: Bool) throws -> Parts {
    try PersistentStore.onFile(url, .inspecting(url)) { connection in
      let (_, metadata) = try MetadataTable.read(on: connection, path: url.path)
      var parts: Parts = [:]
      for (entity, hash) in metadata.versionHashes {
        parts[.hash, default: [:]][entity] = hash.base64EncodedString()
      }
      for entity in try PrimaryKeyTable.entities(on: connection) {
        parts[.entity, default: [:]][text(entity.name)] =
          "number \(text(entity.number)), parent \(text(entity.parent))"
      }
      let tables = try connection.rows(
        """
        SELECT name, substr(sql, 1, 20) FROM sqlite_master WHERE type = 'table'
        AND name NOT GLOB 'sqlite_*' ORDER BY name
        """)
      for row in tables {
        let name = text(row[0])
        guard includesOwn || !name.hasPrefix("ZDL_") else { continue }
        let isVirtual = text(row[1]).uppercased().hasPrefix("CREATE VIRTUAL")
        parts[.table, default: [:]][name] = isVirtual ? "virtual table" : "table"
        try add(columnsOf: name, to: &parts, connection)
        try add(indexesOf: name, to: &parts, connection)
      }
      return parts
    }
  }

  private static func add(
    columnsOf table: String, to parts: inout Parts, _ connection: SQLiteConnection
  ) throws {
    for row in try connection.rows(
      "SELECT name, type, pk FROM pragma_table_info(?)", .text(table))
    {
      let key = row[2] == .integer(0) ? "" : ", key"
      parts[.column, default: [:]]["\(table).\(text(row[0]))"] = text(row[1]) + key
    }
  }

  private static func add(
    indexesOf table: String, to parts: inout Parts, _ connection: SQLiteConnection
  ) throws {
    let indexes = try connection.rows(
      """
      SELECT l.name, l."unique", m.sql FROM pragma_index_list(?) l
      JOIN sqlite_master m ON m.type = 'index' AND m.name = l.name WHERE m.sql NOT NULL
      """, .text(table))
    for row in indexes {
      let columns = try connection.rows(
        """
        SELECT name, "desc", coll FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno
        """, row[0]
      ).map { column in
        let name = column[0] == .null ? "(expression)" : text(column[0])
        let order = column[1] == .integer(1) ? " DESC" : ""
        let collation = text(column[2])
        return name + (collation == "BINARY" ? "" : " \(collation)") + order
      }
      var definition = (row[1] == .integer(1) ? "unique " : "") + columns.joined(separator: ", ")
      let sql = text(row[2]).split(whereSeparator: \.isWhitespace).joined(separator: " ")
      if let start = sql.range(of: " WHERE ") {
        definition += " where " + sql[start.upperBound...]
      }
      parts[.index, default: [:]]["\(table).\(text(row[0]))"] = definition
    }
  }

  private static func text(_ value: SQLiteValue) -> String {
    switch value {
    case .text(let text): text
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .blob(let data): "\(data.count) bytes"
    case .null: ""
    }
  }
}
