import DriftlessSQLite

/// `Z_PRIMARYKEY`: a row for each entity of the model and each of the history, with its parent, and the greatest key that
/// was given out in a hierarchy.
struct KeyCheck: TableCheck {
  let tables = ["Z_PRIMARYKEY"]

  func check(_ inspection: StoreInspection) throws {
    try inspection.check("Z_PRIMARYKEY", key: ["Z_NAME", "Z_MAX"], PrimaryKeyTable.rules)
    try inspection.report(
      rowsOf: "SELECT Z_NAME FROM Z_PRIMARYKEY GROUP BY Z_NAME HAVING COUNT(*) > 1",
      in: "Z_PRIMARYKEY", "the entity has two numbers")
    let schema = inspection.schema
    for (entity, number) in schema.numbers {
      let parent = entity.superentity.map { schema.entityNumber(of: $0) } ?? 0
      let rows = try inspection.connection.rows(
        "SELECT Z_NAME, Z_SUPER FROM Z_PRIMARYKEY WHERE Z_ENT = ?", .integer(Int64(number)))
      let names = [entity.name, entity.renamingIdentifier ?? entity.name]
        .map { SQLiteValue.text($0) }
      if let row = rows.first, !names.contains(row[0]) || row[1] != .integer(Int64(parent)) {
        inspection.report(
          .damage, "Z_PRIMARYKEY",
          "Z_PRIMARYKEY says of entity \(number), which is \(entity.name), another name or parent.")
      } else if rows.isEmpty {
        inspection.report(
          .damage, "Z_PRIMARYKEY", "Z_PRIMARYKEY has no row for \(entity.name), entity \(number).")
      }
      guard entity.superentity == nil, inspection.has(schema.tableName(of: entity)) else {
        continue
      }
      try check(schema.tableName(of: entity), Int64(number), inspection)
    }
    try checkUnknown(inspection)
    for (entity, table) in [
      (HistoryEntity.change, "ACHANGE"), (HistoryEntity.transaction, "ATRANSACTION"),
      (HistoryEntity.string, "ATRANSACTIONSTRING"),
    ] where inspection.has(table) {
      try check(table, entity, inspection)
      let name = try inspection.connection.scalar(
        "SELECT Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT = ?", .integer(entity))
      guard inspection.isOurs, let name, name != .text(String(table.dropFirst())) else { continue }
      inspection.report(
        .damage, "Z_PRIMARYKEY",
        "Z_PRIMARYKEY says of entity \(entity), which is \(table.dropFirst()), another name.")
    }
  }

  /// No row has a key that was not given out.
  private func check(_ table: String, _ entity: Int64, _ inspection: StoreInspection) throws {
    guard
      case .integer(let given)? = try inspection.connection.scalar(
        "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?", .integer(entity))
    else {
      // A file of Core Data's without a history has none of its keys.
      guard inspection.isOurs else { return }
      return inspection.report(
        .damage, "Z_PRIMARYKEY", "Z_PRIMARYKEY does not say which keys of \(table) were given out.")
    }
    guard
      case .integer(let largest)? = try inspection.connection.scalar(
        "SELECT MAX(Z_PK) FROM \"\(table)\""), largest > max(0, given)
    else { return }
    inspection.report(
      .damage, table, "\(table) has key \(largest), but keys were given out up to \(given) only.")
  }

  /// Rows of entities that the file's metadata do not name.
  private func checkUnknown(_ inspection: StoreInspection) throws {
    let metadata = try? MetadataTable.read(
      on: inspection.connection, path: inspection.file.name
    ).1
    guard let metadata, inspection.isOurs else { return }
    let numbers = Set(inspection.schema.numbers.map { Int64($0.number) })
    let ends = [HistoryEntity.change, HistoryEntity.transaction, HistoryEntity.string]
    for row in try inspection.connection.rows("SELECT Z_ENT, Z_NAME FROM Z_PRIMARYKEY") {
      guard case .integer(let number) = row[0], case .text(let name) = row[1],
        !numbers.contains(number), !ends.contains(number), metadata.versionHashes[name] == nil
      else { continue }
      inspection.report(
        .disagreement, "Z_PRIMARYKEY",
        "Z_PRIMARYKEY has entity \(number), “\(name.prefix(40))”, which the store does not have.")
    }
  }
}
