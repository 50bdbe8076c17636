import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Derived attributes of replicas.
struct DerivedSyncTests {
  private func model() throws -> ManagedObjectModel {
    func derived(_ name: String, _ type: AttributeType, _ format: String) -> AttributeDescription {
      let attribute = DerivedAttributeDescription()
      (attribute.name, attribute.type, attribute.derivationExpressionFormat) = (name, type, format)
      return attribute
    }
    let folder = EntityDescription("Folder")
    folder.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("notes", to: "Note", inverse: "folder", toMany: true),
      derived("count", .integer64, "notes.@count"), derived("written", .date, "now()"),
    ]
    let note = EntityDescription("Note")
    note.properties = [
      AttributeDescription("text", .string),
      RelationshipDescription("folder", to: "Folder", inverse: "notes"),
      derived("folderName", .string, "folder.name"),
    ]
    let model = ManagedObjectModel(entities: [folder, note])
    try model.freeze()
    return model
  }

  @Test(
    "Each replica derives its own values: they are right everywhere, and nothing of them is sent")
  func converges() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let one = try await TestReplica("one", zone: zone, clock: clock, model: try model())
    let other = try await TestReplica("other", zone: zone, clock: clock, model: try model())
    let folder = try one.insert("Folder", ["name": .string("a")])
    try await one.sync()
    try await other.sync()
    for replica in [one, other] {
      try replica.save { context in
        let object = try #require(try context.object(withIdentity: folder))
        for _ in 0..<3 { try context.insert(entityNamed: "Note")["folder"] = object }
      }
    }
    for _ in 0..<3 {
      try await one.sync()
      try await other.sync()
    }
    try one.set(folder, ["name": .string("b"), "count": .integer(99)])
    for _ in 0..<3 {
      try await one.sync()
      try await other.sync()
    }
    for replica in [one, other] {
      #expect(try replica.value(folder, "count") == .integer(6))
      let names = try replica.store.read {
        try $0.connection.rows("SELECT DISTINCT ZFOLDERNAME FROM ZNOTE")
      }
      #expect(names == [[.text("b")]])
      #expect(try replica.status.pending.objects == 0)
    }
    #expect(try one.export == other.export)
    #expect(try !one.export.contains("count") && !one.export.contains("written"))
  }
}
