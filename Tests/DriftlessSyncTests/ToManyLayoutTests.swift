import Driftless
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

  @Test("A store that keeps them in a column is not enrolled, and the refusal names one")
  func columns() async throws {
    let zone = MemoryZone(name: "papers", clock: ManualClock())
    let directory = try TemporaryDirectory()
    var options = StoreOptions()
    options.holdsToManyInColumns = true
    let store = try PersistentStore.open(
      url: directory.file("columns.sqlite"), model: Self.model(), options: options)
    let info = try await zone.zoneInfo()
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.enroll(store: store, server: MemoryZone.url, zone: zone.name, info: info)
    }
    #expect(error?.code == .unsuitableLayout && error?.message.contains("Folder.papers") == true)
  }
}
