import Foundation
import Synchronization

/// What an object needs to know of its entity, ready for use without a look at the model: one an
/// entity and store, shared by all contexts.
package final class ObjectShape: Sendable {
  package let entity: EntityDescription
  package let layout: EntityLayout
  /// `Z_ENT`
  package let number: Int32
  let isAbstract: Bool
  /// Which of the coordinator's stores the objects are in.
  package let planIndex: Int
  /// Which of the context's registries keeps the objects: one a root entity and store.
  package let hierarchy: Int
  /// Tells the shape from all others of the coordinator.
  let ordinal: Int
  package let slotCount: Int
  /// The values of a new object, by slot; empty when it has none.
  let defaults: [PropertyValue]
  let kinds: [SlotKind]
  /// By slot; nil for attributes.
  let relations: [Relation?]
  let toOneSlots: [Int]
  let toManySlots: [Int]
  let isTransient: [Bool]
  /// Slots with a rule that a value of the right type can break.
  let restrictedSlots: [Int]
  /// The entity and all above it.
  private let lineage: [ObjectIdentifier]
  /// The class that is there from the start, which stays.
  private let firstClass: ManagedObject.Type?
  /// The class that became known later, and what was known when it was looked for.
  private let laterClass: Mutex<(type: ManagedObject.Type, version: Int)>

  /// - Parameter isExclusive: Whether an object is at the end of a relationship for one other at most.
  init(
    entity: EntityDescription, number: Int32, planIndex: Int, hierarchy: Int, ordinal: Int,
    isExclusive: (RelationshipDescription) -> Bool = { _ in false }
  ) {
    self.entity = entity
    self.number = number
    isAbstract = entity.isAbstract
    self.planIndex = planIndex
    self.hierarchy = hierarchy
    self.ordinal = ordinal
    layout = entity.layout
    slotCount = layout.slots.count
    let defaults = layout.slots.map(\.defaultValue)
    self.defaults = defaults.allSatisfy(\.isNull) ? [] : defaults
    kinds = layout.slots.map { SlotKind($0.kind) }
    relations = layout.slots.map { Relation(slot: $0, isExclusive) }
    restrictedSlots = layout.slots.filter(\.isRestricted).map(\.index)
    lineage = Self.lineage(of: entity)
    isTransient = layout.slots.map(\.isTransient)
    toOneSlots = layout.slots.indices.filter { [kinds] in kinds[$0] == .toOne }
    toManySlots = layout.slots.indices.filter { [kinds] in kinds[$0] == .toMany }
    let version = ObjectClasses.version
    let objectClass = ObjectClasses.objectClass(for: entity)
    firstClass = ObjectClasses.represents(objectClass, entity) ? objectClass : nil
    laterClass = Mutex((objectClass, version))
  }

  /// For an object that is in no context and no store.
  /// - Throws: ``ObjectError`` for an entity of no model, which is not known as a whole.
  convenience init(outside entity: EntityDescription) throws(ObjectError) {
    guard entity.managedObjectModel != nil else {
      throw ObjectError(
        .unknownEntity, "\(entity.name) is of no model",
        suggestion: "Take the entity from a model: model.entitiesByName[\"\(entity.name)\"].")
    }
    self.init(entity: entity, number: 0, planIndex: -1, hierarchy: 0, ordinal: 0)
  }

  /// Whether objects of the other shape have the same values.
  func hasSlots(of other: ObjectShape) -> Bool {
    kinds == other.kinds && zip(layout.slots, other.layout.slots).allSatisfy { $0.name == $1.name }
  }

  /// The class of the entity's objects. Where that is not the one that the entity names, it is looked for again when another
  /// class became known.
  var objectClass: ManagedObject.Type {
    if let firstClass { return firstClass }
    let version = ObjectClasses.version
    return laterClass.withLock { later in
      if later.version != version {
        let isNamed = ObjectClasses.represents(later.type, entity)
        later = (isNamed ? later.type : ObjectClasses.objectClass(for: entity), version)
      }
      return later.type
    }
  }

  /// The class to make an object of, who is there without the one that the entity names.
  var classToMake: ManagedObject.Type {
    if let firstClass { return firstClass }
    let type = objectClass
    ObjectClasses.noteLacking(entity, in: type)
    return type
  }

  /// Takes the class that a caller's typed key or request names, unless one is registered.
  func adopt(_ type: ManagedObject.Type) {
    guard type != ManagedObject.self, ObjectClasses.represents(type, entity) else { return }
    KeyedModules.meet(type)
    laterClass.withLock { if !ObjectClasses.represents($0.type, entity) { $0.type = type } }
  }

  /// Whether objects of the entity may be of a class: it is the entity's, or the entity has none.
  func takes(_ type: ManagedObject.Type) -> Bool {
    adopt(type)
    return objectClass == type || objectClass == ManagedObject.self
  }

  /// Checks that an object of the class can be made of the entity.
  /// - Throws: ``ObjectError`` when it is abstract, or its objects are of another class.
  func check(makes type: ManagedObject.Type) throws(ObjectError) {
    guard !isAbstract else {
      throw ObjectError(
        .unknownEntity, "\(entity.name) is abstract and has no objects",
        suggestion: "Make an object of one of its subentities.")
    }
    guard takes(type) else {
      throw ObjectError(
        .unknownEntity, "Objects of \(entity.name) are of the class \(objectClass), not of \(type)",
        suggestion: "Make the object of that class, or name this one in the entity.")
    }
  }

  /// - Parameter found: The class of its objects, when it is not the one that new ones get.
  func classMismatch(
    _ type: ManagedObject.Type, of found: ManagedObject.Type? = nil
  ) -> ObjectError {
    ObjectError(
      .classMismatch, "\(entity.name) objects are \(found ?? objectClass), not \(type)",
      suggestion:
        "Name the class in the entity and call ManagedObject.register(\(type).self) first.")
  }

  /// Whether objects of this entity are of that one as well.
  func isKind(of other: EntityDescription) -> Bool {
    lineage.contains(ObjectIdentifier(other))
  }

  private static func lineage(of entity: EntityDescription) -> [ObjectIdentifier] {
    [ObjectIdentifier(entity)] + (entity.superentity.map(lineage(of:)) ?? [])
  }
}

