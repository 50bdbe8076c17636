import Foundation
import Testing

@testable import Driftless

/// What `freeze()` refuses in a model made in code.
struct ModelValidationTests {
  private func failure(_ entities: EntityDescription...) -> ModelError? {
    failure(ManagedObjectModel(entities: entities))
  }

  private func failure(_ model: ManagedObjectModel) -> ModelError? {
    do {
      try model.freeze()
      return nil
    } catch {
      #expect(!error.suggestion.isEmpty && !model.isFrozen)
      return error
    }
  }

  private func entity(_ name: String, _ properties: PropertyDescription...) -> EntityDescription {
    let entity = EntityDescription(name)
    entity.properties = properties
    return entity
  }

  @Test(
    "A name that cannot be that of a table or column is refused",
    arguments: ["", "_Book", "1Book", "Book\"; DROP TABLE", "A.B", "A B", "DL_MODEL", "dl_store"])
  func entityNames(name: String) {
    let code = failure(entity(name))?.code
    #expect(code == (name.isEmpty ? .missingName : .invalidName))
  }

  @Test("Names in any script are taken", arguments: ["Buch", "Événement", "書籍", "Book_2"])
  func plainNames(name: String) {
    #expect(failure(entity(name, AttributeDescription("_größe", .double))) == nil)
  }

  @Test("A property's name has no dots, spaces or quotation marks")
  func propertyNames() {
    for name in ["location.lat", "a b", "\"", "0a"] {
      let error = failure(entity("A", AttributeDescription(name, .string)))
      #expect(error?.code == .invalidName, "\(name)")
      #expect(error?.element == "A.\(name)")
    }
  }

  @Test("Entities that differ in case only would share a table")
  func entitiesByCase() {
    #expect(failure(entity("Book"), entity("BOOK"))?.code == .duplicateName)
  }

