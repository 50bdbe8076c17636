import Foundation

/// The hash by which a store tells whether it was written with this shape of an entity.
///
/// In it: names, the parent's hash, whether the entity is abstract, uniqueness constraints, each property's optional and
/// transient flags, an attribute's type, a derived attribute's expression, a composite's elements, a relationship's
/// destination, inverse, counts and order, and the hash modifiers. Not in it: class names, defaults, validation, user
/// info (and so conflict policies), indexes, renaming identifiers, delete rules. Apple's byte layout is not public: the
/// hashes are our own, of the same size.
enum VersionHash {
  static func hashes(of entities: [EntityDescription]) -> [String: Data] {
    var hashes: [String: Data] = [:]
    for entity in entities { hashes[entity.name] = hash(of: entity) }
    return hashes
  }

  private static func hash(of entity: EntityDescription) -> Data {
    var lines = ["entity", entity.name, entity.versionHashModifier ?? "", "\(entity.isAbstract)"]
    if let parent = entity.superentity {
      lines.append(hash(of: parent).base64EncodedString())
    }
    lines += entity.uniquenessConstraints.map { "unique \($0.joined(separator: ","))" }.sorted()
    for property in entity.properties.sorted(by: { $0.name < $1.name }) {
      lines += text(of: property)
    }
    return Data(SHA256Digest.hash(Array(lines.joined(separator: "\u{1}").utf8)))
  }

  private static func text(of property: PropertyDescription) -> [String] {
    let common = [
      property.name, property.versionHashModifier ?? "", "\(property.isOptional)",
      "\(property.isTransient)",
    ]
    switch property {
    case let derived as DerivedAttributeDescription:
      return ["derived"] + common + [
        "\(derived.type.rawValue)", derived.derivationExpression ?? "",
      ]
    case let composite as CompositeAttributeDescription:
      return ["composite"] + common + composite.elements.flatMap(text(of:)) + ["end"]
    case let attribute as AttributeDescription:
      return ["attribute"] + common + ["\(attribute.type.rawValue)"]
    case let relationship as RelationshipDescription:
      return ["relationship"] + common + [
        relationship.destinationEntityName ?? "", relationship.inverseRelationshipName ?? "",
        "\(relationship.minCount)", "\(relationship.maxCount)", "\(relationship.isOrdered)",
      ]
    default:
      return ["fetched"] + common
    }
  }
}
