import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What the server refuses for good never keeps the rest from syncing, and is never lost.
struct QuarantineTests {
  private func world(
    _ rule: PickyTransport.Rule
  ) async throws -> (world: World, picky: PickyTransport, replica: TestReplica) {
    var world = try await World(1)
    let picky = PickyTransport(world.zone, rule)
    let replica = try await TestReplica(
      "picky", zone: world.zone, clock: world.clock, transport: picky)
    world.replicas.append(replica)
    return (world, picky, replica)
  }

  /// Text that does not compress.
  private func noise(_ count: Int) -> Data {
    var generator = SeededGenerator(seed: 7)
    return Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
  }

  /// Sends thirty objects of one save, of which the server refuses one.
  private func sendOneOfThirty(
    _ world: World, _ replica: TestReplica
  ) async throws -> QuarantineEntry {
    try replica.save { context in
      for index in 0..<30 {
        let item = try context.insert(entityNamed: "Item")
        try item.setValue(index == 17 ? "poison" : "title \(index)", forKey: "title")
      }
    }
    try await replica.sync()
    try await world[0].sync()
    #expect(try world[0].identities(of: "Item").count == 29)
    return try #require(try SyncEngine.quarantine(of: replica.store).first)
  }

  @Test("A zone that is full sets nothing aside: all goes once there is room")
  func fullZone() async throws {
    let (world, picky, replica) = try await world(.init(bytesMax: 0, saysFull: true))
    for number in 0..<20 { try replica.insert("Item", ["title": .string("item \(number)")]) }
    for _ in 0..<2 {
      let error = await #expect(throws: ProtocolError.self) { try await replica.sync() }
      #expect(error?.code == .zoneFull)
      #expect(try replica.status.quarantined == 0 && replica.status.pending.objects == 20)
    }
    picky.set(.init())
    try await replica.sync()
    try await world[0].sync()
    #expect(try world[0].identities(of: "Item").count == 20)
  }

  @Test("An object that is too large waits with its size and reason, and the rest goes on")
  func tooLarge() async throws {
    let (world, picky, replica) = try await world(.init(bytesMax: 4000))
    var small: [UUID] = []
    for index in 0..<20 {
      small.append(try replica.insert("Item", ["high": .integer(Int64(index))]))
    }
    let large = try replica.insert("Item", ["blob": .data(noise(9000))])
    for index in 0..<20 {
      small.append(try replica.insert("Item", ["low": .integer(Int64(index))]))
    }
    let report = try await replica.sync()
    #expect(report.push.quarantined == 1)
    #expect(report.push.objects == 40)
    let entry = try #require(try SyncEngine.quarantine(of: replica.store).first)
    #expect(entry.object == large)
    #expect(entry.entity == "Item")
    #expect(entry.code == "too-large")
    #expect(entry.bytes > 9000)
    #expect(entry.reason.contains("4000"))
    #expect(!entry.suggestion.isEmpty)
    let status = try replica.status
    #expect(status.quarantined == 1)
    #expect(status.pending.objects == 1)
    #expect(!status.isCurrent)
    #expect(status.lastError == nil)
    try await world[0].sync()
    for id in small { #expect(try world[0].exists(id)) }
    #expect(try !world[0].exists(large))
    // It is not tried again and again.
    let refusals = picky.refusals
    try await replica.sync()
    #expect(picky.refusals == refusals)
    // The history behind it may go: what is pending is kept.
    try replica.store.deleteHistory(before: replica.store.currentHistoryToken())
    await replica.restart()
    // Made smaller, it goes by itself.
    try replica.set(large, ["blob": .data(Data([1]))])
    try await world.settle()
    #expect(try world[0].value(large, "blob") == .data(Data([1])))
    #expect(try SyncEngine.quarantine(of: replica.store).isEmpty)
  }

  @Test("A raised limit and a retry send what was refused")
  func retry() async throws {
    let (world, picky, replica) = try await world(.init(bytesMax: 3000))
    let large = try replica.insert("Item", ["blob": .data(noise(5000))])
    let other = try replica.insert("Item", ["title": .string("a")])
    try await replica.sync()
    picky.set(.init())
    try await replica.sync()
    #expect(try !world[0].exists(large))
    #expect(throws: SyncError.self) {
      try SyncEngine.retryQuarantined(of: replica.store, object: other)
    }
    #expect(try SyncEngine.retryQuarantined(of: replica.store, object: large) == 1)
    try await world.settle()
    #expect(try world[0].exists(large))
  }

