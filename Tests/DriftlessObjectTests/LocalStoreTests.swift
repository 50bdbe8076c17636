import Driftless
import Foundation
import Synchronization
import TestSupport
import Testing

/// The way in: a store that is opened, read and written.
struct LocalStoreTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    ManagedObject.register(Author.self, Book.self, Tag.self, Chapter.self, Novel.self, Link.self)
    directory = try TemporaryDirectory()
    url = directory.file("of/its/own/library.sqlite")
  }

  private func open(_ model: ManagedObjectModel = Library.model()) async throws -> LocalStore {
    try await LocalStore.open(model: model, at: url)
  }

  private func titles(_ library: LocalStore) async throws -> [String] {
    try await library.read { context in
      try context.fetch(Book.self, order: Book.title.ascending).map { $0[Book.title] }
    }
  }

  // MARK: Opening

  @Test(
    "A store is made with its folders, for its user alone, and is there when it is opened again")
  func opens() async throws {
    try await open().write { try $0.insert(Book.self)[Book.title] = "Emma" }
    #expect(try await titles(open()) == ["Emma"])
    var status = stat()
    #expect(stat(url.deletingLastPathComponent().path, &status) == 0)
    #expect(status.st_mode & 0o077 == 0)
    let memory = try await LocalStore.open(model: Library.model(), at: nil)
    try await memory.write { try $0.insert(Book.self)[Book.title] = "Persuasion" }
    #expect(try await titles(memory) == ["Persuasion"])
    // What Core Data has is below it, on the same store.
    #expect(memory.container.persistentStoreCoordinator.persistentStores.first === memory.store)
  }

  @Test("What cannot be opened is named, with what to do")
  func refusals() async throws {
    let file = directory.file("file")
    try Data("text".utf8).write(to: file)
    for (url, code) in [
      (file.appendingPathComponent("library.sqlite"), StoreError.Code.cannotOpen),
      (URL(fileURLWithPath: "/proc/driftless/library.sqlite"), .cannotOpen),
      (file, .notADatabase),
      (try #require(URL(string: "https://host/library.sqlite")), .invalidArgument),
    ] {
      let error = await #expect(throws: StoreError.self, "\(url)") {
        try await LocalStore.open(model: Library.model(), at: url)
      }
      #expect(error?.code == code, "\(url): \(String(describing: error))")
      #expect(error?.message.contains(url.isFileURL ? url.path : "https") == true)
      #expect(error?.suggestion.isEmpty == false)
    }
    var reading = StoreOptions(migratesAutomatically: true)
    reading.isReadOnly = true
    _ = await #expect(throws: StoreError.self) {
      try await LocalStore.open(model: Library.model(), at: url, options: reading)
    }
    // Who only reads makes nothing.
    #expect(!FileManager.default.fileExists(atPath: url.deletingLastPathComponent().path))
  }

  /// A model with one entity, which has these attributes.
  private static func model(_ attributes: String...) -> ManagedObjectModel {
    let note = EntityDescription("Note")
    note.properties = attributes.map { AttributeDescription($0, .string) }
    return ManagedObjectModel(entities: [note])
  }

  @Test("A store of an older model is migrated, unless the options say otherwise")
  func migrates() async throws {
    let former = try await open(Self.model("text"))
    try await former.write { try $0.insert(entityNamed: "Note")["text"] = "a" }
    former.store.close()
    let refused = await #expect(throws: StoreError.self) {
      try await LocalStore.open(
        model: Self.model("text", "mark"), at: url, options: StoreOptions())
    }
    #expect(refused?.code == .incompatibleModel)
    #expect(refused?.message.contains(url.path) == true)
    let migrated = try await open(Self.model("text", "mark"))
    let texts = try await migrated.read { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
        .map { $0["text"] as? String }
    }
    #expect(texts == ["a"])
  }

  // MARK: Reading

  @Test("A read sees one state, whatever others save while it goes on")
  func readsOneState() async throws {
    let library = try await open()
    let other = try await open()
    try await library.write { try $0.insert(Book.self)[Book.title] = "Emma" }
    let counts = try await library.read { context in
      let before = try context.count(Book.self)
      try other.container.performAndWait { context in
        try context.insert(Book.self)[Book.title] = "Persuasion"
        try context.save()
      }
      return [before, try context.count(Book.self)]
    }
    #expect(counts == [1, 1])
    #expect(try await titles(library) == ["Emma", "Persuasion"])
  }

  @Test("A read that changes something says what, and nothing is saved")
  func readChanges() async throws {
    let library = try await open()
    try await library.write { try $0.insert(Book.self)[Book.title] = "Emma" }
    let change = await #expect(throws: ObjectError.self) {
      try await library.read { context in
        try context.fetch(Book.self).first?[Book.title] = "Other"
        _ = try context.insert(Book.self)
      }
    }
    #expect(change?.code == .changedInRead)
    #expect(change?.message.contains("Book and 1 more") == true, "\(String(describing: change))")
    let save = await #expect(throws: ObjectError.self) {
      try await library.read { context in
        try context.insert(Book.self)[Book.title] = "Saved"
        try context.save()
      }
    }
    #expect(save?.code == .changedInRead)
    let batch = await #expect(throws: ObjectError.self) {
      try await library.read { try $0.execute(BatchDeleteRequest(fetchRequest: Self.allBooks)) }
    }
    #expect(batch?.code == .changedInRead)
    // What was given up is no change.
    try await library.read { context in
      _ = try context.insert(Book.self)
      context.rollback()
    }
    #expect(try await titles(library) == ["Emma"])
  }

  private static var allBooks: FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(entityName: "Book")
  }

  @Test("What an accessor could not read does not become a result")
  func accessorErrors() async throws {
    let library = try await open()
    let id = try await library.write { try $0.insert(Book.self).objectID }
    try await library.write { context in context.object(with: id).map(context.delete) }
    let error = await #expect(throws: ObjectError.self) {
      try await library.read { context in
        context.shouldDeleteInaccessibleFaults = false
        return (context.object(with: id) as? Book)?[Book.title]
      }
    }
    #expect(error?.code == .missingObject || error?.code == .unreadable)
  }

  @Test("A read whose task was cancelled does not begin; a write is done")
  func cancellation() async throws {
    let library = try await open()
    await #expect(throws: CancellationError.self) {
      try await Task { [self] in
        withUnsafeCurrentTask { $0?.cancel() }
        return try await titles(library)
      }.value
    }
    try await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await library.write { try $0.insert(Book.self)[Book.title] = "Emma" }
    }.value
    #expect(try await titles(library) == ["Emma"])
  }

  // MARK: Writing

  private struct Stop: Error {}

  @Test("A write that throws leaves nothing of it, and the next one works")
  func writeThrows() async throws {
    let library = try await open()
    await #expect(throws: Stop.self) {
      try await library.write { context in
        try context.insert(Book.self)[Book.title] = "Half"
        throw Stop()
      }
    }
    await #expect(throws: ValidationFailure.self) {
      try await library.write { context in
        try context.insert(Book.self)[Book.title] = "Whole"
        try context.insert(Book.self)[Book.pages] = -1
      }
    }
    #expect(try await titles(library).isEmpty)
    try await library.write(author: "anna") { try $0.insert(Book.self)[Book.title] = "Emma" }
    #expect(try await titles(library) == ["Emma"])
    let authors = try library.store.fetchHistory(.fetchHistory(after: nil)).map(\.author)
    #expect(authors == ["anna"])
  }

  @Test("Work that is saved when it ends does not save by itself")
  func writeSaves() async throws {
    let library = try await open()
    for isBatch in [false, true] {
      let error = await #expect(throws: ObjectError.self) {
        try await library.write { context in
          try context.insert(Book.self)[Book.title] = "Part"
          if isBatch {
            try context.execute(BatchDeleteRequest(fetchRequest: Self.allBooks))
          } else {
            try context.save()
          }
          throw Stop()
        }
      }
      #expect(error?.code == .nestedSave)
    }
    #expect(try await titles(library).isEmpty)
  }

  @Test("IDs of new objects leave a write as they are after the save")
  func identifiers() async throws {
    let library = try await open()
    let id = try await library.write { context -> ManagedObjectID? in
      let book = try context.insert(Book.self)
      book[Book.title] = "Emma"
      return book.objectID
    }
    let all = try await library.write { context in
      try (0..<3).map { _ in try context.insert(Book.self).objectID }
    }
    let ids = [try #require(id)] + all
    #expect(ids.allSatisfy { !$0.isTemporaryID } && Set(ids).count == 4)
    let found = try await library.read { context in
      (context.object(with: ids[0]) as? Book)?[Book.title]
    }
    #expect(found == "Emma")
  }

  @Test("Writers at once, of one local store and of several, lose no step")
  func writersAtOnce() async throws {
    let stores = [try await open(), try await open()]
    try await stores[0].write { try $0.insert(Book.self)[Book.pages] = 0 }
    try await withThrowingTaskGroup { group in
      for store in stores {
        for _ in 0..<20 {
          group.addTask {
            // Two who write at once can meet more often than a write tries again; each meeting is told.
            while true {
              do {
                return try await store.write { context in
                  guard let book = try context.fetch(Book.self).first else { throw Stop() }
                  book[Book.pages] += 1
                }
              } catch is SaveConflictError { continue }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let pages = try await stores[1].read { try $0.fetch(Book.self).map { $0[Book.pages] } }
    #expect(pages == [40])
  }

  /// Lets another context save between the work of a write and its save, so many times.
  private func write(
    meeting others: Int, _ policy: MergePolicyType, _ library: LocalStore, _ other: LocalStore
  ) async throws -> Int {
    let attempts = Mutex(0)
    do {
      try await library.write(mergePolicy: policy) { context in
        guard let book = try context.fetch(Book.self).first else { throw Stop() }
        book[Book.pages] += 1
        let attempt = attempts.withLock { attempts in
          attempts += 1
          return attempts
        }
        guard attempt <= others else { return }
        try other.container.performAndWait { context in
          try context.fetch(Book.self).first?[Book.pages] += 100
          try context.save()
        }
      }
    } catch let error as SaveConflictError {
      #expect(others == .max, "\(error)")
    }
    return attempts.withLock { $0 }
  }

  @Test("Where others save in between, the work is done again; or the merge policy decides")
  func conflicts() async throws {
    let (library, other) = (try await open(), try await open())
    func pages() async throws -> Int? {
      try await library.read { try $0.fetch(Book.self).first?[Book.pages] }
    }
    try await library.write { try $0.insert(Book.self)[Book.pages] = 0 }
    #expect(try await write(meeting: 1, .error, library, other) == 2)
    #expect(try await pages() == 101)
    #expect(try await write(meeting: 1, .mergeByPropertyStoreTrump, library, other) == 1)
    #expect(try await pages() == 201)
    #expect(try await write(meeting: 1, .mergeByPropertyObjectTrump, library, other) == 1)
    #expect(try await pages() == 202)
    // Others that always come in between are told of at last, and their edits stand.
    #expect(try await write(meeting: .max, .error, library, other) == 8)
    #expect(try await pages() == 1002)
  }

  @Test("A unique value that is taken is told at once, and looked for again when others took it")
  func constraints() async throws {
    let note = EntityDescription("Note")
    note.properties = [AttributeDescription("text", .string)]
    note.uniquenessConstraints = [["text"]]
    let model = ManagedObjectModel(entities: [note])
    let (library, other) = (try await open(model), try await open(model.copy()))
    let attempts = Mutex(0)
    @Sendable func add(_ text: String, to context: ManagedObjectContext) throws {
      try context.insert(entityNamed: "Note")["text"] = text
    }
    try await library.write { try add("a", to: $0) }
    await #expect(throws: ConstraintConflictError.self) {
      try await library.write { context in
        attempts.withLock { $0 += 1 }
        try add("a", to: context)
      }
    }
    #expect(attempts.withLock { $0 } == 1)
    let found = try await library.write { context in
      let request = FetchRequest<ManagedObject>(
        entityName: "Note", predicate: try FetchPredicate(format: "text == 'b'"))
      if try !context.fetch(request).isEmpty { return true }
      try add("b", to: context)
      try other.container.performAndWait { context in
        try add("b", to: context)
        try context.save()
      }
      return false
    }
    #expect(found)
  }

  @Test("As many reads as go on at once have a state each, however few may be held")
  func manyReads() async throws {
    let directory = try TemporaryDirectory()
    ManagedObject.register(Author.self, Book.self, Tag.self, Chapter.self, Novel.self, Link.self)
    var options = StoreOptions()
    options.readersMax = 8
    options.queryGenerationsMax = 2
    let store = try LocalStore(
      model: Library.model(), at: directory.file("library.sqlite"), options: options)
    let all = DispatchGroup()
    for _ in 0..<8 { all.enter() }
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          try await store.read { context in
            let count = Result { try context.count(Tag.self) }
            all.leave()
            all.wait()
            return try count.get()
          }
        }
      }
      for try await count in group { #expect(count == 0) }
    }
  }
}
