import DriftlessSQLite

/// Rows of one table that are of no entity of the store's model: who reads the store by its model does not see them.
package struct UnknownRows: Hashable, Sendable {
  package let table: String
  /// The number in `Z_ENT`; nil where none stands there.
  package let entity: Int64?
  package let count: Int

  /// One sentence.
  package var text: String {
    let number = entity.map { "the entity number \($0)" } ?? "no entity number"
    return
      "\(table) has \(count) row\(count == 1 ? "" : "s") with \(number), which the model does not have."
  }
}

extension PersistentStore {
  /// The rows of the store's tables that are of none of its entities, by table and number.
  ///
  /// - Throws: `StoreError`.
  package func unknownRows() throws -> [UnknownRows] {
    try read { transaction in
      try schema.tables.flatMap { table in
        let numbers = table.entities.map { "\(schema.entityNumber(of: $0))" }
        return try transaction.connection.rows(
          """
          SELECT Z_ENT, COUNT(*) FROM "\(table.name)" WHERE Z_ENT IS NULL
          OR Z_ENT NOT IN (\(numbers.joined(separator: ", "))) GROUP BY Z_ENT ORDER BY Z_ENT
          """
        ).map { row in
          var (entity, count): (Int64?, Int) = (nil, 0)
          if case .integer(let number) = row[0] { entity = number }
          if case .integer(let number) = row[1] { count = Int(number) }
          return UnknownRows(table: table.name, entity: entity, count: count)
        }
      }
    }
  }
}
