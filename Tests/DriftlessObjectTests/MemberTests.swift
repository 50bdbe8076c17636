import Driftless
import Foundation
import TestSupport
import Testing

/// Members of an object that answer without being read, and brackets of hand-written accessors.
@Suite("Members")
struct MemberTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  @Test("What a relationship refers to is told without reading the objects there")
  func relationshipFaults() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    let books = try (0..<3).map { _ in try context.insert(Book.self) }
    author[Author.books] = RelatedObjects(books)
    try context.save()
    let other = library.container.newContext()
    let again = try #require(try other.fetch(Author.self).first)
    #expect(again.hasFault(forRelationshipNamed: "books"))
    let ids = try again.objectIDs(forRelationshipNamed: "books")
    #expect(Set(ids) == Set(books.map(\.objectID)))
    #expect(ids.allSatisfy { other.object(with: $0)?.isFault == true })
    #expect(!again.hasFault(forRelationshipNamed: "books"))
    #expect(try again.objectIDs(forRelationshipNamed: "master").isEmpty)
    #expect(throws: ObjectError.self) { try again.objectIDs(forRelationshipNamed: "nothing") }
  }

  @Test("Identity, state and description of a fault do not read it")
  func quietMembers() throws {
    let book = try context.insert(Book.self)
    book.title = "Baudolino"
    try context.save()
    let other = library.container.newContext()
    let fault = try #require(other.object(with: book.objectID))
    #expect(fault.description.contains("fault") && !fault.description.contains("Baudolino"))
    #expect(fault.entity.name == "Book" && fault.objectID == book.objectID)
    #expect(fault.managedObjectContext === other)
    #expect(!fault.hasChanges && !fault.isInserted && !fault.isUpdated && !fault.isDeleted)
    #expect(Set([fault, fault]).count == 1)
    #expect(fault.isFault)
    #expect(fault["title"] as? String == "Baudolino")
    #expect(!fault.isFault && fault.description.contains("Baudolino"))
    fault["title"] = "changed"
    #expect(fault.isUpdated && !fault.isInserted)
  }

  @Test("An object is told what changed it back: an undo, a redo, a rollback")
  func snapshotEvents() throws {
    ManagedObject.register(Watched.self)
    let entity = EntityDescription("Watched")
    entity.managedObjectClassName = "Watched"
    entity.properties = [AttributeDescription("name", .string)]
    let container = PersistentContainer(
      name: "Watched", model: ManagedObjectModel(entities: [entity]),
      storeURL: library.directory.file("watched.sqlite"))
    try container.loadPersistentStores()
    let context = container.newContext()
    context.undoManager = UndoManager()
    let watched = try context.insert(Watched.self)
    try context.save()
    watched["name"] = "x"
    context.undo()
    #expect(watched.events == [.undoUpdate])
    context.redo()
    #expect(watched.events == [.undoUpdate, .undoUpdate])
    watched["name"] = "y"
    context.rollback()
    #expect(watched.events.last == .rollback)
  }

  @Test("A hand-written accessor reads a fault through its brackets")
  func brackets() throws {
    let book = try context.insert(Book.self)
    book.title = "Baudolino"
    try context.save()
    let other = library.container.newContext()
    let fault = try #require(other.object(with: book.objectID))
    fault.willAccessValue(forKey: "title")
    #expect(!fault.isFault)
    #expect(try fault.primitiveValue(forKey: "title") as? String == "Baudolino")
    fault.didAccessValue(forKey: "title")
    #expect(!fault.hasChanges && fault.managedObjectContext === other)
  }

  @Test("Committed and primitive values of relationships are the objects")
  func relationshipValues() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    let book = try context.insert(Book.self)
    let tag = try context.insert(Tag.self)
    book.author = author
    book.tags.insert(tag)
    try context.save()
    book.author = nil
    book.tags.remove(tag)
    let committed = book.committedValues(forKeys: ["author", "tags", "title"])
    #expect(committed["author"] as? Author === author && committed["tags"] as? [Tag] == [tag])
    #expect(committed["title"] as? String == "?" && book.changedValues()["author"] as Any? != nil)
    #expect(book.committedValues(forKeys: nil)["author"] as? Author === author)
    context.rollback()
    #expect(try book.primitiveValue(forKey: "author") as? Author === author)
    let other = try context.insert(Author.self)
    try book.setPrimitiveValue(other, forKey: "author")
    #expect(book.author === other && !book.hasChanges && other.books.isEmpty)
    #expect(throws: ObjectError.self) { try book.setPrimitiveValue(tag, forKey: "author") }
  }

  @Test("An object is told of a refresh beneath its changes, and of a merge policy's decision")
  func refreshEvents() throws {
    ManagedObject.register(Watched.self)
    let entity = EntityDescription("Watched")
    entity.managedObjectClassName = "Watched"
    entity.properties = [
      AttributeDescription("name", .string), AttributeDescription("size", .integer64),
    ]
    let container = PersistentContainer(
      name: "Watched", model: ManagedObjectModel(entities: [entity]),
      storeURL: library.directory.file("told.sqlite"))
    try container.loadPersistentStores()
    let context = container.newContext()
    let watched = try context.insert(Watched.self)
    try context.save()
    let other = container.newContext()
    let theirs = try other.existingObject(with: watched.objectID)
    theirs["name"] = "theirs"
    try other.save()
    watched["size"] = 7
    try context.refresh(watched, mergeChanges: true)
    #expect(watched.events == [.refresh] && watched["name"] as? String == "theirs")
    theirs["name"] = "again"
    try other.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(watched.events == [.refresh, .mergePolicy] && watched["name"] as? String == "again")
  }
}

/// Notes what changed it back.
final class Watched: ManagedObject {
  var events: [SnapshotEvents] = []

  override func awake(fromSnapshotEvents flags: SnapshotEvents) { events.append(flags) }
}