extension PropertySlot {
  fileprivate var isRestricted: Bool {
    switch kind {
    case .attribute(let attribute, _):
      (!isOptional && !isTransient) || attribute.minimum != nil || attribute.maximum != nil
        || attribute.regularExpression != nil || !attribute.validationPredicates.isEmpty
    case .toOne(let relationship):
      !isOptional || !relationship.validationPredicates.isEmpty
    case .toMany(let relationship):
      !isOptional || relationship.minCount > 0 || relationship.maxCount > 0
        || !relationship.validationPredicates.isEmpty
    }
  }
}

/// What a slot holds.
enum SlotKind: UInt8, Sendable {
  case bool, integer16, integer32, integer64, double, decimal, string, date, data, uuid, uri
  /// An attribute without a type of its own: it takes any value.
  case any
  case toOne, toMany

  init(_ kind: PropertySlot.Kind) {
    switch kind {
    case .toOne: self = .toOne
    case .toMany: self = .toMany
    case .attribute(_, let type):
      switch type {
      case .boolean: self = .bool
      case .integer16: self = .integer16
      case .integer32: self = .integer32
      case .integer64: self = .integer64
      case .double, .float: self = .double
      case .decimal: self = .decimal
      case .string: self = .string
      case .date: self = .date
      case .binaryData, .transformable: self = .data
      case .uuid: self = .uuid
      case .uri: self = .uri
      case .undefined, .objectID, .composite: self = .any
      }
    }
  }

  /// Whether the value may stand in the slot.
  func accepts(_ value: PropertyValue) -> Bool {
    switch (self, value) {
    case (_, .null), (.any, _), (.bool, .bool), (.integer64, .integer), (.double, .double),
      (.decimal, .decimal), (.string, .string), (.date, .date), (.data, .data), (.uuid, .uuid),
      (.uri, .uri), (.toOne, .reference):
      true
    case (.integer16, .integer(let value)): Int16(exactly: value) != nil
    case (.integer32, .integer(let value)): Int32(exactly: value) != nil
    default: false
    }
  }
}

/// A relationship as an object needs it.
package struct Relation: Sendable {
  package let description: RelationshipDescription
  let slot: Int
  let name: String
  let destination: EntityDescription
  let isToMany: Bool
  let isOrdered: Bool
  /// The inverse's slot in the destination; -1 without an inverse.
  let inverseSlot: Int
  let inverseIsToMany: Bool
  /// Whether the pairs of this relationship stand in a join table.
  var isManyToMany: Bool { isToMany && (inverseSlot < 0 || inverseIsToMany) }
  /// Of the two ends of a many-to-many relationship, the one whose changes are saved and recorded:
  /// a pair is one fact, and must not be two in the history.
  let isRecorded: Bool
  /// Whether objects hold others that do not know it.
  let isOneSided: Bool
  /// Whether one object holds another alone in such a relationship: what is added elsewhere leaves its holder.
  let isExclusive: Bool

  init?(slot: PropertySlot, _ isExclusive: (RelationshipDescription) -> Bool) {
    let description: RelationshipDescription
    switch slot.kind {
    case .attribute: return nil
    case .toOne(let relationship), .toMany(let relationship): description = relationship
    }
    guard let destination = description.destinationEntity else { return nil }
    self.description = description
    self.slot = slot.index
    self.destination = destination
    name = slot.name
    isToMany = description.isToMany
    isOrdered = description.isOrdered
    let inverse = description.inverseRelationship
    inverseSlot = inverse.flatMap { destination.layout.index(named: $0.name) } ?? -1
    inverseIsToMany = inverse?.isToMany ?? false
    isRecorded = Relation.isRecorded(description, inverse)
    isOneSided = description.isToMany && inverse == nil && !description.isTransient
    self.isExclusive = isExclusive(description)
  }

  /// The ordered end, or else the one that comes first by name.
  static func isRecorded(
    _ relationship: RelationshipDescription, _ inverse: RelationshipDescription?
  ) -> Bool {
    guard let inverse, inverse !== relationship else { return true }
    if relationship.isOrdered != inverse.isOrdered { return relationship.isOrdered }
    let mine = (inverse.destinationEntity?.name ?? "", relationship.name)
    let theirs = (relationship.destinationEntity?.name ?? "", inverse.name)
    return mine < theirs
  }
}
