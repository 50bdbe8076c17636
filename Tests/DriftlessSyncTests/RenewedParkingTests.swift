import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// What an older model does not know, when the log that had it is gone.
struct RenewedParkingTests {
  /// How the log goes.
  enum End: CaseIterable {
    case renewed
    /// The server is put back, and its log goes on as another one.
    case parted
  }

  /// A replica with the newer model, one with the older, and the file of that.
  private struct Scene {
    let clock = ManualClock()
    let zone: MemoryZone
    let newer: TestReplica
    let older: TestReplica
    let directory: TemporaryDirectory
    let newerModel: () -> ManagedObjectModel

    init(_ older: ManagedObjectModel, _ newer: @escaping () -> ManagedObjectModel) async throws {
      zone = MemoryZone(clock: clock)
      directory = try TemporaryDirectory()
      newerModel = newer
      self.newer = try await TestReplica("newer", zone: zone, clock: clock, model: newer())
      self.older = try await TestReplica(
        "older", zone: zone, clock: clock, model: older, file: directory.file("older.sqlite"))
    }

    /// The older one with the newer model.
    func migrated() async throws -> TestReplica {
      await older.engine.close()
      older.store.close()
      return try await TestReplica(
        "older", zone: zone, clock: clock, model: newerModel(), enrolled: false,
        file: directory.file("older.sqlite"))
    }

    func another(_ name: String) async throws -> TestReplica {
      try await TestReplica(name, zone: zone, clock: clock, model: newerModel())
    }
  }

  private func shops() async throws -> Scene {
    try await Scene(shopModel()) { shopModel(withNewerParts: true) }
  }

  @Test(
    "F71 What is parked of a log that is gone stays kept, and is offered once the model knows it",
    arguments: End.allCases)
  func kept(_ end: End) async throws {
    let scene = try await shops()
    let (newer, older) = (scene.newer, scene.older)
    let item = try newer.insert("Item", ["title": .string("a"), "colour": .string("red")])
    try await newer.sync()
    try await older.sync()
    let backup = scene.zone.log
    try newer.set(item, ["colour": .string("green")])
    let offer = try newer.insert("Offer", ["percent": .integer(20)])
    let painted = try newer.insert("Item", ["title": .string("b"), "colour": .string("blue")])
    try await newer.sync()
    try await older.sync()
    #expect(try SyncEngine.parked(of: older.store).count == 2)
    if end == .renewed {
      scene.zone.renew(intent: .offer)
    } else {
      scene.zone.putBack(backup)
      let third = try await scene.another("third")
      try third.insert("Item", ["title": .string("c")])
      try await third.sync()
    }
    #expect(try await older.sync().reconciliations.map(\.kind) == [.offered])
    let parked = try SyncEngine.parked(of: older.store)
    #expect(Set(parked.flatMap(\.names)) == ["Item.colour", "Offer"])
    #expect(try older.status.parked == parked.count)
    #expect(try SyncEngine.check(older.store).findings == [])
    // It goes on working, and the next sync changes nothing of that.
    try older.set(item, ["title": .string("d")])
    try await older.sync()
    #expect(try SyncEngine.parked(of: older.store) == parked)

    let migrated = try await scene.migrated()
    try await migrated.sync()
    #expect(try SyncEngine.parked(of: migrated.store).isEmpty)
    #expect(try SyncEngine.check(migrated.store).findings == [])
    let fourth = try await scene.another("fourth")
    try await fourth.sync()
    for replica in [migrated, fourth] {
      #expect(try replica.value(item, "colour") == .string("green"))
      #expect(try replica.value(item, "title") == .string("d"))
      #expect(try replica.value(painted, "colour") == .string("blue"))
      #expect(try replica.value(offer, "percent") == .integer(20))
    }
    // Who had it comes back: it is one object, and nothing is in conflict.
    try await newer.sync()
    for replica in [migrated, newer, fourth, migrated] { try await replica.sync() }
    #expect(try newer.export == migrated.export)
    #expect(try fourth.export == migrated.export)
    #expect(try migrated.status.pending.objects == 0)
    for replica in [newer, migrated] {
      #expect(try replica.conflicts.allSatisfy { $0.property == "title" })
    }
  }

