import DriftlessSQLite
import Foundation

/// What of a replica its zone has not acknowledged, of what the new model no longer has: nobody sends it any more. So the journal names
/// each edit with its value, each new object and each delete. What the zone has of it is not here any more either: its names are noted,
/// for a model that has them again.
///
/// It holds which objects that are. What they are is read where it is written, one after the other.
struct MigrationLosses {
  /// What the new model has under no name: entities, and properties as `Entity.property`.
  private var gone: Set<String> = []
  /// By the numbers of entities: the properties that go, what each is called, and those that go as a whole.
  private var slots: [Int32: [PropertySlot]] = [:]
  private var names: [Int32: String] = [:]
  private var withoutSuccessor: Set<Int32> = []
  private var pending: [(key: ObjectKey, Pending)] = []

  /// What is pending of one object, of properties that go: by slot the number of the edit.
  private struct Pending {
    var isNew = false
    var isDelete = false
    /// The transaction that made it, of one that is new, or deleted it.
    var wholeBy: Int64 = 0
    var numbers: [Int: Int64] = [:]
  }

  /// - Parameters:
  ///   - source: the store as it is, with its own model.
  ///   - isMapped: a mapping model makes values of the new properties, and records them as changes.
  init(_ plan: MigrationPlan, _ source: PersistentStore, isMapped: Bool) throws {
    for entity in source.schema.entities where !entity.isAbstract {
      let match = plan.match(ofSource: entity)
      let lost = Self.slots(of: entity, lostBy: match, isMapped)
      if match == nil { gone.insert(entity.name) }
      for slot in lost { gone.insert("\(entity.name).\(slot.name)") }
      guard !lost.isEmpty || match == nil else { continue }
      let number = source.schema.entityNumber(of: entity)
      slots[number] = lost
      if match == nil { withoutSuccessor.insert(number) }
      names[number] = match?.destination.name ?? entity.name
    }
    guard !slots.isEmpty else { return }
    let found = try source.read { transaction -> [ObjectKey: Pending] in
      guard let acknowledged = try EngineRows.acknowledged(on: transaction.connection) else {
        return [:]
      }
      return try pending(after: acknowledged, transaction)
    }
    pending = found.sorted { ($0.key.entity, $0.key.key) < ($1.key.entity, $1.key.key) }
      .map { ($0.key, $0.value) }
  }

  /// Hands over each change, by its object.
  func forEach(
    of source: PersistentStore, _ body: (EngineRows.UnsentChange) throws -> Void
  ) throws {
    guard !pending.isEmpty else { return }
    try source.read { transaction in
      for (key, object) in pending {
        try forEach(of: key, object, source.schema, transaction) { change in
          var change = change
          change.bound()
          try body(change)
        }
      }
    }
  }

