extension ModelValidation {
  func checkConstraints(of entity: EntityDescription) throws(ModelError) {
    let properties = entity.propertiesByName
    var known: Set<[String]> = []
    for constraint in entity.uniquenessConstraints {
      guard known.insert(constraint).inserted else {
        throw ModelError(
          .duplicateName, element: entity.name,
          "the uniqueness constraint of \(constraint.joined(separator: ", ")) is there twice",
          suggestion: "Leave one of them out.")
      }
      guard !constraint.isEmpty else {
        throw ModelError(
          .unknownProperty, element: entity.name, "a uniqueness constraint names no property",
          suggestion: "Name properties of the entity, or leave the constraint out.")
      }
      for name in constraint {
        let property = properties[name]
        let isKept =
          switch property {
          case let relationship as RelationshipDescription: !relationship.isToMany
          case let attribute as AttributeDescription: attribute.type != .composite
          default: false
          }
        guard let property, isKept, !property.isTransient else {
          throw ModelError(
            .unknownProperty, element: entity.name,
            "a uniqueness constraint names \(name), which is no attribute that the store keeps",
            suggestion: "Name attributes of the entity.")
        }
      }
    }
  }

  func checkIndexes(of entity: EntityDescription) throws(ModelError) {
    var names: Set<String> = []
    for index in entity.indexes {
      let element = "\(entity.name).\(index.name)"
      guard names.insert(index.name).inserted else {
        throw ModelError(
          .duplicateName, element: element, "two indexes of the entity have this name",
          suggestion: "Rename one of them.")
      }
      guard !index.name.isEmpty, !index.name.contains(where: { $0 == "\"" || $0 == "\0" }) else {
        throw ModelError(
          .invalidName, element: element, "an index needs a name, without quotation marks",
          suggestion: "Rename the index.")
      }
      guard Set(index.elements.map(\.collationType)).count < 2 else {
        throw ModelError(
          .invalidValue, element: element, "the index mixes R-tree and binary elements",
          suggestion: "Make two indexes of it.")
      }
      for part in index.elements where part.expressionFormat == nil {
        // The leaf of a composite attribute is named by its path.
        let first = part.propertyName.split(separator: ".").first.map(String.init) ?? ""
        guard
          entity.propertiesByName[first] != nil
            || FetchIndexElementDescription.rowWords[first] != nil
        else {
          throw ModelError(
            .unknownProperty, element: element, "the index names \(part.propertyName)",
            suggestion: "Name properties of the entity.")
        }
      }
    }
  }

  /// Checks what names an entity from outside: configurations, templates, fetched properties.
  func checkRequests(_ byName: [String: EntityDescription]) throws(ModelError) {
    for configuration in model.configurations {
      for name in model.entityNames(ofConfiguration: configuration) where byName[name] == nil {
        throw unknown(name, namedBy: configuration, "the configuration")
      }
    }
    for (name, template) in model.fetchRequestTemplatesByName.sorted(by: { $0.key < $1.key })
    where byName[template.entityName] == nil {
      throw unknown(template.entityName, namedBy: name, "the fetch request template")
    }
    for entity in entities {
      for case let property as FetchedPropertyDescription in entity.ownProperties
      where byName[property.fetchEntityName] == nil {
        throw unknown(property.fetchEntityName, namedBy: property.label, "the fetched property")
      }
    }
  }

  private func unknown(_ name: String, namedBy element: String, _ kind: String) -> ModelError {
    ModelError(
      .unknownEntity, element: element, "\(kind) names \(name), which is not in the model",
      suggestion: "Name an entity of the model.")
  }

  func checkPolicies(of entity: EntityDescription) throws(ModelError) {
    if let text = entity.userInfo[DeletePolicy.userInfoKey], DeletePolicy(rawValue: text) == nil {
      throw ModelError(
        .invalidPolicy, element: entity.name, "\(text) is not a delete policy",
        suggestion: "Use deleteWins or editWins.")
    }
    try checkPolicy(entity.userInfo, entity.name)
    for property in entity.ownProperties {
      try checkPolicy(property.userInfo, property.label)
      try checkFit(of: property)
    }
  }

  private func checkPolicy(_ userInfo: [String: String], _ element: String) throws(ModelError) {
    guard let text = userInfo[ConflictPolicy.userInfoKey], ConflictPolicy(text: text) == nil else {
      return
    }
    throw ModelError(
      .invalidPolicy, element: element, "\(text) is not a conflict policy",
      suggestion: "Use lastWriterWins, serverWins, clientWins, max, min, counter, union, text, "
        + "manual or custom:NAME.")
  }

  /// A property's own policy must have a meaning for it. (An entity's policy need not for all.)
  private func checkFit(of property: PropertyDescription) throws(ModelError) {
    if let composite = property as? CompositeAttributeDescription {
      guard !composite.isTooDeep else {
        throw ModelError(
          .tooLarge, element: property.label,
          "its attributes nest deeper than \(CompositeAttributeDescription.depthMax) levels",
          suggestion: "Make it of fewer levels.")
      }
      for part in composite.elements {
        try checkPolicy(part.userInfo, part.label)
        try checkFit(of: part)
      }
      return
    }
    let type = (property as? AttributeDescription)?.type
    switch property.conflictPolicy {
    case .counter where !(type?.isNumeric ?? false):
      throw ModelError(
        .invalidPolicy, element: property.label, "only a number can be a counter",
        suggestion: "Give it a number type, or another policy.")
    case .text where type != .string:
      throw ModelError(
        .invalidPolicy, element: property.label, "only a text's edits can be merged",
        suggestion: "Make it a string attribute, or give it another policy.")
    default: return
    }
  }
}
