public import Foundation

/// Writes a model as the XML of an `.xcdatamodel/contents` file. Equal models give equal bytes.
///
/// Entities and properties come sorted by name. A file has room for one version identifier: several
/// become one, joined by commas.
public enum ModelDocument {
  /// The XML of a model.
  ///
  /// - Throws: ``ModelError`` for what the format cannot hold: control characters, a default value
  ///   of an attribute without a type, validation predicates that are no bounds, the sort of a
  ///   fetch request.
  public static func xml(of model: ManagedObjectModel) throws(ModelError) -> Data {
    let root = ModelElement("model", model.fileAttributes)
    root.attributes["type"] = "com.apple.IDECoreDataModeler.DataModel"
    root.attributes["documentVersion"] = "1.0"
    root.attributes["userDefinedModelVersionIdentifier"] =
      model.versionIdentifiers.sorted().joined(separator: ",")
    var composites = CompositeElements()
    for entity in model.entities.sorted(by: { $0.name < $1.name }) {
      root.children.append(try element(of: entity, &composites))
    }
    root.children += composites.elements
    for (_, template) in model.fetchRequestTemplatesByName.sorted(by: { $0.key < $1.key }) {
      guard template.sort.isEmpty else { throw unspeakable("a sort", of: template.name) }
      var attributes = template.options
      attributes["name"] = template.name
      attributes["entity"] = template.entityName
      attributes["predicateString"] = template.predicate
      root.children.append(ModelElement("fetchRequest", attributes))
    }
    for name in model.configurations {
      let configuration = ModelElement("configuration", ["name": name])
      if model.cloudConfigurations.contains(name) {
        configuration.attributes["usedWithCloudKit"] = "YES"
      }
      configuration.children = model.entityNames(ofConfiguration: name)
        .map { ModelElement("memberEntity", ["name": $0]) }
      root.children.append(configuration)
    }
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
    try root.write(into: &text)
    return Data(text.utf8)
  }

  private static func element(
    of entity: EntityDescription, _ composites: inout CompositeElements
  ) throws(ModelError) -> ModelElement {
    let element = ModelElement("entity", entity.fileAttributes)
    if entity.fileAttributes.isEmpty { element.attributes["syncable"] = "YES" }
    element.attributes["name"] = entity.name
    element.attributes["representedClassName"] = entity.declaredClassName
    element.attributes["parentEntity"] = entity.superentityName
    if entity.isAbstract { element.attributes["isAbstract"] = "YES" }
    element.attributes["versionHashModifier"] = entity.versionHashModifier
    element.attributes["elementID"] = entity.declaredRenamingIdentifier
    element.attributes["coreSpotlightDisplayNameExpression"] =
      entity.coreSpotlightDisplayNameFormat
    for property in entity.ownProperties.sorted(by: { $0.name < $1.name }) {
      element.children.append(try self.element(of: property, &composites))
    }
    let compound = entity.indexes.filter(\.isCompoundIndex)
    element.children += entity.indexes.filter { !$0.isCompoundIndex }.map(self.element(of:))
    if !entity.uniquenessConstraints.isEmpty {
      let child = ModelElement("uniquenessConstraints")
      child.children = entity.uniquenessConstraints.map { names in
        let constraint = ModelElement("uniquenessConstraint")
        constraint.children = names.map { ModelElement("constraint", ["value": $0]) }
        return constraint
      }
      element.children.append(child)
    }
    if !compound.isEmpty {
      let child = ModelElement("compoundIndexes")
      child.children = compound.map(self.compoundElement(of:))
      element.children.append(child)
    }
    appendUserInfo(entity.userInfo, to: element)
    return element
  }

  private static func compoundElement(of index: FetchIndexDescription) -> ModelElement {
    let element = ModelElement("compoundIndex")
    element.children = index.elements.map { ModelElement("index", ["value": $0.propertyName]) }
    return element
  }

  private static func element(of index: FetchIndexDescription) -> ModelElement {
    let element = ModelElement("fetchIndex", ["name": index.name])
    element.attributes["partialIndexPredicate"] = index.partialIndexPredicateFormat
    element.children = index.elements.map { part in
      let child = ModelElement("fetchIndexElement", part.fileAttributes)
      child.attributes["type"] = part.collationType == .rTree ? "RTree" : "Binary"
      child.attributes["order"] = part.isAscending ? "ascending" : "descending"
      if let expression = part.expressionFormat {
        child.attributes["expression"] = expression
      } else {
        child.attributes["property"] = part.propertyName
      }
      return child
    }
    return element
  }

  // MARK: Properties

  private static func element(
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

  // MARK: Parts of both

  private static func unspeakable(_ thing: String, of element: String) -> ModelError {
    ModelError(
      .invalidValue, element: element, "a model file has no place for \(thing)",
      suggestion: "Set it in code, or keep the model in a store.")
  }

  private static func appendUserInfo(_ info: [String: String], to element: ModelElement) {
    guard !info.isEmpty else { return }
    let child = ModelElement("userInfo")
    child.children = info.sorted { $0.key < $1.key }
      .map { ModelElement("entry", ["key": $0.key, "value": $0.value]) }
    element.children.append(child)
  }
}

extension FetchIndexDescription {
  /// Whether a file of before Xcode 8 declared the index, or could have.
  fileprivate var isCompoundIndex: Bool {
    name.hasPrefix(ModelVocabulary.compoundIndex)
      && Int(name.dropFirst(ModelVocabulary.compoundIndex.count)) != nil
      && partialIndexPredicateFormat == nil
      && elements.allSatisfy {
        $0.expressionFormat == nil && $0.collationType == .binary && $0.isAscending
          && $0.fileAttributes.isEmpty
      }
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
