extension RelationshipDescription {
  /// Whether both ends are to-one, and this is the one that says the fact: the end whose entity and name sort first. The
  /// other end follows it.
  package var ownsOneToOne: Bool { isOneToOne && !followsOneToOne }

  /// Whether both ends are to-one, and the other one says the fact.
  package var followsOneToOne: Bool {
    guard isOneToOne, let inverse = inverseRelationship else { return false }
    let mine = (entity?.name ?? inverse.destinationEntity?.name ?? "", name)
    let other = (inverse.entity?.name ?? destinationEntity?.name ?? "", inverse.name)
    return other < mine
  }

  /// Whether it is to-one and its own inverse: of a pair each refers to the other, and says so for itself.
  package var isOwnOneToOne: Bool { !isToMany && inverseRelationship === self }

  /// Whether both ends are to-one. A relationship that is its own inverse has no two ends.
  private var isOneToOne: Bool {
    guard !isToMany, let inverse = inverseRelationship, inverse !== self else { return false }
    return !inverse.isToMany
  }
}
