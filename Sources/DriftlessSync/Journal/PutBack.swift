import Driftless
import Foundation

/// Puts back what lost a conflict, as an edit made here and now, with all that hangs on it: the other ends of one-to-one
/// relationships follow, and what the model requires is there.
struct PutBack {
  private let entry: JournalEntry
  private let entity: SyncSchema.Entity
  private let transaction: WriteTransaction
  private let schema: SyncSchema
  /// Whether an object comes back though some of its values are lost or set aside.
  private let withoutLost: Bool

  /// - Parameter schema: With the keys that encrypted values are opened with.
  init(
    _ entry: JournalEntry, _ entity: SyncSchema.Entity, _ transaction: WriteTransaction,
    schema: SyncSchema, withoutLost: Bool
  ) {
    self.entry = entry
    self.entity = entity
    self.transaction = transaction
    self.schema = schema
    self.withoutLost = withoutLost
  }

  private var name: String { "object \(entry.object.uuidString.lowercased())" }

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
      throw SyncError(
        .cannotUndo, "The object that \(property.name) referred to is deleted.",
        suggestion: "Bring that one back first.")
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
      throw SyncError.damaged(name)
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

  private func set(
    _ relationship: RelationshipDescription, of key: ObjectKey, _ value: PropertyValue
  ) throws {
    guard
      let slot = transaction.schema.entity(numbered: key.entity)?.layout.index(
        named: relationship.name)
    else { return }
    try write(value, slot, of: key)
  }

  private func write(_ value: PropertyValue, _ slot: Int, of key: ObjectKey) throws {
    guard let row = try transaction.knownOwnRow(key),
      row.values[slot] != value || row.lost.contains(slot)
    else { return }
    var values = row.values
    values[slot] = value
    try transaction.update(key, PropertyMask([slot]), values: values, expectedVersion: nil)
  }

  // MARK: Objects

  /// Makes an object again that a delete took along, with its attributes and relationships.
  func bringBack(_ row: [PropertyValue]) throws {
    try checkShape(row)
    if let known = try Self.key(of: entry, entity, transaction) {
      guard try transaction.concreteKey(root: known) == nil else {
        throw SyncError.isBackAlready(name)
      }
      return try insert(known.key, row)
    }
    // The zone never knew it, so it left no trace: it is new under its identity.
    let key = try transaction.allocateKeys(entity.description, count: 1).lowerBound
    try transaction.assignIdentity(ObjectKey(entity: entity.number, key: key), entry.object)
    try insert(key, row)
  }

  private func checkShape(_ row: [PropertyValue]) throws {
    // One of before, or of another model, has no places.
    let count = entity.description.layout.slots.count
    guard row.count == count || row.count == count + entity.places.count else {
      throw SyncError.damaged(name)
    }
  }

  /// The values that the object comes back with: what was set aside where it can be held by now.
  ///
  /// - Throws: `SyncError` (`cannotUndo`) where a value is missing, unless that is said to be right.
  private func held(_ row: [PropertyValue]) throws -> [PropertyValue] {
    var values = row
    var missing: [String] = []
    for property in entity.properties
    where row.indices.contains(property.slot) && MissingValue.isOne(row[property.slot]) {
      values[property.slot] = property.standIn?.value ?? .null
      guard var kept = try MissingValue.kept(in: row[property.slot]) else {
        missing.append(Self.missing(property.name))
        continue
      }
      if let cell = SealedValue.cell(in: kept) {
        kept =
          CellOpener(transaction, schema: schema)
          .value(ofCell: cell, property, of: entity, identity: entry.object) ?? kept
      }
      if kept.isInZone, property.standIn?.showsNames == true {
        values[property.slot] = kept  // The zone has it, or says that it has not when it is told.
        continue
      }
      kept = Widening.widened(kept, property.kind)
      if let refusal = property.standIn?.refusal(of: kept) {
        missing.append("\(property.name) (\(refusal))")
      } else {
        values[property.slot] = kept
      }
    }
    for slot in entity.description.layout.slots
    where slot.isToMany && entity.property(at: slot.index) == nil {
      if MissingValue.isOne(row[slot.index]) { missing.append(Self.missing(slot.name)) }
    }
    guard missing.isEmpty || withoutLost else {
      throw SyncError(
        .cannotUndo,
        "The \(name) had values that are not here: \(missing.joined(separator: ", ")).",
        suggestion: "Where they were set aside, give the store the key or the model first. To "
          + "bring it back without them: syncctl conflicts undo \(entry.number) --without-lost")
    }
    return values
  }

