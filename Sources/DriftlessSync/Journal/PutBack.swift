import Driftless
import Foundation

/// Puts back what lost a conflict, as an edit made here and now, with all that hangs on it: the other ends of one-to-one
/// relationships follow, and what the model requires is there.
struct PutBack {
  let entry: JournalEntry
  let entity: SyncSchema.Entity
  let transaction: WriteTransaction
  let schema: SyncSchema
  /// Whether an object comes back though some of its values are lost or set aside.
  let withoutLost: Bool
  let now: Date

  /// - Parameters:
  ///   - schema: With the keys that encrypted values are opened with.
  ///   - now: When a person decides.
  init(
    _ entry: JournalEntry, _ entity: SyncSchema.Entity, _ transaction: WriteTransaction,
    schema: SyncSchema, withoutLost: Bool, now: Date
  ) {
    self.now = now
    self.entry = entry
    self.entity = entity
    self.transaction = transaction
    self.schema = schema
    self.withoutLost = withoutLost
  }

  var name: String { "object \(entry.object.uuidString.lowercased())" }

  /// The object that an entry is about. What goes by its identity by now may be another one, of another entity.
  static func key(
    of entry: JournalEntry, _ entity: SyncSchema.Entity, _ transaction: ReadTransaction
  ) throws -> ObjectKey? {
    guard let key = try transaction.key(of: entry.object) else { return nil }
    guard let living = try transaction.concreteKey(root: key), living.entity != entity.number,
      let state = try ReplicaState.load(from: transaction.connection)
    else { return key }
    let derived = DerivedIdentity.identity(entry.object, of: entity.name, in: state.zoneID)
    if let key = try transaction.key(ofOwn: derived) { return key }
    throw SyncError(
      .cannotUndo,
      "Object \(entry.object.uuidString.lowercased()) is another one by now, of another entity.",
      suggestion: "Set the value by hand where it belongs now.")
  }

  // MARK: Values

  /// Sets a value of an object, which comes back first when it is deleted.
  ///
  /// - Parameter row: the object as it was deleted, where that is known.
  ///   - text: what the journal says of it.
  func set(
    _ value: PropertyValue, _ property: SyncSchema.Property, row: [PropertyValue]?, text: String?
  ) throws {
    // The attribute may have a wider type since.
    let value = Widening.widened(value, property.kind)
    guard SealedValue.cell(in: value) == nil else {
      throw SyncError(
        .cannotUndo, "The value of \(property.name) on that side is sealed, and did not open here.",
        suggestion: "Give this replica the key first (syncctl key use), or set the value by hand.")
    }
    if !value.isNull, let refusal = property.standIn?.refusal(of: value) {
      throw SyncError.cannotHold(value, of: property.name, refusal: "\(refusal)")
    }
    guard LargeCell.value(in: value) == nil else {
      throw SyncError(
        .cannotUndo, "The bytes of \(property.name) on that side are not here.",
        suggestion: "Ask the zone for them again (syncctl parked retry), or set the value by hand.")
    }
    if case .reference(let target) = value, try transaction.concreteKey(root: target) == nil {
      try bringBackWhole(row)
      guard try transaction.concreteKey(root: target) != nil else { throw targetIsGone(property) }
    }
    if case .elements = property.kind {
      // It was a reference when the conflict was settled.
      guard case .reference(let target) = value else { return try set([], property, row: row) }
      return try set([transaction.identity(of: target)], property, row: row)
    }
    var row = row
    if !property.isCollective, row?.indices.contains(property.slot) == true {
      row?[property.slot] = value
    }
    let key = try living(
      row,
      "Make it anew, under the same identity if others shall know it again, or let it be: "
        + "syncctl conflicts keep \(entry.number)")
    guard let values = try transaction.knownRow(key)?.values else { throw SyncError.damaged(name) }
    switch property.kind {
    case .place(let relationship):
      if let text, try place(key, property, text) { return }
      guard case .integer(let place) = value else { return }
      try transaction.setPlace(place, of: key, in: relationship)
      try transaction.recordUpdate(key, PropertyMask([property.slot]))
    case .toOne(let relationship):
      try point(key, property, relationship, from: values, to: value)
    case .attribute:
      try write(value, property.slot, of: key)
    case .elements: break
    }
  }

