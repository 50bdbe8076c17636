import Driftless
import Foundation
import TestSupport
import Testing

@Suite("Query generations")
struct QueryGenerationTests {
  let library: Library
  let context: ManagedObjectContext
  let other: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
    other = library.container.newContext()
    let author = try other.insert(Author.self)
    author.name = "Eco"
    for title in ["a", "b"] {
      let book = try other.insert(Book.self)
      book.title = title
      book.author = author
    }
    try other.save()
  }

  /// Changes, adds and deletes a book.
  private func change(_ other: ManagedObjectContext) throws {
    let books = try other.fetch(Book.self, order: Book.title.ascending)
    books[0].title = "A"
    other.delete(books[1])
    let book = try other.insert(Book.self)
    book.title = "c"
    book.author = books[0].author
    try other.save()
  }

  @Test(
    "As many states are held as may be: one more is refused with what to do, and there is room once one is let go of"
  )
  func bounded() throws {
    let directory = try TemporaryDirectory()
    var options = StoreOptions(durability: .normal)
    options.queryGenerationsMax = 3
    let store = try PersistentStore.open(
      url: directory.file("few.sqlite"), model: library.container.managedObjectModel,
      options: options)
    let coordinator = PersistentStoreCoordinator(store: store)
    let all = (0..<3).map { _ in ManagedObjectContext(coordinator) }
    for context in all {
      try context.setQueryGenerationFrom(.current)
      _ = try titles(context)
    }
    let late = ManagedObjectContext(coordinator)
    try late.setQueryGenerationFrom(.current)
    #expect {
      _ = try titles(late)
    } throws: { error in
      guard let error = error as? StoreError else { return false }
      return error.code == .tooManyQueryGenerations && error.message.contains("few.sqlite")
        && error.suggestion.contains("queryGenerationsMax")
    }
    // One token counts once, however many contexts have it.
    let token = all[0].queryGenerationToken
    try late.setQueryGenerationFrom(token)
    #expect(try titles(late).isEmpty)
    // A save moves its context to the state after it, with as many as may be held.
    let book = try all[1].insert(Book.self)
    book.title = "d"
    let author = try all[1].insert(Author.self)
    author.name = "Eco"
    book.author = author
    try all[1].save()
    #expect(all[1].queryGenerationToken != .current)
    #expect(try titles(all[1]) == ["d"])
    #expect(try titles(late).isEmpty)
    try all[2].setQueryGenerationFrom(nil)
    try late.setQueryGenerationFrom(.current)
    #expect(try titles(late) == ["d"])
  }

  private func titles(_ context: ManagedObjectContext) throws -> [String] {
    try context.fetch(Book.self, order: Book.title.ascending).map(\.title)
  }

  @Test("A pinned context reads one state: fetches, counts, IDs, rows, faults, relationships")
  func pinned() throws {
    #expect(context.queryGenerationToken == nil)
    try context.setQueryGenerationFrom(.current)
    #expect(context.queryGenerationToken == .current)
    let ids = try context.fetchIDs(FetchRequest<Book>(entityName: "Book"))
    #expect(context.queryGenerationToken != .current)
    try change(other)
    try change(library.another().newContext())
    #expect(try titles(context) == ["a", "b"])
    #expect(try context.count(Book.self, where: Book.title == "b") == 1)
    #expect(try context.fetchIDs(FetchRequest<Book>(entityName: "Book")) == ids)
    let rows = try context.fetchRows(FetchRequest<FetchedRow>(entityName: "Book"))
    #expect(rows.count == 2)
    let author = try #require(try context.fetch(Author.self).first)
    #expect(Set(author.books.map(\.title)) == ["a", "b"])
    let fault = try #require(context.object(with: ids[1]) as? Book)
    try context.refresh(fault, mergeChanges: false)
    #expect(fault.title == "b")
    #expect(try titles(other).count == 2)
  }

  @Test("Pinned anew, and refreshed, the context shows the next state; unpinned the newest")
  func moves() throws {
    try context.setQueryGenerationFrom(.current)
    let books = try context.fetch(Book.self, order: Book.title.ascending)
    try change(other)
    try context.setQueryGenerationFrom(.current)
    #expect(books[0].title == "a")
    try context.refreshAllObjects()
    #expect(books[0].title == "A")
    #expect(try titles(context) == ["A", "c"])
    try change(other)
    #expect(try titles(context) == ["A", "c"])
    try context.setQueryGenerationFrom(nil)
    try context.refreshAllObjects()
    #expect(context.queryGenerationToken == nil)
    #expect(try titles(context) == ["A", "c"])
    #expect(try context.count(Book.self) == 2)
  }

  @Test("Another context can read the state that a token names, and keeps it")
  func tokens() throws {
    try context.setQueryGenerationFrom(.current)
    #expect(try context.count(Book.self) == 2)
    let token = try #require(context.queryGenerationToken)
    try other.insert(Book.self).title = "c"
    try other.save()
    let third = library.container.newContext()
    try third.setQueryGenerationFrom(token)
    try context.setQueryGenerationFrom(nil)
    #expect(try context.count(Book.self) == 3)
    #expect(try third.count(Book.self) == 2 && third.queryGenerationToken == token)
  }

  @Test("A save of a pinned context meets what others saved, and moves it to what it wrote")
  func save() throws {
    try context.setQueryGenerationFrom(.current)
    let mine = try context.fetch(Book.self, order: Book.title.ascending)
    try change(other)
    mine[0].title = "mine"
    let token = context.queryGenerationToken
    #expect(throws: SaveConflictError.self) { try context.save() }
    #expect(context.queryGenerationToken == token)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(context.queryGenerationToken != token && context.queryGenerationToken != .current)
    #expect(try titles(context) == ["c", "mine"])
    try other.insert(Book.self).title = "d"
    try other.save()
    #expect(try titles(context) == ["c", "mine"])
  }

  @Test("A uniqueness constraint is checked against the newest state")
  func constraint() throws {
    let customers = try Customers()
    let pinned = customers.container.newContext()
    try pinned.setQueryGenerationFrom(.current)
    #expect(try pinned.count(for: FetchRequest<ManagedObject>(entityName: "Customer")) == 0)
    let writing = customers.container.newContext()
    try writing.make("Customer", ["code": "a", "city": "Rome"])
    try writing.save()
    pinned.mergePolicy = .mergeByPropertyObjectTrump
    try pinned.make("Customer", ["code": "a", "points": 1])
    try pinned.save()
    let all = try pinned.fetch(FetchRequest<ManagedObject>(entityName: "Customer"))
    #expect(all.map { $0["city"] as? String } == ["Rome"])
    #expect(all.map { $0["points"] as? Int64 } == [1])
  }

  @Test("Checkpoints leave the state alone, and the log grows until it is let go")
  func checkpoints() throws {
    try context.setQueryGenerationFrom(.current)
    #expect(try titles(context) == ["a", "b"])
    let log = try #require(library.container.storeURL).path + "-wal"
    func logBytes() throws -> Int {
      (try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int) ?? 0
    }
    // More than the size from which on a checkpoint is due, twice over.
    let cover = Data(repeating: 7, count: 1 << 20)
    for _ in 0..<40 {
      let book = try other.insert(Book.self)
      book[Book.cover] = cover
      try other.save()
    }
    #expect(try logBytes() > 32 << 20)
    #expect(try titles(context) == ["a", "b"])
    try context.setQueryGenerationFrom(nil)
    for _ in 0..<40 {
      let book = try other.insert(Book.self)
      book[Book.cover] = cover
      try other.save()
    }
    #expect(try logBytes() < 40 << 20)
    #expect(try context.count(Book.self) == 82)
  }

  @Test("A large value in a file can be read as long as the state that names it is pinned")
  func largeValues() throws {
    let photo = EntityDescription("Photo")
    let picture = AttributeDescription("picture", .binaryData)
    picture.allowsExternalBinaryDataStorage = true
    photo.properties = [picture]
    let container = PersistentContainer(
      name: "Album", model: ManagedObjectModel(entities: [photo]),
      storeURL: library.directory.url.appendingPathComponent("album.sqlite"))
    try container.loadPersistentStores()
    let store = container.persistentStoreCoordinator.persistentStores[0]
    let folder = library.directory.url.appendingPathComponent(".album_SUPPORT/_EXTERNAL_DATA").path
    func files() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: folder).count }
    let writing = container.newContext()
    let data = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
    let written = try writing.make("Photo", ["picture": data])
    try writing.save()
    let reading = container.newContext()
    try reading.setQueryGenerationFrom(.current)
    let ids = try reading.fetchIDs(FetchRequest<ManagedObject>(entityName: "Photo"))
    writing.delete(written)
    try writing.save()
    try store.vacuum()
    #expect(try reading.existingObject(with: ids[0])["picture"] as? Data == data)
    #expect(try files() == 1)
    try reading.setQueryGenerationFrom(nil)
    try store.vacuum()
    #expect(try files() == 0)
  }

  @Test("A closed store, a child context and a store in memory say what they cannot do")
  func limits() throws {
    try context.setQueryGenerationFrom(.current)
    #expect(try context.count(Book.self) == 2)
    let child = ManagedObjectContext(parent: context)
    #expect(throws: ObjectError.self) { try child.setQueryGenerationFrom(.current) }
    #expect(try child.count(Book.self) == 2)
    library.container.persistentStoreCoordinator.persistentStores[0].close()
    #expect(throws: StoreError.self) { try context.count(Book.self) }

    let memory = PersistentContainer(name: "Memory", model: Library.model(), storeURL: nil)
    try memory.loadPersistentStores()
    let reading = memory.newContext()
    try reading.setQueryGenerationFrom(.current)
    #expect(try reading.count(Book.self) == 0)
    let writing = memory.newContext()
    try writing.insert(Book.self).title = "new"
    try writing.save()
    #expect(try reading.count(Book.self) == 1)
  }
}
