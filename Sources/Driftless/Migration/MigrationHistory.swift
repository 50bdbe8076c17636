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
      (name GLOB 'ZDL_*' OR name IN ('\(TransactionTable.table)', '\(ChangeTable.table)',
      '\(TransactionTable.stringTable)'))
      """)
    for row in tables {
      guard case .text(let name) = row[0], case .text(let sql) = row[1],
        !(keepsIdentities && name == IdentityRuns.table)
      else { continue }
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
      if name == ChangeTable.table { try ChangeTable.completeTombstones(new, on: connection) }
    }
    // A file of Core Data's has transactions, but not what we note of them.
    let names = Set(tables.map { $0[0] })
    if names.contains(.text(TransactionTable.table)), !names.contains(.text(TransactionNotes.table))
    {
      try connection.execute(TransactionNotes.takeOver)
    }
    try PrimaryKeyTable.copyHistory(from: "old", on: connection)
  }

  private func programs(
    _ match: MigrationPlan.EntityMatch
  ) -> (old: RowProgram, new: RowProgram, number: Int32)? {
    let number = new.entityNumber(of: match.destination)
    guard let former = old.program(numbered: number), let program = new.program(numbered: number)
    else { return nil }
    return (former, program, number)
  }

  /// Which properties an update changed, at their new places.
  private func mapUpdates(_ match: MigrationPlan.EntityMatch) throws {
    guard let (former, program, number) = programs(match) else { return }
    try ChangeTable.mapMasks(ofEntity: number, on: connection) { bytes in
      let changed = former.mask(ofColumns: bytes)
      var mask = PropertyMask()
      for (slot, source) in match.sourceSlots.enumerated() {
        if let source, changed.contains(source.index) { mask.insert(slot) }
      }
      return Data(program.columnsBytes(of: mask))
    }
  }

  private func mapTombstones(_ match: MigrationPlan.EntityMatch) throws {
    guard let (former, program, number) = programs(match) else { return }
    let places = program.tombstoneSlots.map { slot in
      match.sourceSlots[slot].flatMap { former.tombstoneSlots.firstIndex(of: $0.index) }
    }
    try ChangeTable.moveTombstones(
      ofEntity: number, from: places, formerCount: former.tombstoneSlots.count, on: connection)
  }
}
