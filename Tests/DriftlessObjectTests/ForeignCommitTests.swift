import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What comes into a store past the contexts: by sync, an import, a batch or another process.
@Suite("Contexts take over what others bring into the store")
struct ForeignCommitTests {
  private let library: Library

  init() throws {
    library = try Library()
    let context = library.container.newContext()
    for title in ["a", "b"] { try context.insert(Book.self).title = title }
    try context.save()
  }

  private var store: PersistentStore {
    get throws {
      try #require(library.container.persistentStoreCoordinator.persistentStores.first)
    }
  }

  private var byTitle: FetchRequest<Book> {
    FetchRequest<Book>(entityName: "Book", sort: [FetchSort("title")])
  }

  /// As sync writes: past all contexts.
  private func bring(_ titles: [String: String?], to store: PersistentStore) throws {
    let entity = try #require(store.schema.model.entitiesByName["Book"])
    let slot = try #require(entity.layout.index(named: "title"))
    var known: [String: ObjectKey] = [:]
    for book in try library.container.newContext().fetch(Book.self) {
      known[book.title] = book.objectID.key
    }
    _ = try store.write(TransactionInfo(author: "sync", kind: .imported)) { transaction in
      for (title, later) in titles {
        if let key = known[title] {
          guard let later else {
            try transaction.delete(key, expectedVersion: nil)
            continue
          }
          var values = try #require(try transaction.row(key)).values
          values[slot] = .string(later)
          try transaction.update(
            key, PropertyMask([slot]), values: values, expectedVersion: nil)
        } else {
          var values = [PropertyValue](repeating: .null, count: entity.layout.slots.count)
          values[slot] = .string(title)
          try transaction.insert(
            entity, transaction.allocateKeys(entity, count: 1).lowerBound, values: values)
        }
      }
    }
  }

  private func titles(_ books: [Book]) -> [String] { books.map(\.title).sorted() }

  @Test("The view context, its objects and results of fetches follow at once, with nobody asking")
  @MainActor
  func viewContext() async throws {
    let context = library.container.viewContext
    context.automaticallyMergesChangesFromParent = true
    let results = try FetchedResults(byTitle, context: context)
    try results.performFetch()
    let book = try #require(results.fetchedObjects.first)
    #expect(book.title == "a")
    var updates = results.updates().makeAsyncIterator()
    try bring(["a": "z", "new": nil], to: try store)
    _ = try #require(await updates.next())
    #expect(titles(results.fetchedObjects) == ["b", "new", "z"])
    #expect(book.title == "z")
    try bring(["b": nil], to: try store)
    _ = try #require(await updates.next())
    #expect(titles(results.fetchedObjects) == ["new", "z"])
  }

  @Test("What another process writes is taken over as well, and unsaved edits stand on it")
  @MainActor
  func otherProcess() async throws {
    let context = library.container.viewContext
    context.automaticallyMergesChangesFromParent = true
    let books = try context.fetch(Book.self, where: Book.title == "a")
    let book = try #require(books.first)
    book.pages = 7
    let other = try PersistentStore.open(url: library.container.storeURL)
    defer { other.close() }
    let results = try FetchedResults(byTitle, context: context)
    try results.performFetch()
    var updates = results.updates().makeAsyncIterator()
    try bring(["a": "from elsewhere"], to: other)
    _ = try #require(await updates.next())
    #expect(book.title == "from elsewhere")
    #expect(book.pages == 7)
    try context.save()
    #expect(try library.container.newContext().fetch(Book.self, where: Book.pages == 7).count == 1)
  }

  @Test("A background context takes over between two pieces of work")
  func background() async throws {
    let background = library.container.newBackgroundContext()
    try await background.perform { context in
      context.automaticallyMergesChangesFromParent = true
      context.retainsRegisteredObjects = true
      _ = try context.fetch(Book.self).map(\.title)
    }
    try bring(["a": "z"], to: try store)
    let titles = try await background.perform { context in
      context.registeredObjects.compactMap { ($0 as? Book)?.title }.sorted()
    }
    #expect(titles == ["b", "z"])
  }

  @Test("What one context saves reaches the other once, and not again from the history")
  func once() throws {
    let (first, second) = (library.container.newContext(), library.container.newContext())
    second.automaticallyMergesChangesFromParent = true
    try first.insert(Book.self).title = "c"
    try first.save()
    let news = try #require(second.inbox.takeAll())
    #expect(news.saves.count == 1)
    #expect(news.commits.isEmpty)
    // Its own saves are no news.
    try second.insert(Book.self).title = "d"
    try second.save()
    #expect(second.inbox.takeAll()?.commits.isEmpty != false)
  }

  @Test("A context that does not look for long keeps places of the history, and misses nothing")
  func longAsleep() throws {
    let sleeper = library.container.newContext()
    sleeper.automaticallyMergesChangesFromParent = true
    sleeper.retainsRegisteredObjects = true
    let books = try sleeper.fetch(byTitle)
    #expect(books.map(\.title) == ["a", "b"])
    let writer = library.container.newContext()
    let written = try #require(try writer.fetch(Book.self, where: Book.title == "a").first)
    for number in 1...300 {
      written.pages = number
      try writer.save()
      if number % 3 == 0 { try bring(["c\(number)": nil], to: try store) }
    }
    let news = try #require(sleeper.inbox.takeAll())
    #expect(news.saves.count + news.commits.count < 200)
    for save in news.saves { sleeper.inbox.put(save) }
    for commits in news.commits { sleeper.inbox.put(commits) }
    sleeper.processPendingChanges()
    #expect(books.first?.pages == 300)
    #expect(try sleeper.count(Book.self) == 102)
  }

