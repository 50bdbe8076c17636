import Foundation

/// Reads the XML vocabulary of `.xcdatamodel/contents` into a model.
struct ModelReader {
  let path: String

  static let typeNames: [String: AttributeType] = [
    "Integer 16": .integer16, "Integer 32": .integer32, "Integer 64": .integer64,
    "Decimal": .decimal, "Double": .double, "Float": .float, "String": .string,
    "Boolean": .boolean, "Date": .date, "Binary": .binaryData, "UUID": .uuid, "URI": .uri,
    "Transformable": .transformable, "Composite": .composite, "Undefined": .undefined,
    "ObjectID": .objectID,
  ]

  func read(_ root: ModelElement, into model: ManagedObjectModel) throws(ModelError) {
    guard root.name == "model" else {
      throw ModelError(
        .malformed, element: path, "its root element is <\(root.name)>, not <model>",
        suggestion: "Give the contents of an .xcdatamodel.")
    }
    var composites: [String: ModelElement] = [:]
    for composite in root.children(named: "composite") {
      composites[composite.attributes["name"] ?? ""] = composite
    }
    var entities: [EntityDescription] = []
    for element in root.children(named: "entity") {
      entities.append(try entity(element, composites))
    }
    model.entities = entities
    if let identifier = root.attributes["userDefinedModelVersionIdentifier"], !identifier.isEmpty {
      model.versionIdentifiers = [identifier]
    }
    for configuration in root.children(named: "configuration") {
      model.set(
        configuration: configuration.attributes["name"] ?? "",
        entityNames: configuration.children(named: "memberEntity").compactMap {
          $0.attributes["name"]
        })
    }
    var templates: [String: FetchRequestTemplate] = [:]
    for request in root.children(named: "fetchRequest") {
      let name = request.attributes["name"] ?? ""
      templates[name] = FetchRequestTemplate(
        name: name, entityName: request.attributes["entity"] ?? "",
        predicate: request.attributes["predicateString"],
        options: request.attributes.filter {
          !["name", "entity", "predicateString"].contains($0.key)
        })
    }
    model.fetchRequestTemplatesByName = templates
  }

  private func entity(
    _ element: ModelElement, _ composites: [String: ModelElement]
  ) throws(ModelError) -> EntityDescription {
    let entity = EntityDescription(element.attributes["name"] ?? "")
    if let name = element.attributes["representedClassName"], !name.isEmpty {
      entity.managedObjectClassName = name
    }
    entity.superentityName = element.attributes["parentEntity"]
    entity.isAbstract = element.flag("isAbstract")
    entity.versionHashModifier = element.attributes["versionHashModifier"]
    entity.renamingIdentifier = renamingIdentifier(element)
    entity.coreSpotlightDisplayNameExpression =
      element.attributes["coreSpotlightDisplayNameExpression"]
    var properties: [PropertyDescription] = []
    for child in element.children {
      switch child.name {
      case "attribute":
        properties.append(try attribute(child, of: entity.name, composites, depth: 0))
      case "relationship": properties.append(try relationship(child, of: entity.name))
      case "fetchedProperty": properties.append(fetchedProperty(child))
      case "fetchIndex": entity.indexes.append(index(child))
      case "uniquenessConstraints":
        entity.uniquenessConstraints = child.children(named: "uniquenessConstraint").map {
          $0.children(named: "constraint").compactMap { $0.attributes["value"] }
        }
      case "userInfo": entity.userInfo = userInfo(child)
      case "compoundIndexes":
        for (number, compound) in child.children(named: "compoundIndex").enumerated() {
          entity.indexes.append(
            FetchIndexDescription(
              name: "compound\(number)",
              elements: compound.children(named: "index").compactMap { $0.attributes["value"] }
                .map { FetchIndexElementDescription(propertyName: $0) }))
        }
      default: break  // editor layout and what newer editors add
      }
    }
    entity.properties = properties
    return entity
  }

  private func renamingIdentifier(_ element: ModelElement) -> String? {
    element.attributes["elementID"] ?? element.attributes["renamingIdentifier"]
  }

  private func readCommon(_ element: ModelElement, into property: PropertyDescription) {
    property.name = element.attributes["name"] ?? ""
    property.isOptional = element.flag("optional")
    property.isTransient = element.flag("transient")
    property.isIndexed = element.flag("indexed")
    property.versionHashModifier = element.attributes["versionHashModifier"]
    property.renamingIdentifier = renamingIdentifier(element)
    if let info = element.children(named: "userInfo").first { property.userInfo = userInfo(info) }
  }

  private func userInfo(_ element: ModelElement) -> [String: String] {
    var info: [String: String] = [:]
    for entry in element.children(named: "entry") {
      if let key = entry.attributes["key"] { info[key] = entry.attributes["value"] ?? "" }
    }
    return info
  }

