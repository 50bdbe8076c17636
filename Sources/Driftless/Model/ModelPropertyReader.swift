/// Reads the attributes, relationships and fetched properties of one entity.
struct ModelPropertyReader {
  /// The entity, or the attribute of a composite type, as messages name it.
  let owner: String
  let composites: CompositeTypes

  func attribute(_ element: ModelElement) throws(ModelError) -> AttributeDescription {
    let name = "\(owner).\(element.attributes["name"] ?? "")"
    let typeName = element.attributes["attributeType"] ?? "Undefined"
    guard let type = ModelVocabulary.attributeTypes[typeName] else {
      throw ModelError(
        .unknownType, element: name, "the attribute type \(typeName) is unknown",
        suggestion:
          "Use one of \(ModelVocabulary.attributeTypes.keys.sorted().joined(separator: ", ")).")
    }
    let attribute: AttributeDescription
    if type == .composite {
      attribute = try composite(element, name)
    } else if element.flag("derived") {
      let derived = DerivedAttributeDescription()
      derived.derivationExpressionFormat = try element.expression("derivationExpression", of: name)
      attribute = derived
    } else {
      attribute = AttributeDescription()
    }
    readCommon(element, into: attribute)
    attribute.type = type
    attribute.fileAttributes = element.attributes(except: ModelVocabulary.attribute)
    attribute.valueTransformerName = element.attributes["valueTransformerName"]
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
    _ element: ModelElement, _ name: String
  ) throws(ModelError) -> CompositeAttributeDescription {
    let typeName = element.attributes["composite"] ?? ""
    guard let parts = composites.elements(of: typeName) else {
      throw ModelError(
        .unknownType, element: name, "the composite type \(typeName) is not in the model",
        suggestion: "Add <composite name=\"\(typeName)\">.")
    }
    let composite = CompositeAttributeDescription()
    composite.attributeValueClassName = typeName
    let reader = ModelPropertyReader(owner: name, composites: composites)
    var elements: [AttributeDescription] = []
    for part in parts { elements.append(try reader.attribute(part)) }
    composite.elements = elements
    return composite
  }

  func relationship(_ element: ModelElement) throws(ModelError) -> RelationshipDescription {
    let relationship = RelationshipDescription()
    readCommon(element, into: relationship)
    let name = "\(owner).\(relationship.name)"
    relationship.fileAttributes = element.attributes(except: ModelVocabulary.relationship)
    relationship.destinationEntityName = element.attributes["destinationEntity"]
    relationship.inverseRelationshipName = element.attributes["inverseName"]
    relationship.isOrdered = element.flag("ordered")
    relationship.minCount = try count("minCount", of: element, name) ?? 0
    relationship.maxCount =
      try count("maxCount", of: element, name) ?? (element.flag("toMany") ? 0 : 1)
    let rule = element.attributes["deletionRule"] ?? "Nullify"
    guard let deleteRule = ModelVocabulary.deleteRules[rule] else {
      throw ModelError(
        .invalidValue, element: name, "the deletion rule \(rule) is unknown",
        suggestion: "Use Nullify, Cascade, Deny or No Action.")
    }
    relationship.deleteRule = deleteRule
    return relationship
  }

  private func count(
    _ key: String, of element: ModelElement, _ name: String
  ) throws(ModelError) -> Int? {
    guard let text = element.attributes[key] else { return nil }
    guard let count = Int32(text), count >= 0 else {
      throw ModelError(
        .invalidValue, element: name, "\(key) is «\(text)», which is no count",
        suggestion: "Write a number of 0 or more.")
    }
    return Int(count)
  }

  func fetchedProperty(
    _ element: ModelElement
  ) throws(ModelError) -> FetchedPropertyDescription {
    let property = FetchedPropertyDescription()
    readCommon(element, into: property)
    property.fileAttributes = element.attributes(except: ModelVocabulary.property)
    if let request = element.children(named: "fetchRequest").first {
      property.fetchEntityName = request.attributes["entity"] ?? ""
      property.fetchPredicate = try request.predicate(of: "\(owner).\(property.name)")
      property.requestAttributes = request.attributes(except: ModelVocabulary.fetchRequest)
    }
    return property
  }

  private func readCommon(_ element: ModelElement, into property: PropertyDescription) {
    property.name = element.attributes["name"] ?? ""
    property.isOptional = element.flag("optional")
    property.isTransient = element.flag("transient")
    property.isIndexed = element.flag("indexed")
    property.versionHashModifier = element.attributes["versionHashModifier"]
    property.renamingIdentifier = element.renamingIdentifier
    if let info = element.children(named: "userInfo").first { property.userInfo = info.userInfo }
  }
}

extension ModelElement {
  /// The predicate of a fetch request; text that is none by its words is refused.
  func predicate(of owner: String) throws(ModelError) -> String? {
    let key = "predicateString"
    guard let text = attributes[key], !text.isEmpty else { return attributes[key] }
    do throws(FetchError) { _ = try FetchPredicate(format: text) } catch
      where error.code == .syntax
    {
      throw refusal(of: text, key, owner, "predicate", error)
    } catch {
      // Core Data may take it: who fetches by it is told, and the rest of the model is as good as any.
    }
    return text
  }

  /// An expression; text that is none by its words is refused.
  func expression(_ key: String, of owner: String) throws(ModelError) -> String? {
    guard let text = attributes[key], !text.isEmpty else { return attributes[key] }
    do throws(FetchError) { _ = try FetchExpression(format: text) } catch
      where error.code == .syntax
    {
      throw refusal(of: text, key, owner, "expression", error)
    } catch {
      // Core Data may take it: who fetches by it is told, and the rest of the model is as good as any.
    }
    return text
  }

  private func refusal(
    of text: String, _ key: String, _ owner: String, _ kind: String, _ error: FetchError
  ) -> ModelError {
    ModelError(
      .invalidValue, element: owner,
      "line \(line): \(key) is «\(text)», which is no \(kind): \(error.message)",
      suggestion: error.suggestion)
  }
}
