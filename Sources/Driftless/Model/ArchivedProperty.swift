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