  @Test("What is parked of a log that is gone outlives that its store leaves the zone")
  func outlivesLeaving() async throws {
    let scene = try await shops()
    let item = try scene.newer.insert("Item", ["title": .string("a")])
    try await scene.newer.sync()
    try await scene.older.sync()
    try scene.newer.set(item, ["colour": .string("red")])
    try await scene.newer.sync()
    try await scene.older.sync()
    scene.zone.renew(intent: .offer)
    try await scene.older.sync()
    let parked = try SyncEngine.parked(of: scene.older.store)
    #expect(parked.count == 1)
    await scene.older.engine.close()
    try SyncEngine.unenroll(store: scene.older.store)
    #expect(try SyncEngine.parked(of: scene.older.store) == parked)
    try await scene.older.enroll()
    let migrated = try await scene.migrated()
    try await migrated.sync()
    let third = try await scene.another("third")
    try await third.sync()
    for replica in [migrated, third] {
      #expect(try replica.value(item, "colour") == .string("red"))
    }
  }

  @Test("What was edited in the new log stands over what is parked of the one that is gone")
  func editedSince() async throws {
    let scene = try await shops()
    let (newer, older) = (scene.newer, scene.older)
    let item = try newer.insert("Item", ["title": .string("a"), "colour": .string("red")])
    try await newer.sync()
    try await older.sync()
    scene.zone.renew(intent: .offer)
    try await older.sync()
    let third = try await scene.another("third")
    try await third.sync()
    try third.set(item, ["colour": .string("white")])
    try await third.sync()
    let migrated = try await scene.migrated()
    for replica in [migrated, third, newer, migrated, third] { try await replica.sync() }
    for replica in [migrated, third, newer] {
      #expect(try replica.value(item, "colour") == .string("white"))
    }
    #expect(try SyncEngine.parked(of: migrated.store).isEmpty)
  }

  @Test("Links of what is parked of a log that is gone are there at both ends")
  func links() async throws {
    let driver = EntityDescription("Driver")
    driver.properties = [AttributeDescription("name", .string)]
    let scene = try await Scene(ManagedObjectModel(entities: [driver]), fleetModel)
    let car = try scene.newer.insert("Car", ["plate": .string("p")])
    let owner = try scene.newer.insert("Driver")
    try await scene.newer.sync()
    try await scene.older.sync()
    try scene.newer.save { context in
      let object = try #require(try context.object(withIdentity: owner))
      try object.setValue(try context.object(withIdentity: car), forKey: "car")
    }
    try await scene.newer.sync()
    try await scene.older.sync()
    scene.zone.renew(intent: .offer)
    try await scene.older.sync()
    let migrated = try await scene.migrated()
    try await migrated.sync()
    let third = try await scene.another("third")
    try await third.sync()
    for replica in [migrated, third] {
      #expect(try replica.value(car, "plate") == .string("p"))
      #expect(try replica.reference(car, "driver") == owner)
      #expect(try replica.reference(owner, "car") == car)
    }
  }

