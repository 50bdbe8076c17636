import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// What a store has set aside when its zone is replaced on purpose: it stays kept, comes back by a person's word alone, and
/// nobody makes an edit of what stood in for it.
struct ReplacedParkingTests {
  private let directory: TemporaryDirectory
  private let clock = ManualClock()
  private let zone: MemoryZone

  init() throws {
    directory = try TemporaryDirectory()
    zone = MemoryZone(clock: clock)
  }

  private func replica(
    _ name: String, newer: Bool, enrolled: Bool = true
  ) async throws -> TestReplica {
    try await TestReplica(
      name, zone: zone, clock: clock, model: shopModel(withNewerParts: newer), enrolled: enrolled,
      file: directory.file("\(name).sqlite"))
  }

  /// Takes lines of an export in again, as a person does.
  private func importItems(_ file: String, into replica: TestReplica) throws {
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    for line in lines {
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      let id = try #require(UUID(uuidString: object["id"] as? String ?? ""))
      var values: [String: PropertyValue] = [:]
      for case (let name, let text as String) in object["set"] as? [String: Any] ?? [:] {
        values[name] = .string(text)
      }
      _ = try replica.insertOrRemake(object["entity"] as? String ?? "", values, identity: id)
    }
  }

  @Test("S2 What a model did not know stays kept, and comes back once a person says so")
  func unknownNames() async throws {
    let newer = try await replica("newer", newer: true)
    let older = try await replica("older", newer: false)
    let item = try newer.insert("Item", ["title": .string("a"), "colour": .string("red")])
    let offer = try newer.insert("Offer", ["percent": .integer(20)])
    try await newer.sync()
    try await older.sync()
    #expect(try SyncEngine.parked(of: older.store).flatMap(\.names) == ["Item.colour", "Offer"])

    zone.renew(intent: .replace)
    let done = try #require(try await older.sync().reconciliations.first)
    #expect(done.kind == .taken)
    let parked = try SyncEngine.parked(of: older.store)
    #expect(parked.flatMap(\.names) == ["Item.colour", "Offer"])
    #expect(parked.allSatisfy { $0.reason.contains("syncctl parked retry") }, "\(parked)")
    #expect(try older.status.parked == parked.count)
    #expect(try SyncEngine.check(older.store).findings == [])
    // With the model of then, an import says nothing of what that does not know.
    try importItems(try #require(done.export), into: older)
    try await older.sync()
    await older.engine.close()
    older.store.close()

    // With the model that knows it nothing comes back by itself.
    let migrated = try await replica("older", newer: true, enrolled: false)
    for _ in 0..<2 { try await migrated.sync() }
    #expect(try migrated.identities(of: "Offer").isEmpty && migrated.value(item, "colour") == .null)
    #expect(try SyncEngine.parked(of: migrated.store).count == parked.count)

    try SyncEngine.retryParked(of: migrated.store)
    for _ in 0..<3 { try await migrated.sync() }
    #expect(try SyncEngine.parked(of: migrated.store).isEmpty)
    try await newer.sync()
    for replica in [migrated, newer] {
      #expect(try replica.value(item, "title") == .string("a"), "\(replica.name)")
      #expect(try replica.value(offer, "percent") == .integer(20), "\(replica.name)")
    }
  }

  @Test("What was given up of a zone that goes on comes again with its log, and is there once")
  func givenUp() async throws {
    let newer = try await replica("newer", newer: true)
    let older = try await replica("older", newer: false)
    try newer.insert("Offer", ["percent": .integer(20)])
    try await newer.sync()
    try await older.sync()
    _ = try await older.engine.giveUpUnsent()
    #expect(try SyncEngine.parked(of: older.store).flatMap(\.names) == ["Offer"])
    #expect(try SyncEngine.check(older.store).findings == [])
  }

  @Test(
    "A sealed value that did not open is in the journal as it came, and no default in its place")
  func sealed() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    let id = try world[0].insert(
      "Item", ["title": .string("needle"), "stock": .integer(7), "note": .string("n")])
    try await world[0].sync()
    let keyless = try await world.add(nil)
    try await keyless.sync()
    world.zone.renew(intent: .replace)
    try await keyless.sync()
    #expect(try !keyless.exists(id))
    let entries = try keyless.conflicts
    #expect(Set(entries.compactMap(\.property)) == ["title", "stock", "note"])
    #expect(entries.allSatisfy { $0.local == "\"sealed\"" })
    let entry = try #require(entries.first { $0.property == "title" })
    // With the key each says what it was, also in a list.
    let opened = try SyncEngine.conflicts(of: keyless.store, keys: ring)
    #expect(opened.first { $0.property == "stock" }?.local == "7")
    #expect(opened.first { $0.property == "title" }?.local == "\"needle\"")
    // Nothing is made of what stood in for the others.
    let refusal = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: entry.number, of: keyless.store)
    }
    #expect(refusal?.code == .cannotUndo)
    try SyncEngine.undo(conflict: entry.number, of: keyless.store, keys: ring)
    #expect(try keyless.value(id, "title") == .string("needle"))
    #expect(try keyless.value(id, "stock") == .integer(7))
    #expect(try keyless.value(id, "note") == .string("n"))
  }

  @Test("A value beyond the model is kept, and is not put back where it would not be held")
  func beyondTheModel() async throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      let thing = EntityDescription("Thing")
      thing.properties = [
        AttributeDescription("size", type), AttributeDescription("name", .string),
      ]
      return ManagedObjectModel(entities: [thing])
    }
    let wide = try await TestReplica("wide", zone: zone, clock: clock, model: model(.integer64))
    let narrow = try await TestReplica(
      "narrow", zone: zone, clock: clock, model: model(.integer16))
    let id = try wide.insert("Thing", ["size": .integer(100_000), "name": .string("n")])
    try await wide.sync()
    try await narrow.sync()
    try narrow.set(id, ["name": .string("edited")])
    zone.renew(intent: .replace)
    try await narrow.sync()
    let entries = try narrow.conflicts
    let size = try #require(entries.first { $0.property == "size" })
    let name = try #require(entries.first { $0.property == "name" })
    #expect(size.local == "100000")
    for entry in [size, name] {
      let refusal = #expect(throws: SyncError.self) {
        try SyncEngine.undo(conflict: entry.number, of: narrow.store)
      }
      #expect(refusal?.code == .cannotUndo && refusal?.message.contains("size") == true)
    }
    try SyncEngine.undo(conflict: name.number, of: narrow.store, withoutLost: true)
    #expect(try narrow.value(id, "name") == .string("edited"))
    #expect(try narrow.value(id, "size") == .null)
  }
}