  @Test("One object of a transaction that the server does not accept waits; the others are sent")
  func oneOfATransaction() async throws {
    let (world, _, replica) = try await world(.init(word: "poison"))
    let entry = try await sendOneOfThirty(world, replica)
    #expect(entry.code == "refused")
    #expect(entry.reason.contains("poison"))
    try replica.set(entry.object, ["title": .string("antidote")])
    try await world.settle()
    #expect(try world[0].value(entry.object, "title") == .string("antidote"))
  }

  @Test(
    "What is stale for good waits, the rest is sent, and it is tried again when the log goes on")
  func staleForGood() async throws {
    let (world, picky, replica) = try await world(.init(word: "poison", saysStale: true))
    let entry = try await sendOneOfThirty(world, replica)
    #expect(entry.code == "conflicting")
    #expect(entry.reason.contains("poison"))
    try await replica.sync()
    let refusals = picky.refusals
    try await replica.sync()
    #expect(picky.refusals == refusals, "it is not tried again and again")
    picky.set(.init())
    try world[0].insert("Item")
    try await world.settle()
    #expect(try world[0].value(entry.object, "title") == .string("poison"))
    #expect(try replica.status.quarantined == 0)
  }

  @Test("A try of what is stale for good that breaks off leaves it where it was")
  func triedInPart() async throws {
    var rule = PickyTransport.Rule(word: "poison", saysStale: true)
    let (world, picky, replica) = try await world(rule)
    for _ in 0..<30 { try replica.insert("Label", ["name": .string("good")]) }
    for _ in 0..<8 { try replica.insert("Item", ["title": .string("poison")]) }
    try await replica.sync()
    #expect(try replica.status.quarantined == 8)
    try world[0].insert("Label")
    try await world[0].sync()
    rule.refusalsMax = picky.refusals + 5
    picky.set(rule)
    await #expect(throws: ProtocolError.self) { try await replica.sync() }
    #expect(try replica.status.quarantined == 8)
    rule.refusalsMax = .max
    picky.set(rule)
    try await replica.sync()
    #expect(try replica.status.quarantined == 8)
    picky.set(.init())
    world.clock.advance(milliseconds: 4_000_000)
    try await world.settle()
    #expect(try world[0].identities(of: "Item").count == 8)
    #expect(try replica.status.quarantined == 0)
  }

  @Test("Many that are stale for good are tried again by a push each")
  func triedAgainAlone() async throws {
    let (world, picky, replica) = try await world(.init(word: "poison", saysStale: true))
    try replica.save { context in
      for index in 0..<40 {
        let item = try context.insert(entityNamed: "Item")
        try item.setValue("poison", forKey: "title")
        let label = try context.insert(entityNamed: "Label")
        try label.setValue("\(index)", forKey: "name")
      }
    }
    while try replica.status.quarantined < 40 { try await replica.sync() }
    try world[0].insert("Label")
    try await world[0].sync()
    world.clock.advance(milliseconds: 3_700_000)
    let before = picky.refusals
    try await replica.sync()
    #expect((40...44).contains(picky.refusals - before), "\(picky.refusals - before)")
    #expect(try replica.status.quarantined == 40)
    // What the server has come to take goes in few.
    picky.set(.init())
    world.clock.advance(milliseconds: 3_700_000)
    let pushes = picky.pushes
    try await world.settle()
    #expect(picky.pushes - pushes < 15, "\(picky.pushes - pushes)")
    #expect(try world[0].identities(of: "Item").count == 40)
    #expect(try replica.status.quarantined == 0)
  }

