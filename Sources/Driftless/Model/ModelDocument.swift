public import Foundation

/// Writes a model as the XML of an `.xcdatamodel/contents` file. Equal models give equal bytes.
public enum ModelDocument {
  public static func xml(of model: ManagedObjectModel) -> Data {
    let root = ModelElement(
      "model",
      [
        "type": "com.apple.IDECoreDataModeler.DataModel", "documentVersion": "1.0",
        "userDefinedModelVersionIdentifier": model.versionIdentifiers.sorted().first ?? "",
      ])
    var composites: [String: ModelElement] = [:]
    for entity in model.entities.sorted(by: { $0.name < $1.name }) {
      root.children.append(element(of: entity, &composites))
    }
    root.children += composites.sorted { $0.key < $1.key }.map(\.value)
    for (_, template) in model.fetchRequestTemplatesByName.sorted(by: { $0.key < $1.key }) {
      var attributes = template.options
      attributes["name"] = template.name
      attributes["entity"] = template.entityName
      attributes["predicateString"] = template.predicate
      root.children.append(ModelElement("fetchRequest", attributes))
    }
    for name in model.configurations {
      let configuration = ModelElement("configuration", ["name": name])
      configuration.children = (model.entities(forConfigurationName: name) ?? [])
        .map { ModelElement("memberEntity", ["name": $0.name]) }
      root.children.append(configuration)
    }
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
    root.write(into: &text)
    return Data(text.utf8)
  }

  private static func element(
    of entity: EntityDescription, _ composites: inout [String: ModelElement]
  ) -> ModelElement {
    let element = ModelElement("entity", ["name": entity.name, "syncable": "YES"])
    element.attributes["representedClassName"] = entity.declaredClassName
    element.attributes["parentEntity"] = entity.superentityName
    if entity.isAbstract { element.attributes["isAbstract"] = "YES" }
    element.attributes["versionHashModifier"] = entity.versionHashModifier
    element.attributes["elementID"] = entity.declaredRenamingIdentifier
    element.attributes["coreSpotlightDisplayNameExpression"] =
      entity.coreSpotlightDisplayNameExpression
    for property in entity.properties.sorted(by: { $0.name < $1.name }) {
      element.children.append(self.element(of: property, &composites))
    }
    for index in entity.indexes {
      let child = ModelElement("fetchIndex", ["name": index.name])
      child.attributes["partialIndexPredicate"] = index.partialIndexPredicate
      child.children = index.elements.map { part in
        let attributes = [
          "type": part.collationType == .rTree ? "RTree" : "Binary",
          "order": part.isAscending ? "ascending" : "descending",
        ]
        let element = ModelElement("fetchIndexElement", attributes)
        if let expression = part.expression {
          element.attributes["expression"] = expression
        } else {
          element.attributes["property"] = part.propertyName
        }
        return element
      }
      element.children.append(child)
    }
    if !entity.uniquenessConstraints.isEmpty {
      let child = ModelElement("uniquenessConstraints")
      child.children = entity.uniquenessConstraints.map { names in
        let constraint = ModelElement("uniquenessConstraint")
        constraint.children = names.map { ModelElement("constraint", ["value": $0]) }
        return constraint
      }
      element.children.append(child)
    }
    appendUserInfo(entity.userInfo, to: element)
    return element
  }

  private static func appendUserInfo(_ info: [String: String], to element: ModelElement) {
    guard !info.isEmpty else { return }
    let child = ModelElement("userInfo")
    child.children = info.sorted { $0.key < $1.key }
      .map { ModelElement("entry", ["key": $0.key, "value": $0.value]) }
    element.children.append(child)
  }

