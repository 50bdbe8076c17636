import Driftless
import Foundation
import TestSupport
import Testing

/// Several stores in one coordinator.
struct SeveralStoresTests {
  let library: Library
  let coordinator: PersistentStoreCoordinator
  let context: ManagedObjectContext
  let file: PersistentStore
  let memory: PersistentStore

  /// A file, and a store in memory beside it, both of the whole model.
  init() throws {
    library = try Library()
    coordinator = library.container.persistentStoreCoordinator
    file = try #require(coordinator.persistentStores.first)
    memory = try coordinator.addPersistentStore(at: nil)
    context = ManagedObjectContext(coordinator)
  }

  private func author(_ name: String, in store: PersistentStore? = nil) throws -> Author {
    let author = try context.insert(Author.self)
    if let store { try context.assign(author, to: store) }
    author.name = name
    return author
  }

  @Test("A new object goes to the first store, or to the one it is assigned to")
  func assigning() throws {
    let first = try author("Eco")
    let second = try author("Calvino", in: memory)
    try context.save()
    #expect(first.objectID.storeIdentifier == file.identifier)
    #expect(second.objectID.storeIdentifier == memory.identifier)
    #expect(first.objectID != second.objectID)
    // Both have the same number in their store.
    #expect(first.objectID.key == second.objectID.key)
    let other = ManagedObjectContext(coordinator)
    #expect((other.object(with: first.objectID) as? Author)?.name == "Eco")
    #expect((other.object(with: second.objectID) as? Author)?.name == "Calvino")
    let names = try library.another().performAndWait { try $0.fetch(Author.self).map(\.name) }
    #expect(names == ["Eco"])
  }