  @Test("An error names the bad attribute: bounds, defaults, patterns, types")
  func attributes() {
    func error(_ change: (AttributeDescription) -> Void) -> ModelError.Code? {
      let attribute = AttributeDescription("x", .integer16)
      change(attribute)
      let error = failure(entity("A", attribute))
      #expect(error == nil || error?.element == "A.x")
      return error?.code
    }
    #expect(error { _ in } == nil)
    #expect(error { $0.type = .undefined } == .unknownType)
    #expect(error { $0.type = .objectID } == .unknownType)
    #expect(error { $0.type = .composite } == .unknownType)
    #expect(error { $0.defaultValue = .integer(70_000) } == .invalidValue)
    #expect(error { $0.defaultValue = .string("1") } == .invalidValue)
    #expect(error { $0.minimum = .string("1") } == .invalidValue)
    #expect(error { ($0.minimum, $0.maximum) = (.integer(2), .integer(1)) } == .invalidValue)
    #expect(
      error {
        $0.type = .string
        $0.regularExpression = "("
      } == .invalidValue)
    #expect(
      error {
        $0.type = .string
        $0.minimum = .integer(-1)
      } == .invalidValue)
    #expect(error { $0.conflictPolicy = .text } == .invalidPolicy)
  }

  @Test("Inverses name each other and lead home")
  func inverses() {
    let oneSided = failure(
      entity("A", RelationshipDescription("b", to: "B", inverse: "a")),
      entity("B", RelationshipDescription("a", to: "A", inverse: nil)))
    #expect(oneSided?.code == .invalidInverse && oneSided?.element == "A.b")
    let astray = failure(
      entity("A", RelationshipDescription("b", to: "B", inverse: "c")),
      entity("B", RelationshipDescription("c", to: "C", inverse: "b")), entity("C"))
    #expect(astray?.code == .missingInverse || astray?.code == .invalidInverse)
    let stolen = failure(
      entity(
        "A", RelationshipDescription("one", to: "B", inverse: "a"),
        RelationshipDescription("two", to: "B", inverse: "a")),
      entity("B", RelationshipDescription("a", to: "A", inverse: "one")))
    #expect(stolen?.code == .invalidInverse && stolen?.element == "A.two")
  }

  @Test("Counts of a relationship are a range")
  func counts() {
    let relationship = RelationshipDescription("b", to: "A", inverse: nil, toMany: true)
    (relationship.minCount, relationship.maxCount) = (5, 3)
    #expect(failure(entity("A", relationship))?.element == "A.b")
  }

  @Test("Constraints, indexes, configurations and fetch requests name what exists")
  func references() {
    let constrained = entity("A", AttributeDescription("x", .string))
    constrained.uniquenessConstraints = [["x", "y"]]
    #expect(failure(constrained)?.code == .unknownProperty)
    let indexed = entity("A", AttributeDescription("x", .string))
    indexed.indexes = [
      FetchIndexDescription(
        name: "i", elements: [FetchIndexElementDescription(propertyName: "z")])
    ]
    #expect(failure(indexed)?.element == "A.i")
    indexed.indexes = [FetchIndexDescription(name: "\"", elements: [])]
    #expect(failure(indexed)?.code == .invalidName)
    let element = FetchIndexElementDescription(propertyName: "x")
    indexed.indexes = (0..<2).map { _ in FetchIndexDescription(name: "i", elements: [element]) }
    #expect(failure(indexed)?.code == .duplicateName)
    constrained.uniquenessConstraints = [["x"], ["x"]]
    #expect(failure(constrained)?.code == .duplicateName)
    let model = ManagedObjectModel(entities: [entity("A")])
    model.set(configuration: "Local", entityNames: ["B"])
    #expect(failure(model)?.element == "Local")
    let asking = ManagedObjectModel(entities: [entity("A")])
    asking.setFetchRequestTemplate(FetchRequestTemplate(name: "t", entityName: "B"), forName: "t")
    #expect(failure(asking)?.element == "t")
  }

  @Test("An entity belongs to one model, a property to one entity")
  func sharing() throws {
    let shared = entity("A")
    let first = ManagedObjectModel(entities: [shared])
    try first.freeze()
    #expect(failure(ManagedObjectModel(entities: [shared]))?.code == .sharedElement)
    #expect(shared.managedObjectModel === first)
    let property = AttributeDescription("x", .string)
    let owner = entity("B", property)
    let thief = entity("C", property)
    #expect(failure(owner, thief)?.element == "B.x")
  }

  @Test("Circles and towers of parents are refused, and a model can be mended after")
  func hierarchies() throws {
    let (a, b) = (entity("A"), entity("B"))
    a.superentityName = "B"
    b.superentityName = "A"
    let model = ManagedObjectModel(entities: [a, b])
    #expect(failure(model)?.code == .cyclicInheritance)
    b.superentityName = nil
    try model.freeze()
    #expect(a.rootEntity === b && b.subentities.first === a)

    var tower: [EntityDescription] = []
    for level in 0..<5000 {
      let entity = EntityDescription("Level\(level)")
      if level > 0 { entity.superentityName = "Level\(level - 1)" }
      tower.append(entity)
    }
    #expect(failure(ManagedObjectModel(entities: tower))?.code == .cyclicInheritance)
  }

  @Test("No setter can make an entity its own parent or an attribute its own element")
  func circlesInCode() {
    let (parent, child) = (entity("Parent"), entity("Child"))
    parent.subentities = [child]
    child.subentities = [parent]
    #expect(child.subentities.isEmpty && parent.superentity == nil)
    let (outer, inner) = (CompositeAttributeDescription(), CompositeAttributeDescription())
    outer.elements = [inner]
    inner.elements = [outer]
    #expect(inner.elements.isEmpty)
  }

  @Test("An entity with more properties than slots can number is refused")
  func size() {
    let big = EntityDescription("Big")
    big.properties = (0...EntityLayout.slotsMax).map { AttributeDescription("p\($0)", .boolean) }
    #expect(failure(big)?.code == .tooLarge)
  }
}
