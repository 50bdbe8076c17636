import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Stores that are saved as others, or whose file was moved, under contexts that go on.
struct SavingAsTests {
  private let directory: TemporaryDirectory
  private let coordinator: PersistentStoreCoordinator
  private let context: ManagedObjectContext
  private let large = Data(repeating: 7, count: StoreTuning.externalBytes + 1)

  init() throws {
    directory = try TemporaryDirectory()
    let photo = EntityDescription("Photo")
    let image = AttributeDescription("image", .binaryData)
    image.allowsExternalBinaryDataStorage = true
    photo.properties = [
      AttributeDescription("name", .string), image,
      RelationshipDescription("album", to: "Album", inverse: "photos"),
    ]
    let album = EntityDescription("Album")
    album.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("photos", to: "Photo", inverse: "album", toMany: true),
    ]
    coordinator = PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel(entities: [photo, album]))
    context = ManagedObjectContext(coordinator)
  }

  private func photo(_ name: String) throws -> ManagedObject {
    let photo = try context.insert(entityNamed: "Photo")
    photo["name"] = name
    photo["image"] = large
    return photo
  }

  private func names(_ store: PersistentStore) throws -> [SQLiteValue] {
    try store.read {
      try $0.connection.rows("SELECT ZNAME FROM ZPHOTO ORDER BY Z_PK").map { $0[0] }
    }
  }

  @Test(
    "Saved as another, a store has all that it had, and contexts go on in it with what is unsaved",
    arguments: [("file", "file"), ("file", "memory"), ("memory", "file"), ("memory", "memory")])
  func ways(from: String, to: String) throws {
    func url(_ place: String, _ name: String) -> URL? {
      place == "file" ? directory.file(name) : nil
    }
    let old = try coordinator.addPersistentStore(at: url(from, "old.sqlite"))
    try old.setMetadata("kept", forKey: "AppKey")
    let kept = try photo("kept")
    try context.save()
    let album = try context.insert(entityNamed: "Album")
    kept["album"] = album
    let unsaved = try photo("unsaved")
    let other = ManagedObjectContext(coordinator)
    let (id, uri) = (kept.objectID, kept.objectID.uriRepresentation())
    let identity = try kept.identity
    let minted = try old.read { try $0.mintPrefix() }

    let new = try coordinator.migratePersistentStore(old, to: url(to, "new.db"))
    #expect(coordinator.persistentStores.count == 1 && coordinator.persistentStores[0] === new)
    #expect(new.identifier == old.identifier && new.url == url(to, "new.db"))
    #expect(new.metadata.values["AppKey"] as? String == "kept")
    #expect(try new.read { try $0.mintPrefix() } != minted, "it gives identities of its own")
    #expect(coordinator.managedObjectID(forURIRepresentation: uri) == id)
    let same = try other.existingObject(with: id)
    #expect(same["image"] as? Data == large)
    #expect(try same.identity == identity)

    unsaved["name"] = "saved"
    try context.save()
    #expect(try names(new) == [.text("kept"), .text("saved")])
    #expect(kept["album"] as? ManagedObject === album)
    #expect(try new.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?)).count == 2)
    #expect(try new.check().findings == [])
    let columns = try new.read {
      try $0.connection.rows("SELECT DISTINCT substr(ZIMAGE, 1, 1) FROM ZPHOTO")
    }
    #expect(columns == [[.blob(Data([to == "file" ? 2 : 1]))]], "where large values lie")

    #expect { _ = try names(old) } throws: { ($0 as? StoreError)?.code == .cannotOpen }
    #expect { try coordinator.migratePersistentStore(old, to: nil) } throws: {
      ($0 as? ObjectError)?.code == .noStore
    }
    if let former = old.url {
      let left = try PersistentStore.open(url: former, options: .inspecting(former))
      #expect(try names(left) == [.text("kept")], "the old file stays as it was")
      #expect(try left.check().findings == [])
    }
  }

  @Test("What cannot be saved as another leaves coordinator, store and folder as they were")
  func refused() throws {
    let old = try coordinator.addPersistentStore(at: directory.file("old.sqlite"))
    _ = try photo("a")
    try context.save()
    let taken = directory.file("taken.sqlite")
    try Data("here".utf8).write(to: taken)
    // Their large values would lie in one folder.
    for (url, code) in [
      (taken, StoreError.Code.invalidArgument), (directory.file("old.db"), .invalidArgument),
      (directory.file("none/new.sqlite"), .cannotOpen),
    ] {
      #expect { try coordinator.migratePersistentStore(old, to: url) } throws: {
        ($0 as? StoreError)?.code == code
      }
      #expect(coordinator.persistentStores[0] === old)
    }
    _ = try photo("b")
    try context.save()
    #expect(try names(old).count == 2)
    #expect(try Data(contentsOf: taken) == Data("here".utf8))
    let folder = ExternalDataFolder(store: directory.file("old.sqlite").path)
    folder.remove(folder.names.prefix(1))
    #expect { try coordinator.migratePersistentStore(old, to: nil) } throws: {
      ($0 as? StoreError)?.code == .lostFile
    }
    let entries = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
    #expect(!entries.contains { $0.hasPrefix("new") || $0.contains("partial") })
  }

  @Test("A container goes on with the store that took the place of its own")
  func container() throws {
    let container = PersistentContainer(
      name: "photos", model: coordinator.managedObjectModel, storeURL: directory.file("old.sqlite"))
    try container.loadPersistentStores()
    let own = container.persistentStoreCoordinator
    let new = try own.migratePersistentStore(
      own.persistentStores[0], to: directory.file("new.sqlite"))
    try container.loadPersistentStores()
    #expect(own.persistentStores.count == 1 && own.persistentStores[0] === new)
  }

  @Test("Saves of other threads end in the old store or in the new one; none is lost")
  func concurrent() async throws {
    let coordinator = coordinator
    let old = try coordinator.addPersistentStore(at: directory.file("old.sqlite"))
    let saved = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<2 {
        group.addTask {
          let context = ManagedObjectContext(coordinator)
          var saved = 0
          for _ in 0..<40 {
            do {
              try context.insert(entityNamed: "Album")["name"] = "x"
              try context.save()
              saved += 1
            } catch {
              // It met the store in the moment of its closing: the save can be made again.
              if (error as? StoreError)?.code == .cannotOpen, (try? context.save()) != nil {
                saved += 1
              }
            }
          }
          return saved
        }
      }
      let new = directory.file("new.sqlite")
      group.addTask {
        _ = try? coordinator.migratePersistentStore(old, to: new)
        return 0
      }
      return await group.reduce(0, +)
    }
    #expect(saved == 80)
    let new = try #require(coordinator.persistentStores.first)
    #expect(new.url == directory.file("new.sqlite"))
    #expect(
      try new.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZALBUM") } == .integer(80))
    #expect(try new.check().findings == [])
  }

  @Test("A store whose file was moved goes on where it is; another store there is refused")
  func moved() throws {
    let url = directory.file("old.sqlite")
    let old = try coordinator.addPersistentStore(at: url)
    let kept = try photo("kept")
    try context.save()
    let manager = FileManager.default
    let elsewhere = directory.file("elsewhere")
    try manager.createDirectory(at: elsewhere, withIntermediateDirectories: true)
    let place = elsewhere.appendingPathComponent("old.sqlite")
    #expect { try coordinator.setURL(place, for: old) } throws: {
      ($0 as? StoreError)?.code == .cannotOpen
    }
    let stranger = try PersistentStore.open(
      url: directory.file("stranger.sqlite"), model: Shop.model())
    #expect { try coordinator.setURL(directory.file("stranger.sqlite"), for: old) } throws: {
      ($0 as? StoreError)?.code == .invalidArgument
    }
    #expect(coordinator.persistentStores[0] === old && stranger.identifier != old.identifier)
    kept["name"] = "changed"
    // The log stays behind; what is in it is brought home.
    try manager.moveItem(at: url, to: place)
    try manager.moveItem(
      at: ExternalDataFolder(store: url.path).url.deletingLastPathComponent(),
      to: ExternalDataFolder(store: place.path).url.deletingLastPathComponent())
    let new = try coordinator.setURL(place, for: old)
    #expect(coordinator.url(for: new) == place && coordinator.persistentStore(for: place) === new)
    #expect(kept["image"] as? Data == large)
    try context.save()
    #expect(try names(new) == [.text("changed")])
    #expect(try new.check().findings == [])
    let memory = PersistentStoreCoordinator(managedObjectModel: coordinator.managedObjectModel)
    let store = try memory.addPersistentStore(at: nil)
    #expect { try memory.setURL(place, for: store) } throws: {
      ($0 as? StoreError)?.code == .invalidArgument
    }
  }
}
