import Foundation

/// The hash by which a store tells whether it was written with this shape of an entity.
///
/// In it: the name, the parent's hash, whether the entity is abstract, uniqueness constraints, each
/// property's name and optional and transient flags, an attribute's type, a derived attribute's
/// expression, a composite's elements, a relationship's destination, inverse, counts and order, and
/// the hash modifiers. Not in it: class names, defaults, validation, user info (and so conflict
/// policies), indexes, renaming identifiers, delete rules.
///
/// It is SHA-256 over these as UTF-8 texts, each after its length in bytes and a colon, so that no
/// two lists of texts run together. Apple's layout is not public: the hashes are our own, of the
/// same size.
struct VersionHash {
  private var message: [UInt8] = []

  static func hashes(of entities: [EntityDescription]) -> [String: Data] {
    var hashes: [String: Data] = [:]
    for root in entities where root.superentity == nil { add(root, to: &hashes) }
    return hashes
  }

  /// The hash of one property, which is no part of an entity's.
  static func hash(of property: PropertyDescription) -> Data {
    var hash = VersionHash()
    hash.add(property)
    return Data(SHA256Digest.hash(hash.message))
  }

  /// Parents come first: their hash is part of their children's.
  private static func add(_ entity: EntityDescription, to hashes: inout [String: Data]) {
    var hash = VersionHash()
    hash.add("entity", entity.name, entity.versionHashModifier ?? "", "\(entity.isAbstract)")
    hash.add(entity.superentity.flatMap { hashes[$0.name]?.base64EncodedString() } ?? "")
    for constraint in entity.uniquenessConstraints.map({ $0.joined(separator: ",") }).sorted() {
      hash.add("unique", constraint)
    }
    for property in entity.ownProperties.sorted(by: { $0.name < $1.name }) { hash.add(property) }
    hashes[entity.name] = Data(SHA256Digest.hash(hash.message))
    for child in entity.subentities { add(child, to: &hashes) }
  }

  private mutating func add(_ texts: String...) {
    for text in texts { message += Array("\(text.utf8.count):\(text)".utf8) }
  }

  private mutating func add(_ property: PropertyDescription) {
    add(
      property.name, property.versionHashModifier ?? "", "\(property.isOptional)",
      "\(property.isTransient)")
    switch property {
    case let derived as DerivedAttributeDescription:
      add("derived", "\(derived.type.rawValue)", derived.derivationExpressionFormat ?? "")
    case let composite as CompositeAttributeDescription:
      add("composite", "\(composite.elements.count)")
      for element in composite.elements { add(element) }
    case let attribute as AttributeDescription:
      add("attribute", "\(attribute.type.rawValue)")
    case let relationship as RelationshipDescription:
      add(
        "relationship", relationship.destinationEntityName ?? "",
        relationship.inverseRelationshipName ?? "", "\(relationship.minCount)",
        "\(relationship.maxCount)", "\(relationship.isOrdered)")
    default:
      add("fetched")
    }
  }
}