  @Test("A set of what is parked of a log that is gone is offered")
  func set() async throws {
    func model(_ hasTags: Bool) -> ManagedObjectModel {
      let item = EntityDescription("Item")
      let tag = EntityDescription("Tag")
      item.properties = [AttributeDescription("name", .string)]
      tag.properties = [AttributeDescription("name", .string)]
      if hasTags {
        item.properties += [
          AttributeDescription("price", .decimal),
          RelationshipDescription("tags", to: "Tag", inverse: "items", toMany: true),
        ]
        tag.properties.append(
          RelationshipDescription("items", to: "Item", inverse: "tags", toMany: true))
      }
      return ManagedObjectModel(entities: [item, tag])
    }
    let scene = try await Scene(model(false)) { model(true) }
    let item = try scene.newer.insert("Item")
    let tags = try (0..<2).map { _ in try scene.newer.insert("Tag") }
    try await scene.newer.sync()
    for tag in tags {
      try scene.newer.save { context in
        let object = try #require(try context.object(withIdentity: item))
        try object.setValue(Decimal(2), forKey: "price")
        try object.setValue(
          Set([try #require(try context.object(withIdentity: tag))]), forKey: "tags")
      }
      try await scene.newer.sync()
    }
    try await scene.older.sync()
    scene.zone.renew(intent: .offer)
    try await scene.older.sync()
    let migrated = try await scene.migrated()
    try await migrated.sync()
    let third = try await scene.another("third")
    try await third.sync()
    for replica in [migrated, third] {
      #expect(try replica.elements(item, "tags") == [tags[1]])
    }
  }

  /// A name that must be there, under its name of before and of now.
  private func namedModel(_ isNewer: Bool) -> ManagedObjectModel {
    let name = AttributeDescription(isNewer ? "title" : "name", .string)
    name.isOptional = false
    if isNewer { name.renamingIdentifier = "name" }
    let item = EntityDescription("Item")
    item.properties = [name]
    return ManagedObjectModel(entities: [item])
  }

  @Test(
    "Of what stands in for a value that is parked nothing is offered", arguments: [true, false])
  func standIn(_ comesBack: Bool) async throws {
    let scene = try await Scene(namedModel(false)) { namedModel(true) }
    let item = try scene.newer.insert("Item", ["title": .string("two")])
    try await scene.newer.sync()
    try await scene.older.sync()
    #expect(try scene.older.value(item, "name") == .string(""))
    scene.zone.renew(intent: .offer)
    try await scene.older.sync()
    let third = try await scene.another("third")
    try await third.sync()
    #expect(try third.exists(item))
    if comesBack {
      try await scene.newer.sync()
      #expect(try scene.newer.value(item, "title") == .string("two"))
      try await third.sync()
      #expect(try third.value(item, "title") == .string("two"))
    }
    let migrated = try await scene.migrated()
    for replica in [migrated, third, migrated] { try await replica.sync() }
    for replica in [migrated, third] {
      #expect(try replica.value(item, "title") == .string("two"))
    }
    #expect(try third.conflicts.isEmpty && migrated.conflicts.isEmpty)
  }

  @Test("A reference from before a relationship was to-many is offered as the set that it is")
  func setOfOne() async throws {
    func model(_ isToMany: Bool) -> ManagedObjectModel {
      let item = EntityDescription("Item")
      item.properties = [
        RelationshipDescription("shelves", to: "Shelf", inverse: "items", toMany: isToMany)
      ]
      let shelf = EntityDescription("Shelf")
      shelf.properties = [
        RelationshipDescription("items", to: "Item", inverse: "shelves", toMany: true)
      ]
      return ManagedObjectModel(entities: [item, shelf])
    }
    let scene = try await Scene(model(false)) { model(true) }
    let shelf = try scene.older.insert("Shelf")
    let item = try scene.older.insert("Item")
    try scene.older.save { context in
      let object = try #require(try context.object(withIdentity: item))
      try object.setValue(try context.object(withIdentity: shelf), forKey: "shelves")
    }
    try await scene.older.sync()
    let migrated = try await scene.migrated()
    try await migrated.sync()
    try await scene.newer.sync()
    #expect(try SyncEngine.parked(of: scene.newer.store).isEmpty)
    #expect(try scene.newer.elements(item, "shelves") == [shelf])
    scene.zone.renew(intent: .offer)
    try await scene.newer.sync()
    for replica in [migrated, scene.newer, migrated] { try await replica.sync() }
    for replica in [migrated, scene.newer] {
      #expect(try replica.elements(item, "shelves") == [shelf])
    }
  }
}
