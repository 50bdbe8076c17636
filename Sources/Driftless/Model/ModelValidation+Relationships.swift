extension ModelValidation {
  func resolve(
    _ relationship: RelationshipDescription, of entity: EntityDescription,
    _ byName: [String: EntityDescription]
  ) throws(ModelError) {
    let element = "\(entity.name).\(relationship.name)"
    guard let destinationName = relationship.destinationEntityName,
      let destination = byName[destinationName]
    else {
      throw ModelError(
        .unknownEntity, element: element,
        "the destination \(relationship.destinationEntityName ?? "") is not in the model",
        suggestion: "Name an entity of the model as the destination.")
    }
    let (least, most) = (relationship.minCount, relationship.maxCount)
    guard least >= 0, most >= 0, most == 0 || least <= most else {
      throw ModelError(
        .invalidValue, element: element, "it takes at least \(least) and at most \(most) objects",
        suggestion: "Give counts of 0 or more, the least first; 0 at most means any number.")
    }
    guard let inverseName = relationship.inverseRelationshipName else {
      return relationship.resolve(destination: destination, inverse: nil)
    }
    guard let inverse = destination.relationshipsByName[inverseName] else {
      throw ModelError(
        .missingInverse, element: element,
        "the inverse \(destinationName).\(inverseName) does not exist",
        suggestion: "Add it, or name another inverse.")
    }
    relationship.resolve(destination: destination, inverse: inverse)
  }

  /// Runs when all are resolved.
  func checkInverse(
    of relationship: RelationshipDescription, _ entity: EntityDescription
  ) throws(ModelError) {
    guard let inverse = relationship.inverseRelationship else { return }
    let element = "\(entity.name).\(relationship.name)"
    guard inverse.inverseRelationship === relationship else {
      let back = inverse.inverseRelationshipName
      throw ModelError(
        .invalidInverse, element: element,
        "its inverse \(inverse.label) names "
          + (back.map { "\($0) as its own inverse" } ?? "no inverse"),
        suggestion: "Make the two name each other.")
    }
    guard let home = inverse.destinationEntity,
      home.isKindOf(entity: entity) || entity.isKindOf(entity: home)
    else {
      throw ModelError(
        .invalidInverse, element: element,
        "its inverse \(inverse.label) leads to \(inverse.destinationEntityName ?? "")",
        suggestion: "Make the inverse lead to \(entity.name).")
    }
  }
}