  /// What an object refers to may come back with it, where each requires the other.
  private func bringBackWhole(_ row: [PropertyValue]?) throws {
    guard let row else { return }
    _ = try living(row, "Undo the conflict about its delete first: syncctl conflicts")
  }

  private func targetIsGone(_ property: SyncSchema.Property) -> SyncError {
    SyncError(
      .cannotUndo, "The object that \(property.name) referred to is deleted.",
      suggestion: "Bring that one back first.")
  }

  /// Adds what was left out of a count to what the count is now.
  ///
  /// - Parameter row: the object as it was, where that is known.
  func add(
    _ delta: PropertyValue, _ property: SyncSchema.Property, row: [PropertyValue]?
  ) throws {
    let key = try living(
      row, "Undo the conflict about its delete first: syncctl conflicts")
    guard let now = try transaction.knownRow(key)?.values[property.slot],
      let sum = CounterDelta.sum(now, delta)
    else { throw SyncError.damaged(name) }
    try write(sum, property.slot, of: key)
  }

  /// Puts an object behind the one that the journal names. False where it names none, and where that one is in the list no
  /// more.
  private func place(
    _ key: ObjectKey, _ property: SyncSchema.Property, _ text: String
  ) throws -> Bool {
    guard let identity = PlaceText.after(text),
      let list = try PlaceText.list(of: key, property, transaction)
    else { return false }
    var order = list.members.filter { $0 != key }
    var index = 0
    if let identity {
      guard let other = try transaction.key(of: identity),
        let place = order.firstIndex(where: { $0.key == other.key })
      else { return false }
      index = place + 1
    }
    order.insert(key, at: index)
    try transaction.setOrder(list.relationship, list.owner, order)
    return true
  }

  /// The object, which comes back first when it is deleted.
  ///
  /// - Parameters:
  ///   - row: the object as it was deleted, where that is known.
  ///   - suggestion: what to do where it is not.
  private func living(_ row: [PropertyValue]?, _ suggestion: String) throws -> ObjectKey {
    guard let key = try Self.key(of: entry, entity, transaction) else {
      if let row { return try insertAnew(row) }
      throw SyncError(
        .cannotUndo,
        "The \(name) is not here: it went when the store was given a model without \(entity.name).",
        suggestion: "Sync, which brings it back where the zone has it. \(suggestion)")
    }
    if try transaction.knownRow(key) != nil { return key }
    // Until the zone knows of a delete that was made here, the row is kept.
    guard let row = try row ?? transaction.grave(of: key) else {
      throw SyncError(.cannotUndo, "The \(name) is deleted.", suggestion: suggestion)
    }
    try checkShape(row)
    try insert(key.key, row)
    return ObjectKey(entity: entity.number, key: key.key)
  }

  /// Gives an object a set again, as the journal tells it. What the set held and is deleted stays so.
  ///
  /// - Parameter row: the object as it was deleted, where that is known.
  func set(
    elements text: String, _ property: SyncSchema.Property, row: [PropertyValue]?
  ) throws {
    if case .toOne = property.kind,
      let target = UUID(uuidString: text.trimmingCharacters(in: ["\""]))
    {
      if try transaction.key(of: target).flatMap({ try transaction.concreteKey(root: $0) }) == nil {
        try bringBackWhole(row)
      }
      // What it referred to had another key when the journal kept it.
      guard let found = try transaction.key(of: target),
        let living = try transaction.concreteKey(root: found)
      else { throw targetIsGone(property) }
      return try set(.reference(living), property, row: row, text: text)
    }
    if text == JournalDraft.lostText {
      throw SyncError(
        .cannotUndo,
        "What \(property.name) was on that side is lost, with the file that it lay in: nothing was changed.",
        suggestion: "Set it by hand where somebody has it still, or leave what the conflict kept.")
    }
    guard case .elements = property.kind,
      let names = try? JSONDecoder().decode([UUID].self, from: Data(text.utf8))
    else {
      throw SyncError(
        .cannotUndo, "The journal has that \(property.name) as text alone: \(text)",
        suggestion: "Set it by hand.")
    }
    try set(names, property, row: row)
  }

