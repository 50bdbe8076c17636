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
        requestAttributes: ArchivedModel.present(fetched?.requestAttributes ?? [:]))
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
    return property
  }
}
