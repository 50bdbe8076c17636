import DriftlessSQLite
import Foundation

/// Edits of a replica that its zone has not acknowledged, of what the new model no longer has: nobody sends them any more. So
/// the journal names each with its value. What the zone has of it is not here any more either: its names are noted, for a
/// model that has them again.
struct MigrationLosses {
  private(set) var edits: [EngineRows.LostEdit] = []
  /// What the new model has under no name: entities, and properties as `Entity.property`.
  private var gone: Set<String> = []

  /// What is pending of one object, of properties that go: by slot the number of the edit.
  private struct Pending {
    var isNew = false
    var numbers: [Int: Int64] = [:]
  }

  /// - Parameters:
  ///   - source: the store as it is, with its own model.
  ///   - isMapped: a mapping model makes values of the new properties, and records them as changes.
  init(_ plan: MigrationPlan, _ source: PersistentStore, isMapped: Bool) throws {
    var slots: [Int32: [PropertySlot]] = [:]
    var names: [Int32: String] = [:]
    for entity in source.schema.entities where !entity.isAbstract {
      let match = plan.match(ofSource: entity)
      let lost = Self.slots(of: entity, lostBy: match, isMapped)
      if match == nil { gone.insert(entity.name) }
      for slot in lost { gone.insert("\(entity.name).\(slot.name)") }
      guard !lost.isEmpty else { continue }
      let number = source.schema.entityNumber(of: entity)
      slots[number] = lost
      names[number] = match?.destination.name ?? entity.name
    }
    guard !slots.isEmpty else { return }
    edits = try source.read { transaction in
      guard let acknowledged = try EngineRows.acknowledged(on: transaction.connection) else {
        return []
      }
      let pending = try Self.pending(slots, after: acknowledged, transaction)
      var edits: [EngineRows.LostEdit] = []
      for key in pending.keys.sorted(by: { ($0.entity, $0.key) < ($1.entity, $1.key) }) {
        guard let object = pending[key], let row = try transaction.ownRow(key) else { continue }
        for slot in slots[key.entity] ?? [] {
          guard let number = object.numbers[slot.index],
            let edit = try Self.edit(
              slot, (key, names[key.entity] ?? ""), row.values[slot.index], object.isNew, number,
              transaction)
          else { continue }
          edits.append(edit)
        }
      }
      return edits
    }
  }

  /// The properties that cross the wire, and that the new model has under no name.
  static func slots(
    of entity: EntityDescription, lostBy match: MigrationPlan.EntityMatch?, _ isMapped: Bool
  ) -> [PropertySlot] {
    let taken = Set(match?.sourceSlots.compactMap { $0?.index } ?? [])
    return entity.layout.slots.filter { slot in
      guard !slot.isTransient, !taken.contains(slot.index),
        !(slot.property is DerivedAttributeDescription),
        !(isMapped && match?.destination.layout.index(named: slot.name) != nil)
      else { return false }
      return switch slot.kind {
      case .attribute: true
      case .toOne(let relationship): !relationship.followsOneToOne
      case .toMany(let relationship):
        relationship.usesJoinTable
          && Relation.isRecorded(relationship, relationship.inverseRelationship)
      }
    }
  }

  private static func pending(
    _ slots: [Int32: [PropertySlot]], after acknowledged: Int64, _ transaction: ReadTransaction
  ) throws -> [ObjectKey: Pending] {
    var pending: [ObjectKey: Pending] = [:]
    var standing: [ObjectKey: Int64] = [:]
    for state in try EngineRows.pendingStates(on: transaction.connection) {
      guard let lost = slots[state.key.entity] else { continue }
      standing[state.key] = state.transaction
      var object = Pending(isNew: state.isNew)
      for (name, number) in state.edits {
        if let slot = lost.first(where: { $0.name == name }) { object.numbers[slot.index] = number }
      }
      if !state.isDelete { pending[state.key] = object }
    }
    try transaction.forEachChange(after: acknowledged, passingOver: .imported) {
      header, type, key, mask in
      guard let lost = slots[key.entity], header.number > standing[key] ?? 0 else { return }
      switch type {
      case .delete: pending[key] = nil
      case .insert:
        pending[key] = Pending(
          isNew: true,
          numbers: Dictionary(uniqueKeysWithValues: lost.map { ($0.index, header.number) }))
      case .update:
        for slot in lost where mask?.contains(slot.index) == true {
          pending[key, default: Pending()].numbers[slot.index] = header.number
        }
      }
    }
    return pending
  }

  /// Nil where nothing was said: an object that is new says nothing by what it was made with.
  private static func edit(
    _ slot: PropertySlot, _ object: (key: ObjectKey, entity: String), _ value: PropertyValue,
    _ isNew: Bool, _ number: Int64, _ transaction: ReadTransaction
  ) throws -> EngineRows.LostEdit? {
    let key = object.key
    var json = JSONText()
    var kept: PropertyValue?
    if case .toMany(let relationship) = slot.kind {
      var names = try transaction.toManyKeys(of: key, relationship).map {
        "\"\(try transaction.identity(of: $0).uuidString.lowercased())\""
      }
      if isNew, names.isEmpty { return nil }
      if !relationship.isOrdered { names.sort() }
      json.raw("[\(names.joined(separator: ","))]")
    } else {
      if isNew, value.isNull || value == slot.defaultValue { return nil }
      try json.value(value) { key, json in json.uuid(try transaction.identity(of: key)) }
      kept = value
    }
    return EngineRows.LostEdit(
      object: try transaction.identity(of: key), entity: object.entity,
      property: slot.name, policy: slot.policy.text,
      text: String(decoding: json.bytes, as: UTF8.self), value: kept,
      time: try transaction.editTime(number))
  }

  /// Once the tables are those of the new model.
  func write(_ keys: MigrationKeys, on connection: SQLiteConnection) throws {
    try EngineRows.note(gone: gone, on: connection)
    guard !edits.isEmpty, let journal = try EngineRows.Journal(on: connection) else { return }
    for edit in edits {
      var value = edit.value
      // By now another property may have the name.
      let named = keys.new.entities.first { $0.name == edit.entity }
      if named?.layout.index(named: edit.property) != nil { value = nil }
      if case .reference(let former)? = value { value = keys.key(former).map { .reference($0) } }
      try journal.append(edit, value)
    }
  }
}
