import Foundation
import TestSupport

@testable import Driftless

/// Models made up at random, which are right: they can be frozen.
struct RandomModel {
  private var numbers: SeededNumbers
  /// Whether texts may hold what XML cannot.
  let hasControlCharacters: Bool

  static func make(seed: UInt64, hasControlCharacters: Bool) -> ManagedObjectModel {
    var maker = RandomModel(
      numbers: SeededNumbers(seed: seed), hasControlCharacters: hasControlCharacters)
    return maker.model()
  }

  private mutating func flip() -> Bool { Bool.random(using: &numbers) }

  private mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &numbers) }

  private mutating func text() -> String {
    var pool = ["a", "ß", "\"", "<", "&", ">", "\n", "\t", "'", "é", "e\u{301}", "𝄞", " ", "]]>"]
    if hasControlCharacters { pool += ["\0", "\u{1}", "\u{1F}", "\u{FFFF}", "\u{7F}"] }
    return (0...below(6)).map { _ in pool[below(pool.count)] }.joined()
  }

  /// Text within quotes, since what a file says of a predicate or a derivation is read as such.
  private mutating func expression() -> String {
    "\"" + text().filter { !"\"'\\".contains($0) } + "\""
  }

  private mutating func predicate() -> String? { flip() ? "name == " + expression() : nil }

  private mutating func maybe() -> String? { flip() ? text() : nil }

  private mutating func dictionary() -> [String: String] {
    flip() ? [:] : ["k\(below(9))": text(), "\(text())x": text()]
  }

  private mutating func model() -> ManagedObjectModel {
    let names = (0...below(5)).map { "Entity\($0)" }
    var entities: [EntityDescription] = []
    for (index, name) in names.enumerated() {
      let entity = EntityDescription(name)
      if index > 0, flip() { entity.superentityName = names[below(index)] }
      entity.managedObjectClassName = maybe()
      entity.isAbstract = flip()
      entity.userInfo = dictionary()
      entity.versionHashModifier = maybe()
      entity.renamingIdentifier = maybe()
      entity.coreSpotlightDisplayNameFormat = maybe()
      if flip() { entity.deletePolicy = .editWins }
      entity.properties = (0..<below(7)).map { attribute("p\(index)_\($0)", depth: 0) }
      let attributes = entity.properties.filter {
        !$0.isTransient && !($0 is CompositeAttributeDescription)
      }
      if let first = attributes.first {
        entity.uniquenessConstraints = [attributes.map(\.name)]
        entity.indexes = [
          FetchIndexDescription(
            name: "byFirst",
            elements: [
              FetchIndexElementDescription(propertyName: first.name, isAscending: flip()),
              FetchIndexElementDescription(propertyName: "", expressionFormat: text()),
            ],
            partialIndexPredicateFormat: maybe())
        ]
      }
      entities.append(entity)
    }
    relate(entities)
    let model = ManagedObjectModel(entities: entities)
    model.versionIdentifiers = Set([maybe()].compactMap { $0 })
    model.setEntities(entities.filter { _ in flip() }, forConfigurationName: "Some")
    model.fetchRequestTemplatesByName = [
      "t": FetchRequestTemplate(name: "t", entityName: names[0], predicate: predicate())
    ]
    return model
  }

  private mutating func relate(_ entities: [EntityDescription]) {
    for (number, source) in entities.enumerated() where flip() {
      let destination = entities[below(entities.count)]
      let (name, back) = ("to\(number)", "back\(number)")
      let relationship = RelationshipDescription(
        name, to: destination.name, inverse: back, toMany: flip(), isOrdered: flip(),
        deleteRule: DeleteRule(rawValue: below(4)) ?? .nullify, isOptional: flip())
      let inverse = RelationshipDescription(
        back, to: source.name, inverse: name, toMany: flip(), isOrdered: flip())
      if relationship.isToMany { (relationship.minCount, relationship.maxCount) = (2, 9) }
      source.properties.append(relationship)
      destination.properties.append(inverse)
    }
    if flip(), let first = entities.first {
      let fetched = FetchedPropertyDescription()
      fetched.name = "fetched"
      fetched.fetchEntityName = first.name
      fetched.fetchPredicate = predicate()
      entities[entities.count - 1].properties.append(fetched)
    }
  }

  private mutating func attribute(_ name: String, depth: Int) -> AttributeDescription {
    let attribute: AttributeDescription
    switch below(depth < 3 ? 8 : 7) {
    case 7:
      let composite = CompositeAttributeDescription()
      composite.elements = (0...below(3)).map { self.attribute("leaf\($0)", depth: depth + 1) }
      composite.attributeValueClassName = flip() ? "Shared" : nil
      attribute = composite
    case 6:
      let derived = DerivedAttributeDescription()
      derived.type = .integer64
      derived.derivationExpressionFormat = expression()
      attribute = derived
    default:
      attribute = AttributeDescription()
      fill(attribute)
    }
    attribute.name = name
    attribute.isOptional = flip()
    attribute.isTransient = flip()
    attribute.isIndexed = flip()
    attribute.userInfo = dictionary()
    if flip() { attribute.conflictPolicy = .custom("x" + text()) }
    attribute.versionHashModifier = maybe()
    attribute.renamingIdentifier = maybe()
    attribute.preservesValueInHistoryOnDeletion = flip()
    return attribute
  }

  private mutating func fill(_ attribute: AttributeDescription) {
    let types: [AttributeType] = [
      .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date,
      .binaryData, .uuid, .uri, .transformable,
    ]
    attribute.type = types[below(types.count)]
    if flip() { attribute.defaultValue = value(of: attribute.type) }
    switch attribute.type {
    case .string:
      attribute.minimum = .integer(Int64(below(9)))
      attribute.regularExpression = flip() ? "[a-z]*" : nil
    case .integer64, .double, .date: attribute.maximum = value(of: attribute.type)
    case .transformable: attribute.valueTransformerName = maybe()
    default: break
    }
    attribute.allowsExternalBinaryDataStorage = flip()
    attribute.allowsCloudEncryption = flip()
  }

  private mutating func value(of type: AttributeType) -> PropertyValue {
    let doubles = [0, -0.0, 0.1, 1e300, .leastNonzeroMagnitude, .pi, -.infinity, 123456789.123456]
    switch type {
    case .integer16: return .integer(Int64(Int16.random(in: .min ... .max, using: &numbers)))
    case .integer32: return .integer(Int64(Int32.random(in: .min ... .max, using: &numbers)))
    case .integer64: return .integer(Int64.random(in: .min ... .max, using: &numbers))
    case .decimal: return .decimal(Decimal(below(1_000_000)) / 1024)
    case .double, .float: return .double(doubles[below(doubles.count)])
    case .string: return .string(text())
    case .boolean: return .bool(flip())
    case .date: return .date(Date(timeIntervalSinceReferenceDate: doubles[below(6)]))
    case .binaryData, .transformable: return .data(Data(text().utf8))
    case .uuid:
      return .uuid(UUID(uuidString: "0F0E0D0C-0B0A-0908-0706-05040302010\(below(10))") ?? UUID())
    case .uri:
      return URL(string: "https://example.org/\(below(99))?a=b#c").map { .uri($0) } ?? .null
    case .undefined, .objectID, .composite: return .null
    }
  }
}