  private func forEach(
    of key: ObjectKey, _ object: Pending, _ schema: StoreSchema, _ transaction: ReadTransaction,
    _ body: (EngineRows.UnsentChange) throws -> Void
  ) throws {
    func whole(
      _ what: EngineRows.UnsentChange.What, _ row: [PropertyValue]?
    ) throws -> EngineRows.UnsentChange {
      EngineRows.UnsentChange(
        object: try transaction.identity(of: key), entity: names[key.entity] ?? "",
        policy: (schema.entity(numbered: key.entity)?.deletePolicy ?? .deleteWins).rawValue,
        what: what, time: try transaction.editTime(object.wholeBy), row: row)
    }
    if object.isDelete { return try body(whole(.delete, nil)) }
    guard let row = try transaction.ownRow(key) else { return }
    // Of an object that the zone never had, and that goes, nothing else tells.
    var kept: [PropertyValue]? =
      object.isNew && withoutSuccessor.contains(key.entity)
      ? try Self.whole(row.values, key, schema, transaction) : nil
    for slot in slots[key.entity] ?? [] {
      guard let number = object.numbers[slot.index],
        var edit = try Self.edit(
          slot, (key, names[key.entity] ?? ""), row.values[slot.index], object.isNew, number,
          transaction)
      else { continue }
      (edit.row, kept) = (kept, nil)
      try body(edit)
    }
    // One that is all that it was made with may still be what others belong to.
    if let kept { try body(whole(.object, kept)) }
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

  private func pending(
    after acknowledged: Int64, _ transaction: ReadTransaction
  ) throws -> [ObjectKey: Pending] {
    var pending: [ObjectKey: Pending] = [:]
    var standing: [ObjectKey: Int64] = [:]
    for state in try EngineRows.pendingStates(on: transaction.connection) {
      guard let lost = slots[state.key.entity] else { continue }
      standing[state.key] = state.transaction
      var object = Pending(
        isNew: state.isNew, isDelete: state.isDelete, wholeBy: state.transaction)
      for (name, number) in state.edits {
        if let slot = lost.first(where: { $0.name == name }) { object.numbers[slot.index] = number }
      }
      // Where the entity stays, the delete is sent.
      if !state.isDelete || withoutSuccessor.contains(state.key.entity) {
        pending[state.key] = object
      }
    }
    try transaction.forEachChange(after: acknowledged, passingOver: .imported) {
      header, type, key, mask in
      guard let lost = slots[key.entity], header.number > standing[key] ?? 0 else { return }
      switch type {
      case .delete:
        let isTold = withoutSuccessor.contains(key.entity) && pending[key]?.isNew != true
        pending[key] = isTold ? Pending(isDelete: true, wholeBy: header.number) : nil
      case .insert:
        pending[key] = Pending(
          isNew: true, wholeBy: header.number,
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
  ) throws -> EngineRows.UnsentChange? {
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
      if value.byteCount > JournalBounds.toldBytesMax {
        json.raw(JournalBounds.text)
      } else {
        try json.value(value) { key, json in json.uuid(try transaction.identity(of: key)) }
      }
      kept = value
    }
    return EngineRows.UnsentChange(
      object: try transaction.identity(of: key), entity: object.entity, policy: slot.policy.text,
      what: .edit(
        property: slot.name, text: String(decoding: json.bytes, as: UTF8.self), value: kept),
      time: try transaction.editTime(number))
  }

  /// A row with the members of its to-many relationships in their places, as the journal keeps objects. What it refers to may go as well
  /// and come back under another key, so it names that by its identity. What has more bytes than a row of the journal takes beside its
  /// own edit stays with the edits.
  private static func whole(
    _ values: [PropertyValue], _ key: ObjectKey, _ schema: StoreSchema,
    _ transaction: ReadTransaction
  ) throws -> [PropertyValue] {
    var row = values
    for slot in schema.entity(numbered: key.entity)?.layout.slots ?? [] {
      guard row.indices.contains(slot.index) else { continue }
      if case .data(let data) = row[slot.index], data.count > rowBytesMax {
        row[slot.index] = MissingValue.lost
      }
      if case .reference(let target) = row[slot.index] {
        row[slot.index] = .uuid(try transaction.identity(of: target))
      }
      guard case .toMany(let relationship) = slot.kind, !slot.isTransient else { continue }
      let members = try transaction.toManyKeys(of: key, relationship)
      guard !members.isEmpty else { continue }
      row[slot.index] = .data(
        RowArchive.encode(try members.map { PropertyValue.uuid(try transaction.identity(of: $0)) }))
    }
    return row
  }

  /// Bytes of a value that a kept object has.
  private static let rowBytesMax = 16 << 20

  /// So many bytes of them are held where the file is changed within itself.
  static let heldBytesMax = 64 << 20

  /// All of them, for who has no store to read them from by then; nil where they are too many for that.
  func held(
    of source: PersistentStore, bytesMax: Int = heldBytesMax
  ) throws -> [EngineRows.UnsentChange]? {
    struct TooMany: Error {}
    var changes: [EngineRows.UnsentChange] = []
    var bytes = 0
    do {
      try forEach(of: source) { change in
        bytes += change.memoryBytes
        guard bytes <= bytesMax else { throw TooMany() }
        changes.append(change)
      }
    } catch is TooMany {
      return nil
    }
    return changes
  }

  /// Once the tables are those of the new model.
  ///
  /// - Parameter changes: hands over each change.
  func write(
    _ keys: MigrationKeys, on connection: SQLiteConnection,
    _ changes: ((EngineRows.UnsentChange) throws -> Void) throws -> Void
  ) throws {
    try EngineRows.note(gone: gone, on: connection)
    guard !pending.isEmpty, let journal = try EngineRows.Journal(on: connection) else { return }
    try changes { change in
      guard case .edit(let property, _, var value) = change.what else {
        return try journal.append(change, nil)
      }
      // By now another property may have the name.
      let named = keys.new.entities.first { $0.name == change.entity }
      if named?.layout.index(named: property) != nil { value = nil }
      if case .reference(let former)? = value { value = keys.key(former).map { .reference($0) } }
      try journal.append(change, value)
    }
  }
}
