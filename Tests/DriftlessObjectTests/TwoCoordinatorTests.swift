import Driftless
import Foundation
import TestSupport
import Testing

/// Two stacks on one file: each takes over what the other tells of its saves.
struct TwoCoordinatorTests {
  @Test(
    "A save through another coordinator on the same file is merged: updates, deletes, inserts",
    arguments: [
      Notification.Name.managedObjectContextDidSave, .managedObjectContextDidSaveObjectIDs,
    ])
  func merging(_ name: Notification.Name) throws {
    let library = try Library()
    let context = library.container.newContext()
    let (kept, gone) = (try context.insert(Book.self), try context.insert(Book.self))
    (kept.title, gone.title) = ("a", "z")
    let author = try context.insert(Author.self)
    author.name = "Eco"
    kept.author = author
    try context.save()
    #expect(author.books.count == 1)

    let stack = try library.another()
    let other = stack.newContext()
    nonisolated(unsafe) var told: Notification?
    let observer = NotificationCenter.default.addObserver(
      forName: name, object: other, queue: nil
    ) { told = $0 }
    defer { NotificationCenter.default.removeObserver(observer) }
    let theirs = try other.fetch(Book.self, order: Book.title.ascending)
    #expect(theirs.map(\.objectID) == [kept.objectID, gone.objectID])
    theirs[0].title = "b"
    other.delete(theirs[1])
    let new = try other.insert(Book.self)
    new.author = theirs[0].author
    try other.save()

    nonisolated(unsafe) var merged: [AnyHashable: Any] = [:]
    let watcher = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidMergeChangesObjectIDs, object: context, queue: nil
    ) { merged = $0.userInfo ?? [:] }
    defer { NotificationCenter.default.removeObserver(watcher) }
    context.mergeChanges(fromContextDidSave: try #require(told))
    #expect(kept.title == "b")
    #expect(gone.isDeleted && gone.managedObjectContext == nil)
    #expect(Set(author.books.map(\.objectID)) == [kept.objectID, new.objectID])
    let inserted = merged["inserted_objectIDs"] as? ChangedObjectIDs
    #expect(inserted.map { Array($0) } == [new.objectID])
  }

  @Test("What is saved in another file is no business of a context")
  func anotherFile() throws {
    let (one, two) = (try Library(), try Library())
    let (context, other) = (one.container.newContext(), two.container.newContext())
    let book = try context.insert(Book.self)
    book.title = "a"
    try context.save()
    nonisolated(unsafe) var told: Notification?
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: other, queue: nil
    ) { told = $0 }
    defer { NotificationCenter.default.removeObserver(observer) }
    let theirs = try other.insert(Book.self)
    try other.save()
    other.delete(theirs)
    try other.save()
    context.mergeChanges(fromContextDidSave: try #require(told))
    #expect(book.title == "a" && book.managedObjectContext === context)
  }
}
