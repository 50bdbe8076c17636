/// Checks a model and resolves what it names: superentities, destinations, inverses.
struct ModelValidation {
  /// The most entities above one another.
  static let hierarchyDepthMax = 256

  let model: ManagedObjectModel
  var entities: [EntityDescription] { model.entities }

  /// - Returns: the entities by name.
  func run() throws(ModelError) -> [String: EntityDescription] {
    let byName = try uniqueEntities()
    try resolveHierarchy(byName)
    // From the root down, so that an error names the element that is wrong and not its heir.
    for root in entities where root.superentity == nil {
      for entity in root.selfAndDescendants { try checkProperties(of: entity) }
      for entity in root.selfAndDescendants { try checkSize(of: entity) }
    }
    for entity in entities {
      for case let relationship as RelationshipDescription in entity.ownProperties {
        try resolve(relationship, of: entity, byName)
      }
    }
    for entity in entities {
      for case let relationship as RelationshipDescription in entity.ownProperties {
        try checkInverse(of: relationship, entity)
      }
      try checkConstraints(of: entity)
      try checkIndexes(of: entity)
      try checkPolicies(of: entity)
    }
    try checkRequests(byName)
    return byName
  }

  /// Links what is named and there: superentities, destinations, inverses. A model that was read is whole before it is used. What
  /// cannot be linked stays a name, and ``run()`` says what is wrong with it.
  func linkNames() {
    let byName = model.entitiesByName
    var parents: [String: EntityDescription] = [:]
    for entity in entities {
      if let name = entity.superentityName { parents[entity.name] = byName[name] }
    }
    for entity in entities {
      guard let parent = entity.superentityName.flatMap({ byName[$0] }),
        (try? checkParents(of: entity, parents)) != nil, !parent.isKindOf(entity: entity)
      else { continue }
      entity.inherit(from: parent)
    }
    for entity in entities {
      for case let relationship as RelationshipDescription in entity.ownProperties {
        guard let destination = relationship.destinationEntityName.flatMap({ byName[$0] }) else {
          continue
        }
        let inverse = relationship.inverseRelationshipName.flatMap {
          destination.relationshipsByName[$0]
        }
        relationship.resolve(destination: destination, inverse: inverse)
      }
    }
  }

  private func uniqueEntities() throws(ModelError) -> [String: EntityDescription] {
    var byName: [String: EntityDescription] = [:]
    var tables: [String: String] = [:]
    for entity in entities {
      try ModelName.check(entity: entity.name)
      guard byName.updateValue(entity, forKey: entity.name) == nil else {
        throw ModelError(
          .duplicateName, element: entity.name, "two entities have this name",
          suggestion: "Rename one of them.")
      }
      if let other = tables.updateValue(entity.name, forKey: entity.name.uppercased()) {
        throw ModelError(
          .duplicateName, element: entity.name,
          "it differs from the entity \(other) in case only, and both would have one table",
          suggestion: "Rename one of them.")
      }
      guard entity.managedObjectModel === model else {
        throw ModelError(
          .sharedElement, element: entity.name, "the entity belongs to another model too",
          suggestion: "Take the entities of a copy of that model.")
      }
    }
    return byName
  }

  private func resolveHierarchy(_ byName: [String: EntityDescription]) throws(ModelError) {
    var parents: [String: EntityDescription] = [:]
    for entity in entities {
      if let name = entity.superentityName {
        guard let parent = byName[name] else {
          throw ModelError(
            .unknownEntity, element: entity.name, "its parent \(name) is not in the model",
            suggestion: "Add \(name), or name another parent.")
        }
        parents[entity.name] = parent
      }
      for child in entity.subentities where byName[child.name] !== child {
        throw ModelError(
          .unknownEntity, element: entity.name, "its subentity \(child.name) is not in the model",
          suggestion: "Add \(child.name) to the model's entities.")
      }
    }
    for entity in entities { try checkParents(of: entity, parents) }
    for entity in entities {
      if let parent = parents[entity.name] { entity.inherit(from: parent) }
    }
  }

  private func checkParents(
    of entity: EntityDescription, _ parents: [String: EntityDescription]
  ) throws(ModelError) {
    var depth = 0
    var current = parents[entity.name]
    while let parent = current {
      guard parent !== entity else {
        throw ModelError(
          .cyclicInheritance, element: entity.name, "it inherits from itself",
          suggestion: "Break the circle of parents.")
      }
      depth += 1
      // A circle further up that the entity is no part of ends here or at its own members.
      guard depth <= Self.hierarchyDepthMax else {
        throw ModelError(
          .cyclicInheritance, element: entity.name,
          "there are more than \(Self.hierarchyDepthMax) entities above it",
          suggestion: "Break the circle of parents, or inherit from an entity further up.")
      }
      current = parents[parent.name]
    }
  }

  private func checkProperties(of entity: EntityDescription) throws(ModelError) {
    var names = Set(entity.superentity?.propertiesByName.keys.map { $0 } ?? [])
    for property in entity.ownProperties {
      try ModelName.check(property: property.name, of: entity.name)
      let element = "\(entity.name).\(property.name)"
      guard names.insert(property.name).inserted else {
        throw ModelError(
          .duplicateName, element: element, "the entity or its parent has a property of this name",
          suggestion: "Rename one of them.")
      }
      guard property.entity === entity else {
        throw ModelError(
          .sharedElement, element: element, "the property belongs to another entity too",
          suggestion: "Make a description of its own for each entity.")
      }
      guard !(property is ExpressionDescription) else {
        throw ModelError(
          .invalidValue, element: element, "an expression is no property of an entity",
          suggestion: "Give it to a fetch request, or make a derived attribute.")
      }
      try checkPredicates(of: property, element)
      if let attribute = property as? AttributeDescription {
        try AttributeValidation(element: element).check(attribute)
      }
    }
  }

  private func checkSize(of entity: EntityDescription) throws(ModelError) {
    var count = 0
    var current: EntityDescription? = entity
    while let step = current {
      for property in step.ownProperties {
        count += (property as? AttributeDescription).map(AttributeValidation.leafCount(of:)) ?? 1
      }
      current = step.superentity
    }
    guard count <= EntityLayout.slotsMax else {
      throw ModelError(
        .tooLarge, element: entity.name,
        "it has \(count) properties, and more than \(EntityLayout.slotsMax) are not possible",
        suggestion: "Move properties to an entity of their own.")
    }
  }
}
