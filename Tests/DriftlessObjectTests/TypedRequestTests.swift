import Driftless
import Foundation
import TestSupport
import Testing

/// A class whose entity has another name.
final class CatalogueCard: ManagedObject {
  static let name = Attribute<CatalogueCard, String>("name")
  static let other = Attribute<CatalogueCard, String>("other")
}

/// Requests that name a class.
struct TypedRequestTests {
  private static func cards() throws -> PersistentContainer {
    let card = EntityDescription("Card")
    card.managedObjectClassName = "CatalogueCard"
    card.properties = [AttributeDescription("name", .string)]
    ManagedObject.register(CatalogueCard.self)
    let container = PersistentContainer(
      name: "Cards", model: ManagedObjectModel(entities: [card]), storeURL: nil)
    try container.loadPersistentStores()
    return container
  }

  @Test("A request of a class finds and orders by its keys, in every way to fetch")
  func fetches() async throws {
    let library = try Library()
    let context = library.container.newContext()
    for (title, pages) in [("b", 10), ("a", 10), ("c", 1), ("d", 30)] {
      let book = try context.insert(Book.self)
      book[Book.title] = title
      book[Book.pages] = pages
    }
    try context.save()
    var request = FetchRequest(
      Book.self, where: Book.pages > 5, sort: Book.pages.descending, Book.title.ascending)
    #expect(try context.fetch(request).map { $0[Book.title] } == ["d", "a", "b"])
    #expect(try context.count(for: request) == 3)
    #expect(try context.fetchIDs(request).count == 3)
    #expect(try context.fetchBatches(request).map { $0[Book.title] } == ["d", "a", "b"])
    #expect(try await library.container.fetchIDs(request).count == 3)
    let results = try FetchedResults(request, context: context)
    try results.performFetch()
    #expect(results.fetchedObjects.map { $0[Book.title] } == ["d", "a", "b"])
    request = FetchRequest(Book.self, sort: Book.title.descending, limit: 2, offset: 1)
    #expect(try context.fetch(request).map { $0[Book.title] } == ["c", "b"])
    // Unsaved changes count, as in every fetch.
    try context.insert(Book.self)[Book.title] = "e"
    #expect(try context.fetch(FetchRequest(Book.self)).count == 5)
  }

  @Test("The entity is the one that the class stands for, whatever it is called")
  func entityOfClass() async throws {
    // Made before any model is in use.
    let early = FetchRequest(CatalogueCard.self, sort: CatalogueCard.name.ascending)
    let container = try Self.cards()
    let context = container.newContext()
    for name in ["b", "a"] { try context.insert(CatalogueCard.self)[CatalogueCard.name] = name }
    try context.save()
    #expect(try context.fetch(early).map { $0[CatalogueCard.name] } == ["a", "b"])
    #expect(try context.count(for: early) == 2)
    for try await update in try container.fetchedResults(early) {
      #expect(update.snapshot.objectIDs.count == 2)
      break
    }
    let result = try await container.newBackgroundContext()
      .execute(AsynchronousFetchRequest(fetchRequest: early)).wait()
    #expect(result.count == 2)
  }

  @Test("Keys of a class above it find and order objects of a class")
  func inheritedKeys() throws {
    let library = try Library()
    let context = library.container.newContext()
    for title in ["b", "a"] { try context.insert(Novel.self)[Book.title] = title }
    try context.insert(Book.self)[Book.title] = "c"
    let request = FetchRequest(Novel.self, where: Book.title < "z", sort: Book.title.ascending)
    #expect(try context.fetch(request).map { $0[Book.title] } == ["a", "b"])
  }

  @Test("A class that is held as the one above it is the class that is fetched")
  func heldAsAbove() throws {
    let library = try Library()
    let context = library.container.newContext()
    for title in ["b", "a"] { try context.insert(Novel.self)[Book.title] = title }
    try context.insert(Book.self)[Book.title] = "c"
    let types: [Book.Type] = [Novel.self]
    for type in types {
      let titles = try context.fetch(FetchRequest(type, sort: Book.title.ascending))
        .map { $0[Book.title] }
      #expect(titles == ["a", "b"])
    }
    let request: FetchRequest<Book> = FetchRequest(Novel.self, sort: Book.title.ascending)
    #expect(try context.count(for: request) == 2)
  }

  @Test("A key that the entity does not have, and a class that no entity names, are told")
  func unknown() throws {
    let context = try Self.cards().newContext()
    let key = #expect(throws: FetchError.self) {
      try context.fetch(FetchRequest(CatalogueCard.self, sort: CatalogueCard.other.ascending))
    }
    #expect(key?.code == .unknownKey)
    #expect(key?.message.contains("other") == true)
    let predicate = #expect(throws: FetchError.self) {
      try context.count(for: FetchRequest(CatalogueCard.self, where: CatalogueCard.other == "x"))
    }
    #expect(predicate?.code == .unknownKey)
    let entity = #expect(throws: ObjectError.self) {
      try context.fetch(FetchRequest(Book.self, sort: Book.title.ascending))
    }
    #expect(entity?.code == .unknownEntity)
    #expect(entity?.message.contains("Book") == true)
  }
}
