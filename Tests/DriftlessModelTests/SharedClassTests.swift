import Foundation
import Testing

@testable import Driftless

private final class Item: ManagedObject {}

enum Shop {
  final class Thing: ManagedObject {}
}

enum Depot {
  final class Thing: ManagedObject {}
}

/// Entities that name one class, which is legal in Core Data.
struct SharedClassTests {
  private func context(related: Bool) throws -> ManagedObjectContext {
    let (book, record) = (EntityDescription("Book"), EntityDescription("Record"))
    for entity in [book, record] { entity.managedObjectClassName = "Item" }
    book.properties = [AttributeDescription("name", .string)]
    record.properties = related ? [] : [AttributeDescription("name", .string)]
    if related { book.subentities = [record] }
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel(entities: [book, record]))
    try coordinator.addPersistentStore(at: nil)
    return ManagedObjectContext(coordinator)
  }

  @Test("Objects of both entities are of the class, and are found by the entity's name")
  func unrelated() throws {
    ManagedObject.register(Item.self)
    let context = try context(related: false)
    for (entity, name) in [("Book", "a"), ("Record", "b")] {
      let item = try context.insert(entityNamed: entity)
      #expect(item is Item && item.entity.name == entity)
      try item.setValue(name, forKey: "name")
    }
    try context.save()
    context.reset()
    let records = try context.fetch(FetchRequest<Item>(entityName: "Record"))
    #expect(try records.map { try $0.value(forKey: "name") as? String } == ["b"])
    #expect(try context.fetch(FetchRequest<Item>(entityName: "Book")).count == 1)
  }

  @Test("The class alone does not say which entity is meant: a clear error, not the wrong objects")
  func ambiguous() throws {
    ManagedObject.register(Item.self)
    let context = try context(related: false)
    let error = #expect(throws: ObjectError.self) { try context.insert(Item.self) }
    #expect(error?.message.contains("2 entities") == true)
    #expect(error?.suggestion.contains("entity's name") == true)
    #expect(throws: ObjectError.self) { try context.fetch(Item.self) }
  }

  @Test("In a hierarchy that shares a class the class stands for the topmost entity")
  func hierarchy() throws {
    ManagedObject.register(Item.self)
    let context = try context(related: true)
    let book = try context.insert(Item.self)
    #expect(book.entity.name == "Book")
    let record = try context.insert(entityNamed: "Record")
    #expect(record is Item)
    try context.save()
    #expect(try context.fetch(Item.self).count == 2)
  }

  @Test("Two classes of one name are told apart by the module, where an entity names it")
  func wholeNames() throws {
    ManagedObject.register(Shop.Thing.self, Depot.Thing.self)
    let (offer, stock, plain) = (
      EntityDescription("Offer"), EntityDescription("Stock"), EntityDescription("Plain")
    )
    offer.managedObjectClassName = "DriftlessModelTests.Shop.Thing"
    stock.managedObjectClassName = "DriftlessModelTests.Depot.Thing"
    plain.managedObjectClassName = "Elsewhere.Thing"
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel(entities: [offer, stock, plain]))
    try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    #expect(try context.insert(entityNamed: "Offer") is Shop.Thing)
    #expect(try context.insert(entityNamed: "Stock") is Depot.Thing)
    #expect(try context.insert(entityNamed: "Plain") is Depot.Thing)
    #expect(try context.insert(Shop.Thing.self).entity === offer)
  }
}
