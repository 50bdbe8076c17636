import DriftlessSQLite
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Driftless

/// Several that want to migrate one store: each object is migrated once.
struct MigrationOnceTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("goods.sqlite") }

  init() throws { directory = try TemporaryDirectory() }

  private static func model(_ version: Int) throws -> ManagedObjectModel {
    let good = EntityDescription("Good")
    good.properties = [AttributeDescription("price", .double)]
    if version > 1 { good.properties += [AttributeDescription("name", .string)] }
    if version > 2 { good.properties += [AttributeDescription("place", .string)] }
    let model = ManagedObjectModel(entities: [good])
    try model.freeze()
    return model
  }

  /// Prices become a hundred times as much.
  private static func mapping() throws -> MappingModel {
    MappingModel(entityMappings: [
      EntityMapping(
        from: "Good", to: "Good",
        attributes: [
          PropertyMapping(
            name: "price", valueExpression: try FetchExpression(format: "$source.price * 100"))
        ])
    ])
  }

  private func fill() throws -> ObjectKey {
    let store = try PersistentStore.open(url: url, model: Self.model(1))
    defer { store.close() }
    return try store.insert("Good", ["price": .double(3)])
  }

  @Test("A mapping is applied once, however often it is asked for")
  func mappedOnce() throws {
    let key = try fill()
    for _ in 0..<2 {
      try PersistentStore.migrate(at: url, to: Self.model(2), mapping: Self.mapping())
    }
    let store = try PersistentStore.open(url: url, model: Self.model(2))
    #expect(try store.values(key)?["price"] == .double(300))
  }

  @Test("Programs that start at once after an update open the store, and one of them migrates it")
  func atOnce() async throws {
    for round in 0..<3 {
      for suffix in ["", "-wal", "-shm"] { unlink(url.path + suffix) }
      let key = try fill()
      let prices = try await withThrowingTaskGroup(of: PropertyValue?.self) { group in
        for _ in 0..<2 {
          group.addTask {
            let options = StoreOptions(
              migratesAutomatically: true, mappingModels: [try Self.mapping()])
            let store = try PersistentStore.open(
              url: url, model: Self.model(2), options: options)
            defer { store.close() }
            return try store.values(key)?["price"]
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(prices == [.double(300), .double(300)], "\(round)")
    }
  }

  @Test(
    "A store that is open elsewhere is saved into while a migration waits for it, and is migrated then"
  )
  func savedMeanwhile() throws {
    let key = try fill()
    let other = try PersistentStore.open(url: url, model: Self.model(1))
    let opened = inotify_init1(0)
    defer { close(opened) }
    // The migration opens it at each try.
    try #require(
      inotify_add_watch(opened, url.path + "-driftless-lock", UInt32(IN_OPEN)) >= 0)
    let saved = Mutex<Result<ObjectKey, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread {
      var event = [UInt8](repeating: 0, count: 4096)
      _ = read(opened, &event, event.count)
      let result = Result { try other.insert("Good", ["price": .double(5)]) }
      saved.withLock { $0 = result }
      other.close()
      done.signal()
    }.start()
    try PersistentStore.migrate(at: url, to: Self.model(2), mapping: Self.mapping())
    done.wait()
    let second = try #require(try saved.withLock { try $0?.get() })
    let store = try PersistentStore.open(url: url, model: Self.model(2))
    #expect(try store.values(key)?["price"] == .double(300))
    #expect(try store.values(second)?["price"] == .double(500))
  }

  private final class Holder: Sendable {
    private let lock: Mutex<SyncLock?>
    init(_ lock: SyncLock) { self.lock = Mutex(lock) }
    func letGo() { lock.withLock { $0 = nil } }
  }

  @Test("Who waits for one that syncs or migrates gets the store when that is done")
  func waits() throws {
    let key = try fill()
    let path = url.path + "-driftless-sync"
    let holder = Holder(try SyncLock(path: path))
    // Who waits opens the lock's file at each try.
    let opened = inotify_init1(0)
    defer { close(opened) }
    try #require(inotify_add_watch(opened, path, UInt32(IN_OPEN)) >= 0)
    Thread {
      var event = [UInt8](repeating: 0, count: 4096)
      if read(opened, &event, event.count) > 0 { holder.letGo() }
    }.start()
    try PersistentStore.migrate(at: url, to: Self.model(2))
    #expect(try PersistentStore.open(url: url, model: Self.model(2)).values(key) != nil)
  }

  @Test("Who waits in vain hears who holds the store, within the time that it gave")
  func waitsInVain() throws {
    _ = try fill()
    let lock = try SyncLock(path: url.path + "-driftless-sync")
    var options = StoreOptions(busyTimeoutMilliseconds: 50)
    options.migratesAutomatically = true
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.open(url: url, model: Self.model(2), options: options)
    }
    #expect(error?.code == .syncLocked && error?.message.contains("\(getpid())") == true)
    withExtendedLifetime(lock) {}
  }

  @Test("A mapping for other versions of its entities is refused, of a store and of a file")
  func otherVersions() throws {
    let key = try fill()
    var mapping = try Self.mapping()
    mapping.entityMappings[0].sourceEntityVersionHash =
      try Self.model(2).entityVersionHashesByName["Good"]
    mapping.entityMappings[0].destinationEntityVersionHash =
      try Self.model(3).entityVersionHashesByName["Good"]
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.migrate(at: url, to: Self.model(3), mapping: mapping)
    }
    #expect(error?.code == .cannotMigrate && error?.message.contains("Good") == true)
    let target = directory.file("new.sqlite")
    let manager = MigrationManager(
      sourceModel: try Self.model(2), destinationModel: try Self.model(3))
    #expect(throws: StoreError.self) {
      try manager.migrateStore(from: url, mapping: mapping, to: target)
    }
    #expect(!FileManager.default.fileExists(atPath: target.path))
    #expect(try PersistentStore.open(url: url).values(key)?["price"] == .double(3))
    try PersistentStore.migrate(at: url, to: Self.model(2))
    try PersistentStore.migrate(at: url, to: Self.model(3), mapping: mapping)
    #expect(
      try PersistentStore.open(url: url, model: Self.model(3)).values(key)?["price"] == .double(300)
    )
  }
}
