import Foundation
import TestSupport
import Testing

@testable import Driftless

/// An object whose row is gone counts as deleted from when that was found out.
struct InaccessibleObjectTests {
  private let library: Library
  private let context: ManagedObjectContext
  private let other: ManagedObjectContext
  private let book: Book

  init() throws {
    library = try Library()
    context = library.container.newContext()
    other = library.container.newContext()
    book = try context.insert(Book.self)
    book.title = "a"
    try context.save()
    try context.refresh(book, mergeChanges: false)
  }

  private func deleteElsewhere() throws {
    for book in try other.fetch(Book.self) { other.delete(book) }
    try other.save()
  }

  private func transactionCount() throws -> Int {
    let store = try #require(library.container.persistentStoreCoordinator.persistentStores.first)
    return try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
      .flatMap { $0.changes ?? [] }.count
  }

  @Test("It reads as empty, is deleted, takes what is set, and its save has nothing to write")
  func deleted() throws {
    try deleteElsewhere()
    #expect(!book.isDeleted && !context.hasChanges)
    #expect(book.title == "")
    #expect(book.isDeleted && context.deletedObjects == [book])
    let changes = try transactionCount()
    book.pages = -5
    try context.save()
    #expect(book.managedObjectContext == nil && !context.hasChanges)
    #expect(try transactionCount() == changes)
  }

  @Test("A child's fault that is read with others stays one, and so does one that was asked for")
  func readAhead() throws {
    let child = ManagedObjectContext(parent: context)
    let fault = try #require(child.object(with: book.objectID))
    try deleteElsewhere()
    try child.readFaults([fault])
    #expect(fault.isFault && !fault.isDeleted)
    #expect(throws: ObjectError.self) { try child.existingObject(with: book.objectID) }
    #expect(fault.isFault && book.isFault && !book.isDeleted)
    #expect(fault["title"] as? String == nil && fault.isDeleted)
    #expect(book.title == "" && book.isDeleted)
  }

  @Test("An observer is told, and a rollback gives it up")
  func told() throws {
    try deleteElsewhere()
    nonisolated(unsafe) var told: [ManagedObject] = []
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextObjectsDidChange, object: context, queue: nil
    ) { told += $0.userInfo?["deleted"] as? [ManagedObject] ?? [] }
    defer { NotificationCenter.default.removeObserver(observer) }
    book.pages = 7
    context.processPendingChanges()
    #expect(told == [book] && book.isDeleted)
    context.rollback()
    #expect(!book.isDeleted && !context.hasChanges)
    try context.save()
  }

  @Test("One that is set first, or belongs to others, is no different")
  func related() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    book.author = author
    try context.save()
    try context.refreshAllObjects()
    try deleteElsewhere()
    book.title = "b"
    #expect(book.isDeleted)
    let new = try context.insert(Book.self)
    new.title = "new"
    new.author = author
    try context.save()
    #expect(author.books.map(\.title) == ["new"])
  }

  @Test("One that came back before the save stays, with what it is there")
  func back() throws {
    let theirs = try #require(try other.fetch(Book.self).first)
    theirs.title = "theirs"
    try library.container.performAndWait { third in
      for book in try third.fetch(Book.self) { third.delete(book) }
      try third.save()
    }
    #expect(book.title == "" && book.isDeleted)
    other.mergePolicy = .mergeByPropertyObjectTrump
    try other.save()
    try context.insert(Author.self).name = "Eco"
    try context.save()
    #expect(!book.isDeleted && book.title == "theirs" && book.managedObjectContext === context)
    #expect(try context.fetch(Book.self) == [book])
  }

  @Test(
    "A rule that denies the delete of what is gone already does not keep a save from being done")
  func denied() throws {
    let tag = try context.insert(Tag.self)
    book.tags.insert(tag)
    try context.save()
    try context.refresh(tag, mergeChanges: false)
    try context.execute(
      BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Tag")))
    #expect(tag.name == nil && tag.isDeleted)
    try context.save()
  }

  @Test("Work that only reads may meet one")
  func reading() async throws {
    let store = try await LocalStore.open(
      model: Library.model(), at: library.directory.file("own.sqlite"))
    let id = try await store.write { try $0.insert(Book.self).objectID }
    try await store.write { context in context.object(with: id).map(context.delete) }
    let title = try await store.read { ($0.object(with: id) as? Book)?.title }
    #expect(title == "")
  }

  @Test("A child context has it deleted too, and its parent when it is saved there")
  func child() throws {
    let child = ManagedObjectContext(parent: context)
    let own = try #require(child.object(with: book.objectID) as? Book)
    try deleteElsewhere()
    #expect(own.title == "" && own.isDeleted)
    try child.save()
    try context.save()
    #expect(!context.hasChanges)
  }
}
