/// Checks a model and resolves what it names: superentities, destinations, inverses.
struct ModelValidation {
  let entities: [EntityDescription]

  func run() throws(ModelError) {
    let byName = try uniqueEntities()
    try resolveHierarchy(byName)
    for entity in entities {
      try checkHierarchy(of: entity)
      try checkProperties(of: entity)
    }
    for entity in entities {
      for case let relationship as RelationshipDescription in entity.properties {
        try resolve(relationship, of: entity, byName)
      }
      try checkConstraints(of: entity)
      try checkPolicies(of: entity)
    }
  }

  private func uniqueEntities() throws(ModelError) -> [String: EntityDescription] {
    var byName: [String: EntityDescription] = [:]
    for entity in entities {
      guard !entity.name.isEmpty else {
        throw ModelError(
          .missingName, element: "an entity", "it has no name", suggestion: "Name it.")
      }
      guard byName.updateValue(entity, forKey: entity.name) == nil else {
        throw ModelError(
          .duplicateName, element: entity.name, "two entities have this name",
          suggestion: "Rename one of them.")
      }
    }
    return byName
  }

  private func resolveHierarchy(_ byName: [String: EntityDescription]) throws(ModelError) {
    for entity in entities {
      guard let parentName = entity.superentityName, entity.superentity == nil else { continue }
      guard let parent = byName[parentName] else {
        throw ModelError(
          .unknownEntity, element: entity.name, "its parent \(parentName) is not in the model",
          suggestion: "Add \(parentName), or name another parent.")
      }
      entity.superentity = parent
      if !parent.subentities.contains(where: { $0 === entity }) { parent.add(subentity: entity) }
    }
  }

  private func checkHierarchy(of entity: EntityDescription) throws(ModelError) {
    var seen: [EntityDescription] = []
    var current: EntityDescription? = entity
    while let step = current {
      guard !seen.contains(where: { $0 === step }) else {
        throw ModelError(
          .cyclicInheritance, element: entity.name, "it inherits from itself",
          suggestion: "Break the circle of parents.")
      }
      seen.append(step)
      current = step.superentity
    }
    for child in entity.subentities where !entities.contains(where: { $0 === child }) {
      throw ModelError(
        .unknownEntity, element: entity.name, "its subentity \(child.name) is not in the model",
        suggestion: "Add \(child.name) to the model's entities.")
    }
  }

  private func checkProperties(of entity: EntityDescription) throws(ModelError) {
    var names = Set(entity.superentity?.propertiesByName.keys.map { $0 } ?? [])
    for property in entity.properties {
      let element = "\(entity.name).\(property.name)"
      guard !property.name.isEmpty else {
        throw ModelError(
          .missingName, element: entity.name, "a property has no name", suggestion: "Name it.")
      }
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
      if let attribute = property as? AttributeDescription {
        try check(attribute, element)
      }
    }
  }

  private func check(_ attribute: AttributeDescription, _ element: String) throws(ModelError) {
    if let composite = attribute as? CompositeAttributeDescription {
      for part in composite.elements { try check(part, "\(element).\(part.name)") }
      return
    }
    if attribute.type == .undefined && !attribute.isTransient {
      throw ModelError(
        .unknownType, element: element, "the attribute has no type",
        suggestion: "Give it a type, or make it transient.")
    }
    if !attribute.defaultValue.isNull && !attribute.type.accepts(attribute.defaultValue) {
      throw ModelError(
        .invalidValue, element: element, "the default value is not of the attribute's type",
        suggestion: "Give a default of the type \(attribute.type).")
    }
  }

  private func resolve(
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
    guard let inverseName = relationship.inverseRelationshipName else {
      relationship.resolve(destination: destination, inverse: nil)
      return
    }
    guard let inverse = destination.relationshipsByName[inverseName] else {
      throw ModelError(
        .missingInverse, element: element,
        "the inverse \(destinationName).\(inverseName) does not exist",
        suggestion: "Add it, or name another inverse.")
    }
    if let back = inverse.inverseRelationshipName, back != relationship.name {
      throw ModelError(
        .invalidInverse, element: element,
        "its inverse \(destinationName).\(inverseName) names \(back) as its own inverse",
        suggestion: "Make the two name each other.")
    }
    relationship.resolve(destination: destination, inverse: inverse)
  }

  private func checkConstraints(of entity: EntityDescription) throws(ModelError) {
    let names = entity.propertiesByName
    for name in entity.uniquenessConstraints.joined() where names[name] == nil {
      throw ModelError(
        .unknownProperty, element: entity.name, "a uniqueness constraint names \(name)",
        suggestion: "Name properties of the entity.")
    }
  }

  private func checkPolicies(of entity: EntityDescription) throws(ModelError) {
    if let text = entity.userInfo[DeletePolicy.userInfoKey], DeletePolicy(rawValue: text) == nil {
      throw ModelError(
        .invalidPolicy, element: entity.name, "\(text) is not a delete policy",
        suggestion: "Use deleteWins or editWins.")
    }
    try checkPolicy(entity.userInfo, entity.name)
    for property in entity.properties {
      let element = "\(entity.name).\(property.name)"
      try checkPolicy(property.userInfo, element)
      guard let attribute = property as? AttributeDescription,
        attribute.conflictPolicy == .counter
      else { continue }
      switch attribute.type {
      case .integer16, .integer32, .integer64, .double, .float, .decimal: continue
      default:
        throw ModelError(
          .invalidPolicy, element: element, "only a number can be a counter",
          suggestion: "Give it a number type, or another policy.")
      }
    }
  }

  private func checkPolicy(_ userInfo: [String: String], _ element: String) throws(ModelError) {
    guard let text = userInfo[ConflictPolicy.userInfoKey], ConflictPolicy(text: text) == nil else {
      return
    }
    throw ModelError(
      .invalidPolicy, element: element, "\(text) is not a conflict policy",
      suggestion:
        "Use lastWriterWins, serverWins, clientWins, max, min, counter, union, text, manual or custom:NAME."
    )
  }
}

extension AttributeType {
  /// Whether a value is of this type.
  package func accepts(_ value: PropertyValue) -> Bool {
    switch (self, value) {
    case (_, .null), (.undefined, _): true
    case (.integer16, .integer(let value)): Int16(exactly: value) != nil
    case (.integer32, .integer(let value)): Int32(exactly: value) != nil
    case (.integer64, .integer): true
    case (.decimal, .decimal), (.double, .double), (.float, .double): true
    case (.string, .string), (.boolean, .bool), (.date, .date): true
    case (.binaryData, .data), (.transformable, .data), (.uuid, .uuid), (.uri, .uri): true
    default: false
    }
  }
}
