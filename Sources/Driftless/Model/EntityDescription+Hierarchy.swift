extension EntityDescription {
  /// The entities that inherit from this one directly, by name.
  public var subentitiesByName: [String: EntityDescription] {
    Dictionary(subentities.map { ($0.name, $0) }) { first, _ in first }
  }

  /// The entity at the top of the hierarchy: the one with the table.
  public var rootEntity: EntityDescription {
    var entity = self
    while let parent = entity.superentity { entity = parent }
    return entity
  }

  /// Whether this is `entity` or inherits from it.
  public func isKindOf(entity: EntityDescription) -> Bool {
    var candidate: EntityDescription? = self
    while let current = candidate {
      if current === entity { return true }
      candidate = current.superentity
    }
    return false
  }

  /// The relationships that lead to `entity`, by name.
  public func relationships(forDestination entity: EntityDescription) -> [RelationshipDescription] {
    relationshipsByName.values.filter { $0.destinationEntity === entity }
      .sorted { $0.name < $1.name }
  }

  /// This entity and all that inherit from it.
  package var selfAndDescendants: [EntityDescription] {
    [self] + subentities.flatMap(\.selfAndDescendants)
  }

  /// Whether the key path `rest` behind the to-one relationship `name` has a to-many step.
  package func leadsToMany(_ name: String, _ rest: ArraySlice<String>) -> Bool {
    guard let index = layout.index(named: name) else { return false }
    switch layout.slots[index].kind {
    case .attribute: return false
    case .toMany: return true
    case .toOne(let relationship):
      guard let next = rest.first, let destination = relationship.destinationEntity else {
        return false
      }
      return destination.leadsToMany(next, rest.dropFirst())
    }
  }
}
