import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A new replica takes what the zone's log comes to, whatever befalls it on the way.
struct SnapshotJoinTests {
  /// A zone with items in boxes, some of them edited and deleted since, and its log added up.
  private func world() async throws -> (world: World, folded: FoldedZone) {
    let world = try await World(1)
    var items: [UUID] = []
    for number in 0..<60 {
      items.append(try world[0].insert("Item", ["title": .string("item \(number)")]))
      if number % 7 == 0 { try await world[0].sync() }
    }
    for number in stride(from: 0, to: 60, by: 3) {
      try world[0].set(items[number], ["title": .string("edited \(number)")])
    }
    try await world[0].sync()
    for number in stride(from: 0, to: 60, by: 5) { try world[0].delete(items[number]) }
    try await world[0].sync()
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    return (world, folded)
  }

  private func newcomer(
    _ world: World, _ way: any SyncTransport, model: ManagedObjectModel = shopModel()
  ) async throws -> TestReplica {
    try await TestReplica(
      "newcomer", zone: world.zone, clock: world.clock, model: model, transport: way)
  }

  /// Whether a replica shows what the first one does, and goes on with the others.
  private func expectJoined(
    _ world: World, _ replica: TestReplica, at location: SourceLocation = #_sourceLocation
  ) async throws {
    var world = world
    world.replicas.append(replica)
    try world[1].insert("Item", ["title": .string("of the newcomer")])
    try world[0].insert("Item", ["title": .string("later")])
    try await world.settle(location)
  }