  @Test("A child that does not look for long keeps each key once that others save into its parent")
  func idleChild() throws {
    let parent = library.container.newContext()
    let (idle, sibling) = (
      ManagedObjectContext(parent: parent), ManagedObjectContext(parent: parent)
    )
    idle.automaticallyMergesChangesFromParent = true
    let books = try idle.fetch(byTitle)
    #expect(books.map(\.pages) == [1, 1])
    let edited = try #require(try sibling.fetch(byTitle).first)
    for number in 1...300 {
      edited.pages = number
      try sibling.save()
    }
    let news = try #require(idle.inbox.takeAll())
    #expect(news.saves.count == 1 && news.saves.flatMap(\.updatedObjectIDs) == [edited.objectID])
    for save in news.saves { idle.inbox.put(save) }
    idle.processPendingChanges()
    #expect(books.map(\.pages) == [300, 1])
  }

  @Test("What came into a child's parent reaches the child after the object got another key")
  func renamedMeanwhile() throws {
    let parent = library.container.newContext()
    let (idle, sibling) = (
      ManagedObjectContext(parent: parent), ManagedObjectContext(parent: parent)
    )
    idle.automaticallyMergesChangesFromParent = true
    try parent.insert(Book.self).title = "new"
    let new = try #require(try idle.fetch(Book.self, where: Book.title == "new").first)
    try #require(try sibling.fetch(Book.self, where: Book.title == "new").first).pages = 300
    #expect(new.pages == 1)
    try sibling.save()
    try parent.save()
    idle.processPendingChanges()
    #expect(!new.objectID.isTemporaryID && new.pages == 300)
  }

  @Test("A child whose parent got more than it keeps reads all that it knows again")
  func muchIntoParent() throws {
    let parent = library.container.newContext()
    let (idle, sibling) = (
      ManagedObjectContext(parent: parent), ManagedObjectContext(parent: parent)
    )
    try parent.insert(Book.self).title = "unsaved"
    idle.automaticallyMergesChangesFromParent = true
    let books = try idle.fetch(byTitle)
    #expect(books.map(\.title) == ["a", "b", "unsaved"])
    for book in try sibling.fetch(byTitle) { book.pages = 300 }
    try sibling.save()
    let plan = try #require(parent.stores.plans.first)
    let book = try #require(plan.shape(named: "Book"))
    for start in stride(from: Int64(1_000_000), to: 1_100_000, by: 10_000) {
      let keys = (start..<start + 10_000).map { ObjectKey(entity: book.number, key: $0) }
      idle.inbox.put(
        ContextChanges(
          source: sibling.number, target: parent.number,
          parts: [ContextChanges.Part(plan: plan, updated: keys)]))
    }
    idle.processPendingChanges()
    #expect(books.map(\.pages) == [300, 300, 300])
  }

  @Test("Where the history is purged meanwhile, all that is known is read again")
  func purged() throws {
    let context = library.container.newContext()
    context.automaticallyMergesChangesFromParent = true
    let books = try context.fetch(byTitle)
    #expect(books.map(\.title) == ["a", "b"])
    try bring(["a": "z", "b": nil], to: try store)
    try store.deleteHistory(before: Date.distantFuture)
    context.processPendingChanges()
    #expect(books[0].title == "z")
    #expect(books[1].title != "b")
  }

  @Test("Where the history is damaged, all that is known is read again")
  func damaged() throws {
    let context = library.container.newContext()
    context.automaticallyMergesChangesFromParent = true
    let books = try context.fetch(byTitle)
    #expect(books.map(\.title) == ["a", "b"])
    let sound = try store.read { try $0.maximumTransactionNumber() }
    try bring(["a": "z", "b": nil], to: try store)
    // A range of changes that ends before it begins.
    let url = try #require(library.container.storeURL)
    let other = try SQLiteConnection(path: url.path, mode: .readWrite)
    try other.execute(
      """
      PRAGMA ignore_check_constraints = ON;
      UPDATE ZDL_TRANSACTION SET first_change = last_change + 1 WHERE number > \(sound)
      """)
    other.close()
    context.processPendingChanges()
    #expect(books[0].title == "z")
    #expect(books[1].title != "b")
  }

  @Test("A store that is moved is followed where it is")
  func moved() throws {
    let context = library.container.newContext()
    context.automaticallyMergesChangesFromParent = true
    let books = try context.fetch(Book.self, where: Book.title == "a")
    let moved = try library.container.persistentStoreCoordinator.migratePersistentStore(
      store, to: library.directory.url.appendingPathComponent("moved.sqlite"))
    try bring(["a": "z"], to: moved)
    context.processPendingChanges()
    #expect(books.first?.title == "z")
  }
}
