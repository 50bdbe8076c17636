import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Edits beside a value of the zone that the model here cannot hold.
struct ParkedValueEditTests {
  private func model(_ type: AttributeType, policy: String? = nil) -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    let size = AttributeDescription("size", type)
    if let policy { size.userInfo = [ConflictPolicy.userInfoKey: policy] }
    thing.properties = [size, AttributeDescription("note", .string)]
    return ManagedObjectModel(entities: [thing])
  }

  @Test(
    "An edit that adds to a value which the model cannot hold is refused, not lost for everybody")
  func counterBeyondTheModel() async throws {
    let (wide, narrow) = try await TestReplica.pair(
      model(.integer64, policy: "counter"), model(.integer16, policy: "counter"))
    let id = try wide.insert("Thing", ["size": .integer(100_000)])
    try await wide.sync()
    try await narrow.sync()
    let refusal = try #require(throws: StoreError.self) {
      try narrow.set(id, ["size": .integer(5)])
    }
    #expect(refusal.code == .valueNotHeld)
    #expect(refusal.message.contains("Thing.size"))
    // Everything else of the object is edited as ever.
    try narrow.set(id, ["note": .string("n")])
    try await narrow.sync()
    try await wide.sync()
    #expect(try wide.value(id, "size") == .integer(100_000))
    #expect(try wide.value(id, "note") == .string("n"))
  }

  @Test("A count that was pending when the zone's went beyond the model is journaled, not cut down")
  func pendingCountBeyondTheModel() async throws {
    let (wide, narrow) = try await TestReplica.pair(
      model(.integer64, policy: "counter"), model(.integer16, policy: "counter"))
    let id = try wide.insert("Thing", ["size": .integer(10)])
    try await wide.sync()
    try await narrow.sync()
    try narrow.set(id, ["size": .integer(15)])
    try wide.set(id, ["size": .integer(100_000)])
    try await wide.sync()
    try await narrow.sync()
    try await wide.sync()
    #expect(try wide.value(id, "size") == .integer(100_000))
    #expect(try narrow.conflicts.map(\.property) == ["size"])
    #expect(try SyncEngine.parked(of: narrow.store).map(\.property) == ["size"])
    #expect(try narrow.status.pending.objects == 0)
  }

  @Test("An object that an edit brings back has the zone's value, not what stands for it here")
  func revivedWithParkedValue() async throws {
    let first = model(.integer64)
    let second = model(.integer16)
    for model in [first, second] {
      model.entitiesByName["Thing"]?.userInfo = [DeletePolicy.userInfoKey: "editWins"]
    }
    let (wide, narrow) = try await TestReplica.pair(first, second)
    let id = try wide.insert("Thing", ["size": .integer(100_000)])
    try await wide.sync()
    try await narrow.sync()
    try narrow.set(id, ["note": .string("kept")])
    try wide.delete(id)
    try await wide.sync()
    try await narrow.sync()
    try await wide.sync()
    #expect(try wide.value(id, "size") == .integer(100_000))
    #expect(try wide.value(id, "note") == .string("kept"))
    #expect(try SyncEngine.parked(of: narrow.store).map(\.property) == ["size"])
  }

  @Test("An edit over a parked value that a push left out is sent, and not the parked value")
  func leftOut() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let picky = PickyTransport(zone, .init(word: "poison"))
    let wide = try await TestReplica("wide", zone: zone, clock: clock, model: model(.integer64))
    let narrow = try await TestReplica(
      "narrow", zone: zone, clock: clock, model: model(.integer16), transport: picky)
    let id = try wide.insert("Thing", ["size": .integer(100_000)])
    try await wide.sync()
    try await narrow.sync()
    try narrow.set(id, ["size": .integer(5), "note": .string("poison")])
    // Something else that is taken, so that history up to here counts as told.
    try narrow.insert("Thing", ["size": .integer(1)])
    try await narrow.sync()
    #expect(try narrow.status.quarantined == 1)
    #expect(try SyncEngine.parked(of: narrow.store).isEmpty)
    picky.set(.init())
    try SyncEngine.retryQuarantined(of: narrow.store)
    try await narrow.sync()
    try await wide.sync()
    for replica in [narrow, wide] {
      #expect(try replica.value(id, "size") == .integer(5), "\(replica.name)")
      #expect(try replica.value(id, "note") == .string("poison"))
    }
  }

  @Test("A parked value goes with its object, whoever deletes it", arguments: 0..<3)
  func deletedHere(way: Int) async throws {
    let (wide, narrow) = try await TestReplica.pair(model(.integer64), model(.integer16))
    let id = try wide.insert("Thing", ["size": .integer(100_000)])
    try await wide.sync()
    try await narrow.sync()
    #expect(try narrow.status.parked == 1)
    try narrow.delete(id)
    switch way {
    case 1:
      // On both sides.
      try wide.delete(id)
      try await wide.sync()
    case 2:
      // A copy of the store sends the very delete.
      let copy = try await copy(of: narrow, model(.integer16))
      try await copy.sync()
      #expect(try SyncEngine.parked(of: copy.store).isEmpty)
    default: break
    }
    #expect(try SyncEngine.parked(of: narrow.store).count == 1, "until the delete is the zone's")
    try await narrow.sync()
    #expect(try SyncEngine.parked(of: narrow.store).isEmpty)
    #expect(try narrow.status.parked == 0)
  }

  private func copy(
    of replica: TestReplica, _ model: ManagedObjectModel
  ) async throws -> TestReplica {
    let file = replica.directory.file("copy.sqlite")
    let source = try #require(replica.store.url).path
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: source + suffix) {
      try FileManager.default.copyItem(atPath: source + suffix, toPath: file.path + suffix)
    }
    return try await TestReplica(
      "copy", zone: replica.zone, clock: replica.clock, model: model, enrolled: false, file: file)
  }

  @Test(
    "What is set aside is so since the store's clock says, and is in the journal when the zone is replaced"
  )
  func replaced() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let wide = try await TestReplica("wide", zone: zone, clock: clock, model: model(.integer64))
    let narrow = try await TestReplica("narrow", zone: zone, clock: clock, model: model(.integer16))
    let id = try wide.insert("Thing", ["size": .integer(100_000)])
    try await wide.sync()
    try await narrow.sync()
    let parked = try #require(try SyncEngine.parked(of: narrow.store).first)
    #expect(parked.since == narrow.store.now)
    zone.renew(intent: .replace)
    #expect(try await narrow.sync().reconciliations.map(\.kind) == [.taken])
    let entry = try #require(try narrow.conflicts.first)
    #expect(entry.object == id && entry.property == "size")
    #expect(entry.local == "100000")
  }
}
