import DriftlessSQLite
import Foundation

/// Carries what a store remembers into one of another model: its history, and the tables of sync. They know entities by
/// number, which stays, and properties by place, which changes.
struct MigrationHistory {
  let keys: MigrationKeys
  let connection: SQLiteConnection
  /// Whether the new store knows the identities already.
  var keepsIdentities = false

  private var plan: MigrationPlan { keys.plan }
  private var old: StoreSchema { keys.old }
  private var new: StoreSchema { keys.new }

  func run() throws {
    try copyTables()
    try mapRecords()
    if !keepsIdentities { try MigrationIdentities(keys: keys, connection: connection).run() }
  }

  /// Brings what is in the tables already in line with the new model.
  func mapRecords() throws {
    for match in plan.matches {
      try mapUpdates(match)
      try mapTombstones(match)
    }
    try MigrationBookkeeping(keys: keys, connection: connection).run()
  }

  /// Takes over every table that does not follow from the model, as it is.
  private func copyTables() throws {
    let tables = try connection.rows(
      """
      SELECT name, sql FROM old.sqlite_master WHERE type = 'table' AND name <> '\(ModelInside.table)' AND
      (name GLOB 'ZDL_*' OR name IN ('ATRANSACTION', 'ACHANGE', 'ATRANSACTIONSTRING'))
      """)
    for row in tables {
      guard case .text(let name) = row[0], case .text(let sql) = row[1],
        !(keepsIdentities && name == IdentityRuns.table)
      else { continue }
      let extra = try tombstoneColumns(name)
      try connection.execute("DROP TABLE IF EXISTS main.\"\(name)\"")
      try connection.execute(sql)
      for index in try connection.rows(
        "SELECT sql FROM old.sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql NOT NULL",
        .text(name))
      {
        if case .text(let sql) = index[0] { try connection.execute(sql) }
      }
      try connection.execute(
        "INSERT INTO main.\"\(name)\" SELECT * FROM old.\"\(name)\"")
      for column in extra {
        let isThere = try connection.rows(
          "SELECT 1 FROM pragma_table_info('ACHANGE', 'main') WHERE name = ?", .text(column))
        if isThere.isEmpty {
          try connection.execute("ALTER TABLE main.ACHANGE ADD COLUMN \(column)")
        }
      }
    }
    // A file of Core Data's has transactions, but not what we note of them.
    let names = Set(tables.map { $0[0] })
    if names.contains(.text("ATRANSACTION")), !names.contains(.text(TransactionNotes.table)) {
      try connection.execute(TransactionNotes.takeOver)
    }
    try connection.execute(
      """
      INSERT OR REPLACE INTO main.Z_PRIMARYKEY SELECT * FROM old.Z_PRIMARYKEY WHERE Z_ENT >= 16000
      """)
  }

  /// The columns for values of deleted objects that the new model asks for.
  private func tombstoneColumns(_ table: String) throws -> [String] {
    guard table == "ACHANGE" else { return [] }
    let count = new.numbers.compactMap { new.program(numbered: $0.number)?.tombstoneSlots.count }
    return (0..<(count.max() ?? 0)).map { "ZTOMBSTONE\($0)" }
  }

  private func programs(
    _ match: MigrationPlan.EntityMatch
  ) -> (old: RowProgram, new: RowProgram, number: Int32)? {
    let number = new.entityNumber(of: match.destination)
    guard let former = old.program(numbered: number), let program = new.program(numbered: number)
    else { return nil }
    return (former, program, number)
  }

  /// Which properties an update changed, at their new places. What Core Data recorded is not ours to read, and stays.
  private func mapUpdates(_ match: MigrationPlan.EntityMatch) throws {
    guard let (former, program, number) = programs(match) else { return }
    try connection.execute(
      """
      CREATE TEMP TABLE IF NOT EXISTS migrated (former BLOB PRIMARY KEY, present BLOB);
      DELETE FROM temp.migrated
      """)
    var isChanged = false
    for row in try connection.rows(
      """
      SELECT DISTINCT ZCOLUMNS FROM main.ACHANGE WHERE ZENTITY = ? AND ZCHANGETYPE = 1
      AND NOT \(TransactionNotes.isAdopted)
      """, .integer(Int64(number)))
    {
      guard case .blob(let bytes) = row[0] else { continue }
      let changed = bytes.withUnsafeBytes { former.mask(ofColumns: $0) }
      var mask = PropertyMask()
      for (slot, source) in match.sourceSlots.enumerated() {
        if let source, changed.contains(source.index) { mask.insert(slot) }
      }
      let present = Data(program.columnsBytes(of: mask))
      if present != bytes { isChanged = true }
      try connection.run(
        "INSERT INTO temp.migrated VALUES (?, ?)", .blob(bytes), .blob(present))
    }
    guard isChanged else { return }
    try connection.execute(
      """
      UPDATE main.ACHANGE SET ZCOLUMNS =
      (SELECT present FROM temp.migrated WHERE former = ZCOLUMNS)
      WHERE ZENTITY = \(number) AND ZCHANGETYPE = 1 AND ZCOLUMNS IS NOT NULL
      AND NOT \(TransactionNotes.isAdopted)
      """)
  }

  private func mapTombstones(_ match: MigrationPlan.EntityMatch) throws {
    guard let (former, program, number) = programs(match) else { return }
    let places = program.tombstoneSlots.map { slot in
      match.sourceSlots[slot].flatMap { former.tombstoneSlots.firstIndex(of: $0.index) }
    }
    // A file without a history has no columns for what its model would keep.
    let columnCount = try connection.rows(
      "SELECT 1 FROM pragma_table_info('ACHANGE', 'main') WHERE name GLOB 'ZTOMBSTONE[0-9]*'"
    ).count
    let count = min(columnCount, max(places.count, former.tombstoneSlots.count))
    guard count > 0, places != (0..<count).map({ Optional($0) }) else { return }
    let columns = (0..<count).map { index in
      let place = index < places.count ? places[index] : nil
      let former = place.flatMap { $0 < columnCount ? "ZTOMBSTONE\($0)" : nil }
      return "ZTOMBSTONE\(index) = \(former ?? "NULL")"
    }
    try connection.execute(
      """
      UPDATE main.ACHANGE SET \(columns.joined(separator: ", "))
      WHERE ZENTITY = \(number) AND ZCHANGETYPE = 2
      """)
  }
}
