import DriftlessSQLite
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Driftless

/// Large values whose files beside the store are gone, and files that are another store's.
struct LostFileTests {
  private static let large = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

  private func model() -> ManagedObjectModel {
    let photo = EntityDescription("Photo")
    let image = AttributeDescription("image", .binaryData)
    image.allowsExternalBinaryDataStorage = true
    let scan = AttributeDescription("scan", .binaryData)
    scan.allowsExternalBinaryDataStorage = true
    scan.isOptional = false
    scan.defaultValue = .data(Data())
    photo.properties = [AttributeDescription("name", .string), image, scan]
    return ManagedObjectModel(entities: [photo])
  }

  private func open(_ url: URL) throws -> PersistentStore {
    try PersistentStore.open(url: url, model: model())
  }

  private func files(_ url: URL) -> [String] { ExternalDataFolder(store: url.path).names }

  /// Three photos, of which the second has lost what it has in files.
  private func damaged(_ url: URL) throws -> (PersistentStore, [ObjectKey]) {
    let store = try open(url)
    let keys = try ["a", "b", "c"].map {
      try store.insert(
        "Photo",
        ["name": .string($0), "image": .data(Self.large), "scan": .data(Self.large)])
    }
    let folder = ExternalDataFolder(store: url.path)
    let before = Set(folder.names)
    try store.update(keys[1], "image", .data(Self.large + Data([1])))
    try store.update(keys[1], "scan", .data(Self.large + Data([2])))
    for name in Set(folder.names).subtracting(before) { folder.remove([name]) }
    return (store, keys)
  }