  private func attribute(
    _ element: ModelElement, of entity: String, _ composites: [String: ModelElement], depth: Int
  ) throws(ModelError) -> AttributeDescription {
    let name = "\(entity).\(element.attributes["name"] ?? "")"
    let typeName = element.attributes["attributeType"] ?? "Undefined"
    guard let type = Self.typeNames[typeName] else {
      throw ModelError(
        .unknownType, element: name, "the attribute type \(typeName) is unknown",
        suggestion: "Use one of \(Self.typeNames.keys.sorted().joined(separator: ", ")).")
    }
    let attribute: AttributeDescription
    if type == .composite {
      attribute = try composite(element, name, composites, depth: depth)
    } else if element.flag("derived") {
      let derived = DerivedAttributeDescription()
      derived.derivationExpression = element.attributes["derivationExpression"]
      attribute = derived
    } else {
      attribute = AttributeDescription()
    }
    readCommon(element, into: attribute)
    attribute.type = type
    attribute.valueTransformerName = element.attributes["valueTransformerName"]
    attribute.attributeValueClassName = element.attributes["customClassName"]
    attribute.allowsExternalBinaryDataStorage = element.flag("allowsExternalBinaryDataStorage")
    attribute.preservesValueInHistoryOnDeletion = element.flag("preserveAfterDeletion")
    attribute.allowsCloudEncryption = element.flag("allowsCloudEncryption")
    attribute.regularExpression = element.attributes["regularExpressionString"]
    let values = ModelValues(type: type, element: element, name: name)
    attribute.defaultValue = try values.value("defaultValueString", "defaultDateTimeInterval")
    attribute.minimum = try values.bound("minValueString", "minDateTimeInterval")
    attribute.maximum = try values.bound("maxValueString", "maxDateTimeInterval")
    return attribute
  }

  private func composite(
    _ element: ModelElement, _ name: String, _ composites: [String: ModelElement], depth: Int
  ) throws(ModelError) -> CompositeAttributeDescription {
    let typeName = element.attributes["composite"] ?? ""
    guard let type = composites[typeName] else {
      throw ModelError(
        .unknownType, element: name, "the composite type \(typeName) is not in the model",
        suggestion: "Add <composite name=\"\(typeName)\">.")
    }
    guard depth < 16 else {
      throw ModelError(
        .unknownType, element: name, "the composite type \(typeName) contains itself",
        suggestion: "Break the circle of composite types.")
    }
    let composite = CompositeAttributeDescription()
    composite.attributeValueClassName = typeName
    var parts: [AttributeDescription] = []
    for part in type.children(named: "attribute") {
      parts.append(try attribute(part, of: name, composites, depth: depth + 1))
    }
    composite.elements = parts
    return composite
  }

  private func relationship(
    _ element: ModelElement, of entity: String
  ) throws(ModelError) -> RelationshipDescription {
    let relationship = RelationshipDescription()
    readCommon(element, into: relationship)
    let name = "\(entity).\(relationship.name)"
    relationship.destinationEntityName = element.attributes["destinationEntity"]
    relationship.inverseRelationshipName = element.attributes["inverseName"]
    relationship.isOrdered = element.flag("ordered")
    let isToMany = element.flag("toMany")
    relationship.minCount = element.attributes["minCount"].flatMap { Int($0) } ?? 0
    relationship.maxCount =
      element.attributes["maxCount"].flatMap { Int($0) } ?? (isToMany ? 0 : 1)
    switch element.attributes["deletionRule"] ?? "Nullify" {
    case "Nullify": relationship.deleteRule = .nullify
    case "Cascade": relationship.deleteRule = .cascade
    case "Deny": relationship.deleteRule = .deny
    case "No Action": relationship.deleteRule = .noAction
    case let rule:
      throw ModelError(
        .invalidValue, element: name, "the deletion rule \(rule) is unknown",
        suggestion: "Use Nullify, Cascade, Deny or No Action.")
    }
    return relationship
  }

  private func fetchedProperty(_ element: ModelElement) -> FetchedPropertyDescription {
    let property = FetchedPropertyDescription()
    readCommon(element, into: property)
    if let request = element.children(named: "fetchRequest").first {
      property.fetchEntityName = request.attributes["entity"] ?? ""
      property.fetchPredicate = request.attributes["predicateString"]
    }
    return property
  }

  private func index(_ element: ModelElement) -> FetchIndexDescription {
    FetchIndexDescription(
      name: element.attributes["name"] ?? "",
      elements: element.children(named: "fetchIndexElement").map {
        FetchIndexElementDescription(
          propertyName: $0.attributes["property"] ?? "",
          expression: $0.attributes["expression"],
          collationType: $0.attributes["type"]?.lowercased() == "rtree" ? .rTree : .binary,
          isAscending: $0.attributes["order"] != "descending")
      },
      partialIndexPredicate: element.attributes["partialIndexPredicate"])
  }
}
