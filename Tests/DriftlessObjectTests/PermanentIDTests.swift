import Driftless
import Foundation
import TestSupport
import Testing

/// IDs that are permanent before the first save.
struct PermanentIDTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  @Test("An ID obtained early is the one that the object is saved under")
  func obtained() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    let book = try context.insert(Book.self)
    let tag = try context.insert(Tag.self)
    book.author = author
    book.tags.insert(tag)
    let temporary = author.objectID
    try context.obtainPermanentIDs(for: [author, tag])
    let id = author.objectID
    #expect(!id.isTemporaryID && author.isInserted && context.insertedObjects.count == 3)
    #expect(context.registeredObject(for: temporary) === author)
    #expect(context.registeredObject(for: id) === author)
    #expect(book.author === author && author.books.contains(book) && book.tags.contains(tag))
    #expect(try library.container.newContext().count(Author.self) == 0)
    // Asked again, nothing changes.
    try context.obtainPermanentIDs(for: [author])
    #expect(author.objectID == id)
    // Another context saves in between: keys do not meet.
    try library.container.performAndWait { other in
      try other.insert(Author.self).name = "Calvino"
      try other.save()
    }
    try context.save()
    #expect(author.objectID == id && !author.isInserted)
    let fresh = library.container.newContext()
    let read = try #require(try fresh.existingObject(with: id) as? Author)
    #expect(read.name == "Eco" && read.books.array.first?.tags.count == 1)
  }

  @Test("A new object with a permanent ID can be deleted, undone and rolled back like any other")
  func unsaved() throws {
    context.undoManager = UndoManager()
    let author = try context.insert(Author.self)
    author.name = "Eco"
    try context.obtainPermanentIDs(for: [author])
    let id = author.objectID
    context.processPendingChanges()
    context.delete(author)
    #expect(context.registeredObject(for: id) == nil)
    context.undo()
    #expect(author.managedObjectContext === context)
    try context.save()
    #expect(try context.fetch(Author.self).map(\.name) == ["Eco"])
    let other = try context.insert(Author.self)
    try context.obtainPermanentIDs(for: [other])
    context.rollback()
    #expect(other.managedObjectContext == nil)
    #expect(throws: ObjectError.self) { try context.existingObject(with: other.objectID) }
    #expect(throws: ObjectError.self) { try context.obtainPermanentIDs(for: [other]) }
  }

  @Test("The identity that an object was given stays with it, and so does its ID through a child")
  func identities() throws {
    let identity = UUID()
    let child = ManagedObjectContext(parent: context)
    let author = try child.insert(Author.self, identity: identity)
    author.name = "Eco"
    try child.obtainPermanentIDs(for: [author])
    let id = author.objectID
    try child.save()
    #expect(author.objectID == id)
    let above = try #require(context.registeredObject(for: id) as? Author)
    #expect(above.isInserted && above.name == "Eco")
    try context.save()
    #expect(author.objectID == id && above.objectID == id)
    let fresh = library.container.newContext()
    #expect(try fresh.object(withIdentity: identity)?.objectID == id)
  }
}
