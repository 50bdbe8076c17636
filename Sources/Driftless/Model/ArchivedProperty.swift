/// A property as ``ModelArchive`` keeps it: what all have, and under a key what its kind has.
struct ArchivedProperty: Codable {
  enum Kind: String, Codable { case attribute, derived, composite, relationship, fetched }

  struct Attribute: Codable {
    var type: Int
    var defaultValue: ArchivedValue?
    var minimum: ArchivedValue?
    var maximum: ArchivedValue?
    var pattern: String?
    var transformer: String?
    var valueClass: String?
    var external: Bool?
    var preserved: Bool?
    var encrypted: Bool?
    var derivation: String?
    var elements: [ArchivedProperty]?
  }

  struct Relationship: Codable {
    var destination: String?
    var inverse: String?
    var least: Int?
    var most: Int?
    var rule: Int
    var ordered: Bool?
  }

  struct Fetch: Codable {
    var entity: String
    var predicate: String?
    var requestAttributes: [String: String]?
    var sort: [ArchivedSort]?
  }

  var kind: Kind
  var name: String
  var required: Bool?
  var transient: Bool?
  var indexed: Bool?
  var userInfo: [String: String]?
  var hashModifier: String?
  var renaming: String?
  var fileAttributes: [String: String]?
  var predicates: [String]?
  var warnings: [ArchivedWarning]?
  var attribute: Attribute?
  var relationship: Relationship?
  var fetch: Fetch?

  init(_ property: PropertyDescription) throws(ModelError) {
    name = property.name
    required = ArchivedModel.present(!property.isOptional)
    transient = ArchivedModel.present(property.isTransient)
    indexed = ArchivedModel.present(property.isIndexed)
    userInfo = ArchivedModel.present(property.userInfo)
    hashModifier = property.versionHashModifier
    renaming = property.declaredRenamingIdentifier
    fileAttributes = ArchivedModel.present(property.fileAttributes)
    let attribute = property as? AttributeDescription
    predicates = ArchivedModel.present(
      (attribute?.ownPredicates ?? property.validationPredicates).map(\.description))
    warnings = ArchivedModel.present(
      (attribute?.ownWarnings ?? property.validationWarnings).map(ArchivedWarning.init))
    switch property {
    case let attribute as AttributeDescription:
      kind =
        attribute is CompositeAttributeDescription
        ? .composite : attribute is DerivedAttributeDescription ? .derived : .attribute
      self.attribute = try Attribute(attribute)
    case let relationship as RelationshipDescription:
      kind = .relationship
      self.relationship = Relationship(
        destination: relationship.destinationEntityName,
        inverse: relationship.inverseRelationshipName,
        least: relationship.minCount == 0 ? nil : relationship.minCount,
        most: relationship.maxCount == 0 ? nil : relationship.maxCount,
        rule: relationship.deleteRule.rawValue,
        ordered: ArchivedModel.present(relationship.isOrdered))
    default:
      kind = .fetched
      let fetched = property as? FetchedPropertyDescription
      fetch = Fetch(
        entity: fetched?.fetchEntityName ?? "", predicate: fetched?.fetchPredicate,
        requestAttributes: ArchivedModel.present(fetched?.requestAttributes ?? [:]),
        sort: ArchivedModel.present((fetched?.fetchSort ?? []).map(ArchivedSort.init)))
    }
  }

  /// - Parameter owner: the entity or composite attribute, as messages name it.
  func description(of owner: String) throws(ModelError) -> PropertyDescription {
    let property: PropertyDescription
    switch (kind, attribute, relationship, fetch) {
    case (.attribute, let attribute?, _, _):
      property = try attribute.fill(AttributeDescription(), "\(owner).\(name)")
    case (.derived, let attribute?, _, _):
      property = try attribute.fill(DerivedAttributeDescription(), "\(owner).\(name)")
    case (.composite, let attribute?, _, _):
      property = try attribute.fill(CompositeAttributeDescription(), "\(owner).\(name)")
    case (.relationship, _, let relationship?, _):
      property = try relationship.description("\(owner).\(name)")
    case (.fetched, _, _, let fetch?):
      let fetched = FetchedPropertyDescription()
      fetched.fetchEntityName = fetch.entity
      fetched.fetchPredicate = fetch.predicate
      fetched.requestAttributes = fetch.requestAttributes ?? [:]
      fetched.fetchSort = fetch.sort?.map(\.sort) ?? []
      property = fetched
    default:
      throw ModelError(
        .malformed, element: "\(owner).\(name)", "the archive leaves out what a \(kind) has",
        suggestion: "Open the store with a model file.")
    }
    property.name = name
    property.isOptional = !(required ?? false)
    property.isTransient = transient ?? false
    property.isIndexed = indexed ?? false
    property.userInfo = userInfo ?? [:]
    property.versionHashModifier = hashModifier
    property.renamingIdentifier = renaming
    property.fileAttributes = fileAttributes ?? [:]
    try addPredicates(to: property, "\(owner).\(name)")
    return property
  }

  private func addPredicates(
    to property: PropertyDescription, _ label: String
  ) throws(ModelError) {
    guard let predicates else { return }
    var parsed: [FetchPredicate] = []
    for format in predicates {
      do throws(FetchError) {
        parsed.append(try FetchPredicate(format: format))
      } catch {
        throw ModelError(
          .malformed, element: label, "a validation predicate cannot be read: \(error)",
          suggestion: "Open the store with a model file.")
      }
    }
    property.addValidationPredicates(parsed, warnings?.map(\.warning) ?? [])
  }

  /// Without what only a model file means.
  var withoutFileAttributes: ArchivedProperty {
    var property = self
    property.fileAttributes = nil
    property.attribute?.elements = attribute?.elements?.map(\.withoutFileAttributes)
    property.fetch?.requestAttributes = nil
    return property
  }
}

/// A validation warning as ``ModelArchive`` keeps it.
struct ArchivedWarning: Codable {
  var text: String?
  var code: Int?

  init(_ warning: ValidationWarning) {
    switch warning {
    case .message(let message): text = message
    case .code(let number): code = number
    }
  }

  var warning: ValidationWarning {
    text.map { .message($0) } ?? .code(code ?? ValidationError.managedObjectValidation)
  }
}

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
