import DriftlessSQLite

/// Brings what a store notes of objects in line with another model: its tables know objects by entity and key, properties by
/// name, and whole rows by place. How each says it is its owner's to know.
struct MigrationBookkeeping {
  let keys: MigrationKeys
  let connection: SQLiteConnection

  func run() throws {
    let tables = try ObjectTables(on: connection)
    try dropEntities(tables)
    try EngineRows.confirmUnions(on: connection)
    for match in keys.plan.matches {
      let entity = Int64(keys.new.entityNumber(of: match.destination))
      let names = names(match)
      try Graves.migrate(entity: entity, on: connection) { keys.row($0, match) }
      try tables.rename(names, ofEntity: entity)
      try EngineRows.renamePending(names, ofEntity: entity, on: connection)
    }
    try mapJournal()
    try shiftKeys(tables)
  }

  private func dropEntities(_ tables: ObjectTables) throws {
    for entity in keys.old.entities where keys.plan.match(ofSource: entity) == nil {
      let number = Int64(keys.old.entityNumber(of: entity))
      try ChangeTable.drop(entity: number, on: connection)
      try tables.drop(entity: number)
    }
  }

  private func mapJournal() throws {
    guard let journal = try EngineRows.Journal(on: connection) else { return }
    for match in keys.plan.matches {
      try journal.mapRows(ofEntity: match.source.name) { keys.row($0, match) }
      for (slot, former) in zip(match.destination.layout.slots, match.sourceSlots) {
        guard let former, former.name != slot.name else { continue }
        try journal.rename(former.name, ofEntity: match.source.name, to: slot.name)
      }
      try journal.rename(entity: match.source.name, to: match.destination.name)
    }
    try journal.finish()
  }

  /// What the properties are called that had other names, and those that are gone: under an empty name.
  private func names(_ match: MigrationPlan.EntityMatch) -> [String: String] {
    var names: [String: String] = [:]
    for slot in match.source.layout.slots { names[slot.name] = "" }
    for (slot, former) in zip(match.destination.layout.slots, match.sourceSlots) {
      if let former { names[former.name] = slot.name }
    }
    for (former, name) in names {
      names[PlaceName.of(former)] = name.isEmpty ? "" : PlaceName.of(name)
      names[OfferName.of(former)] = name.isEmpty ? "" : OfferName.of(name)
    }
    return names.filter { $0.key != $0.value }
  }

  /// Objects of a hierarchy that was merged into another have other keys.
  private func shiftKeys(_ tables: ObjectTables) throws {
    let moved = keys.ways.filter { $0.offset != 0 }
    guard !moved.isEmpty else { return }
    for (entity, offset) in keys.shifted {
      try ChangeTable.shiftKeys(ofEntity: entity, by: offset, on: connection)
      try tables.shiftKeys(ofEntity: Int64(entity), by: offset)
    }
    try BaseValues.migrate(on: connection, keys.value)
    for way in moved {
      try EngineRows.moveTargets(
        root: keys.old.entityNumber(of: way.source),
        to: keys.new.entityNumber(of: way.destination), by: way.offset, on: connection)
    }
  }
}
