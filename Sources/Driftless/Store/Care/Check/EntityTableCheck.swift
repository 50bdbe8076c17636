import DriftlessSQLite
import Foundation

/// The table of each hierarchy: a row is an object of one of its entities, and each value is what its attribute holds.
struct EntityTableCheck: TableCheck {
  let tables: [String] = []

  func check(_ inspection: StoreInspection) throws {
    for table in inspection.schema.tables where inspection.has(table.name) {
      let concrete = table.entities.filter { !$0.isAbstract }
        .map { "\(inspection.schema.entityNumber(of: $0))" }
      try inspection.check(
        table.name, key: ["Z_PK"],
        [
          RowRule(
            "typeof(Z_ENT) = 'integer' AND Z_ENT IN (\(concrete.joined(separator: ", ")))",
            "it is of no entity of the model"),
          .integer("Z_PK", 1...Int64.max), .integer("Z_OPT", 0...ReadTransaction.greatestNumber),
        ])
      try checkValues(of: table, inspection)
    }
    try checkFiles(inspection)
  }

  // MARK: Values

  /// One pass over the rows, each value looked at where it lies.
  private func checkValues(of table: EntityTable, _ inspection: StoreInspection) throws {
    var tallies: [String: (rule: ValueRule, breach: ValueRule.Breach, StoreInspection.Tally)] = [:]
    let count = try? ValueRule.forEachBreach(of: table, inspection.transaction) {
      statement, rule, breach in
      let name = "\(rule.name) \(breach.rawValue)"
      var entry = tallies[name] ?? (rule, breach, StoreInspection.Tally())
      entry.2.add("Z_PK \(statement.int64(0))")
      tallies[name] = entry
    }
    guard let count else { return }
    inspection.countObjects(count)
    for (_, entry) in tallies.sorted(by: { $0.key < $1.key }) {
      inspection.report(
        entry.2, in: table.name, "\(entry.rule.name) \(entry.breach.rawValue)",
        entry.breach == .range ? .disagreement : .damage,
        suggestion:
          "Take what the zone has of them (syncctl verify --repair), set the property anew in these objects, or restore a backup."
      )
    }
  }

  /// Values that lie in files beside the store.
  private func checkFiles(_ inspection: StoreInspection) throws {
    let columns = inspection.schema.externalColumns.filter { inspection.has($0.table) }
    guard !columns.isEmpty else { return }
    let folder = ExternalDataFolder(store: inspection.connection.path)
    for column in columns {
      let lost = try ExternalData.referenced([column], inspection.connection)
        .filter { !folder.has($0) }
      guard let first = lost.min() else { continue }
      inspection.report(
        .damage, column.table,
        "\(column.table).\(column.column): \(lost.count) \(lost.count == 1 ? "value lies in a file beside the store that is" : "values lie in files beside the store that are") "
          + "not there, cut off, or cannot be read, such as \(first). \(folder.loss(of: first))",
        count: lost.count,
        suggestion:
          "Put the files back from a copy of the folder. Else syncctl verify --repair takes what the "
          + "zone has, and syncctl store give-up-lost FILE goes on without them.")
    }
  }
}
