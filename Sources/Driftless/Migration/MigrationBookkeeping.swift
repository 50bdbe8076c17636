import DriftlessSQLite

/// Brings what a store notes of objects in line with another model: its tables know objects by entity and key, properties by
/// name, and whole rows by place. How each says it is its owner's to know.
struct MigrationBookkeeping {
  let keys: MigrationKeys
  let connection: SQLiteConnection

  func run() throws {
    let tables = try ObjectTables(on: connection)
    let moved = try MovedHierarchies(keys, connection)
    let gone = GoneEntities(keys: keys, connection: connection)
    try dropEntities(tables)
    try gone.keepKeys()
    try EngineRows.confirmUnions(on: connection)
    for match in keys.plan.matches {
      let entity = Int64(keys.new.entityNumber(of: match.destination))
      let names = names(match)
      try Graves.migrate(entity: entity, on: connection) { keys.row($0, match) }
      try tables.rename(names, ofEntity: entity)
      try EngineRows.renamePending(names, ofEntity: entity, on: connection)
      let values = MigratedValues(match, moved)
      if !values.stay { try tables.mapValues(ofEntity: entity, values.kept) }
    }
    try mapJournal(moved, gone)
    try MigrationKeyNotes(keys: keys, connection: connection).run()
    guard !moved.isEmpty else { return }
    try shiftKeys(tables)
    try EngineRows.moveTargets(on: connection, moved.rooted)
  }

  private func dropEntities(_ tables: ObjectTables) throws {
    for entity in keys.old.entities where keys.plan.match(ofSource: entity) == nil {
      let number = Int64(keys.old.entityNumber(of: entity))
      try ChangeTable.drop(entity: number, on: connection)
      try tables.drop(entity: number)
    }
  }

  private func mapJournal(_ moved: MovedHierarchies, _ gone: GoneEntities) throws {
    guard let journal = try EngineRows.Journal(on: connection) else { return }
    try gone.mapJournal(journal, moved)
    for match in keys.plan.matches {
      try journal.mapRows(ofEntity: match.source.name) { keys.row($0, match) }
      let values = MigratedValues(match, moved)
      if !values.stay || moved.someAreGone {
        try journal.mapValues(ofEntity: match.source.name, values.told)
      }
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
    for (entity, offset) in keys.shifted {
      try ChangeTable.shiftKeys(ofEntity: entity, by: offset, on: connection)
      try tables.shiftKeys(ofEntity: Int64(entity), by: offset)
    }
  }
}

/// What values of an entity's properties become that are kept beside its rows: those that the zone has, that edits added, that wait, or
/// that lost a conflict.
private struct MigratedValues {
  private let moved: MovedHierarchies
  /// Attributes with a wider type, by their names of now and of before.
  private var types: [String: AttributeType] = [:]
  private var typesBefore: [String: AttributeType] = [:]

  init(_ match: MigrationPlan.EntityMatch, _ moved: MovedHierarchies) {
    self.moved = moved
    for (slot, former) in zip(match.destination.layout.slots, match.sourceSlots) {
      guard case .attribute(_, let type) = slot.kind, let former,
        case .attribute(_, let before) = former.kind, before != type
      else { continue }
      types[slot.name] = type
      typesBefore[former.name] = type
    }
  }

  /// Whether nothing becomes of them.
  var stay: Bool { moved.isEmpty && types.isEmpty }

  /// What a row of a table keeps of a property: a value, or a list of objects, with times and counts among them.
  func kept(_ property: String, _ values: [PropertyValue]) -> [PropertyValue] {
    if let type = types[property] {
      // Of an attribute that is a value, which may have a time, what was counted and a count after it.
      return values.enumerated().map {
        $0.offset.isMultiple(of: 2) ? widened($0.element, type) : $0.element
      }
    }
    guard !moved.isEmpty else { return values }
    if property.isEmpty { return ofMark(values) }
    let changed = values.map(moved.value)
    guard changed.count > 1, case .reference = values[0] else { return changed }
    // A null parts a list.
    return zip(values, changed).filter { $0.isNull || !$1.isNull }.map(\.1)
  }

  /// What is kept beside an object's mark: a number, and three values a cut (`DeleteCuts`). A cut of an object whose hierarchy is gone
  /// goes by itself; the rest stays.
  private func ofMark(_ values: [PropertyValue]) -> [PropertyValue] {
    guard case .integer(let notes)? = values.first else { return values.map(moved.value) }
    var kept = [values[0]]
    for first in stride(from: 1, to: values.count, by: 3) {
      let source = moved.value(values[first])
      guard !source.isNull else { continue }
      kept += [source] + values[first + 1..<min(first + 3, values.count)]
    }
    // Without a note and a cut nothing is kept.
    return notes == 0 && kept.count == 1 ? [] : kept
  }

  /// A value of one side of a conflict; nil for what its text alone tells from now on.
  func told(_ property: String, _ value: PropertyValue) -> PropertyValue? {
    typesBefore[property].map { widened(value, $0) } ?? moved.told(value)
  }

  private func widened(_ value: PropertyValue, _ type: AttributeType) -> PropertyValue {
    MissingValue.isOne(value) ? value : TypeWidening.value(value, as: type)
  }
}