  @Test("Who joins takes the snapshot, and nothing of the log below it")
  func joins() async throws {
    let (world, folded) = try await world()
    let replica = try await newcomer(world, folded)
    let report = try await replica.sync()
    #expect(folded.pulled == 0)
    #expect(folded.pieces > 3)
    #expect(report.pull.inserted == 48)
    #expect(try replica.export == world[0].export)
    #expect(try replica.status.cursor == world.zone.head)
    #expect(
      try replica.store.read { try $0.connection.rows("SELECT 1 FROM ZDL_SEGMENT") }.isEmpty)
    try await expectJoined(world, replica)
  }

  @Test("A download that breaks off goes on where it was, and nothing is shown until all is there")
  func brokenOff() async throws {
    let (world, folded) = try await world()
    let replica = try await newcomer(world, folded)
    var rule = FoldedZone.Rule()
    var tries = 0
    rule.piecesMax = 2
    while true {
      folded.set(rule)
      do {
        try await replica.sync()
        break
      } catch is FoldedZone.Cut {
        tries += 1
        #expect(try replica.identities(of: "Item").isEmpty)
        #expect(try replica.status.cursor == 0)
        rule.piecesMax = folded.pieces + 2
        await replica.restart()
      }
    }
    #expect(tries > 2)
    let bytes = try folded.fold().objects.bytes
    #expect(folded.bytes == bytes, "nothing is fetched twice")
    try await expectJoined(world, replica)
  }

  @Test("A snapshot that another takes the place of while it is fetched is let go")
  func replacedMeanwhile() async throws {
    let (world, folded) = try await world()
    let replica = try await newcomer(world, folded)
    var rule = FoldedZone.Rule()
    rule.before = { [zone = world.zone] number in
      guard number == 3 else { return }
      let other = try await TestReplica("other", zone: zone, clock: ManualClock())
      for number in 0..<400 {
        try other.insert("Item", ["title": .string("\(UUID()) \(number)")])
      }
      try await other.sync()
      try folded.fold()
    }
    folded.set(rule)
    try await replica.sync()
    #expect(folded.pulled <= 1, "of what came while the snapshot was fetched")
    try await expectJoined(world, replica)
  }

  @Test("A piece that was changed on its way is fetched again")
  func damaged() async throws {
    let (world, folded) = try await world()
    let replica = try await newcomer(world, folded)
    var rule = FoldedZone.Rule()
    rule.damaged = 2
    folded.set(rule)
    try await replica.sync()
    #expect(folded.pulled == 0)
    try await expectJoined(world, replica)
  }

  /// What a server may say of its snapshot that is not so.
  static let lies: [@Sendable (inout Snapshot) -> Void] = [
    { $0.zoneID = UUID() },
    { $0.base.files[0].name = "../../../etc/passwd" },
    { $0.base.files[0].bytes = -1 },
    { $0.base.files[0].bytes = .max },
    { $0.base.files[0].bytes += 1 },
    { $0.base.files[0].bytes -= 1 },
    { $0.base.files[0].end += 1 },
    { $0.base.files.removeFirst() },
    { $0.base.files.removeAll() },
    { $0.base.files.append($0.base.files[0]) },
    { $0.base.nextObject += 5 },
    { $0.base.nextObject = 0 },
    { $0.base.nextObject = .max },
    { $0.base.place.sequence = .max },
  ]

  @Test(
    "A snapshot that is not what the zone says is let go, and the log is read", arguments: 0..<14)
  func lies(number: Int) async throws {
    let (world, folded) = try await world()
    let replica = try await newcomer(world, folded)
    var rule = FoldedZone.Rule()
    rule.lie = Self.lies[number]
    folded.set(rule)
    try await replica.sync()
    #expect(folded.pulled > 0)
    #expect(
      try replica.store.read { try $0.connection.rows("SELECT 1 FROM ZDL_SEGMENT") }.isEmpty)
    try await expectJoined(world, replica)
  }

  @Test("Who has something of its own takes the snapshot beside it, and loses nothing")
  func ownObjects() async throws {
    let (world, folded) = try await world()
    let replica = try await newcomer(world, folded)
    try replica.insert("Item", ["title": .string("own")])
    try await replica.sync()
    #expect(folded.pieces > 0)
    #expect(folded.pulled == 0)
    try await expectJoined(world, replica)
  }

  @Test("What is saved while a snapshot is fetched stays, and the log is read")
  func savedMeanwhile() async throws {
    let (world, folded) = try await world()
    let replica = try await newcomer(world, folded)
    var rule = FoldedZone.Rule()
    let store = replica.store
    rule.before = { number in
      guard number == 2 else { return }
      let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
      try context.insert(entityNamed: "Item").setValue("meanwhile", forKey: "title")
      try context.save()
    }
    folded.set(rule)
    try await replica.sync()
    #expect(folded.pulled > 0)
    #expect(try replica.export.contains("meanwhile"))
    try await expectJoined(world, replica)
  }

  @Test("A model that lacks what the snapshot says reads the log, which keeps it for later")
  func olderModel() async throws {
    let (world, folded) = try await world()
    let model = shopModel()
    let item = try #require(model.entitiesByName["Item"])
    item.properties.removeAll { $0.name == "title" }
    let replica = try await newcomer(world, folded, model: model)
    try await replica.sync()
    #expect(folded.pulled > 0)
    #expect(try replica.status.cursor == world.zone.head)
    #expect(try replica.identities(of: "Item").count == 48)
    #expect(try !SyncEngine.parked(of: replica.store).isEmpty)
  }

  @Test("F56 A long tail of deletes costs a new replica what lives")
  func tailOfDeletes() async throws {
    let world = try await World(1)
    for _ in 0..<10 { try world[0].insert("Item", ["title": .string("stays")]) }
    for round in 0..<10 {
      try world[0].save { context in
        for number in 0..<200 {
          try context.insert(entityNamed: "Item").setValue(
            "goes \(round) \(number)", forKey: "title")
        }
      }
      try await world[0].sync()
      try world[0].save { context in
        for item in try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
        where item["title"] as? String != "stays" {
          context.delete(item)
        }
      }
      _ = try await world[0].engine.sync(allowingMassDelete: true)
    }
    let log = world.zone.traffic.bytes
    let folded = try FoldedZone(world.zone)
    let snapshot = try folded.fold(segmentBytes: 1 << 20)
    var runs = 0
    var reader = try SnapshotReader(snapshot) { try folded.bytes(of: $0) }
    try reader.forEachPart { runs += $0.dead.count }
    #expect(runs < 50, "two thousand dead objects are a few runs: \(runs)")
    #expect(snapshot.objects.bytes < log / 10, "\(snapshot.objects.bytes) of \(log)")
    let replica = try await newcomer(world, folded)
    let report = try await replica.sync()
    #expect(report.pull.inserted == 10)
    let rows = try replica.store.read { try $0.connection.rows("SELECT 1 FROM ZDL_IDENTITY") }
    #expect(rows.count < 50, "and as many rows: \(rows.count)")
    try await expectJoined(world, replica)
  }

  @Test("A server that was put back below the snapshot is offered what the newcomer has")
  func serverPutBack() async throws {
    let (world, folded) = try await world()
    let copy = world.zone.log
    let late = try world[0].insert("Item", ["title": .string("after the copy")])
    try await world[0].sync()
    try folded.fold()
    let replica = try await newcomer(world, folded)
    try await replica.sync()
    #expect(folded.pulled == 0)
    world.zone.putBack(copy)
    // Who wrote it is gone for good.
    let third = try await TestReplica("third", zone: world.zone, clock: world.clock)
    try await third.sync()
    #expect(try !third.exists(late))
    let report = try await replica.sync()
    #expect(!report.reconciliations.isEmpty)
    try await third.sync()
    #expect(try third.exists(late))
    #expect(try third.export == replica.export)
  }
}
