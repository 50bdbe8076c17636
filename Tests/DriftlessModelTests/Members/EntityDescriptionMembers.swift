import Foundation
import Testing

@testable import Driftless

/// Each member of `NSEntityDescription`.
struct EntityDescriptionMembers {
  /// Animal (abstract) with Dog, which has Puppy; Owner, who has animals.
  private struct Zoo {
    let animal = EntityDescription("Animal")
    let dog = EntityDescription("Dog")
    let puppy = EntityDescription("Puppy")
    let owner = EntityDescription("Owner")
    let model: ManagedObjectModel

    init() {
      animal.isAbstract = true
      animal.properties = [
        AttributeDescription("name", .string),
        RelationshipDescription("owner", to: "Owner", inverse: "animals"),
      ]
      dog.properties = [AttributeDescription("breed", .string)]
      puppy.properties = [AttributeDescription("weeks", .integer16)]
      owner.properties = [
        RelationshipDescription("animals", to: "Animal", inverse: "owner", toMany: true)
      ]
      animal.subentities = [dog]
      dog.subentities = [puppy]
      model = ManagedObjectModel(entities: [animal, dog, puppy, owner])
    }
  }

  @Test("An entity has a name, and the class by default or by name; nil restores the default")
  func nameAndClass() {
    let entity = EntityDescription()
    #expect(entity.name == "" && entity.managedObjectClassName == "ManagedObject")
    entity.name = "Book"
    entity.managedObjectClassName = "Shop.Book"
    #expect(entity.name == "Book" && entity.managedObjectClassName == "Shop.Book")
    entity.managedObjectClassName = nil
    #expect(entity.managedObjectClassName == "ManagedObject")
    #expect(entity.managedObjectModel == nil)
  }

  @Test("Setting subentities sets their superentity, and taking them away clears it")
  func hierarchy() throws {
    let zoo = Zoo()
    #expect(zoo.puppy.superentity === zoo.dog && zoo.dog.superentity === zoo.animal)
    #expect(zoo.animal.subentitiesByName.keys.sorted() == ["Dog"])
    #expect(zoo.puppy.isKindOf(entity: zoo.animal) && zoo.dog.isKindOf(entity: zoo.dog))
    #expect(!zoo.dog.isKindOf(entity: zoo.puppy) && !zoo.owner.isKindOf(entity: zoo.animal))
    #expect(zoo.puppy.rootEntity === zoo.animal)
    zoo.dog.subentities = []
    #expect(zoo.puppy.superentity == nil && zoo.dog.subentities.isEmpty)
    zoo.dog.subentities = [zoo.puppy]
    try zoo.model.freeze()
    #expect(zoo.puppy.superentity === zoo.dog && zoo.puppy.managedObjectModel === zoo.model)
  }

  @Test("Properties include inherited ones, as a list, by name, by kind, and one after another")
  func inheritedProperties() throws {
    let zoo = Zoo()
    for isFrozen in [false, true] {
      if isFrozen { try zoo.model.freeze() }
      #expect(zoo.puppy.properties.map(\.name) == ["name", "owner", "breed", "weeks"])
      #expect(zoo.puppy.map(\.name) == zoo.puppy.properties.map(\.name))
      #expect(zoo.puppy.ownProperties.map(\.name) == ["weeks"])
      #expect(zoo.puppy.propertiesByName.keys.sorted() == ["breed", "name", "owner", "weeks"])
      #expect(zoo.puppy.attributesByName.keys.sorted() == ["breed", "name", "weeks"])
      #expect(zoo.puppy.relationshipsByName.keys.sorted() == ["owner"])
      #expect(zoo.puppy.propertiesByName["name"] === zoo.animal.propertiesByName["name"])
      #expect(zoo.puppy.propertiesByName["name"]?.entity === zoo.animal)
    }
  }

