import Driftless
import Foundation

/// Objects that come back whole.
extension PutBack {
  /// Makes an object again that a delete took along, with its attributes and relationships.
  func bringBack(_ row: [PropertyValue]) throws {
    try checkShape(row)
    if let known = try Self.key(of: entry, entity, transaction) {
      guard try transaction.concreteKey(root: known) == nil else {
        throw SyncError.isBackAlready(name)
      }
      return try insert(known.key, row)
    }
    _ = try insertAnew(row)
  }

  /// The zone never knew it, so it left no trace: it is new under its identity.
  func insertAnew(_ row: [PropertyValue]) throws -> ObjectKey {
    try checkShape(row)
    let key = try transaction.allocateKeys(entity.description, count: 1).lowerBound
    let own = ObjectKey(entity: entity.number, key: key)
    try transaction.assignIdentity(own, entry.object)
    try insert(key, row)
    return own
  }

  func checkShape(_ row: [PropertyValue]) throws {
    // One of before, or of another model, has no places.
    let count = entity.description.layout.slots.count
    guard row.count == count || row.count == count + entity.places.count else {
      throw SyncError(
        .cannotUndo,
        "The journal has the \(name) as another model had it, and does not say where which value stands.",
        suggestion: "Make it anew by hand, with what syncctl conflicts says of its properties.")
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

  /// Makes an object again, and with it those that must refer to it and that it must refer to: it may be very many, one after the
  /// other.
  func insert(_ key: Int64, _ row: [PropertyValue]) throws {
    let circle = KeptCircle(of: entry, entity, row, transaction, schema: schema)
    var made = [try insertAlone(key, row, circle)]
    var left = made[0].others
    while let (identity, key) = left.popLast() {
      // Another one of the circle may have brought it already.
      guard try transaction.concreteKey(root: key) == nil, let member = try circle.kept(identity)
      else { continue }
      let other = PutBack(
        member.entry, member.entity, transaction, schema: schema, withoutLost: withoutLost, now: now
      )
      try other.checkShape(member.row)
      made.append(try other.insertAlone(key.key, member.row, circle))
      left += made[made.count - 1].others
    }
    for object in made.reversed() { try object.by.finish(object) }
    for object in made.dropFirst() where object.by.entry.property == nil {
      let entry = object.by.entry
      try Journal.decide(entry.number, entry.loser, at: now, on: transaction.connection)
    }
  }

  /// An object whose row is there again, and what is left to do once all are there that came with it.
  private struct Made {
    let by: PutBack
    let key: ObjectKey
    /// The places that it had, each beside a reference that it has again.
    let places: [(SyncSchema.Entity.Place, PropertyValue)]
    let members: [FormerMembers]
    let partners: [(RelationshipDescription, ObjectKey)]
    /// Those that come with it.
    let others: [(UUID, ObjectKey)]
  }

  private func finish(_ made: Made) throws {
    let own = made.key
    try placeAgain(own, made.places)
    for (inverse, partner) in made.partners { try set(inverse, of: partner, .reference(own)) }
    let notBack = try FormerMembersBack(key: own, transaction: transaction, schema: schema)
      .give(made.members)
    for text in notBack { try Journal.tell(text, in: entry.number, on: transaction.connection) }
  }

  /// A reference to what is deleted by now is null, and so is one to what has another partner by now.
  private func insertAlone(
    _ key: Int64, _ row: [PropertyValue], _ circle: KeptCircle
  ) throws -> Made {
    let slots = entity.description.layout.slots
    let members = try FormerMembers.read(row, entity.description.layout)
    var values = try held(Array(row.prefix(slots.count)))
    for slot in slots where slot.isToMany { values[slot.index] = .null }
    let own = ObjectKey(entity: entity.number, key: key)
    for (slot, partner) in try FormerPartners.find(
      of: own, entity, deletedAt: entry.sequence, transaction, schema: schema)
    where values[slot].isNull { values[slot] = .reference(partner) }
    var partners: [(RelationshipDescription, ObjectKey)] = []
    var others: [(UUID, ObjectKey)] = []
    for (slot, layout) in slots.enumerated() {
      guard let relationship = layout.relationship, !relationship.isToMany else { continue }
      let living: ObjectKey?
      switch values[slot] {
      case .reference(let target): living = try transaction.concreteKey(root: target)
      case .uuid(let identity):
        // It had another key when its entity went with this one.
        living = try RestoredSet(
          key: own, relationship: relationship, transaction: transaction, schema: schema
        ).living(identity)
        values[slot] = living.map { .reference($0) } ?? .null
      default:
        guard relationship.isOptional else {
          throw SyncError(
            .cannotUndo,
            "\(entity.name).\(relationship.name) is required, and the \(name) had none when it "
              + "was deleted.", suggestion: "Make it anew by hand.")
        }
        continue
      }
      if living == nil, !relationship.isOptional,
        let member = try circle.member(heldBy: row[slot])
      {
        let key = try self.key(of: member)
        values[slot] = .reference(key)
        others.append((member.entry.object, key))
        continue
      }
      if let living, try isFree(living, relationship, for: own) {
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
    let had = row.dropFirst(slots.count)
    let places = entity.places.enumerated().filter { !values[$0.element.slot].isNull }.map {
      (
        $0.element,
        had.indices.contains(slots.count + $0.offset) ? had[slots.count + $0.offset] : .null
      )
    }
    return Made(
      by: self, key: own, places: places, members: members, partners: partners, others: others)
  }

  /// An object has the place that it had beside each of its references, or the last one.
  private func placeAgain(
    _ key: ObjectKey, _ places: [(SyncSchema.Entity.Place, PropertyValue)]
  ) throws {
    for (place, had) in places {
      let kept = try BaseValues.value(of: key, place.name, on: transaction.connection)
      if case .integer(let known) = had.isNull ? kept ?? .null : had {
        try transaction.setPlace(known, of: key, in: place.relationship)
      } else {
        try transaction.setLastPlace(of: key, in: place.relationship)
      }
    }
  }

  /// The key of an object that comes back with this one: the one that it had, where it has left a trace.
  private func key(of member: KeptCircle.Member) throws -> ObjectKey {
    if let known = try Self.key(of: member.entry, member.entity, transaction) {
      return ObjectKey(entity: member.entity.number, key: known.key)
    }
    let key = ObjectKey(
      entity: member.entity.number,
      key: try transaction.allocateKeys(member.entity.description, count: 1).lowerBound)
    try transaction.assignIdentity(key, member.entry.object)
    return key
  }

  /// Whether an object takes a reference of this one: it is no end of a one-to-one relationship, or nobody else is its partner.
  private func isFree(
    _ target: ObjectKey, _ relationship: RelationshipDescription, for own: ObjectKey
  ) throws -> Bool {
    guard let inverse = relationship.inverseRelationship, !inverse.isToMany else { return true }
    guard
      let slot = transaction.schema.entity(numbered: target.entity)?.layout.index(
        named: inverse.name), let value = try transaction.knownRow(target)?.values[slot]
    else { return false }
    guard value.isNull || value == .reference(own) else { return false }
    return try transaction.keys(referring: relationship, to: target).allSatisfy { $0 == own }
  }
}
