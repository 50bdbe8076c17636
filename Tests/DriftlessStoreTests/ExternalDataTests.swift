import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Large values in files beside the store.
struct ExternalDataTests {
  private static let large = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
  private static let small = Data([1, 2, 3])

  private func model() throws -> ManagedObjectModel {
    let photo = EntityDescription("Photo")
    let image = AttributeDescription("image", .binaryData)
    image.allowsExternalBinaryDataStorage = true
    image.preservesValueInHistoryOnDeletion = true
    photo.properties = [AttributeDescription("name", .string), image]
    return ManagedObjectModel(entities: [photo])
  }

  private func open(_ url: URL?) throws -> PersistentStore {
    try PersistentStore.open(url: url, model: model())
  }

  private func files(_ url: URL) -> [String] { ExternalDataFolder(store: url.path).names }

  /// Moves the log home, after which files that nobody needs go.
  private func settle(_ store: PersistentStore) { store.checkpointNow() }

  @Test("Each value goes where its size says, and comes back the same")
  func values() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    let store = try open(url)
    var keys: [ObjectKey: PropertyValue] = [:]
    for value in [.null, .data(Data()), .data(Self.small), .data(Self.large), .data(Data([2]))]
      as [PropertyValue]
    {
      keys[try store.insert("Photo", ["image": value])] = value
    }
    for (key, value) in keys { #expect(try store.values(key)?["image"] == value) }
    let photo = try #require(store.model.entitiesByName["Photo"])
    let query = try QueryCompiler(schema: store.schema).compile(
      entity: photo, predicate: FetchPredicate(format: "image == %@", Self.large))
    #expect(try store.read { try $0.keys(of: query).map { keys[$0] } } == [.data(Self.large)])
    #expect(files(url).count == 1)
    #expect(
      FileManager.default.fileExists(
        atPath: directory.file(".album_SUPPORT/_EXTERNAL_DATA/\(files(url)[0])").path))
    #expect(try store.check().isSound)
    let memory = try open(nil)
    let key = try memory.insert("Photo", ["image": .data(Self.large)])
    #expect(try memory.values(key)?["image"] == .data(Self.large))
  }

  @Test("A large value takes memory when it is looked at, and stays what it was when its file goes")
  func mapped() async throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    let store = try open(url)
    let key = try store.insert("Photo", ["name": .string("a"), "image": .data(Self.large)])
    let name = try #require(files(url).first)
    func isMapped() throws -> Bool {
      // It is read piece by piece, and what others map meanwhile moves lines from one piece to another.
      try (0..<20).contains { _ in
        try #require(SystemFile.text("/proc/self/maps")).contains(name)
      }
    }
    #expect(try !isMapped())
    // Who changes the bytes in place changes his own.
    do {
      var image = Data()
      if case .data(let read)? = try store.values(key)?["image"] { image = read }
      image[0] ^= 1
      image.removeLast()
      image.append(contentsOf: [1, 2, 3])
      #expect(try image != Self.large && store.values(key)?["image"] == .data(Self.large))
    }
    #expect(try !isMapped())
    try await MainActor.run {
      let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
      do {
        let photos = try context.fetch(FetchRequest<ManagedObject>(entityName: "Photo"))
        #expect(try isMapped())
        ExternalDataFolder(store: url.path).remove([name])
        #expect(photos.first?["image"] as? Data == Self.large)
      }
      context.reset()
    }
    #expect(try !isMapped())
  }

  @Test("Two backups whose names differ in the extension alone leave each other their files")
  func backupsBeside() throws {
    let directory = try TemporaryDirectory()
    let store = try open(directory.file("album.sqlite"))
    let key = try store.insert("Photo", ["image": .data(Self.large)])
    let (first, second) = (directory.file("daily.1"), directory.file("daily.2"))
    try store.backup(to: first)
    try store.backup(to: second)
    let changed = try open(second)
    try changed.update(key, "image", .null)
    changed.checkpointNow()
    changed.close()
    let kept = try open(first)
    #expect(try kept.values(key)?["image"] == .data(Self.large))
    #expect(try kept.check().isSound)
  }

  @Test("L1 Two stores whose names differ in the extension alone leave each other their files")
  func sharedFolder() throws {
    let directory = try TemporaryDirectory()
    let (one, other) = (directory.file("shop.sqlite"), directory.file("shop.cache"))
    var keys: [ObjectKey] = []
    for url in [one, other] {
      let store = try open(url)
      keys.append(try store.insert("Photo", ["image": .data(Self.large)]))
      try store.vacuum()
      store.close()
    }
    #expect(files(one).count == 2)
    for _ in 0..<2 {
      for url in [one, other] {
        let store = try open(url)
        try store.insert("Photo", ["name": .string("n")])
        try store.vacuum()
        #expect(try store.values(keys[0])?["image"] == .data(Self.large))
        #expect(try store.check().isSound)
        store.close()
      }
    }
    try PersistentStore.destroy(at: other)
    #expect(try open(one).values(keys[0])?["image"] == .data(Self.large))
    // Alone again, a store sweeps up what it wrote itself and no row names, and nothing else.
    for suffix in ["", "-driftless-lock", "-driftless-sync"] {
      try? FileManager.default.removeItem(atPath: other.path + suffix)
    }
    try open(one).vacuum()
    #expect(files(one).count == 2)
  }

  @Test("A value that shrinks or goes takes its file along, once nobody can see it")
  func cleaning() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    let store = try open(url)
    let key = try store.insert("Photo", ["image": .data(Self.large)])
    let other = try store.insert("Photo", ["image": .data(Self.large)])
    try store.read { transaction throws in
      #expect(try transaction.row(key)?.values.contains(.data(Self.large)) == true)
      try store.update(key, "image", .data(Self.small))
      settle(store)
      #expect(try transaction.row(key)?.values.contains(.data(Self.large)) == true)
    }
    try store.update(other, "name", .string("untouched"))
    settle(store)
    #expect(files(url).count == 1)
    _ = try store.write(TransactionInfo()) { try $0.delete(other, expectedVersion: nil) }
    settle(store)
    #expect(files(url).isEmpty)
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    #expect(history.last?.changes?.first?.tombstone == ["image": .data(Self.large)])
  }

  @Test("A write that fails leaves no file, and lets go of none")
  func rollback() throws {
    struct Stop: Error {}
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    let store = try open(url)
    let key = try store.insert("Photo", ["image": .data(Self.large)])
    let before = files(url)
    let photo = try #require(store.model.entitiesByName["Photo"])
    let slot = try #require(photo.layout.index(named: "image"))
    #expect(throws: Stop.self) {
      _ = try store.write(TransactionInfo()) { transaction in
        var values = [PropertyValue](repeating: .null, count: photo.layout.slots.count)
        values[slot] = .data(Self.large + Self.small)
        try transaction.update(key, PropertyMask([slot]), values: values, expectedVersion: nil)
        #expect(files(url).count == 2)
        throw Stop()
      }
    }
    settle(store)
    #expect(files(url) == before)
    #expect(try store.values(key)?["image"] == .data(Self.large))
  }

  @Test("Backup, replacing and destroying carry the files along")
  func care() throws {
    let directory = try TemporaryDirectory()
    let (url, copy) = (directory.file("album.sqlite"), directory.file("copy.sqlite"))
    let store = try open(url)
    let key = try store.insert("Photo", ["image": .data(Self.large)])
    try store.backup(to: copy)
    try store.update(key, "image", .null)
    settle(store)
    #expect(files(url).isEmpty)
    let second = try open(copy)
    #expect(try second.values(key)?["image"] == .data(Self.large))
    second.close()
    try PersistentStore.replace(at: url, withStoreAt: copy)
    #expect(try store.values(key)?["image"] == .data(Self.large))
    store.close()
    try PersistentStore.destroy(at: copy)
    #expect(!FileManager.default.fileExists(atPath: directory.file(".copy_SUPPORT").path))
    #expect(try open(url).values(key)?["image"] == .data(Self.large))
  }

  @Test("A copy that is put back while the store is open has its large values after a checkpoint")
  func putBack() throws {
    let directory = try TemporaryDirectory()
    let (url, copy) = (directory.file("album.sqlite"), directory.file("copy.sqlite"))
    let store = try open(url)
    let key = try store.insert("Photo", ["image": .data(Self.large)])
    try store.backup(to: copy)
    try store.update(key, "image", .data(Self.large + Self.small))
    try PersistentStore.replace(at: url, withStoreAt: copy)
    try store.insert("Photo", ["name": .string("later")])
    settle(store)
    #expect(try store.values(key)?["image"] == .data(Self.large))
  }

  @Test("What a migration left for later keeps its files until it goes")
  func leftForLater() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    var store = try open(url)
    try store.insert("Photo", ["image": .data(Self.large)])
    store.close()
    let photo = EntityDescription("Photo")
    photo.properties = [AttributeDescription("name", .string)]
    var options = StoreOptions(migratesAutomatically: true)
    options.defersMigrationCleanup = true
    store = try PersistentStore.open(
      url: url, model: ManagedObjectModel(entities: [photo]), options: options)
    try store.vacuum()
    #expect(files(url).count == 1)
    try PersistentStoreCoordinator(store: store).finishDeferredLightweightMigration()
    #expect(files(url).isEmpty)
  }

  @Test("Files that no row names are swept, and a file that is gone is reported")
  func sweeping() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    let store = try open(url)
    try store.insert("Photo", ["image": .data(Self.large)])
    let folder = ExternalDataFolder(store: url.path)
    let prefix = try #require(try store.read { try StoreSettings.mintPrefix(on: $0.connection) })
    let orphan = try folder.write(Self.small, prefix: prefix)
    try store.vacuum()
    #expect(!files(url).contains(orphan))
    #expect(files(url).count == 1)
    folder.remove(folder.names)
    #expect(try store.check().findings.map(\.weight) == [.damage])
  }

  @Test("A backup does not take what a broken-off one left for a value")
  func halfCopied() throws {
    let directory = try TemporaryDirectory()
    let (url, copy) = (directory.file("album.sqlite"), directory.file("copy.sqlite"))
    let store = try open(url)
    let key = try store.insert("Photo", ["image": .data(Self.large)])
    let folder = ExternalDataFolder(store: copy.path)
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    try Data(Self.large.prefix(1000)).write(to: folder.file(try #require(files(url).first)))
    try store.backup(to: copy)
    #expect(try open(copy).values(key)?["image"] == .data(Self.large))
  }

  @Test("A backup that fails leaves no large values behind")
  func failedCopy() throws {
    struct Enough: Error {}
    let directory = try TemporaryDirectory()
    let (url, copy) = (directory.file("album.sqlite"), directory.file("copy.sqlite"))
    let store = try open(url)
    _ = try store.insert("Photo", ["image": .data(Self.large)])
    #expect(throws: Enough.self) {
      try store.backup(to: copy) { _ in throw Enough() }
    }
    #expect(files(copy).isEmpty && !FileManager.default.fileExists(atPath: copy.path))
    try store.backup(to: copy)
    #expect(files(copy).count == 1)
  }
}
