import Foundation
import Testing

@testable import Driftless

/// A model that was read is whole before a store is opened with it.
struct LinkedModelTests {
  private static let content = """
    <entity name="Employee" parentEntity="Person"><attribute name="role" attributeType="String"/></entity>
    <entity name="Person"><attribute name="name" attributeType="String"/>
    <relationship name="cars" toMany="YES" destinationEntity="Car" inverseName="owner" inverseEntity="Car"/></entity>
    <entity name="Car"><relationship name="owner" maxCount="1" destinationEntity="Person" inverseName="cars" inverseEntity="Person"/>
    </entity>
    """

  private func read(_ content: String = content) throws -> ManagedObjectModel {
    try ManagedObjectModel(xml: Data("<model>\(content)</model>".utf8))
  }

  private func expectWhole(_ model: ManagedObjectModel?) throws {
    let model = try #require(model)
    #expect(!model.isFrozen)
    let entities = model.entitiesByName
    let (employee, person) = (try #require(entities["Employee"]), try #require(entities["Person"]))
    #expect(employee.superentity === person && employee.isKindOf(entity: person))
    #expect(person.subentities.map(\.name) == ["Employee"])
    #expect(Set(employee.attributesByName.keys) == ["name", "role"])
    let cars = try #require(employee.relationshipsByName["cars"])
    let car = try #require(entities["Car"])
    #expect(cars.destinationEntity === car)
    #expect(cars.inverseRelationship === car.relationshipsByName["owner"])
    #expect(person.relationships(forDestination: car).map(\.name) == ["cars"])
  }

  @Test(
    "Parents and the ends of relationships of a model that was read, copied or merged are there")
  func whole() throws {
    let model = try read()
    try expectWhole(model)
    try expectWhole(try model.copy())
    try expectWhole(try ManagedObjectModel(byMerging: [model]))
    let parts = Self.content.components(separatedBy: "<entity name=\"Person\"")
    try expectWhole(
      try ManagedObjectModel(
        byMerging: [read(parts[0]), read("<entity name=\"Person\"" + parts[1])]))
    try model.freeze()
    try expectWhole(try model.copy())
  }

  @Test("So are those of a compiled model")
  func compiled() throws {
    let model = try ManagedObjectModel(
      compiled: ArchiveBuilder.model([
        "A": ArchiveBuilder.entity("A", [:]), "B": ArchiveBuilder.entity("B", [:]),
      ]))
    #expect(model.entities.count == 2)
  }

  @Test(
    "In real compiled models, too, every relationship leads to an entity",
    .enabled(if: RealModels.compiledAreHere, "no ../shared"))
  func realCompiled() throws {
    for url in try RealModels.compiled() {
      let model = try ManagedObjectModel(contentsOf: url)
      for relationship in model.entities.flatMap(\.relationshipsByName.values) {
        #expect(relationship.destinationEntity != nil, "\(url.path) \(relationship.label)")
      }
    }
  }

  @Test(
    "What was read can be changed: entities leave, are replaced, renamed, and go to another model")
  func changed() throws {
    let model = try read()
    let employee = try #require(model.entitiesByName["Employee"])
    model.entities = model.entities.filter { $0 !== employee }
    #expect(model.entitiesByName["Person"]?.subentities.isEmpty == true)
    #expect(employee.superentity == nil && employee.superentityName == "Person")
    try model.freeze()

    // A parent of the same name stands in.
    let other = try read()
    let person = EntityDescription("Person")
    person.properties = [
      AttributeDescription("age", .integer16),
      RelationshipDescription("cars", to: "Car", inverse: "owner", toMany: true),
    ]
    other.entities = other.entities.filter { $0.name != "Person" } + [person]
    try other.freeze()
    #expect(
      other.entitiesByName["Employee"]?.attributesByName.keys.sorted() == ["age", "role"])
    #expect(other.entitiesByName["Car"]?.relationshipsByName["owner"]?.destinationEntity === person)

    let renamed = try read()
    renamed.entitiesByName["Person"]?.name = "Human"
    renamed.entitiesByName["Car"]?.relationshipsByName["owner"]?.name = "driver"
    try renamed.freeze()
    #expect(renamed.entitiesByName["Employee"]?.superentity?.name == "Human")

    let source = try read()
    let moved = source.entities
    source.entities = []
    let target = ManagedObjectModel(entities: moved.filter { $0.name != "Employee" })
    try target.freeze()
    #expect(target.entities.count == 2)
  }

  @Test("A default that is set in a parent is inherited, and what inherits nothing more says so")
  func edited() throws {
    let model = try read()
    model.entitiesByName["Person"]?.attributesByName["name"]?.defaultValue = .string("Anna")
    model.entitiesByName["Employee"]?.superentityName = nil
    #expect(model.entitiesByName["Person"]?.subentities.isEmpty == true)
    try model.freeze()
    #expect(model.entitiesByName["Employee"]?.attributesByName["name"] == nil)
  }

  @Test("What cannot be linked stays a name, and the model says what is wrong when it is used")
  func wrong() throws {
    let circle = try read(
      "<entity name=\"A\" parentEntity=\"B\"/><entity name=\"B\" parentEntity=\"A\"/>"
        + "<entity name=\"C\" parentEntity=\"A\"/><entity name=\"D\" parentEntity=\"none\"/>"
        + "<entity name=\"A\" parentEntity=\"C\"/>")
    #expect(circle.entities.allSatisfy { $0.superentity == nil && $0.subentities.isEmpty })
    #expect(throws: ModelError.self) { try circle.freeze() }
    let deep = try read(
      (0..<2000).map { "<entity name=\"E\($0)\" parentEntity=\"E\($0 + 1)\"/>" }.joined()
        + "<entity name=\"E2000\"/>")
    #expect(deep.entitiesByName["E1999"]?.superentity?.name == "E2000")
    #expect(deep.entitiesByName["E0"]?.superentity == nil)
    let error = #expect(throws: ModelError.self) { try deep.freeze() }
    #expect(error?.code == .cyclicInheritance)
  }
}
