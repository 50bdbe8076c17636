import Driftless
import Foundation
import Testing

@Suite("Contexts")
struct ContextTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  @discardableResult
  func book(_ title: String, _ pages: Int) throws -> Book {
    let book = try context.insert(Book.self)
    book.title = title
    book.pages = pages
    return book
  }

  @Test("A fetch sees unsaved inserts, changes and deletes; without them it sees the store")
  func overlay() throws {
    let alpha = try book("alpha", 22)
    let bravo = try book("bravo", 25)
    let charlie = try book("charlie", 10)
    try context.save()
    alpha.pages = 5
    charlie.pages = 21
    context.delete(bravo)
    try book("delta", 30)
    try book("echo", 40)
    let titles = try context.fetch(
      Book.self, where: Book.pages > 20, order: Book.title.descending
    ).map(\.title)
    #expect(titles == ["echo", "delta", "charlie"])
    let cut = try context.fetch(
      Book.self, where: Book.pages > 20, order: Book.title.descending, limit: 1, offset: 1)
    #expect(cut.map(\.title) == ["delta"])
    #expect(try context.count(Book.self, where: Book.pages > 20) == 3)

    var request = FetchRequest<Book>(
      entityName: "Book", predicate: (Book.pages > 20).predicate, sort: [FetchSort("title")])
    request.includesPendingChanges = false
    #expect(try context.fetch(request).map(\.title) == ["alpha", "bravo"])
    #expect(alpha.pages == 5)
    #expect(try context.count(for: request) == 2)
  }

  @Test("Objects of a subentity come with their own class")
  func subentities() throws {
    let novel = try context.insert(Novel.self)
    novel[Novel.hero] = "William"
    novel.title = "N"
    try book("B", 1)
    try context.save()
    let other = library.container.newContext()
    let books = try other.fetch(Book.self, order: Book.title.ascending)
    #expect(books.map { $0 is Novel } == [false, true])
    #expect((books[1] as? Novel)?[Novel.hero] == "William")
    #expect(try other.count(Novel.self) == 1 && other.count(Book.self) == 2)
  }

  @Test("An unknown entity, property or predicate key is an error, not a trap")
  func unknownNames() throws {
    #expect(throws: ObjectError.self) { try context.insert(entityNamed: "Magazine") }
    #expect(throws: ObjectError.self) {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Magazine"))
    }
    #expect(throws: (any Error).self) {
      try context.fetch(FetchRequest<Book>(entityName: "Book", sort: [FetchSort("color")]))
    }
    let lone = ManagedObjectContext(
      PersistentStoreCoordinator(managedObjectModel: Library.model()))
    let error = #expect(throws: ObjectError.self) { try lone.insert(Book.self) }
    #expect(error?.code == .noStore)
  }

  @Test("Validation tells everything that is wrong at once, and the context keeps its changes")
  func validation() throws {
    let author = try context.insert(Author.self)
    let book = try book("A", -3)
    let failure = #expect(throws: ValidationFailure.self) { try context.save() }
    let codes = failure?.items.compactMap { ($0.error as? ValidationError)?.code }.sorted()
    #expect(codes == [1570, 1620])
    #expect(context.insertedObjects == [author, book])
    author.name = "E"
    book.pages = 3
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test("A save that fails leaves the store and the changes as they were")
  func failedSave() throws {
    let identity = UUID()
    try context.insert(entityNamed: "Tag", identity: identity)
    try context.save()
    let other = library.container.newContext()
    let book = try other.insert(Book.self)
    try other.insert(entityNamed: "Tag", identity: identity)
    #expect(throws: (any Error).self) { try other.save() }
    #expect(book.isInserted && book.objectID.isTemporaryID)
    #expect(try context.count(Book.self) == 0)
  }

  @Test("Rollback brings values, relationships and deleted objects back")
  func rollback() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    let kept = try book("A", 1)
    kept.author = author
    try context.save()
    kept.pages = 9
    kept.author = nil
    let new = try book("B", 2)
    context.delete(author)
    context.rollback()
    #expect(kept.pages == 1 && kept.author === author && !author.isDeleted)
    #expect(new.managedObjectContext == nil && !context.hasChanges)
    #expect(author.books.array == [kept])
    #expect(try context.fetch(Author.self) == [author])
  }

  @Test("Reset forgets everything")
  func reset() throws {
    let saved = try book("A", 1)
    try context.save()
    saved.pages = 4
    try book("B", 2)
    context.reset()
    #expect(context.registeredObjects.isEmpty && !context.hasChanges)
    let again = try context.fetch(Book.self)
    #expect(again.count == 1 && again[0] !== saved && again[0].pages == 1)
  }

  @Test("Refresh takes the store's values beneath unsaved ones, or in their place")
  func refresh() throws {
    let book = try book("A", 1)
    try context.save()
    let other = library.container.newContext()
    let theirs = try #require(other.object(with: book.objectID) as? Book)
    theirs.title = "theirs"
    theirs.pages = 2
    try other.save()
    book.pages = 3
    try context.refresh(book, mergeChanges: true)
    #expect(book.title == "theirs" && book.pages == 3)
    try context.save()
    book.pages = 4
    try context.refresh(book, mergeChanges: false)
    #expect(book.isFault && !context.hasChanges && book.pages == 3)
  }

  @Test("A context that merges automatically sees what the others save")
  func automaticMerge() throws {
    let book = try book("A", 1)
    let doomed = try self.book("B", 1)
    try context.save()
    context.automaticallyMergesChangesFromParent = true
    book.pages = 7
    try library.container.performAndWait { other in
      let theirs = try #require(other.object(with: book.objectID) as? Book)
      theirs.title = "theirs"
      other.delete(try other.existingObject(with: doomed.objectID))
      try other.save()
    }
    #expect(book.title == "A")
    context.processPendingChanges()
    #expect(book.title == "theirs" && book.pages == 7)
    #expect(doomed.isDeleted && doomed.title == "B")
    try context.save()
    #expect(try context.fetch(Book.self).map(\.pages) == [7])
  }

  @Test("Saves post what they changed")
  func notifications() throws {
    nonisolated(unsafe) var seen: [ContextChanges] = []  // posted on this thread
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: context, queue: nil
    ) { notification in
      if let changes = notification.userInfo?["changes"] as? ContextChanges { seen.append(changes) }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let book = try book("A", 1)
    try context.save()
    book.pages = 2
    try context.save()
    try context.save()
    #expect(seen.count == 3 && seen.last?.isEmpty == true)
    #expect(seen.first?.insertedObjectIDs == [book.objectID])
    let second = seen.dropFirst().first
    #expect(second?.updatedObjectIDs == [book.objectID] && second?.insertedObjectIDs == [])
  }

  @Test("The container works off the caller's thread and gives values back")
  func perform() async throws {
    let count = try await library.container.perform { context in
      for number in 0..<10 { try context.insert(Book.self).pages = number }
      try context.save()
      return try context.count(Book.self, where: Book.pages >= 5)
    }
    #expect(count == 5)
  }

  @Test("Prefetching reads the objects at the other end along")
  func prefetching() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    for number in 0..<3 { try book("B\(number)", number).author = author }
    try context.save()
    let other = library.container.newContext()
    var request = FetchRequest<Author>(entityName: "Author")
    request.relationshipKeyPathsForPrefetching = ["books"]
    let books = try other.fetch(FetchRequest<Book>(entityName: "Book"))
    for book in books { try other.refresh(book, mergeChanges: false) }
    #expect(books.allSatisfy { $0.isFault })
    let authors = try other.fetch(request)
    #expect(books.allSatisfy { !$0.isFault })
    #expect(Set(authors[0].books) == Set(books))
  }

  @Test("Transactions of the history merge like saves of another context")
  func historyMerge() throws {
    let book = try book("A", 1)
    let doomed = try self.book("B", 1)
    try context.save()
    try library.container.performAndWait { other in
      let theirs = try #require(other.object(with: book.objectID) as? Book)
      theirs.title = "theirs"
      other.delete(try other.existingObject(with: doomed.objectID))
      other.transactionAuthor = "them"
      try other.save()
    }
    let store = try #require(context.persistentStoreCoordinator.persistentStores.first)
    let transactions = try store.fetchHistory(.fetchHistory(after: nil))
    #expect(transactions.map(\.author) == [nil, "them"])
    #expect(transactions.last?.changes?.map(\.changeType) == [.update, .delete])
    #expect(transactions.last?.changes?.first?.updatedProperties == ["title"])
    try context.mergeChanges(fromHistory: transactions)
    #expect(book.title == "theirs" && doomed.isDeleted)
  }

  @Test("A chain of ten thousand cascades does not exhaust the stack")
  func deepCascade() throws {
    var previous: Link?
    let first = try context.insert(Link.self)
    for _ in 0..<10_000 {
      let link = try previous.map { _ in try context.insert(Link.self) } ?? first
      previous?[Link.next] = link
      previous = link
    }
    try context.save()
    context.delete(first)
    #expect(context.deletedObjects.count == 10_000)
    try context.save()
    #expect(try context.count(Link.self) == 0)
  }
}
