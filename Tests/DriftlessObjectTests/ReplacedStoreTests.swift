import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A store that is destroyed or replaced in its file, while others have it open.
struct ReplacedStoreTests {
  private let library: Library
  private let url: URL

  init() throws {
    library = try Library()
    url = try #require(library.container.storeURL)
  }

  private func addBook(_ title: String, _ container: PersistentContainer) throws
    -> ManagedObjectContext
  {
    let context = container.newContext()
    try context.insert(Book.self).title = title
    try context.save()
    return context
  }

  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch { return (error as? StoreError)?.code }
    return nil
  }

  /// What a process has of a store, of which it knows one book.
  private func expectNothingReached(
    _ context: ManagedObjectContext, _ book: Book, _ store: PersistentStore,
    by body: () throws -> Void
  ) throws {
    let read = context.persistentStoreCoordinator
    #expect(!store.isReplaced)
    try body()
    #expect(store.isReplaced)
    book.title = "edited"
    #expect(code { try context.save() } == .fileReplaced)
    #expect(code { _ = try ManagedObjectContext(read).fetch(Book.self) } == .fileReplaced)
    let pinned = ManagedObjectContext(read)
    try pinned.setQueryGenerationFrom(.current)
    #expect(code { _ = try pinned.fetch(Book.self) } == .fileReplaced)
    let copy = library.directory.file("copy.sqlite")
    #expect(code { try store.backup(to: copy) } == .fileReplaced)
    #expect(!FileManager.default.fileExists(atPath: copy.path))
    #expect(store.isReplaced, "it stays so")
  }

  @Test("Who has a store open that is destroyed reaches no object of the next one in its file")
  func destroyed() throws {
    _ = try addBook("mine", library.container)
    let other = try library.another()
    let context = other.newContext()
    let book = try #require(try context.fetch(Book.self).first)
    let store = try #require(other.persistentStoreCoordinator.persistentStores.first)
    var next: ManagedObjectContext?
    try expectNothingReached(context, book, store) {
      try library.container.persistentStoreCoordinator.destroyPersistentStore(at: url)
      let container = PersistentContainer(name: "Next", model: Library.model(), storeURL: url)
      try container.loadPersistentStores()
      next = try addBook("of another user", container)
    }
    let present = try #require(next)
    present.reset()
    let books = try present.fetch(Book.self)
    #expect(books.map(\.title) == ["of another user"])
    #expect(books.map(\.objectID.key) == [book.objectID.key], "it has the key of the other one")
  }

  @Test("Who has a store open that another one takes the place of reaches no object of that")
  func replaced() throws {
    _ = try addBook("mine", library.container)
    let context = library.container.newContext()
    let book = try #require(try context.fetch(Book.self).first)
    let store = try #require(
      library.container.persistentStoreCoordinator.persistentStores.first)
    let second = try Library()
    _ = try addBook("of another user", second.container)
    try expectNothingReached(context, book, store) {
      try PersistentStore.replace(at: url, withStoreAt: try #require(second.container.storeURL))
    }
    let again = try library.another().newContext()
    #expect(try again.fetch(Book.self).map(\.title) == ["of another user"])
  }

  @Test("Where a copy of a store is put back, the keys of what came after it are nobody's")
  func putBack() throws {
    _ = try addBook("kept", library.container)
    let store = try #require(
      library.container.persistentStoreCoordinator.persistentStores.first)
    let copy = library.directory.file("copy.sqlite")
    try store.backup(to: copy)
    let context = try addBook("lost", library.container)
    let lost = try #require(try context.fetch(Book.self, where: Book.title == "lost").first)
    try PersistentStore.replace(at: url, withStoreAt: copy)
    let other = try library.another()
    let after = try addBook("after", other)
    #expect(!store.isReplaced, "it is the same store, at an earlier state")
    lost.title = "edited"
    #expect(throws: SaveConflictError.self) { try context.save() }
    after.reset()
    #expect(Set(try after.fetch(Book.self).map(\.title)) == ["kept", "after"])
  }

  @Test("Tables that change, of a store that stays, keep nobody from it")
  func changedTables() throws {
    let context = try addBook("mine", library.container)
    let store = try #require(
      library.container.persistentStoreCoordinator.persistentStores.first)
    let other = try PersistentStore.open(url: url)
    _ = try other.write(TransactionInfo()) {
      try $0.connection.execute("CREATE INDEX another ON ZBOOK (ZTITLE)")
    }
    #expect(try ManagedObjectContext(context.persistentStoreCoordinator).count(Book.self) == 1)
    _ = try addBook("more", library.container)
    #expect(!store.isReplaced)
    #expect(
      try other.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZBOOK") } == .integer(2))
  }
}
