extension ArchivedProperty.Attribute {
  init(_ attribute: AttributeDescription) throws(ModelError) {
    let label = attribute.label
    type = attribute.type.rawValue
    defaultValue = try ArchivedValue(attribute.defaultValue, label)
    minimum = try ArchivedValue(attribute.minimum ?? .null, label)
    maximum = try ArchivedValue(attribute.maximum ?? .null, label)
    pattern = attribute.regularExpression
    transformer = attribute.valueTransformerName
    valueClass = attribute.declaredValueClassName
    external = ArchivedModel.present(attribute.allowsExternalBinaryDataStorage)
    preserved = ArchivedModel.present(attribute.preservesValueInHistoryOnDeletion)
    encrypted = ArchivedModel.present(attribute.allowsCloudEncryption)
    derivation = (attribute as? DerivedAttributeDescription)?.derivationExpressionFormat
    guard let composite = attribute as? CompositeAttributeDescription else { return }
    var parts: [ArchivedProperty] = []
    for element in composite.elements { parts.append(try ArchivedProperty(element)) }
    elements = parts
  }

  func fill(
    _ attribute: AttributeDescription, _ label: String
  ) throws(ModelError) -> AttributeDescription {
    guard let type = AttributeType(rawValue: type) else {
      throw ModelError(
        .unknownType, element: label, "the attribute type \(self.type) is unknown",
        suggestion: "Open the store with a newer version of Driftless.")
    }
    attribute.type = type
    attribute.defaultValue = try defaultValue?.value(label) ?? .null
    attribute.minimum = try minimum?.value(label)
    attribute.maximum = try maximum?.value(label)
    attribute.regularExpression = pattern
    attribute.valueTransformerName = transformer
    attribute.attributeValueClassName = valueClass
    attribute.allowsExternalBinaryDataStorage = external ?? false
    attribute.preservesValueInHistoryOnDeletion = preserved ?? false
    attribute.allowsCloudEncryption = encrypted ?? false
    (attribute as? DerivedAttributeDescription)?.derivationExpressionFormat = derivation
    if let composite = attribute as? CompositeAttributeDescription {
      var parts: [AttributeDescription] = []
      for element in elements ?? [] {
        guard let part = try element.description(of: label) as? AttributeDescription else {
          throw ModelError(
            .malformed, element: label, "its element \(element.name) is no attribute",
            suggestion: "Open the store with a model file.")
        }
        parts.append(part)
      }
      composite.elements = parts
    }
    return attribute
  }
}

extension ArchivedProperty.Relationship {
  func description(_ label: String) throws(ModelError) -> RelationshipDescription {
    guard let rule = DeleteRule(rawValue: rule) else {
      throw ModelError(
        .invalidValue, element: label, "the delete rule \(self.rule) is unknown",
        suggestion: "Open the store with a newer version of Driftless.")
    }
    let relationship = RelationshipDescription()
    relationship.destinationEntityName = destination
    relationship.inverseRelationshipName = inverse
    relationship.minCount = least ?? 0
    relationship.maxCount = most ?? 0
    relationship.deleteRule = rule
    relationship.isOrdered = ordered ?? false
    return relationship
  }
}
