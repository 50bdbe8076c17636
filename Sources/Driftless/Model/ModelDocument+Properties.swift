extension ModelDocument {
  static func element(
    of property: PropertyDescription, _ composites: inout CompositeElements
  ) throws(ModelError) -> ModelElement {
    let element = ModelElement("fetchedProperty", property.fileAttributes)
    element.attributes["name"] = property.name
    if property.isOptional { element.attributes["optional"] = "YES" }
    if property.isTransient { element.attributes["transient"] = "YES" }
    if property.isIndexed { element.attributes["indexed"] = "YES" }
    element.attributes["versionHashModifier"] = property.versionHashModifier
    element.attributes["elementID"] = property.declaredRenamingIdentifier
    switch property {
    case let attribute as AttributeDescription:
      element.name = "attribute"
      try write(attribute, into: element, &composites)
    case let relationship as RelationshipDescription:
      element.name = "relationship"
      write(relationship, into: element)
    case let fetched as FetchedPropertyDescription:
      guard fetched.fetchSort.isEmpty else { throw unspeakable("a sort", of: property.label) }
      let request = ModelElement("fetchRequest", fetched.requestAttributes)
      request.attributes["name"] = "fetchedPropertyFetchRequest"
      request.attributes["entity"] = fetched.fetchEntityName
      request.attributes["predicateString"] = fetched.fetchPredicate
      element.children.append(request)
    default: break
    }
    let predicates =
      (property as? AttributeDescription)?.ownPredicates ?? property.validationPredicates
    guard predicates.isEmpty else {
      throw unspeakable("validation predicates", of: property.label)
    }
    appendUserInfo(property.userInfo, to: element)
    return element
  }

  private static func write(
    _ attribute: AttributeDescription, into element: ModelElement,
    _ composites: inout CompositeElements
  ) throws(ModelError) {
    if attribute.type != .undefined {
      element.attributes["attributeType"] =
        ModelVocabulary.attributeTypes.first { $0.value == attribute.type }?.key
    }
    func flag(_ name: String, _ value: Bool) { if value { element.attributes[name] = "YES" } }
    flag("allowsExternalBinaryDataStorage", attribute.allowsExternalBinaryDataStorage)
    flag("preserveAfterDeletion", attribute.preservesValueInHistoryOnDeletion)
    flag("allowsCloudEncryption", attribute.allowsCloudEncryption)
    element.attributes["valueTransformerName"] = attribute.valueTransformerName
    element.attributes["regularExpressionString"] = attribute.regularExpression
    let isDate = attribute.type == .date
    func value(_ name: String, _ value: PropertyValue?) throws(ModelError) {
      let key = "\(name)\(isDate ? "DateTimeInterval" : "ValueString")"
      let type = attribute.type == .string && name != "default" ? .integer64 : attribute.type
      // What the file said stays as it was spelled, while it means the same.
      if let text = element.attributes[key],
        (PropertyValue(modelText: text, type: type) ?? .null) == value ?? .null
      {
        return
      }
      element.attributes[key] = nil
      element.attributes["\(name)ValueString"] = nil
      guard let value, !value.isNull else { return }
      // What cannot be read back the same is not written.
      guard let text = value.modelText,
        let again = PropertyValue(modelText: text, type: type),
        again == value || name != "default" && !again.isBelow(value) && !value.isBelow(again)
      else {
        throw ModelError(
          .invalidValue, element: attribute.label,
          "a model file cannot hold its \(name) value",
          suggestion: "Give the attribute a type that the value is of.")
      }
      element.attributes[key] = text
    }
    try value("default", attribute.defaultValue)
    try value("min", attribute.minimum)
    try value("max", attribute.maximum)
    if let composite = attribute as? CompositeAttributeDescription {
      var elements: [ModelElement] = []
      for part in composite.elements { elements.append(try self.element(of: part, &composites)) }
      element.attributes["composite"] = composites.name(
        composite.attributeValueClassName ?? composite.name, elements)
    } else if let name = attribute.declaredValueClassName {
      element.attributes["customClassName"] = name
    }
    if let derived = attribute as? DerivedAttributeDescription {
      element.attributes["derived"] = "YES"
      element.attributes["derivationExpression"] = derived.derivationExpressionFormat
    }
  }

  private static func write(_ relationship: RelationshipDescription, into element: ModelElement) {
    element.attributes["destinationEntity"] = relationship.destinationEntityName
    if let inverse = relationship.inverseRelationshipName {
      element.attributes["inverseName"] = inverse
      element.attributes["inverseEntity"] = relationship.destinationEntityName
    }
    if relationship.isToMany { element.attributes["toMany"] = "YES" }
    if relationship.maxCount != 0 { element.attributes["maxCount"] = "\(relationship.maxCount)" }
    if relationship.minCount != 0 { element.attributes["minCount"] = "\(relationship.minCount)" }
    if relationship.isOrdered { element.attributes["ordered"] = "YES" }
    element.attributes["deletionRule"] =
      ModelVocabulary.deleteRules.first { $0.value == relationship.deleteRule }?.key
  }
}

/// The composite types of a file that is being written.
struct CompositeElements {
  private var types: [String: (text: [String], element: ModelElement)] = [:]

  /// The types, by name.
  var elements: [ModelElement] { types.sorted { $0.key < $1.key }.map(\.value.element) }

  /// Declares a type, or finds it declared. Two types that differ get two names.
  mutating func name(_ wanted: String, _ parts: [ModelElement]) -> String {
    let text = parts.map(\.fingerprint)
    var name = wanted
    var number = 2
    while let known = types[name] {
      if known.text == text { return name }
      name = "\(wanted)\(number)"
      number += 1
    }
    let element = ModelElement("composite", ["name": name])
    element.children = parts
    types[name] = (text, element)
    return name
  }
}
