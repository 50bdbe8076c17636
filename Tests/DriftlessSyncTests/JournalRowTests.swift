import Driftless
import DriftlessSQLite
import DriftlessSync
import Foundation
import Testing

/// What the journal keeps of an object that a delete took.
struct JournalRowTests {
  private func photo() -> ManagedObjectModel {
    let photo = EntityDescription("Photo")
    photo.properties = [
      AttributeDescription("name", .string), AttributeDescription("place", .string),
      AttributeDescription("size", .integer64), AttributeDescription("image", .binaryData),
    ]
    return ManagedObjectModel(entities: [photo])
  }

  @Test("An object that went with several edits is kept once, and comes back by each of them")
  func once() async throws {
    let fleet = try await Fleet(2, photo())
    let image = Data(repeating: 7, count: 300_000)
    // More than an import holds in memory.
    let photos = try (0..<20).map {
      try fleet[0].insert("Photo", ["name": .string("\($0)"), "image": .data(image)])
    }
    try await fleet.world.syncAll()
    for photo in photos {
      try fleet[1].set(
        photo, ["name": .string("edited"), "place": .string("quay"), "size": .integer(3)])
      try fleet[0].delete(photo)
    }
    try await fleet[0].sync()
    try await fleet[1].sync()
    let entries = try fleet[1].conflicts
    #expect(entries.count == 60)
    #expect(entries.allSatisfy { $0.transaction > 0 })
    let kept = try fleet[1].store.read {
      try $0.connection.rows("SELECT count(row), sum(length(row)) FROM ZDL_JOURNAL")
    }
    #expect(kept[0][0] == .integer(20))
    guard case .integer(let bytes) = kept[0][1] else { throw CancellationError() }
    #expect(bytes < 20 * 301_000)

    for (photo, property) in zip(photos, ["name", "place", "size"]) {
      let entry = try #require(
        entries.first { $0.object == photo && $0.property == property })
      try SyncEngine.undo(conflict: entry.number, of: fleet[1].store)
      #expect(try fleet[1].value(photo, "image") == .data(image))
    }
    #expect(try fleet[1].value(photos[1], "place") == .string("quay"))
    #expect(try fleet[1].value(photos[2], "size") == .integer(3))
    try await fleet.world.syncAll()
    try await fleet.world.syncAll()
    #expect(try fleet[0].value(photos[2], "size") == .integer(3))
    #expect(try fleet[0].export == fleet[1].export)
  }

}