  @Test("What is added to an entity's properties is its own, and inherited ones stay inherited")
  func appending() throws {
    let zoo = Zoo()
    zoo.puppy.properties.append(AttributeDescription("toy", .string))
    #expect(zoo.puppy.ownProperties.map(\.name) == ["weeks", "toy"])
    #expect(zoo.animal.propertiesByName["name"]?.entity === zoo.animal)
    let weeks = zoo.puppy.ownProperties[0]
    zoo.puppy.properties = []
    #expect(zoo.puppy.ownProperties.isEmpty && weeks.entity == nil)
    #expect(zoo.puppy.properties.count == 3)
    try zoo.model.freeze()
  }

  @Test("Relationships are found by their destination, inherited ones too")
  func relationshipsForDestination() throws {
    let zoo = Zoo()
    try zoo.model.freeze()
    #expect(zoo.dog.relationships(forDestination: zoo.owner).map(\.name) == ["owner"])
    #expect(zoo.owner.relationships(forDestination: zoo.animal).map(\.name) == ["animals"])
    #expect(zoo.owner.relationships(forDestination: zoo.owner).isEmpty)
  }

  @Test("An abstract entity has no objects")
  func abstract() throws {
    let zoo = Zoo()
    #expect(zoo.animal.isAbstract && !zoo.dog.isAbstract)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: zoo.model)
    try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    #expect(throws: ObjectError.self) {
      try EntityDescription.insertNewObject(forEntityName: "Animal", into: context)
    }
  }

  @Test("An entity is looked up in a context's model, and objects of it are made by its name")
  func lookUpAndInsert() throws {
    let zoo = Zoo()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: zoo.model)
    try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    #expect(EntityDescription.entity(forEntityName: "Dog", in: context) === zoo.dog)
    #expect(EntityDescription.entity(forEntityName: "Cat", in: context) == nil)
    let dog = try EntityDescription.insertNewObject(forEntityName: "Dog", into: context)
    #expect(dog.entity === zoo.dog && dog.isInserted)
    #expect(throws: ObjectError.self) {
      try EntityDescription.insertNewObject(forEntityName: "Cat", into: context)
    }
  }

  @Test("An entity's renaming identifier is its name until one is set")
  func renamingIdentifier() {
    let entity = EntityDescription("Book")
    #expect(entity.renamingIdentifier == "Book")
    entity.renamingIdentifier = "Volume"
    #expect(entity.renamingIdentifier == "Volume")
    entity.renamingIdentifier = nil
    #expect(entity.renamingIdentifier == "Book")
  }

  @Test("User info, modifier, constraints and the display name are kept, copied and written")
  func notes() throws {
    let entity = EntityDescription("Book")
    #expect(entity.userInfo.isEmpty && entity.versionHashModifier == nil)
    #expect(entity.uniquenessConstraints.isEmpty && entity.indexes.isEmpty)
    entity.properties = [AttributeDescription("title", .string)]
    entity.userInfo = ["color": "red"]
    entity.versionHashModifier = "v2"
    entity.uniquenessConstraints = [["title"]]
    entity.coreSpotlightDisplayNameExpression = try FetchExpression(format: "uppercase:(title)")
    let model = ManagedObjectModel(entities: [entity])
    for copy in [try model.copy(), try ManagedObjectModel(xml: ModelDocument.xml(of: model))] {
      let twin = try #require(copy.entitiesByName["Book"])
      #expect(twin.userInfo == ["color": "red"] && twin.versionHashModifier == "v2")
      #expect(twin.uniquenessConstraints == [["title"]])
      #expect(
        twin.coreSpotlightDisplayNameExpression == entity.coreSpotlightDisplayNameExpression)
      #expect(twin.coreSpotlightDisplayNameFormat == entity.coreSpotlightDisplayNameFormat)
    }
    entity.coreSpotlightDisplayNameFormat = "("
    #expect(entity.coreSpotlightDisplayNameExpression == nil)
  }

  @Test("An expression description is no property of an entity")
  func noExpressions() {
    let expression = ExpressionDescription()
    expression.name = "total"
    let entity = EntityDescription("Book")
    entity.properties = [expression]
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(entities: [entity]).freeze()
    }
    #expect(error?.element == "Book.total")
  }
}
