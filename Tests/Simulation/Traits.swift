import Driftless

/// What the laws must know of each property of a model.
struct Traits {
  enum Kind: Hashable {
    case attribute(ConflictPolicy)
    /// To-one, from its owning end.
    case reference
    /// Many-to-many, from the end that the export shows.
    case elements
    /// The other end of a fact that is told elsewhere.
    case echo
  }

  /// By entity and property.
  private(set) var kinds: [String: [String: Kind]] = [:]
  private(set) var editWins: Set<String> = []
  /// By entity: itself and those above it.
  private(set) var kin: [String: Set<String>] = [:]
  /// Constraints, by the entity that declares them.
  private(set) var keys: [(entity: String, properties: [String])] = []
  private(set) var oneToOne: [(entity: String, property: String)] = []
  private(set) var trees: [(entity: String, property: String)] = []
  /// To-one relationships that are their own inverses.
  private(set) var pairs: [(entity: String, property: String)] = []
  /// What objects must have, by entity.
  private(set) var required: [String: Set<String>] = [:]
  /// Entities whose objects must have partners: two that have one become one, as two with one key do.
  private var joined: Set<String> = []
  private(set) var entities: [String] = []
  /// The text of the value that a new object begins with, by entity and property.
  private var beginnings: [String: [String: String]] = [:]
  /// Ordered relationships by entity and name: the to-one end, or nil of a many-to-many.
  private(set) var ordered: [String: [String: String?]] = [:]

  init(_ model: ManagedObjectModel) {
    for entity in model.entities {
      if !entity.isAbstract { entities.append(entity.name) }
      var kinds: [String: Kind] = [:]
      for (name, property) in entity.propertiesByName {
        if let relationship = property as? RelationshipDescription {
          kinds[name] = Self.kind(of: relationship)
          if relationship.isToMany, relationship.isOrdered {
            let inverse = relationship.inverseRelationship
            ordered[entity.name, default: [:]][name] = .some(
              inverse?.isToMany == false ? inverse?.name : nil)
          }
        } else if let attribute = property as? AttributeDescription {
          if case .string(let text) = attribute.defaultValue {
            beginnings[entity.name, default: [:]][name] = "\"\(text)\""
          }
          kinds[name] = .attribute(property.conflictPolicy ?? .lastWriterWins)
        }
      }
      self.kinds[entity.name] = kinds
      required[entity.name] = Set(
        entity.propertiesByName.values.filter {
          !$0.isOptional && !$0.isTransient && ($0 as? RelationshipDescription)?.isToMany != true
        }.map(\.name))
      if entity.deletePolicy == .editWins { editWins.insert(entity.name) }
      var kin: Set<String> = []
      var above: EntityDescription? = entity
      while let one = above {
        kin.insert(one.name)
        above = one.superentity
      }
      self.kin[entity.name] = kin
      for constraint in entity.uniquenessConstraints { keys.append((entity.name, constraint)) }
      for case let relationship as RelationshipDescription in entity.ownProperties
      where !relationship.isToMany {
        if relationship.userInfo["driftless.tree"] != nil {
          trees.append((entity.name, relationship.name))
        }
        if let inverse = relationship.inverseRelationship, !inverse.isToMany {
          if inverse === relationship { pairs.append((entity.name, relationship.name)) }
          if !relationship.isOptional { joined.insert(entity.name) }
          oneToOne.append((entity.name, relationship.name))
        }
      }
    }
    entities.sort()
  }

  private static func kind(of relationship: RelationshipDescription) -> Kind {
    guard let inverse = relationship.inverseRelationship, inverse !== relationship else {
      return relationship.isToMany ? .elements : .reference
    }
    let mine = (inverse.destinationEntity?.name ?? "", relationship.name)
    let other = (relationship.destinationEntity?.name ?? "", inverse.name)
    switch (relationship.isToMany, inverse.isToMany) {
    case (true, true):
      if relationship.isOrdered != inverse.isOrdered {
        return relationship.isOrdered ? .elements : .echo
      }
      return mine < other ? .elements : .echo
    case (true, false): return .echo
    case (false, true): return .reference
    case (false, false): return mine < other ? .reference : .echo
    }
  }

  func kind(_ entity: String, _ property: String) -> Kind? { kinds[entity]?[property] }

  /// Whether a new object has a value without anybody's edit.
  func isBeginning(_ text: String, _ entity: String, _ property: String) -> Bool {
    beginnings[entity]?[property] == text
  }

  func isKeyed(_ entity: String) -> Bool {
    let kin = kin[entity] ?? []
    return keys.contains { kin.contains($0.entity) } || !joined.isDisjoint(with: kin)
  }

  func isKey(_ entity: String, _ property: String) -> Bool {
    let kin = kin[entity] ?? []
    return keys.contains { kin.contains($0.entity) && $0.properties.contains(property) }
  }

  /// The properties that a model of these traits shows.
  var properties: [String: Set<String>] { kinds.mapValues { Set($0.keys) } }
}
