import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// To-many relationships without inverse: a table of pairs, or a column as Core Data has it.
struct ToManyLayoutTests {
  /// Folders that hold papers, which know nothing of it.
  private static func model() -> ManagedObjectModel {
    let folder = EntityDescription("Folder")
    folder.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("papers", to: "Paper", inverse: nil, toMany: true),
    ]
    let paper = EntityDescription("Paper")
    paper.properties = [AttributeDescription("text", .string)]
    return ManagedObjectModel(entities: [folder, paper])
  }

  @Test("New objects that hold new ones come whole to others, and several may hold one")
  func pairs() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(name: "papers", clock: clock)
    let first = try await TestReplica("first", zone: zone, clock: clock, model: Self.model())
    let second = try await TestReplica("second", zone: zone, clock: clock, model: Self.model())
    try first.save { context in
      let paper = try context.insert(entityNamed: "Paper")
      for name in ["a", "b"] {
        let folder = try context.insert(entityNamed: "Folder")
        try folder.setValue(name, forKey: "name")
        try folder.setValue([paper], forKey: "papers")
      }
    }
    try await first.sync()
    try await second.sync()
    try second.save { context in
      let folders = try context.fetch(FetchRequest<ManagedObject>(entityName: "Folder"))
      #expect(folders.count == 2)
      for folder in folders {
        #expect(try folder.objectIDs(forRelationshipNamed: "papers").count == 1)
      }
    }
  }

  /// A store in columns with a folder that holds a paper.
  private static func inColumns(_ url: URL) throws -> PersistentStore {
    var options = StoreOptions()
    options.holdsToManyInColumns = true
    let store = try PersistentStore.open(url: url, model: model(), options: options)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let folder = try context.insert(entityNamed: "Folder")
    folder["name"] = "old"
    try folder.setValue([try context.insert(entityNamed: "Paper")], forKey: "papers")
    try context.save()
    return store
  }

  @Test(
    "A store that keeps them in a column is not enrolled; the refusal names one, and the way out")
  func columns() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(name: "papers", clock: clock)
    let directory = try TemporaryDirectory()
    let url = directory.file("columns.sqlite")
    let store = try Self.inColumns(url)
    let info = try await zone.zoneInfo()
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.enroll(store: store, server: MemoryZone.url, zone: zone.name, info: info)
    }
    #expect(error?.code == .unsuitableLayout && error?.message.contains("Folder.papers") == true)
    #expect(error?.suggestion.contains("syncctl migrate \(url.path) --to-many pairs") == true)
    store.close()
    try PersistentStore.migrate(at: url, to: Self.model(), toManyLayout: .pairs)
    let pairs = try PersistentStore.open(url: url)
    try SyncEngine.enroll(store: pairs, server: MemoryZone.url, zone: zone.name, info: info)
    let engine = SyncEngine(store: pairs, transport: zone)
    _ = try await engine.sync()
    let second = try await TestReplica("second", zone: zone, clock: clock, model: Self.model())
    try await second.sync()
    try second.save { context in
      let folder = try #require(
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Folder")).first)
      #expect(folder["name"] as? String == "old")
      #expect(try folder.objectIDs(forRelationshipNamed: "papers").count == 1)
    }
    await engine.close()
  }

  @Test(
    "A replica that keeps them in a column, as an earlier program left it, neither pulls nor pushes"
  )
  func enrolledInColumns() async throws {
    let zone = MemoryZone(name: "papers", clock: ManualClock())
    let directory = try TemporaryDirectory()
    let url = directory.file("replica.sqlite")
    // Enrolled in pairs, and given the other layout past all that refuses it.
    let store = try PersistentStore.open(url: url, model: Self.model())
    let info = try await zone.zoneInfo()
    try SyncEngine.enroll(store: store, server: MemoryZone.url, zone: zone.name, info: info)
    store.close()
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    try raw.execute(
      """
      DROP TABLE Z_1PAPERS; ALTER TABLE ZPAPER ADD COLUMN Z1PAPERS INTEGER;
      CREATE INDEX ZPAPER_Z1PAPERS_INDEX ON ZPAPER (Z1PAPERS)
      """)
    raw.close()
    let engine = SyncEngine(store: try PersistentStore.open(url: url), transport: zone)
    let pull = await #expect(throws: SyncError.self) { _ = try await engine.pull() }
    let push = await #expect(throws: SyncError.self) { _ = try await engine.push() }
    #expect(pull?.code == .unsuitableLayout && push?.code == .unsuitableLayout)
    let status = try SyncEngine.status(of: engine.store)
    #expect(status.lastError?.contains("--to-many pairs") == true)
    await engine.close()
  }
}
