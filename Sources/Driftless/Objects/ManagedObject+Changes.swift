public import Foundation

extension ManagedObject {
  /// The properties whose values differ from the last read or save, with their present values;
  /// of a new object all that differ from no value. Relationships give objects. A large value that is not here is the
  /// ``PropertyValue`` that stands for it, which setters take back.
  @_disfavoredOverload
  public final func changedValues() -> [String: Any?] {
    var result: [String: Any?] = [:]
    for slot in changedSlots.indexes {
      let name = shape.layout.slots[slot].name
      result.updateValue(listedValue(forKey: name), forKey: name)
    }
    return result
  }

  /// The values of attributes and to-one relationships as last read or saved; none of an object that was never saved.
  /// To-one relationships give ``ObjectKey``.
  public final var committedValues: [String: PropertyValue] {
    if isInserted { return [:] }
    if needsWaking { fire() }
    let source = committed ?? values
    var result: [String: PropertyValue] = [:]
    for slot in shape.layout.slots where !slot.isToMany { result[slot.name] = source[slot.index] }
    return result
  }

  /// Whether this context puts something into a to-many relationship that the store does not hold there.
  package final func addsMembers(toRelationshipNamed name: String) -> Bool {
    guard let slot = shape.layout.index(named: name), let state = collection(ifUsed: slot) else {
      return false
    }
    return !state.added.isEmpty
  }

  /// Whether a save would write anything of the object but its deletion.
  public final var hasPersistentChangedValues: Bool { isInserted || !changedSlots.isEmpty }

  /// The IDs at the other end of a relationship, without reading these objects.
  /// - Throws: ``ObjectError`` when there is no such relationship.
  @_disfavoredOverload
  public final func objectIDs(
    forRelationshipNamed name: String
  ) throws(ObjectError) -> [ManagedObjectID] {
    guard let slot = shape.layout.index(named: name), let relation = shape.relations[slot] else {
      throw unknownProperty(name)
    }
    if isLoose { return looseEnds(slot).map(\.objectID) }
    let keys: [ObjectKey]
    if relation.isToMany {
      keys = destinationKeys(slot)
    } else if case .reference(let key) = read(slot) {
      keys = [key]
    } else {
      keys = []
    }
    return keys.compactMap { key in
      // One that only the parent knows: it has to know that the key was given out.
      key.key < 0
        ? graph?.object(for: key, in: shape.planIndex, adopting: ManagedObject.self)?.objectID
        : graph?.objectID(for: key, in: shape.planIndex)
    }
  }

  /// Whether the objects at the other end of a to-many relationship are still to be read.
  ///
  /// A name that is no property keeps the context from being saved (``ManagedObjectContext/accessorErrors``).
  public final func hasFault(forRelationshipNamed name: String) -> Bool {
    guard let slot = shape.layout.index(named: name) else {
      deferError { throw unknownProperty(name) }
      return false
    }
    if shape.kinds[slot] != .toMany { return isFault }
    return !isInserted && collection(ifUsed: slot)?.isRead != true
  }

  /// The UUID that all replicas know the object by.
  ///
  /// A saved object has one from its store. One asked for before the first save is minted there and
  /// then, which costs a row; better ask after the save, or give one at insert.
  /// - Throws: what kept the store from being read.
  public final var identity: UUID {
    get throws {
      guard let source = graph?.source else {
        throw ObjectError(
          .foreignObject, "\(entity.name) object is in no context",
          suggestion: "Read the identity before the object is reset or deleted.")
      }
      return try source.identity(of: self)
    }
  }
}
