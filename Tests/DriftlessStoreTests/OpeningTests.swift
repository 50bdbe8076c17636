import Dispatch
import DriftlessSQLite
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Driftless

/// Opening a store beside others who do the same, and what is no store.
struct OpeningTests {
  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do {
      try body()
      return nil
    } catch { return (error as? StoreError)?.code ?? .sqlite }
  }

  @Test("Several who open a missing file at once make one store and share it")
  func creation() throws {
    let directory = try TemporaryDirectory()
    for round in 0..<10 {
      let url = directory.file("shop\(round).sqlite")
      let outcomes = Mutex<[String]>([])
      DispatchQueue.concurrentPerform(iterations: 6) { _ in
        var outcome: String
        do {
          let store = try PersistentStore.open(url: url, model: Shop.model())
          try store.insert("Item")
          outcome = store.identifier
        } catch { outcome = "\(error)" }
        outcomes.withLock { $0.append(outcome) }
      }
      #expect(Set(outcomes.withLock { $0 }).count == 1, "\(outcomes.withLock { $0 })")
      let store = try PersistentStore.open(url: url)
      #expect(try store.check().objectCount == 6)
    }
  }

  @Test(
    "Several who give a file of Core Data's its tables at once all succeed",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func adoption() throws {
    let original = SharedData.url("core-data-stores/SampleModel2/SampleModel2_V1.sqlite")
    let directory = try TemporaryDirectory()
    for round in 0..<5 {
      let url = directory.file("books\(round).sqlite")
      try Data(contentsOf: original).write(to: url)
      let failures = Mutex<[String]>([])
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        do {
          try PersistentStore.open(url: url).insert("Author")
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
      #expect(failures.withLock { $0 } == [])
      #expect(try PersistentStore.open(url: url).check().findings == [])
    }
  }

  @Test("A process that holds the file lock and does not let go makes the others say so in time")
  func stuckLock() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(
      url: url, model: Shop.model(), options: StoreOptions(busyTimeoutMilliseconds: 50))
    let stuck = try FileLock(path: url.path + "-driftless-lock")
    try stuck.lock(.exclusive)
    let start = ContinuousClock.now
    #expect(code { try store.insert("Item") } == .busy)
    #expect(ContinuousClock.now - start < .seconds(5))
    stuck.unlock()
    #expect(code { try store.insert("Item") } == nil)
  }

  @Test(
    "A folder and a pipe are refused by what they are, without waiting", .timeLimit(.minutes(10)))
  func noPlainFile() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.file("folder.sqlite")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    let pipe = directory.file("pipe.sqlite")
    #expect(mkfifo(pipe.path, 0o600) == 0)
    for (url, word) in [(folder, "a folder"), (pipe, "no plain file")] {
      for isReadOnly in [true, false] {
        #expect {
          _ = try PersistentStore.open(
            url: url, model: Shop.model(), options: StoreOptions(isReadOnly: isReadOnly))
        } throws: { error in
          guard let error = error as? StoreError else { return false }
          return error.code == .cannotOpen && error.message.contains(word)
        }
      }
      let coordinator = PersistentStoreCoordinator(managedObjectModel: try Shop.model())
      let good = directory.file("good.sqlite")
      try PersistentStore.open(url: good, model: Shop.model()).close()
      let attempts: [() throws -> Void] = [
        { _ = try PersistentStoreCoordinator.metadataForPersistentStore(at: url) },
        { try PersistentStoreCoordinator.setMetadata([:], forPersistentStoreAt: url) },
        { try coordinator.destroyPersistentStore(at: url) },
        { try coordinator.replacePersistentStore(at: url, withPersistentStoreFrom: good) },
        { try coordinator.replacePersistentStore(at: good, withPersistentStoreFrom: url) },
        { try PersistentStore.migrate(at: url, to: Shop.model()) },
        { try PersistentStore.vacuum(at: url) },
      ]
      for (number, attempt) in attempts.enumerated() {
        #expect(code(attempt) == .cannotOpen, "\(word) \(number)")
      }
    }
  }

  @Test("Keys of the metadata that others set in the meantime stay")
  func metadata() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let other = try PersistentStore.open(url: url, model: Shop.model())
    try other.setMetadata("other", forKey: "other")
    try store.setMetadata("own", forKey: "own")
    #expect(store.metadata.values["other"] as? String == "other")
    let again = try PersistentStore.open(url: url)
    #expect(again.metadata.values["other"] as? String == "other")
    #expect(again.metadata.values["own"] as? String == "own")
  }

  @Test(
    "A model that knows less than a file of Core Data's reads it, but writes only when told to",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func lesserModel() throws {
    let original = SharedData.url("core-data-stores/SampleModel/SampleModel_V2.sqlite")
    let directory = try TemporaryDirectory()
    let url = directory.file("cars.sqlite")
    try Data(contentsOf: original).write(to: url)
    func model(_ names: [String]) -> ManagedObjectModel {
      let car = EntityDescription("Car")
      car.properties = names.map { AttributeDescription($0, .string) }
      return ManagedObjectModel(entities: [car])
    }
    #expect {
      _ = try PersistentStore.open(url: url, model: model(["maker"]))
    } throws: { error in
      guard let error = error as? StoreError else { return false }
      return error.code == .incompatibleModel && error.message.contains("SportCar")
    }
    #expect(try Data(contentsOf: url) == Data(contentsOf: original))
    let reading = try PersistentStore.open(
      url: url, model: model(["maker"]), options: StoreOptions(isReadOnly: true))
    #expect(try reading.values(ObjectKey(entity: 1, key: 1))?["maker"] != nil)
    reading.close()
    let store = try PersistentStore.open(
      url: url, model: model(["maker"]), options: StoreOptions(ignoresVersioning: true))
    #expect(try store.insert("Car", ["maker": .string("new")]).key == 126)
  }

  @Test(
    "Room is given back in a file of Core Data's without making it another",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func vacuum() throws {
    let original = SharedData.url("core-data-stores/SampleModel2/SampleModel2_V1.sqlite")
    let directory = try TemporaryDirectory()
    let url = directory.file("books.sqlite")
    try Data(contentsOf: original).write(to: url)
    func tables() throws -> [[SQLiteValue]] {
      try SQLiteConnection(path: url.path, mode: .readOnly)
        .rows("SELECT type, name, sql FROM sqlite_master ORDER BY name")
    }
    let before = try tables()
    try PersistentStore.vacuum(at: url)
    #expect(try tables() == before)
    let bytes = try Data(contentsOf: url).count
    #expect(try bytes < Data(contentsOf: original).count)
    let store = try PersistentStore.open(url: url, options: .inspecting(url))
    #expect(try store.check().objectCount == 5468)
  }

  @Test("A store that was begun and not finished is known as one, and begun again")
  func unfinished() throws {
    let directory = try TemporaryDirectory()
    let (empty, begun, other) = (
      directory.file("empty.sqlite"), directory.file("begun.sqlite"), directory.file("other.txt")
    )
    try Data().write(to: empty)
    let connection = try SQLiteConnection(path: begun.path, mode: .readWriteCreate)
    try connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    try Data("A text, and no database".utf8).write(to: other)
    for url in [empty, begun] {
      #expect(PersistentStore.isUnfinished(at: url))
      try PersistentStore.open(url: url, model: Shop.model()).close()
      #expect(!PersistentStore.isUnfinished(at: url))
    }
    #expect(!PersistentStore.isUnfinished(at: other))
    #expect(!PersistentStore.isUnfinished(at: directory.file("missing.sqlite")))
  }

  @Test("What is left where there was no space for a log keeps nobody from reading")
  func noSpaceForALog() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try store.insert("Item")
    store.close()
    try Data().write(to: URL(fileURLWithPath: url.path + "-wal"))
    try Data(count: 3).write(to: URL(fileURLWithPath: url.path + "-shm"))
    #expect(StoreOptions.inspecting(url).isImmutable)
    try Data(count: 32_768).write(to: URL(fileURLWithPath: url.path + "-shm"))
    #expect(!StoreOptions.inspecting(url).isImmutable)
  }
}
