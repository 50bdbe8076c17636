import DriftlessSQLite
import Foundation

/// What a store remembers of entities that its model has no more, for a model that has them again.
///
/// Their tables and notes go, and the journal stays: it knows entities and properties by name, whole objects by the places of their
/// properties, and other objects by their keys. Those places are noted, and the keys are not given out again.
struct GoneEntities {
  /// JSON: by entity the properties of the rows that the journal keeps of it, in their order.
  static let layoutsSetting = "goneLayouts"
  /// JSON: by the number of a hierarchy's root the last key that was given out in it. Identities follow from both, and numbers of
  /// hierarchies that are gone are given out again.
  static let keysSetting = "goneKeys"

  /// A place of a kept row.
  private struct Place: Codable {
    var name: String
    /// What of a property is kept there, as ``kind(_:)`` says.
    var kind: String
  }

  let keys: MigrationKeys
  let connection: SQLiteConnection

  // MARK: Keys

  /// Lets the keys of hierarchies go on that get the numbers of former ones.
  func keepKeys() throws {
    guard try StoreSettings.exist(on: connection) else { return }
    var last = try read([String: Int64].self, Self.keysSetting)
    for root in keys.old.entities where root.superentity == nil {
      guard !keys.ways.contains(where: { $0.source === root && keys.keeps($0) }) else { continue }
      let number = "\(keys.old.entityNumber(of: root))"
      last[number] = max(last[number] ?? 0, keys.lastKey(of: root))
    }
    for root in keys.new.entities where root.superentity == nil {
      let number = keys.new.entityNumber(of: root)
      guard let key = last.removeValue(forKey: "\(number)") else { continue }
      try PrimaryKeyTable.raiseLastKey(to: key, of: number, on: connection)
    }
    try write(last, Self.keysSetting)
  }

  // MARK: The journal

  /// Brings what the journal says of entities without a successor in line: of those that go now, that were gone before, and that the
  /// model has again.
  func mapJournal(_ journal: EngineRows.Journal, _ moved: MovedHierarchies) throws {
    let followed = Set(keys.plan.matches.map(\.source.name))
    for name in try journal.entities() where !followed.contains(name) {
      try journal.mapRows(ofEntity: name) { $0.map { moved.told($0) ?? .null } }
      try journal.mapValues(ofEntity: name) { moved.told($1) }
    }
    var layouts = try read([String: [Place]].self, Self.layoutsSetting)
    let before = Set(keys.old.entities.map(\.name))
    for entity in keys.new.entities {
      for name in [entity.name] + entity.formerNames where !before.contains(name) {
        guard let places = layouts.removeValue(forKey: name) else { continue }
        try journal.mapRows(ofEntity: name) { Self.row($0, places, entity.layout) }
        if name != entity.name { try journal.rename(entity: name, to: entity.name) }
      }
    }
    for entity in keys.old.entities
    where !entity.isAbstract && keys.plan.match(ofSource: entity) == nil {
      layouts[entity.name] = entity.layout.slots.map { Place(name: $0.name, kind: Self.kind($0)) }
    }
    try write(layouts, Self.layoutsSetting)
  }

  private static func kind(_ slot: PropertySlot) -> String {
    switch slot.kind {
    case .attribute(_, let type): "\(type.rawValue)"
    case .toOne: "toOne"
    case .toMany: "toMany"
    }
  }

  /// A kept row in the order of another model. What an attribute of another type cannot hold is named as missing by who puts it back.
  private static func row(
    _ values: [PropertyValue], _ places: [Place], _ layout: EntityLayout
  ) -> [PropertyValue] {
    layout.slots.map { slot in
      let place = ([slot.name] + slot.formerNames).lazy
        .compactMap { name in places.firstIndex { $0.name == name } }.first
      let nothing = slot.isToMany ? .null : slot.defaultValue
      guard let place, place < values.count else { return nothing }
      let (value, kind) = (values[place], places[place].kind)
      if kind == Self.kind(slot) || value.isNull { return value }
      guard case .attribute(_, let type) = slot.kind, Int(kind) != nil else { return nothing }
      if MissingValue.isOne(value) { return value }
      return CompiledValueReader.fit(value, type) ?? MissingValue.setAside(value)
    }
  }

  // MARK: Settings

  private func read<Value: Codable>(
    _ type: [String: Value].Type, _ setting: String
  ) throws -> [String: Value] {
    guard case .text(let text)? = try StoreSettings.value(of: setting, on: connection) else {
      return [:]
    }
    do {
      return try JSONDecoder().decode(type, from: Data(text.utf8))
    } catch {
      // Without it, keys of former objects would be given out again.
      throw StoreError(
        .damaged, "What the store says of entities that it had (\(setting)) cannot be read.",
        suggestion: "Check the store, and restore its file from a copy.")
    }
  }

  private func write(_ notes: [String: some Codable], _ setting: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(notes), as: UTF8.self)
    try StoreSettings.set(setting, notes.isEmpty ? nil : .text(text), on: connection)
  }
}
