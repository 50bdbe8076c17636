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
  /// What it was called before, the newest first; of a leaf of a composite attribute with the names of that.
  package let formerNames: [String]
  package let kind: Kind
  /// Whether the property, or the composite attribute that it is a leaf of, may be missing.
  package let isOptional: Bool
  package let isTransient: Bool
  /// The rule that settles a conflict over the property in objects of this entity.
  package internal(set) var policy: ConflictPolicy
  package let defaultValue: PropertyValue
  /// Whether it is the parent of a tree.
  package let isTree: Bool

  init(
    index: Int, propertyName: PropertyName, kind: Kind, policy: ConflictPolicy,
    formerNames: [String]
  ) {
    self.formerNames = formerNames
    self.index = index
    self.propertyName = propertyName
    name = propertyName.name
    self.kind = kind
    self.policy = policy
    switch kind {
    case .attribute(let attribute, _):
      isOptional = attribute.mayBeMissing
      isTransient = attribute.isKeptInMemory
      defaultValue = attribute.defaultValue
      isTree = false
    case .toOne(let relationship), .toMany(let relationship):
      isOptional = relationship.isOptional
      isTransient = relationship.isTransient
      defaultValue = .null
      isTree = relationship.isTree
    }
  }

  package var property: PropertyDescription {
    switch kind {
    case .attribute(let attribute, _): attribute
    case .toOne(let relationship), .toMany(let relationship): relationship
    }
  }

  /// Whether the value before the first local change is kept, so that a merge can go back to it.
  package var needsBase: Bool {
    policy.needsBase || isTree || relationship?.isOwnOneToOne == true
  }

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

  /// Whether large values may lie in files beside the store.
  package var allowsExternalStorage: Bool {
    if case .attribute(let attribute, _) = kind { return attribute.allowsExternalBinaryDataStorage }
    return false
  }
}
