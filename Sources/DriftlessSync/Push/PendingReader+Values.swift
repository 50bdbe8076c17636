import Driftless
import DriftlessProtocol
import DriftlessSQLite

/// What is sent of a property in place of its value, where that differs.
extension PendingReader {
  /// What the groups of objects differ in that go together.
  struct Shape: Hashable {
    var kind: ChangeSetIndex.Group.Kind
    var entity: Int32
    var properties: PropertyMask
  }

  /// Whether all that a group tells is offered, with the times of the edits.
  func isOffer(_ draft: ChangeDraft) -> Bool {
    draft.keys.allSatisfy { offered[$0] != nil }
  }

  /// Whether a reference can name an object: the zone knows it, or it comes with the window.
  mutating func hasPlace(_ target: ObjectKey) throws -> Bool {
    guard isPartial else { return true }
    let root = schema.root(of: target)
    return try arriving.contains(ObjectKey(entity: root, key: target.key))
      || directory.number(root: root, key: target.key) != nil
  }

  /// Whether the zone had an object, deleted it, and gets it back. That says all that the object is: a value whose bytes are not here
  /// is told by its name.
  mutating func isBack(
    _ key: ObjectKey, _ object: PendingObject, _ entity: SyncSchema.Entity
  ) throws -> Bool {
    try object.whole == .revive
      || object.whole == .insert
        && directory.number(root: entity.rootNumber, key: key.key) != nil
  }

  /// What is not here is told by its name where the zone has the object: an undo went back to it, or another program that edited the
  /// object says all of it. So is what the store had in another log or zone. Of what no zone has nothing is said, not even that there
  /// is none (`withdrawNames`).
  mutating func nameOrLeaveOut(
    _ values: inout [PropertyValue], _ key: ObjectKey, _ object: PendingObject,
    _ entity: SyncSchema.Entity
  ) throws {
    guard entity.showsNames else { return }
    for property in entity.properties where values[property.slot].isInZone {
      let slot = property.slot
      guard
        try object.whole == .none || object.transaction(of: slot) != nil
          || isBack(key, object, entity)
      else {
        leaveUnsaid(slot, of: key, &values)
        continue
      }
      guard property.standIn?.names(values[slot]) != true else { continue }
      // It was sealed, and the model here says otherwise since, or the other way round: no column has both.
      if object.whole == .none {
        guard object.properties.contains(slot) else { continue }
        unsent[key, default: PropertyMask()].insert(slot)
      } else {
        leaveUnsaid(slot, of: key, &values)
      }
    }
  }

  private mutating func leaveUnsaid(
    _ slot: Int, of key: ObjectKey, _ values: inout [PropertyValue]
  ) {
    values[slot] = .null
    unsaid[key, default: PropertyMask()].insert(slot)
  }

  /// Those of some properties of a new object of which something is said.
  func said(_ properties: PropertyMask, of key: ObjectKey) -> PropertyMask {
    guard !unsaid.isEmpty, let unsaid = unsaid[key] else { return properties }
    var said = properties
    said.subtract(unsaid)
    return said
  }

  /// A reference to a new object that is left out waits for it: no reference would be another edit.
  mutating func leaveOut(
    _ key: ObjectKey, _ entity: SyncSchema.Entity, _ values: [PropertyValue], _ edit: Int64,
    of mask: inout PropertyMask
  ) throws {
    for property in entity.properties where mask.contains(property.slot) {
      guard case .toOne = property.kind,
        case .reference(let target) = try reference(key, property, values, edit),
        try !hasPlace(target)
      else { continue }
      unsent[key, default: PropertyMask()].insert(property.slot)
      mask.subtract(PropertyMask([property.slot]))
    }
  }

  /// Whether the value lies in a file that cannot be read, or cannot be told by its name.
  func isUnread(_ property: SyncSchema.Property, of key: ObjectKey) -> Bool {
    if case .attribute = property.kind {
      unsent[key]?.contains(property.slot) == true
    } else {
      false
    }
  }

  /// The elements of a set as they are sent: of one that is offered without what was changed here since.
  mutating func elements(
    _ key: ObjectKey, _ property: SyncSchema.Property, _ relationship: RelationshipDescription,
    _ edit: Int64?
  ) throws -> [ObjectKey] {
    guard let edit, EditStamp.time(edit) != nil, edited[key]?.contains(property.slot) == true,
      let elements = try OfferedSets.elements(
        of: key, property.name, on: transaction.connection)
    else { return try elements(of: key, relationship) }
    return try elements.compactMap { try transaction.concreteKey(root: $0) }
  }

  /// A value as it is sent: a reference to what another replica deleted is sent as it was made, so
  /// that it is there again when that comes back.
  func reference(
    _ key: ObjectKey, _ property: SyncSchema.Property, _ values: [PropertyValue], _ edit: Int64?
  ) throws -> PropertyValue {
    let value = values[property.slot]
    guard case .toOne = property.kind, value.isNull, let edit else { return value }
    let source = DanglingReferences.Source(key: key, property: property.name)
    return try dangling.target(of: source, editedAt: try transaction.editTime(edit))
      .map { .reference($0) } ?? value
  }

  /// The value of an attribute as it is sent: of a counter that is offered without what was counted here since, and of a
  /// new object's without what a later change set tells.
  func total(
    _ key: ObjectKey, _ property: SyncSchema.Property, _ values: [PropertyValue], _ edit: Int64?
  ) throws -> PropertyValue {
    let value = values[property.slot]
    guard property.policy == .counter else { return value }
    let isOffered =
      edit.flatMap(EditStamp.time) != nil && offered[key]?.contains(property.slot) == true
    guard isOffered || edit == nil else { return value }
    let deltas = try transaction.deltas(of: key, property.name)
    return deltas.lazy.filter { isOffered || $0.transaction > through }.reduce(value) {
      CounterDelta.difference($0, $1.value) ?? $0
    }
  }

  mutating func elements(
    of key: ObjectKey, _ relationship: RelationshipDescription
  ) throws -> [ObjectKey] {
    let identifier = ObjectIdentifier(relationship)
    if elementWalks[identifier] == nil {
      elementWalks[identifier] = try ElementWalk(transaction, relationship)
    }
    return try elementWalks[identifier]?.elements(of: key) ?? []
  }
}
