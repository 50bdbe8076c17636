import DriftlessSQLite
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Driftless

/// Batch requests, purges and fetches of a container over several stores.
struct SeveralStoresBatchTests {
  private let library: Library
  private let directory: TemporaryDirectory

  init() throws {
    library = try Library()
    directory = library.directory
  }

  private func fill(_ url: URL, _ names: String...) throws {
    let container = PersistentContainer(name: "Seed", model: Library.model(), storeURL: url)
    try container.loadPersistentStores()
    let context = container.newContext()
    for name in names { try context.insert(Author.self).name = name }
    try context.save()
  }

  /// A store that may only be read before the one that is written.
  private func seeded() throws -> (
    ManagedObjectContext, seed: PersistentStore, own: PersistentStore
  ) {
    let (seed, own) = (directory.file("seed.sqlite"), directory.file("own.sqlite"))
    try fill(seed, "seed")
    try fill(own, "old", "kept")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Library.model())
    let stores = (
      try coordinator.addPersistentStore(at: seed, options: StoreOptions(isReadOnly: true)),
      try coordinator.addPersistentStore(at: own)
    )
    return (ManagedObjectContext(coordinator), stores.0, stores.1)
  }

  private func names(_ context: ManagedObjectContext) throws -> Set<String> {
    context.reset()
    return Set(try context.fetch(Author.self).map(\.name))
  }

  private func request(_ name: String) throws -> FetchRequest<Author> {
    FetchRequest(
      entityName: "Author", predicate: try FetchPredicate(format: "name == %@", name))
  }

  @Test("A store that may only be read is in the way of a batch only where it has objects of it")
  func readOnly() throws {
    let (context, _, _) = try seeded()
    var delete = BatchDeleteRequest(fetchRequest: try request("old"))
    delete.resultType = .count
    #expect(try context.execute(delete).count == 1)
    var update = BatchUpdateRequest(entityName: "Author")
    update.predicate = try FetchPredicate(format: "name == 'kept'")
    update.propertiesToUpdate = ["name": "changed"]
    update.resultType = .count
    #expect(try context.execute(update).count == 1)
    #expect(try names(context) == ["seed", "changed"])

    // What it has cannot be changed, and then nothing is.
    update.predicate = nil
    #expect(throws: StoreError.self) { try context.execute(update) }
    let all = FetchRequest<Author>(entityName: "Author")
    #expect(throws: StoreError.self) {
      try context.execute(BatchDeleteRequest(fetchRequest: all))
    }
    #expect(try names(context) == ["seed", "changed"])

    let own = try context.fetch(try request("changed")).map(\.objectID)
    #expect(try context.execute(BatchDeleteRequest(objectIDs: own)).resultType == .statusOnly)
    #expect(try names(context) == ["seed"])
  }

  @Test("A purge of the history leaves out a store that may only be read, unless it is named")
  func purge() throws {
    let (context, seed, own) = try seeded()
    var purge = PersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture)
    purge.resultType = .count
    #expect(try context.execute(purge).count == 1)
    #expect(try own.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?)).isEmpty)
    purge.affectedStores = [seed]
    let error = #expect(throws: StoreError.self) { try context.execute(purge) }
    #expect(error?.code == .readOnly)
  }

  @Test(
    "A batch takes stores in one order, whatever the coordinator's, and none that it does not need")
  func order() async throws {
    let (first, second) = (directory.file("a.sqlite"), directory.file("b.sqlite"))
    try fill(first, "x")
    try fill(second, "x")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Library.model())
    for url in [second, first] {
      try coordinator.addPersistentStore(
        at: url, options: StoreOptions(durability: .normal, busyTimeoutMilliseconds: 1_000))
    }
    // Somebody writes the one that is taken first: who waits for it holds no other.
    let holder = try SQLiteConnection(path: first.path, mode: .readWrite)
    defer { holder.close() }
    try holder.execute("BEGIN IMMEDIATE")
    let isOver = Mutex(false)
    let code = Mutex<StoreError.Code?>(nil)
    let background = BackgroundContext(coordinator)
    async let batch: Void = {
      defer { isOver.withLock { $0 = true } }
      do {
        try await background.perform { context in
          var update = BatchUpdateRequest(entityName: "Author")
          update.propertiesToUpdate = ["name": "y"]
          try context.execute(update)
        }
      } catch let error as StoreError {
        code.withLock { $0 = error.code }
      }
    }()
    let writer = try SQLiteConnection(
      path: second.path, mode: .readWrite, busyTimeoutMilliseconds: 0)
    defer { writer.close() }
    var refusals = 0
    while !isOver.withLock({ $0 }) {
      do {
        try writer.execute("BEGIN IMMEDIATE")
        try writer.execute("ROLLBACK")
      } catch {
        refusals += 1
      }
      await Task.yield()
    }
    try await batch
    #expect(code.withLock { $0 } == .busy)
    #expect(refusals == 0)
  }

  @Test("A container's fetch of several stores has one order and one cut")
  func fetching() async throws {
    let container = library.container
    let coordinator = container.persistentStoreCoordinator
    let file = try #require(coordinator.persistentStores.first)
    let memory = try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    for (index, name) in ["f", "b", "d", "a", "e", "c"].enumerated() {
      let author = try context.insert(Author.self)
      try context.assign(author, to: index % 2 == 0 ? file : memory)
      author.name = name
    }
    try context.save()
    context.reset()
    for sort in [[FetchSort("name")], [FetchSort("name", ascending: false)], []] {
      for (limit, offset) in [(0, 0), (3, 0), (3, 1), (0, 4), (2, 4), (4, 9)] {
        let request = FetchRequest<Author>(
          entityName: "Author", sort: sort, limit: limit, offset: offset)
        let expected = try context.fetchIDs(request)
        let told = Mutex<[FetchProgress]>([])
        let found = try await container.fetchIDs(request) { progress in
          told.withLock { $0.append(progress) }
        }
        #expect(found == expected, "\(sort) \(limit) \(offset)")
        let last = try #require(told.withLock { $0.last })
        #expect(told.withLock { $0.count } == 1 && last.completed == last.total)
        let objects = try await container.fetch(request) { _, objects in objects.map(\.objectID) }
        #expect(try objects == context.fetch(request).map(\.objectID))
      }
    }
  }
}