  @Test("What the store works out of an object shows also where a large value of it is lost")
  func derived() async throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    let photo = EntityDescription("Photo")
    let image = AttributeDescription("image", .binaryData)
    image.allowsExternalBinaryDataStorage = true
    let count = DerivedAttributeDescription()
    (count.name, count.type, count.derivationExpressionFormat) = (
      "count", .integer64, "comments.@count"
    )
    photo.properties = [
      AttributeDescription("name", .string), image, count,
      RelationshipDescription("comments", to: "Comment", inverse: "photo", toMany: true),
    ]
    let comment = EntityDescription("Comment")
    comment.properties = [RelationshipDescription("photo", to: "Photo", inverse: "comments")]
    let model = ManagedObjectModel(entities: [photo, comment])
    let store = try PersistentStore.open(url: url, model: model)
    let key = try store.insert("Photo", ["name": .string("a"), "image": .data(Self.large)])
    let folder = ExternalDataFolder(store: url.path)
    try await MainActor.run {
      let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
      let photo = try #require(
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Photo")).first)
      #expect(photo["count"] as? Int64 == 0)
      folder.remove(folder.names)
      let comment = try context.insert(entityNamed: "Comment")
      comment["photo"] = photo
      try context.save()
      #expect(photo["count"] as? Int64 == 1)
    }
    #expect(throws: StoreError.self) { try store.values(key) }
    #expect(try store.read { try $0.derivedValues(of: key) }?.contains(.integer(1)) == true)
  }

  @Test("A value whose file is gone is no null: the object says so, and all others can be read")
  func reading() async throws {
    let directory = try TemporaryDirectory()
    let (store, keys) = try damaged(directory.file("album.sqlite"))
    let error = #expect(throws: StoreError.self) { try store.values(keys[1]) }
    #expect(error?.code == .lostFile && error?.keys == [keys[1]])
    #expect(error?.message.contains("Photo.image") == true, "\(String(describing: error))")
    #expect(error?.message.contains(".album_SUPPORT") == true)
    #expect(try store.values(keys[0])?["image"] == .data(Self.large))
    try await MainActor.run {
      let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
      let photos = try context.fetch(FetchRequest<ManagedObject>(entityName: "Photo"))
      #expect(photos.count == 3)
      let names = photos.map { $0["name"] as? String }
      #expect(Set(names.compactMap { $0 }) == ["a", "c"])
      #expect(context.accessorErrors.count == 1)
      #expect("\(context.accessorErrors.map { "\($0)" })".contains("album_SUPPORT"))
      #expect(throws: (any Error).self) { try context.save() }
      context.clearAccessorErrors()
      // The others are as they were.
      photos.first { $0["name"] as? String == "a" }?["name"] = "d"
      context.clearAccessorErrors()
      try context.save()
    }
    #expect(try store.values(keys[0])?["name"] == .string("d"))
    #expect(try store.lostValues().map(\.property).sorted() == ["image", "scan"])
    #expect(try store.check().isSound == false)
  }

  @Test("The object of a lost value can be deleted, and its other properties written")
  func writing() throws {
    let directory = try TemporaryDirectory()
    let (store, keys) = try damaged(directory.file("album.sqlite"))
    try store.update(keys[1], "name", .string("e"))
    #expect(try store.lostValues().count == 2)
    _ = try store.write(TransactionInfo()) { try $0.delete(keys[1], expectedVersion: nil) }
    #expect(try store.lostValues().isEmpty)
    #expect(try store.check().isSound)
  }

  @Test(
    "A lost value is given up by word alone, and then is null, or empty where there is one to be")
  func givingUp() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    let (store, keys) = try damaged(url)
    #expect(try store.giveUpLostValues() == 2)
    let values = try #require(try store.values(keys[1]))
    #expect(values["image"] == .null && values["scan"] == .data(Data()))
    #expect(values["name"] == .string("b"))
    #expect(try store.giveUpLostValues() == 0)
    #expect(try store.check().isSound)
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    #expect(history.last?.changes?.count == 2)
  }

  @Test(
    "A copy of a store with a lost value has what there is, and says what is gone as the store does"
  )
  func backup() throws {
    let directory = try TemporaryDirectory()
    let (store, keys) = try damaged(directory.file("album.sqlite"))
    let copyURL = directory.file("copy.sqlite")
    try store.backup(to: copyURL)
    let copy = try open(copyURL)
    #expect(try copy.values(keys[2])?["scan"] == .data(Self.large))
    #expect(try copy.lostValues().count == 2)
  }

  @Test(
    "What lies in the place of a value's file and is none is not waited for or read without end: it is lost",
    arguments: ["a pipe", "a device", "a folder", "a gap"])
  func noFile(what: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    let store = try open(url)
    let key = try store.insert("Photo", ["name": .string("a"), "image": .data(Self.large)])
    let folder = ExternalDataFolder(store: url.path)
    let path = folder.file(try #require(folder.names.first)).path
    unlink(path)
    switch what {
    case "a pipe": mkfifo(path, 0o600)
    case "a device": symlink("/dev/zero", path)
    case "a folder": mkdir(path, 0o700)
    default:
      close(Glibc.open(path, O_CREAT | O_WRONLY, 0o600))
      truncate(path, 1 << 40)
    }
    let error = #expect(throws: StoreError.self) { try store.values(key) }
    #expect(error?.code == .lostFile && error?.message.contains(path) == true)
    #expect(try store.lostValues().map(\.property) == ["image"])
    #expect(try store.check().findings.contains { $0.message.contains("cannot be read") })
    let copyURL = directory.file("copy.sqlite")
    try store.backup(to: copyURL)
    #expect(try open(copyURL).lostValues().count == 1)
    #expect(try store.giveUpLostValues() == 1)
    #expect(try store.check().isSound)
  }

  @Test(
    "A store that was moved away keeps its files, whatever is opened in its place",
    arguments: ["shop.sqlite.old", "shop-old.sqlite", "elsewhere/shop.sqlite"])
  func movedAway(name: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try open(url)
    let key = try store.insert("Photo", ["image": .data(Self.large)])
    try store.backup(to: directory.file("backup.sqlite"))
    let later = try store.insert("Photo", ["image": .data(Self.large + Data([3]))])
    store.close()
    let former = directory.file(name)
    try FileManager.default.createDirectory(
      at: former.deletingLastPathComponent(), withIntermediateDirectories: true)
    try FileManager.default.moveItem(at: url, to: former)
    for suffix in StorePath.suffixes { unlink(url.path + suffix) }
    let before = Set(files(url))
    try #require(before.count == 2)
    // A new one, and then a backup, in its place; a log is left as by one that was killed.
    for isBackup in [false, true] {
      if isBackup {
        for suffix in ["", "-wal", "-shm"] + StorePath.suffixes { unlink(url.path + suffix) }
        try FileManager.default.copyItem(at: directory.file("backup.sqlite"), to: url)
      }
      for _ in 0..<2 {
        let other = try open(url)
        let own = try other.insert("Photo", ["image": .data(Self.large + Data([4]))])
        try other.vacuum()
        _ = try other.write(TransactionInfo()) { try $0.delete(own, expectedVersion: nil) }
        try other.vacuum()
        other.close()
      }
      #expect(before.isSubset(of: files(url)))
    }
    // Put back, all is there.
    for suffix in ["", "-wal", "-shm"] + StorePath.suffixes { unlink(url.path + suffix) }
    try FileManager.default.moveItem(at: former, to: url)
    let back = try open(url)
    #expect(try back.values(key)?["image"] == .data(Self.large))
    #expect(try back.values(later)?["image"] == .data(Self.large + Data([3])))
    #expect(try back.check().isSound)
  }
}
