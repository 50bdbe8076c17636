import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Objects in no context: what is set there comes into the context that takes them in, and what cannot is heard there.
struct LooseObjectTests {
  private let library: Library
  private let context: ManagedObjectContext
  private let model: ManagedObjectModel

  init() throws {
    library = try Library()
    context = library.container.newContext()
    model = library.container.persistentStoreCoordinator.managedObjectModel
  }

  private func book() throws -> Book { try Book(entity: entity("Book"), insertInto: nil) }
  private func author() throws -> Author { try Author(entity: entity("Author"), insertInto: nil) }
  private func chapter() throws -> Chapter {
    try Chapter(entity: entity("Chapter"), insertInto: nil)
  }

  private func entity(_ name: String) throws -> EntityDescription {
    try #require(model.entitiesByName[name])
  }

  @Test("What an accessor could not do in no context keeps the context from being saved")
  func errors() throws {
    for wrong in ["type", "key", "relationship", "mismatch of entities"] {
      let book = try self.book()
      switch wrong {
      case "type": book["pages"] = "many"
      case "key": book["colour"] = "red"
      case "relationship": book["author"] = "Eco"
      default: book["author"] = try Tag(entity: entity("Tag"), insertInto: nil)
      }
      try context.insert(book)
      #expect(context.accessorErrors.count == 1, "\(wrong)")
      #expect(throws: ObjectError.self) { try context.save() }
      context.rollback()
    }
  }

  @Test("Relationships set in no context are there once a context has the object, with both ends")
  func relationships() throws {
    let (author, book, other) = try (self.author(), self.book(), self.book())
    let chapters = try (0..<3).map { _ in try self.chapter() }
    (author.name, book.title, other.title) = ("Eco", "Baudolino", "Numero Zero")
    book[Book.author] = author
    author[Author.books].insert(other)
    book[Book.chapters] = RelatedObjects(chapters.reversed())
    book[Book.chapters].insert(chapters[0], at: 0)
    #expect(book.author === author && author[Author.books].array == [other])
    #expect(book[Book.chapters].array == [chapters[0], chapters[2], chapters[1]])
    #expect(book[Book.chapters].count == 3 && book[Book.chapters].first === chapters[0])
    try context.insert(book)
    #expect(context.insertedObjects.count == 6)
    try context.save()
    #expect(Set(author[Author.books].array) == [book, other] && other.author === author)

    let again = library.container.newContext()
    let read = try #require(try again.existingObject(with: book.objectID) as? Book)
    #expect(read.author?.name == "Eco")
    let order = [chapters[0], chapters[2], chapters[1]].map(\.objectID)
    #expect(read[Book.chapters].map(\.objectID) == order)
  }

  @Test("A relationship to an object of the context is set, one to another context's is heard")
  func mixed() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    let book = try self.book()
    book.author = author
    try context.insert(book)
    #expect(author[Author.books].array == [book])
    try context.save()

    let other = library.container.newContext()
    let foreign = try other.insert(Author.self)
    let second = try self.book()
    second.author = foreign
    try context.insert(second)
    let error = #expect(throws: ObjectError.self) { try context.save() }
    #expect(error?.code == .foreignObject)
    withExtendedLifetime(other) {}
  }

  @Test("A chain of many loose objects comes in as a whole")
  func chain() throws {
    let authors = try (0..<5000).map { _ in try self.author() }
    for (author, next) in zip(authors, authors.dropFirst()) { author["pupil"] = next }
    for author in authors { author.name = "A" }
    try context.insert(authors[0])
    #expect(context.insertedObjects.count == authors.count)
    try context.save()
    // They would go one within the other.
    for author in authors { author["pupil"] = nil }
  }

  @Test("accessing(_:) throws what an accessor meets in no context, and keeps nothing of it")
  func accessing() throws {
    let book = try self.book()
    #expect(throws: ObjectError.self) { try book.accessing { book["pages"] = "many" } }
    book.title = "x"
    try context.insert(book)
    try context.save()
  }

  @Test("Several errors of accessors are one error with all of them")
  func severalErrors() throws {
    let book = try context.insert(Book.self)
    book["pages"] = "many"
    book["colour"] = "red"
    book["colour"] = "red"
    do {
      try context.save()
      Issue.record("the context was saved")
    } catch {
      let text = "\(error)"
      #expect(text.contains("pages") && text.contains("colour"))
      let details = (error as NSError).userInfo["NSDetailedErrors"] as? [NSError]
      #expect((error as NSError).code == 1560 && details?.count == 2)
    }
  }

  @Test("An object's description names the other end of a relationship, and nothing internal")
  func description() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    let book = try context.insert(Book.self)
    book.author = author
    try context.save()
    let key = author.objectID.key.key
    #expect("\(book)".contains("author: Author/p\(key)"), "\(book)")
    #expect(!"\(book)".contains("ObjectKey"))
    #expect("\(try self.book())".hasPrefix("<Book t"))
  }

  @Test("An object of a class that the program does not have is told of, once an entity and class")
  func unknownClass() async throws {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      let item = EntityDescription("Item")
      item.managedObjectClassName = "Shop.Itme"
      item.properties = [AttributeDescription("name", .string)]
      let plain = EntityDescription("Plain")
      plain.properties = [AttributeDescription("name", .string)]
      let coordinator = PersistentStoreCoordinator(
        managedObjectModel: ManagedObjectModel(entities: [item, plain]))
      try coordinator.addPersistentStore(at: nil)
      let context = ManagedObjectContext(coordinator)
      for _ in 0..<3 {
        try context.insert(entityNamed: "Item")
        try context.insert(entityNamed: "Plain")
      }
    }
    let bytes = (result?.standardOutputContent ?? []) + (result?.standardErrorContent ?? [])
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.components(separatedBy: "Item names the class Shop.Itme").count == 2, "\(text)")
    #expect(!text.contains("Plain names"))
  }
}