  private static func missing(_ name: String) -> String {
    "\(name) (its file was gone, or it was too large for the journal)"
  }

  /// A reference to what is deleted by now is null, and so is one to what has another partner by now.
  private func insert(_ key: Int64, _ row: [PropertyValue]) throws {
    let slots = entity.description.layout.slots
    let members = try FormerMembers.read(row, entity.description.layout)
    var values = try held(Array(row.prefix(slots.count)))
    for slot in slots where slot.isToMany { values[slot.index] = .null }
    let own = ObjectKey(entity: entity.number, key: key)
    for (slot, partner) in try FormerPartners.find(
      of: own, entity, deletedAt: entry.sequence, transaction, schema: schema)
    where values[slot].isNull { values[slot] = .reference(partner) }
    var partners: [(RelationshipDescription, ObjectKey)] = []
    for (slot, layout) in slots.enumerated() {
      guard let relationship = layout.relationship, !relationship.isToMany else { continue }
      guard case .reference(let target) = values[slot] else {
        guard relationship.isOptional else {
          throw SyncError(
            .cannotUndo,
            "\(entity.name).\(relationship.name) is required, and the \(name) had none when it "
              + "was deleted.", suggestion: "Make it anew by hand.")
        }
        continue
      }
      let living = try transaction.concreteKey(root: target)
      if let living, try isFree(living, relationship) {
        if let inverse = relationship.inverseRelationship, !inverse.isToMany {
          partners.append((inverse, living))
        }
        continue
      }
      guard relationship.isOptional else {
        throw SyncError(
          .cannotUndo,
          "\(entity.name).\(relationship.name) is required, and what the \(name) referred to "
            + (living == nil ? "is deleted." : "has another one by now."),
          suggestion: living == nil ? "Bring that one back first." : "Make it anew by hand.")
      }
      values[slot] = .null
    }
    try transaction.insert(entity.description, key, values: values)
    try placeAgain(own, values, Array(row.dropFirst(slots.count)))
    for (inverse, partner) in partners { try set(inverse, of: partner, .reference(own)) }
    let notBack = try FormerMembersBack(key: own, transaction: transaction, schema: schema)
      .give(members)
    for text in notBack { try Journal.tell(text, in: entry.number, on: transaction.connection) }
  }

  /// An object has the place that it had beside each of its references, or the last one.
  private func placeAgain(
    _ key: ObjectKey, _ values: [PropertyValue], _ places: [PropertyValue]
  ) throws {
    for (index, place) in entity.places.enumerated() where !values[place.slot].isNull {
      let had = places.indices.contains(index) ? places[index] : .null
      let kept = try BaseValues.value(of: key, place.name, on: transaction.connection)
      if case .integer(let known) = had.isNull ? kept ?? .null : had {
        try transaction.setPlace(known, of: key, in: place.relationship)
      } else {
        try transaction.setLastPlace(of: key, in: place.relationship)
      }
    }
  }

  /// Whether an object takes one more reference: it is no end of a one-to-one relationship, or nobody is its partner.
  private func isFree(
    _ target: ObjectKey, _ relationship: RelationshipDescription
  ) throws -> Bool {
    guard let inverse = relationship.inverseRelationship, !inverse.isToMany else { return true }
    guard
      let slot = transaction.schema.entity(numbered: target.entity)?.layout.index(
        named: inverse.name), let value = try transaction.knownRow(target)?.values[slot]
    else { return false }
    return try value.isNull && transaction.keys(referring: relationship, to: target).isEmpty
  }
}