  private static func element(
    of property: PropertyDescription, _ composites: inout [String: ModelElement]
  ) -> ModelElement {
    var attributes = ["name": property.name]
    if property.isOptional { attributes["optional"] = "YES" }
    if property.isTransient { attributes["transient"] = "YES" }
    if property.isIndexed { attributes["indexed"] = "YES" }
    attributes["versionHashModifier"] = property.versionHashModifier
    attributes["elementID"] = property.declaredRenamingIdentifier
    let element: ModelElement
    switch property {
    case let attribute as AttributeDescription:
      element = ModelElement("attribute", attributes)
      write(attribute, into: element, &composites)
    case let relationship as RelationshipDescription:
      element = ModelElement("relationship", attributes)
      write(relationship, into: element)
    default:
      element = ModelElement("fetchedProperty", attributes)
      if let fetched = property as? FetchedPropertyDescription {
        let request = ModelElement(
          "fetchRequest",
          ["name": "fetchedPropertyFetchRequest", "entity": fetched.fetchEntityName])
        request.attributes["predicateString"] = fetched.fetchPredicate
        element.children.append(request)
      }
    }
    appendUserInfo(property.userInfo, to: element)
    return element
  }

  private static func write(
    _ attribute: AttributeDescription, into element: ModelElement,
    _ composites: inout [String: ModelElement]
  ) {
    if attribute.type != .undefined {
      element.attributes["attributeType"] =
        ModelReader.typeNames.first { $0.value == attribute.type }?.key
    }
    func flag(_ name: String, _ value: Bool) { if value { element.attributes[name] = "YES" } }
    flag("allowsExternalBinaryDataStorage", attribute.allowsExternalBinaryDataStorage)
    flag("preserveAfterDeletion", attribute.preservesValueInHistoryOnDeletion)
    flag("allowsCloudEncryption", attribute.allowsCloudEncryption)
    element.attributes["valueTransformerName"] = attribute.valueTransformerName
    element.attributes["regularExpressionString"] = attribute.regularExpression
    let isDate = attribute.type == .date
    element.attributes[isDate ? "defaultDateTimeInterval" : "defaultValueString"] =
      attribute.defaultValue.modelText
    element.attributes[isDate ? "minDateTimeInterval" : "minValueString"] =
      attribute.minimum?.modelText
    element.attributes[isDate ? "maxDateTimeInterval" : "maxValueString"] =
      attribute.maximum?.modelText
    if let composite = attribute as? CompositeAttributeDescription {
      let name = composite.attributeValueClassName ?? composite.name
      element.attributes["composite"] = name
      let type = ModelElement("composite", ["name": name])
      for part in composite.elements {
        type.children.append(self.element(of: part, &composites))
      }
      composites[name] = type
    } else {
      element.attributes["customClassName"] = attribute.attributeValueClassName
    }
    if let derived = attribute as? DerivedAttributeDescription {
      element.attributes["derived"] = "YES"
      element.attributes["derivationExpression"] = derived.derivationExpression
    }
  }

  private static func write(_ relationship: RelationshipDescription, into element: ModelElement) {
    element.attributes["destinationEntity"] = relationship.destinationEntityName
    if let inverse = relationship.inverseRelationshipName {
      element.attributes["inverseName"] = inverse
      element.attributes["inverseEntity"] = relationship.destinationEntityName
    }
    if relationship.maxCount == 0 {
      element.attributes["toMany"] = "YES"
    } else {
      element.attributes["maxCount"] = "\(relationship.maxCount)"
    }
    if relationship.minCount != 0 { element.attributes["minCount"] = "\(relationship.minCount)" }
    if relationship.isOrdered { element.attributes["ordered"] = "YES" }
    element.attributes["deletionRule"] =
      switch relationship.deleteRule {
      case .nullify: "Nullify"
      case .cascade: "Cascade"
      case .deny: "Deny"
      case .noAction: "No Action"
      }
  }
}

/// The form in which a model travels inside a store: its XML, compact enough, versioned by its own header.
package enum ModelArchive {
  package static func encode(_ model: ManagedObjectModel) -> Data { ModelDocument.xml(of: model) }

  /// - Throws: `ModelError` when the bytes are no model.
  package static func decode(_ data: Data) throws(ModelError) -> ManagedObjectModel {
    let model = try ManagedObjectModel(xml: data, path: "the model inside the store")
    try model.freeze()
    return model
  }
}