  @Test("Many that are stale for good hold nothing up, also where the zone is busy")
  func manyStaleForGood() async throws {
    let (world, picky, replica) = try await world(.init(word: "poison", saysStale: true))
    let known = try replica.insert("Item", ["title": .string("known")])
    try await replica.sync()
    var poisoned: [UUID] = []
    try replica.save { context in
      for _ in 0..<9 {
        let item = try context.insert(entityNamed: "Item")
        try item.setValue("poison", forKey: "title")
      }
    }
    poisoned = try replica.identities(of: "Item").filter { $0 != known }
    for number in 0..<30 { try replica.set(known, ["high": .integer(Int64(number))]) }
    var good: [UUID] = []
    for _ in 0..<30 { good.append(try replica.insert("Label", ["name": .string("good")])) }
    try await replica.sync()
    #expect(try replica.status.pending.objects == 9)
    #expect(try replica.status.quarantined == 9)
    try await world[0].sync()
    for id in good { #expect(try world[0].exists(id)) }
    #expect(try world[0].value(known, "high") == .integer(29))
    // Others go on: what is tried again is tried ever more rarely, and after the rest.
    var refusals: [Int] = []
    for number in 0..<12 {
      try world[0].insert("Label")
      try await world[0].sync()
      let edit = try replica.insert("Label", ["name": .string("\(number)")])
      let before = picky.refusals
      try await replica.sync()
      refusals.append(picky.refusals - before)
      try await world[0].sync()
      #expect(try world[0].exists(edit))
    }
    #expect(refusals.suffix(8).allSatisfy { $0 == 0 }, "\(refusals)")
    #expect(try replica.status.quarantined == 9)
    // An hour later all that the server has come to take is sent.
    picky.set(.init())
    world.clock.advance(milliseconds: 3_700_000)
    try await world.settle()
    for id in poisoned { #expect(try world[0].exists(id)) }
  }

  @Test("A zone that calls everything stale is not believed object by object")
  func everythingIsStale() async throws {
    let (world, picky, replica) = try await world(.init(bytesMax: 0, saysStale: true))
    for _ in 0..<40 { try replica.insert("Item") }
    let error = await #expect(throws: SyncError.self) { try await replica.sync() }
    #expect(error?.code == .conflicting)
    #expect(try replica.status.quarantined <= 20)
    #expect(try replica.status.pending.objects == 40)
    #expect(picky.refusals < 400)
    // Nobody wrote since, and nothing changed here: time alone brings it all.
    picky.set(.init())
    world.clock.advance(milliseconds: 3_700_000)
    try await world.settle()
    #expect(try world[0].identities(of: "Item").count == 40)
  }

  @Test("What is stale for good is tried again in another generation, at whatever place")
  func staleInAnotherGeneration() async throws {
    let (world, picky, replica) = try await world(.init(word: "poison", saysStale: true))
    let poison = try replica.insert("Item", ["title": .string("poison")])
    try await replica.sync()
    #expect(try replica.status.quarantined == 1)
    picky.set(.init())
    world.clock.advance(milliseconds: 1000)
    world.zone.renew(intent: .offer)
    // Both logs are empty: their places have one number.
    try await replica.sync()
    try await world.settle()
    #expect(try world[0].exists(poison))
  }

  @Test("A merely large transaction goes in parts when the server takes no more at once")
  func largeTransaction() async throws {
    let (world, _, replica) = try await world(.init(bytesMax: 3000))
    try replica.save { context in
      for index in 0..<40 {
        let item = try context.insert(entityNamed: "Item")
        try item.setValue(noise(200 + index), forKey: "blob")
      }
    }
    try await world.settle()
    #expect(try world[0].identities(of: "Item").count == 40)
    #expect(try replica.status.quarantined == 0)
  }

  @Test("References to a new object in quarantine wait for it, and are set when it arrives")
  func references() async throws {
    let (world, _, replica) = try await world(.init(word: "poison"))
    let known = try replica.insert("Item", ["title": .string("known")])
    try await world.settle()
    let shelf = try replica.insert("Shelf", ["name": .string("poison")])
    let label = try replica.insert("Label", ["name": .string("poison")])
    let good = try replica.insert("Label", ["name": .string("good")])
    let new = try replica.insert("Item", ["title": .string("new")])
    try replica.save { context in
      for id in [known, new] {
        let item = try #require(try context.object(withIdentity: id))
        try item.setValue(try context.object(withIdentity: shelf), forKey: "shelf")
        try item.setValue(
          try [label, good].compactMap { try context.object(withIdentity: $0) }, forKey: "labels")
        try item.setValue("edited", forKey: "tag")
      }
    }
    try await replica.sync()
    #expect(try replica.status.quarantined == 2)
    let head = world.zone.head
    try await replica.sync()
    #expect(world.zone.head == head, "what waits is not sent again and again")
    try await world[0].sync()
    for id in [known, new] {
      #expect(try world[0].value(id, "tag") == .string("edited"))
      #expect(try world[0].reference(id, "shelf") == nil)
    }
    for id in [shelf, label] { try replica.set(id, ["name": .string("mended")]) }
    try await world.settle()
    for id in [known, new] { #expect(try world[0].reference(id, "shelf") == shelf) }
    #expect(try world[0].export == replica.export)
  }

  @Test("A delete of what is in quarantine ends it, and the zone never hears of the object")
  func deleted() async throws {
    let (world, _, replica) = try await world(.init(word: "poison"))
    let id = try replica.insert("Item", ["title": .string("poison")])
    try await replica.sync()
    #expect(try replica.status.quarantined == 1)
    try replica.delete(id)
    try await world.settle()
    #expect(try replica.status.quarantined == 0)
    #expect(world.zone.head == 0)
  }

  @Test("A refused change set from before does not block a pull")
  func pull() async throws {
    let (world, picky, replica) = try await world(.init())
    try replica.insert("Item", ["title": .string("poison")])
    // The reply is lost, so the change set stays in the outbox.
    struct Crash: Error {}
    let hook = HookedTransport(
      FaultyTransport(world.zone, seed: 1, faults: .init(lostRequests: 100)))
    let engine = try await replica.engine(through: hook)
    await #expect(throws: (any Error).self) { try await engine.push() }
    await engine.close()
    picky.set(.init(word: "poison"))
    let id = try world[0].insert("Item", ["title": .string("from elsewhere")])
    try await world[0].sync()
    try await replica.pull()
    #expect(try replica.exists(id))
    try await replica.sync()
    #expect(try replica.status.quarantined == 1)
  }

  @Test("A server that refuses everything is not believed object by object")
  func refusesEverything() async throws {
    let (world, picky, replica) = try await world(.init(bytesMax: 10))
    for _ in 0..<40 { try replica.insert("Item") }
    let error = await #expect(throws: SyncError.self) { try await replica.sync() }
    #expect(error?.code == .tooLarge)
    #expect(try replica.status.quarantined < 10)
    #expect(try replica.status.pending.objects == 40)
    picky.set(.init())
    try SyncEngine.retryQuarantined(of: replica.store)
    try await world.settle()
    #expect(try world[0].identities(of: "Item").count == 40)
  }

  @Test("An engine that finds the store locked leaves the replica's last error alone")
  func lockedIsNoError() async throws {
    let world = try await World(1)
    let lock = try world[0].store.acquireSyncLock()
    await #expect(throws: StoreError.self) { try await world[0].sync() }
    #expect(try world[0].status.lastError == nil)
    withExtendedLifetime(lock) {}
  }

  @Test(
    "Names of authors and contexts that no zone takes are sent shortened, and keep nothing here")
  func longNames() async throws {
    let world = try await World(2)
    let name = String(repeating: "ä", count: 700)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: world[0].store))
    context.transactionAuthor = name
    context.name = name
    let item = try context.insert(entityNamed: "Item")
    try item.setValue("one", forKey: "title")
    try context.save()
    let report = try await world[0].sync()
    #expect(report.push.quarantined == 0)
    #expect(report.push.objects == 1)
    try await world[1].sync()
    #expect(try world[1].identities(of: "Item").count == 1)
    try await world.settle()
  }
}
