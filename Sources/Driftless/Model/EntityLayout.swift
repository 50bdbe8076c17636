/// Where an entity's objects keep their properties: a slot each, the same in all entities of a hierarchy.
package final class EntityLayout: @unchecked Sendable {  // immutable; the entity that it points at is frozen
  package unowned let entity: EntityDescription
  /// The parent's slots first, then own attributes by name, then own relationships by name.
  package let slots: [PropertySlot]
  private let slotByName: [String: Int]
  private let slotByNameID: [Int16]

  init(entity: EntityDescription, slots: [PropertySlot]) {
    self.entity = entity
    self.slots = slots
    var byName: [String: Int] = [:]
    var byID: [Int16] = []
    for slot in slots {
      byName[slot.name] = slot.index
      while byID.count <= slot.propertyName.id { byID.append(-1) }
      byID[slot.propertyName.id] = Int16(truncatingIfNeeded: slot.index)
    }
    slotByName = byName
    slotByNameID = byID
  }

  package func index(named name: String) -> Int? { slotByName[name] }

  /// The slot of a property, or -1.
  @inline(__always)
  package func index(of name: PropertyName) -> Int {
    name.id < slotByNameID.count ? Int(slotByNameID[name.id]) : -1
  }
}

/// One property's place in an object.
package struct PropertySlot: Sendable {
  package enum Kind: Sendable {
    case attribute(AttributeDescription, AttributeType)
    case toOne(RelationshipDescription)
    case toMany(RelationshipDescription)
  }

  package let index: Int
  package let name: String
  /// The interned form of the name.
  package let propertyName: PropertyName
  package let kind: Kind
  package let isOptional: Bool
  package let isTransient: Bool
  package let policy: ConflictPolicy
  package let defaultValue: PropertyValue

  package var relationship: RelationshipDescription? {
    switch kind {
    case .attribute: nil
    case .toOne(let relationship), .toMany(let relationship): relationship
    }
  }

  package var isToMany: Bool {
    if case .toMany = kind { return true }
    return false
  }
}
