import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Objects that were never saved: deleted, taken in again, and what they say of themselves.
struct DraftTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  private func drafts(_ count: Int) throws -> [Book] {
    try (0..<count).map { number in
      let book = try context.insert(Book.self)
      book.title = "draft \(number)"
      return book
    }
  }

  @Test("A draft that was deleted is deleted until the next save, and not after it")
  func deletedDraft() throws {
    let draft = try drafts(1)[0]
    context.delete(draft)
    #expect(draft.isDeleted)
    // There is nothing to write, and the deletion is done all the same.
    try context.save()
    #expect(!draft.isDeleted && !draft.hasChanges && draft.managedObjectContext == nil)
    let (kept, second) = (try drafts(1)[0], try drafts(1)[0])
    context.delete(second)
    try context.save()
    #expect(!second.isDeleted && !kept.hasChanges)
    let child = ManagedObjectContext(parent: context)
    let third = try child.insert(Book.self)
    _ = try child.insert(Book.self)
    child.delete(third)
    #expect(third.isDeleted)
    try child.save()
    #expect(!third.isDeleted)
  }

  @Test("A draft that was deleted is not deleted once that is rolled back")
  func notDeletedAfterRollback() throws {
    let draft = try drafts(1)[0]
    context.delete(draft)
    context.rollback()
    #expect(!draft.isDeleted && !draft.hasChanges)
  }

  @Test("What others deleted is deleted here, also after the save that met it")
  func deletedElsewhere() throws {
    let book = try drafts(1)[0]
    try context.save()
    let other = library.container.newContext()
    other.delete(try other.existingObject(with: book.objectID))
    try other.save()
    book.title = "edited"
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    #expect(book.isDeleted && book.managedObjectContext == nil)
  }

  @Test("An object that a merge took away is another context's to take in, and no list is wrong")
  func takenAwayWhileListed() throws {
    let book = try drafts(1)[0]
    try context.save()
    context.delete(book)
    let other = library.container.newContext()
    other.delete(try other.existingObject(with: book.objectID))
    try other.save()
    try context.mergeChanges(deleted: [book.objectID])
    #expect(book.managedObjectContext == nil)
    // It stands among the changes of this context until these are saved.
    #expect(throws: ObjectError.self) { try other.insert(book) }
    try context.save()
    try other.insert(book)
    book.title = "again"
    let further = try context.insert(Book.self)
    further.title = "further"
    try context.save()
    #expect(book.hasChanges && other.insertedObjects == [book])
    try other.save()
    #expect(try library.container.newContext().count(Book.self) == 2)
  }

  #if DEBUG
    /// How many entries are looked at while so many drafts are deleted and taken in again.
    private func looks(_ count: Int) throws -> Int {
      let drafts = try drafts(count)
      let before = context.graph.ledger.lookCount
      for draft in drafts { context.delete(draft) }
      for draft in drafts { try context.insert(draft) }
      for draft in drafts.reversed() {
        context.delete(draft)
        try context.insert(draft)
      }
      #expect(drafts.allSatisfy { $0.isInserted && $0.managedObjectContext === context })
      context.rollback()
      return context.graph.ledger.lookCount - before
    }

    @Test("Deleting drafts and taking them in again takes steps as there are drafts")
    func steps() throws {
      let (few, many) = (try looks(50), try looks(200))
      #expect(few > 0 && many <= 4 * few)
    }
  #endif
}
