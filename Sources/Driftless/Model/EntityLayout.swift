/// Where an entity's objects keep their properties: a slot each, the same in all entities of a
/// hierarchy.
package final class EntityLayout: @unchecked Sendable {  // immutable, and its entity is frozen
  /// The most slots that an entity can have.
  static let slotsMax = Int(Int16.max)

  package unowned let entity: EntityDescription
  /// The parent's slots first, then own attributes by name, then own relationships by name.
  ///
  /// The leaves of a composite attribute have a slot each, named `location.lat`.
  package let slots: [PropertySlot]
  private let slotByName: [String: Int]
  /// The slot by the number of the interned name; -1 for none.
  private let slotByNameID: [Int16]

  init(entity: EntityDescription, slots: [PropertySlot]) {
    self.entity = entity
    self.slots = slots
    var byName: [String: Int] = [:]
    var byID: [Int16] = []
    for slot in slots {
      byName[slot.name] = slot.index
      while byID.count <= slot.propertyName.id { byID.append(-1) }
      // Validation has refused an entity with more slots than fit.
      byID[slot.propertyName.id] = Int16(truncatingIfNeeded: slot.index)
    }
    slotByName = byName
    slotByNameID = byID
  }

  package func index(named name: String) -> Int? { slotByName[name] }

  /// The slot of a property, or -1.
  @inline(__always)
  package func index(of name: PropertyName) -> Int { index(ofName: name.id) }

  /// The slot of a property by its name's number, or -1.
  @inline(__always)
  package func index(ofName id: Int) -> Int {
    id < slotByNameID.count ? Int(slotByNameID[id]) : -1
  }

  /// The most names that a leaf of a composite attribute goes by.
  private static let leafNamesMax = 64

  static func make(for entity: EntityDescription, inherited: [PropertySlot]) -> EntityLayout {
    // An inherited property keeps its slot; without a policy of its own it follows this entity's.
    var slots = inherited.map { slot in
      var slot = slot
      slot.policy = entity.effectiveConflictPolicy(for: slot.property)
      return slot
    }
    func add(
      _ name: String, _ property: PropertyDescription, _ kind: PropertySlot.Kind,
      formerNames: [String]? = nil
    ) {
      slots.append(
        PropertySlot(
          index: slots.count, propertyName: PropertyName(name), kind: kind,
          policy: entity.effectiveConflictPolicy(for: property),
          formerNames: formerNames ?? property.formerNames))
    }
    // A leaf was called by what each attribute around it was called, and by its own names: each level has times as many.
    func add(_ attribute: AttributeDescription, prefixes: [String]) {
      let own = [attribute.name] + attribute.formerNames
      let names = Array(
        prefixes.lazy.flatMap { prefix in own.map { prefix + $0 } }.prefix(Self.leafNamesMax))
      guard let composite = attribute as? CompositeAttributeDescription else {
        return add(
          names[0], attribute, .attribute(attribute, attribute.type),
          formerNames: Array(names.dropFirst()))
      }
      for element in composite.elements { add(element, prefixes: names.map { $0 + "." }) }
    }
    let own = entity.ownProperties.sorted { $0.name < $1.name }
    for case let attribute as AttributeDescription in own { add(attribute, prefixes: [""]) }
    for case let relationship as RelationshipDescription in own {
      let isToMany = relationship.isToMany
      add(relationship.name, relationship, isToMany ? .toMany(relationship) : .toOne(relationship))
    }
    return EntityLayout(entity: entity, slots: slots)
  }
}
