import Driftless
import DriftlessSQLite
import Foundation
import TestSupport
import Testing

/// An undo after what others saved has come into the context.
@Suite("Undo after a merge")
struct UndoMergeTests {
  let library: Library
  let context: ManagedObjectContext
  let book: Book

  init() throws {
    library = try Library()
    context = library.container.newContext()
    context.undoManager = UndoManager()
    book = try context.insert(Book.self)
    try context.save()
    book.title = "mine"
    try context.save()
  }

  /// Another context saves another title, and pages.
  private func saveElsewhere() throws {
    let other = library.container.newContext()
    let same = try #require(other.object(with: book.objectID) as? Book)
    same.title = "theirs"
    same[Book.pages] = 40
    try other.save()
  }

  private func saved() throws -> (title: String, pages: Int) {
    let found = try #require(try library.container.newContext().fetch(Book.self).first)
    return (found.title, Int(found[Book.pages]))
  }

  @Test(
    "It puts back the property that it changed, and no other, without a conflict",
    arguments: [true, false])
  func merged(automatically: Bool) throws {
    context.automaticallyMergesChangesFromParent = automatically
    try saveElsewhere()
    if automatically {
      context.processPendingChanges()
    } else {
      try context.refreshAllObjects()
    }
    #expect(book.title == "theirs" && book[Book.pages] == 40)
    context.undo()
    #expect(book.title == "?" && book[Book.pages] == 40)
    #expect(book.changedValues().keys.sorted() == ["title"])
    try context.save()
    let after = try saved()
    #expect(after.title == "?" && after.pages == 40)
    context.redo()
    try context.save()
    #expect(try saved().title == "theirs", "what it replaced comes back")
  }

  @Test("What the context has not taken over is the merge policy's to decide")
  func notMerged() throws {
    try saveElsewhere()
    context.undo()
    #expect(throws: SaveConflictError.self) { try context.save() }
    #expect(try saved().title == "theirs")
  }
}