  private func set(
    _ names: [UUID], _ property: SyncSchema.Property, row: [PropertyValue]?
  ) throws {
    guard case .elements(let relationship) = property.kind else { return }
    let key = try living(
      row, "Undo the conflict about its delete first: syncctl conflicts")
    try RestoredSet(key: key, relationship: relationship, transaction: transaction, schema: schema)
      .give(names)
  }

  private func point(
    _ key: ObjectKey, _ property: SyncSchema.Property, _ relationship: RelationshipDescription,
    from values: [PropertyValue], to value: PropertyValue
  ) throws {
    guard values[property.slot] != value else { return }
    if value.isNull, !relationship.isOptional {
      throw SyncError(
        .cannotUndo, "\(entity.name).\(property.name) is required, and was nothing on that side.",
        suggestion: "Set it by hand.")
    }
    guard case .reference(let target) = value else {
      try letGo(of: values[property.slot], relationship)
      return try write(value, property.slot, of: key)
    }
    if relationship.isTree, try transaction.isAbove(key, target, property.name) {
      throw SyncError(
        .cannotUndo, "The \(name) would be its own \(property.name), over others.",
        suggestion: "Move what stands between first.")
    }
    try letGo(of: values[property.slot], relationship)
    if let inverse = relationship.inverseRelationship, !inverse.isToMany,
      let living = try transaction.concreteKey(root: target)
    {
      for owner in try transaction.keys(referring: relationship, to: living) where owner != key {
        guard relationship.isOptional else {
          throw SyncError(
            .cannotUndo,
            "Its \(property.name) has another \(entity.name) by now, which must have one.",
            suggestion: "Give that one another \(property.name) first.")
        }
        try set(relationship, of: owner, .null)
      }
      try set(inverse, of: living, .reference(key))
    }
    try write(value, property.slot, of: key)
    try transaction.setLastPlace(of: key, in: relationship)
  }

  /// The other end of a one-to-one relationship is free.
  private func letGo(of value: PropertyValue, _ relationship: RelationshipDescription) throws {
    guard let inverse = relationship.inverseRelationship, !inverse.isToMany,
      case .reference(let former) = value, let living = try transaction.concreteKey(root: former)
    else { return }
    guard inverse.isOptional else {
      throw SyncError(
        .cannotUndo,
        "The \(inverse.entity?.name ?? "object") that it has now must have one.",
        suggestion: "Give that one another \(inverse.name) first.")
    }
    try set(inverse, of: living, .null)
  }

  func set(
    _ relationship: RelationshipDescription, of key: ObjectKey, _ value: PropertyValue
  ) throws {
    guard
      let slot = transaction.schema.entity(numbered: key.entity)?.layout.index(
        named: relationship.name)
    else { return }
    try write(value, slot, of: key)
  }

  private func write(_ value: PropertyValue, _ slot: Int, of key: ObjectKey) throws {
    guard let row = try transaction.knownOwnRow(key) else {
      throw SyncError(
        .cannotUndo,
        "An object that goes with the \(name) is another one by now, of another entity.",
        suggestion: "Set the value by hand where it belongs now.")
    }
    guard row.values[slot] != value || row.lost.contains(slot) else { return }
    var values = row.values
    values[slot] = value
    try transaction.update(key, PropertyMask([slot]), values: values, expectedVersion: nil)
  }
}