  @Test("A fetch asks all stores: one order, one cut, one count")
  func fetching() throws {
    for (index, name) in ["f", "b", "d", "a", "e", "c"].enumerated() {
      _ = try author(name, in: index % 2 == 0 ? file : memory)
    }
    try context.save()
    context.reset()
    let byName = [FetchSort("name")]
    func names(_ request: FetchRequest<Author>) throws -> String {
      try context.fetch(request).map(\.name).joined()
    }
    var request = FetchRequest<Author>(entityName: "Author", sort: byName)
    #expect(try names(request) == "abcdef")
    #expect(try context.count(for: request) == 6)
    #expect(try context.fetchIDs(request).count == 6)
    request.limit = 3
    request.offset = 1
    #expect(try names(request) == "bcd")
    #expect(try context.count(for: request) == 3)
    #expect(
      try context.fetchIDs(request) == context.fetch(request).map(\.objectID))
    #expect(try context.fetchBatches(request).map(\.name) == ["b", "c", "d"])
    // Unsaved changes are laid over what the stores find.
    _ = try author("bb", in: memory)
    #expect(try names(request) == "bbbc")
    request = FetchRequest<Author>(entityName: "Author", sort: byName)
    request.affectedStores = [memory]
    #expect(try names(request) == "abbbc")
    request.affectedStores = []
    #expect(try names(request) == "")
  }

  @Test("Rows come from one store, which has to be named")
  func rows() throws {
    _ = try author("a", in: file)
    _ = try author("b", in: memory)
    try context.save()
    var request = FetchRequest<FetchedRow>(entityName: "Author")
    request.propertiesToFetch = ["name"]
    #expect(throws: FetchError.self) { try context.fetchRows(request) }
    request.affectedStores = [memory]
    #expect(try context.fetchRows(request).map { $0["name", as: String.self] } == ["b"])
  }

  @Test("In a predicate an object of another store is nobody, even with the same key")
  func predicates() throws {
    let mine = try author("a", in: file)
    let theirs = try author("a", in: memory)
    for (index, author) in [mine, theirs].enumerated() {
      let book = try context.insert(Book.self)
      try context.assign(book, to: index == 0 ? file : memory)
      book.author = author
      book.title = "\(index)"
    }
    try context.save()
    #expect(mine.objectID.key == theirs.objectID.key)
    for (index, author) in [mine, theirs].enumerated() {
      let request = FetchRequest<Book>(
        entityName: "Book", predicate: try FetchPredicate(format: "author == %@", author.objectID))
      #expect(try context.fetch(request).map(\.title) == ["\(index)"])
      // The same for what is decided in memory.
      let unsaved = try context.fetch(Book.self)
      for book in unsaved { book.pages += 1 }
      #expect(try context.fetch(request).map(\.title) == ["\(index)"])
      context.rollback()
    }
  }

  @Test("A relationship across stores is refused, and so is moving a saved or related object")
  func crossing() throws {
    let author = try author("a", in: memory)
    let book = try context.insert(Book.self)
    book.author = author
    let error = #expect(throws: ObjectError.self) { try context.save() }
    #expect(error?.code == .crossStore)
    context.clearAccessorErrors()
    #expect(book.author == nil)
    try context.assign(book, to: memory)
    book.author = author
    #expect(throws: ObjectError.self) { try context.assign(book, to: file) }
    try context.save()
    #expect(throws: ObjectError.self) { try context.assign(book, to: file) }
    let elsewhere = try PersistentStore.open(url: nil, model: Library.model())
    #expect(throws: ObjectError.self) {
      try context.assign(try context.insert(Author.self), to: elsewhere)
    }
  }

  @Test("A save of several stores saves in all or, when one refuses, in none")
  func savingTogether() throws {
    let mine = try author("a", in: file)
    let theirs = try author("b", in: memory)
    try context.save()
    // Another context takes the object in memory further, so that its save conflicts.
    let other = ManagedObjectContext(coordinator)
    (other.object(with: theirs.objectID) as? Author)?.name = "c"
    try other.save()
    mine.name = "changed"
    theirs.name = "changed"
    #expect(throws: SaveConflictError.self) { try context.save() }
    #expect(context.hasChanges)
    let fresh = ManagedObjectContext(coordinator)
    #expect(try fresh.fetch(Author.self, order: Author.name.ascending).map(\.name) == ["a", "c"])
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    fresh.reset()
    #expect(try fresh.fetch(Author.self).map(\.name) == ["changed", "changed"])
  }

  @Test("Other contexts learn what a save changed in each store")
  func merging() throws {
    let mine = try author("a", in: file)
    let theirs = try author("b", in: memory)
    try context.save()
    let other = ManagedObjectContext(coordinator)
    other.automaticallyMergesChangesFromParent = true
    let copies = try other.fetch(Author.self, order: Author.name.ascending)
    #expect(copies.map(\.name) == ["a", "b"])
    theirs.name = "z"
    context.delete(mine)
    try context.save()
    other.processPendingChanges()
    #expect(copies[1].name == "z")
    #expect(copies[0].managedObjectContext == nil)
  }

  @Test("Batches reach all stores")
  func batches() throws {
    for index in 0..<4 { _ = try author("a\(index)", in: index < 2 ? file : memory) }
    try context.save()
    var update = BatchUpdateRequest(entityName: "Author")
    update.propertiesToUpdate = ["name": "x"]
    update.resultType = .count
    #expect(try context.execute(update).count == 4)
    context.reset()
    let all = try context.fetch(Author.self)
    #expect(Set(all.map(\.name)) == ["x"])
    var delete = BatchDeleteRequest(objectIDs: all.map(\.objectID))
    delete.resultType = .objectIDs
    #expect(Set(try context.execute(delete).objectIDs ?? []) == Set(all.map(\.objectID)))
    #expect(try context.count(Author.self) == 0)
  }

  @Test("Objects of a store that is removed are forgotten, and those of the rest stay")
  func removing() throws {
    let mine = try author("a", in: file)
    let theirs = try author("b", in: memory)
    try context.save()
    mine.name = "lost"
    theirs.name = "kept"
    coordinator.remove(file)
    context.processPendingChanges()
    #expect(mine.managedObjectContext == nil)
    #expect(context.registeredObject(for: mine.objectID) == nil)
    try context.save()
    #expect(try context.fetch(Author.self).map(\.name) == ["kept"])
    let again = try coordinator.addPersistentStore(at: library.container.storeURL)
    #expect(again.identifier == file.identifier)
    #expect(
      try context.fetch(Author.self, order: Author.name.ascending).map(\.name) == ["a", "kept"])
    // An ID from before means the same object.
    #expect((try context.existingObject(with: mine.objectID) as? Author)?.name == "a")
  }

  @Test("A store is found by its URL and identifier, and refused a second time")
  func identity() throws {
    #expect(coordinator.persistentStores.map(\.identifier) == [file.identifier, memory.identifier])
    #expect(coordinator.persistentStore(withIdentifier: memory.identifier) === memory)
    #expect(coordinator.persistentStore(for: try #require(file.url)) === file)
    let error = #expect(throws: ObjectError.self) {
      try coordinator.addPersistentStore(at: file.url)
    }
    #expect(error?.code == .storeRefused)
    #expect(coordinator.persistentStores.count == 2)
    let author = try author("a", in: memory)
    try context.save()
    let uri = author.objectID.uriRepresentation()
    #expect(coordinator.managedObjectID(forURIRepresentation: uri) == author.objectID)
  }

  @Test("Prefetching and relationships stay within each store")
  func relationships() throws {
    for store in [file, memory] {
      let author = try author("a", in: store)
      for index in 0..<3 {
        let book = try context.insert(Book.self)
        try context.assign(book, to: store)
        book.title = "\(store === file ? "f" : "m")\(index)"
        book.author = author
      }
    }
    try context.save()
    let other = ManagedObjectContext(coordinator)
    var request = FetchRequest<Author>(entityName: "Author")
    request.relationshipKeyPathsForPrefetching = ["books"]
    let authors = try other.fetch(request)
    let titles = authors.map { $0.books.map(\.title).sorted().joined(separator: " ") }
    #expect(titles == ["f0 f1 f2", "m0 m1 m2"])
    #expect(authors.allSatisfy { $0.books.allSatisfy { !$0.isFault } })
  }

  @Test(
    "A relationship does not have, nor let go of, an object of another store with a member's key")
  func sameKeys() throws {
    var books: [Book] = []
    for store in [file, memory] {
      let book = try context.insert(Book.self)
      let tag = try context.insert(Tag.self)
      try context.assign(book, to: store)
      try context.assign(tag, to: store)
      (book.title, tag.name) = ("book", "tag")
      book.author = try author("a", in: store)
      book.tags.insert(tag)
      books.append(book)
    }
    try context.save()
    let (mine, theirs) = (books[0], books[1])
    let author = try #require(mine.author)
    #expect(mine.objectID.key == theirs.objectID.key)
    #expect(author.books.contains(mine) && !author.books.contains(theirs))
    author[Author.books].remove(theirs)
    let tag = try #require(theirs.tags.array.first)
    #expect(theirs.tags.contains(tag) && !mine.tags.contains(tag))
    mine[Book.tags].remove(tag)
    #expect(!context.hasChanges && theirs.author != nil && mine.tags.count == 1)
  }

  @Test("The history of all stores is one, by time, after a token that tells of each")
  func history() throws {
    let start = try coordinator.currentPersistentHistoryToken()
    #expect(Set(start.numbers.keys) == [file.identifier, memory.identifier])
    for (index, name) in ["a", "b", "c", "d"].enumerated() {
      _ = try author(name, in: index % 2 == 0 ? file : memory)
      try context.save()
    }
    func stores(_ request: PersistentHistoryChangeRequest) throws -> [String]? {
      try context.execute(request).transactions?.map(\.storeID)
    }
    let all = [file.identifier, memory.identifier, file.identifier, memory.identifier]
    var request = PersistentHistoryChangeRequest.fetchHistory(after: start)
    #expect(try stores(request) == all)
    request.fetchLimit = 3
    #expect(try stores(request) == Array(all.prefix(3)))
    request.fetchLimit = 0
    request.fetchRequest = PersistentHistoryTransaction.fetchRequest
    request.fetchRequest?.offset = 1
    request.fetchRequest?.limit = 2
    #expect(try stores(request) == Array(all[1...2]))
    request.fetchRequest = nil
    request.affectedStores = [memory]
    #expect(try stores(request) == [memory.identifier, memory.identifier])
    request.affectedStores = nil
    for type in PersistentHistoryChangeRequest.ResultType.allCases {
      request.resultType = type
      let result = try context.execute(request)
      switch type {
      case .statusOnly: #expect(result.status == true)
      case .objectIDs: #expect(result.objectIDs?.count == 4)
      case .count: #expect(result.count == 4)
      case .changesOnly: #expect(result.changes?.map { $0.transaction?.storeID } == all)
      default: #expect(result.transactions?.count == 4)
      }
    }
    // A store that came later is read from its start; one that nobody has, not at all.
    var token = try file.currentHistoryToken()
    #expect(
      try stores(.fetchHistory(after: token)) == [memory.identifier, memory.identifier])
    token.formUnion(try memory.currentHistoryToken())
    #expect(try stores(.fetchHistory(after: token)) == [])
    #expect(throws: StoreError.self) {
      try stores(.fetchHistory(after: PersistentHistoryToken(numbers: ["another": 1])))
    }
    var purge = PersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture)
    purge.resultType = .count
    #expect(try context.execute(purge).count == 4)
  }

  @Test(
    "Contexts of two coordinators that have the stores in another order do not wait for each other")
  func opposite() async throws {
    let model = library.container.managedObjectModel
    let directory = try TemporaryDirectory()
    let files = [directory.file("a.sqlite"), directory.file("b.sqlite")]
    func saves(_ files: [URL]) throws -> BackgroundContext {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      for file in files {
        _ = try coordinator.addPersistentStore(
          at: file, options: StoreOptions(durability: .normal, busyTimeoutMilliseconds: 3_000))
      }
      return BackgroundContext(coordinator)
    }
    let contexts = [try saves(files), try saves(files.reversed())]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for background in contexts {
        group.addTask {
          for number in 0..<150 {
            try await background.perform { context in
              for store in context.persistentStoreCoordinator.persistentStores {
                let author = try context.insert(Author.self)
                try context.assign(author, to: store)
                author.name = "\(number)"
              }
              try context.save()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let count = try await contexts[0].perform { context in
      try context.count(for: FetchRequest<Author>(entityName: "Author"))
    }
    #expect(count == 600)
  }
}
