import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Deletes of a large part of a replica ask first.
struct MassDeleteTests {
  /// Two replicas with 40 items and 10 shelves.
  private func world(pageBytes: Int? = nil) async throws -> (world: World, items: [UUID]) {
    var options = SyncOptions()
    options.massDelete.floor = 8
    if let pageBytes { options.pullBytesMax = pageBytes }
    let world = try await World(2, options: options)
    let items = try (0..<40).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    for _ in 0..<10 { try world[0].insert("Shelf") }
    try await world.settle()
    return (world, items)
  }

  private func delete(_ ids: some Sequence<UUID>, on replica: TestReplica) throws {
    for id in ids { try replica.delete(id) }
  }

  private func relate(_ item: UUID, _ shelf: UUID, on replica: TestReplica) throws {
    try replica.save { context in
      let shelf = try #require(try context.object(withIdentity: shelf))
      try #require(try context.object(withIdentity: item)).setValue(shelf, forKey: "shelf")
    }
  }

  @Test(
    "F59 Deletes of most of the objects wait, and the push says what they would do and sends the rest"
  )
  func push() async throws {
    let (world, items) = try await world()
    try delete(items.prefix(30), on: world[0])
    let kept = try world[0].insert("Label", ["name": .string("a")])
    let error = await #expect(throws: SyncError.self) { try await world[0].push() }
    #expect(error?.code == .massDelete)
    #expect(error?.message.contains("30 of 51 objects") == true)
    #expect(error?.message.contains("30 Item") == true)
    #expect(error?.suggestion.contains("--allow-mass-delete") == true)
    #expect(try world[0].status.pending.objects == 30)
    #expect(try world[0].status.lastError?.contains("30 of 51") == true)
    try world[0].set(items[30], ["title": .string("later")])
    await #expect(throws: SyncError.self) { try await world[0].sync() }
    #expect(try world[0].status.pending.objects == 30)
    try await world[1].sync()
    #expect(try world[1].exists(kept))
    #expect(try world[1].value(items[30], "title") == .string("later"))
    #expect(try world[1].identities(of: "Item").count == 40)
    _ = try await world[0].engine.sync(allowingMassDelete: true)
    // The word of the one who deleted travels: nobody else is asked.
    try await world.settle()
    #expect(try world[1].identities(of: "Item").count == 10)
    #expect(try world[1].exists(kept))
  }

  @Test("F59 What else was saved with deletes that wait for a person's word waits with them")
  func sameSave() async throws {
    let (world, items) = try await world()
    let shelf = try world[0].insert("Shelf")
    for item in items.suffix(10) { try relate(item, shelf, on: world[0]) }
    try await world.settle()
    // A mistake: all shelves and most items go in one save, which cuts what referred to them and makes others.
    let shelves = try world[0].identities(of: "Shelf")
    try world[0].save { context in
      for id in shelves + items.prefix(30) {
        context.delete(try #require(try context.object(withIdentity: id)))
      }
      try context.insert(entityNamed: "Shelf").setValue("the only one", forKey: "name")
    }
    let made = try #require(try world[0].identities(of: "Shelf").first)
    // It refers to what waits, and so its reference waits too.
    try relate(items[35], made, on: world[0])
    try world[0].set(items[35], ["title": .string("later")])
    for _ in 0..<2 {
      let error = await #expect(throws: SyncError.self) { try await world[0].sync() }
      #expect(error?.code == .massDelete)
      await world[0].restart()
    }
    try await world[1].sync()
    #expect(try Set(world[1].identities(of: "Shelf")) == Set(shelves))
    #expect(try world[1].reference(items[36], "shelf") == shelf)
    #expect(try world[1].reference(items[35], "shelf") == shelf)
    #expect(try world[1].value(items[35], "title") == .string("later"))
    _ = try await world[0].engine.sync(allowingMassDelete: true)
    try await world.settle()
    #expect(try world[1].identities(of: "Shelf") == [made])
    #expect(try world[1].reference(items[35], "shelf") == made)
    #expect(try world[1].reference(items[36], "shelf") == nil)
  }

  @Test("What is deleted behind what was set aside, in one pull, is set aside with it")
  func behindThem() async throws {
    let (world, items) = try await world()
    for batch in [0..<20, 20..<28, 28..<30] {
      try delete(items[batch], on: world[0])
      try world[0].set(items[39], ["low": .integer(Int64(batch.upperBound))])
      try await world[0].push()
    }
    let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
    #expect(error?.code == .massDelete)
    #expect(try world[1].identities(of: "Item").count == 20)
    #expect(try world[1].value(items[39], "low") == .integer(30))
    try SyncEngine.keepMassDeleted(of: world[1].store)
    try await world[1].sync()
    try await world.settle()
    #expect(try world[0].identities(of: "Item").count == 20)
  }

  @Test("Who joins a zone is not asked about what came and went before, however much that is")
  func newcomer() async throws {
    let (world, items) = try await world(pageBytes: 200)
    for id in items.prefix(30) {
      try world[0].delete(id)
      try await world[0].sync()
    }
    var options = SyncOptions()
    options.massDelete.floor = 8
    options.pullBytesMax = 200
    let newcomer = try await TestReplica(
      "newcomer", zone: world.zone, clock: world.clock, options: options)
    try await newcomer.sync()
    #expect(try newcomer.identities(of: "Item").count == 10)
  }

  @Test(
    "Who was away is asked about what it had, and not about what came and went since",
    arguments: [false, true])
  func away(isOfKnown: Bool) async throws {
    let (world, items) = try await world(pageBytes: 200)
    let later = try (0..<60).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try await world[0].sync()
    for id in isOfKnown ? Array(items.prefix(30)) : later {
      try world[0].delete(id)
      try await world[0].sync()
    }
    guard isOfKnown else {
      try await world[1].sync()
      #expect(try world[1].identities(of: "Item").count == 40)
      return
    }
    // Of the 50 that it knows, whatever else came.
    let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
    #expect(error?.code == .massDelete)
    #expect(try world[1].identities(of: "Label").isEmpty)
  }

  @Test("F59 Deletes that come in small pages count together")
  func pages() async throws {
    let (world, items) = try await world(pageBytes: 200)
    for id in items.prefix(30) {
      try world[0].delete(id)
      try await world[0].push()
    }
    let kept = try world[0].insert("Label", ["name": .string("a")])
    try await world[0].push()
    let other = try world[1].insert("Label", ["name": .string("b")])
    for _ in 0..<3 {
      let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
      #expect(error?.code == .massDelete)
      #expect(try world[1].identities(of: "Item").count > 10)
      // It stays set aside until a person allows it.
      await world[1].restart()
    }
    // Everything else is applied, and sent.
    #expect(try world[1].exists(kept))
    #expect(try world[1].status.lastError?.contains("mass-delete") == true)
    #expect(try world[1].status.lastError?.contains("syncctl parked lists them") == true)
    let deletes = try SyncEngine.deletesSetAside(of: world[1].store)
    #expect(try deletes.count == world[1].identities(of: "Item").count - 10)
    #expect(Set(deletes.map(\.object)).isSubset(of: items.prefix(30)))
    #expect(try Set(deletes.map(\.sender)) == [#require(world[0].status.replica)])
    #expect(deletes.map(\.sequence) == deletes.map(\.sequence).sorted())
    try await world[0].sync()
    #expect(try world[0].exists(other))
    _ = try await world[1].engine.pull(allowingMassDelete: true)
    #expect(try world[1].identities(of: "Item").count == 10)
    try await world.settle()
  }

  @Test("F59 Deletes that wait for a person's word wait on when the zone begins anew")
  func pushAnew() async throws {
    let (world, items) = try await world()
    try delete(items.prefix(30), on: world[0])
    await #expect(throws: SyncError.self) { try await world[0].sync() }
    for _ in 0..<2 {
      world.zone.renew()
      let error = await #expect(throws: SyncError.self) { try await world[0].sync() }
      #expect(error?.code == .massDelete)
      #expect(error?.message.contains("30 of 50 objects") == true)
      try await world[1].sync()
      #expect(try world[1].identities(of: "Item").count == 40)
    }
    _ = try await world[0].engine.sync(allowingMassDelete: true)
    try await world.settle()
    #expect(try world[1].identities(of: "Item").count == 10)
  }

  @Test(
    "The word goes with deletes that are told again to a zone that began anew",
    arguments: [false, true])
  func wordAnew(isPutBack: Bool) async throws {
    let (world, items) = try await world()
    let backup = world.zone.log
    try delete(items.prefix(30), on: world[0])
    _ = try await world[0].engine.sync(allowingMassDelete: true)
    if isPutBack { world.zone.putBack(backup) } else { world.zone.renew() }
    let label = try world[0].insert("Label", ["name": .string("a")])
    try await world[0].sync()
    try await world[1].sync()
    #expect(try world[1].identities(of: "Item").count == 10)
    #expect(try world[1].exists(label))
    try await world.settle()
  }

  @Test(
    "The word goes with deletes that others took, where who was away brings the objects into the next log",
    arguments: [false, true], [[0, 1], [1, 0]])
  func wordOfOthers(isPutBack: Bool, order: [Int]) async throws {
    var (world, items) = try await world()
    var options = SyncOptions()
    options.massDelete.floor = 8
    let sleeper = try await TestReplica(
      "sleeper", zone: world.zone, clock: world.clock, options: options)
    try await sleeper.sync()
    let backup = world.zone.log
    try delete(items.prefix(30), on: world[0])
    _ = try await world[0].engine.sync(allowingMassDelete: true)
    try await world[1].sync()
    if isPutBack { world.zone.putBack(backup) } else { world.zone.renew() }
    try sleeper.set(items[39], ["title": .string("in its place")])
    try await sleeper.sync()
    // What is deleted besides, and no log was told, is not asked about either, and goes with nobody's word.
    for number in order {
      if number == 1 { try world[1].delete(items[38]) }
      try await world[number].sync()
    }
    try await sleeper.sync()
    world.replicas.append(sleeper)
    try await world.settle()
    #expect(try sleeper.identities(of: "Item").count == 9)
    // Once more, with what a log had that was gone by then.
    world.zone.renew()
    try await world.settle()
    #expect(try sleeper.identities(of: "Item").count == 9)
  }

  @Test("Deletes of others that nobody gave a word for are told to be of the log of before")
  func wordless() async throws {
    let (world, items) = try await world()
    let backup = world.zone.log
    for batch in 0..<5 {
      try delete(items[(batch * 6)..<(batch * 6 + 6)], on: world[0])
      try await world[0].sync()
      try await world[1].sync()
    }
    world.zone.putBack(backup)
    let newcomer = try await TestReplica("newcomer", zone: world.zone, clock: world.clock)
    try newcomer.insert("Label", ["name": .string("in its place")])
    try await newcomer.sync()
    let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
    #expect(error?.code == .massDelete)
    #expect(
      error?.message.contains(
        "30 of 51 objects were deleted in the log that the zone had before (30 Item)") == true,
      "\(error?.message ?? "")")
    _ = try await world[1].engine.sync(allowingMassDelete: true)
    try await world.settle()
    #expect(try world[0].identities(of: "Item").count == 10)
  }

  @Test(
    "Deletes that were not meant are taken back on a replica that still has the objects",
    arguments: [false, true])
  func kept(isAnew: Bool) async throws {
    let (world, items) = try await world()
    for id in items.prefix(30) {
      try world[0].delete(id)
      try await world[0].push()
    }
    if isAnew { world.zone.renew() }
    try await world[0].sync()
    let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
    #expect(error?.code == .massDelete)
    #expect(error?.suggestion.contains("--keep-mass-deleted") == true)
    // In pages the first ones were not too many yet.
    let left = Set(try world[1].identities(of: "Item"))
    #expect(left.count > 10)
    try SyncEngine.keepMassDeleted(of: world[1].store)
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try Set(replica.identities(of: "Item")) == left, "\(replica.name)")
      for (place, id) in items.enumerated() where left.contains(id) {
        #expect(try replica.value(id, "low") == .integer(Int64(place)))
      }
    }
  }

  @Test("What referred to objects whose deletes were not meant refers to them again")
  func keptReferences() async throws {
    let (world, items) = try await world()
    let shelves = try world[0].identities(of: "Shelf")
    let rows = try (0..<3).map { try world[0].insert("Row", ["name": .string("\($0)")]) }
    let labels = try (0..<2).map { _ in try world[0].insert("Label") }
    try world[0].save { context in
      let labels = try labels.map { try #require(try context.object(withIdentity: $0)) }
      for (item, shelf) in zip(items, shelves) {
        let item = try #require(try context.object(withIdentity: item))
        try item.setValue(try context.object(withIdentity: shelf), forKey: "shelf")
        try item.setValue(Set(labels), forKey: "labels")
      }
      let shelf = try #require(try context.object(withIdentity: shelves[9]))
      try shelf.setValue(rows.map { try context.object(withIdentity: $0) as Any }, forKey: "rows")
    }
    try await world.settle()
    for id in items.suffix(30) {
      try world[0].delete(id)
      try await world[0].push()
    }
    try delete(shelves.prefix(5) + [labels[0]], on: world[0])
    try await world[0].push()
    try delete(shelves.suffix(5) + [labels[1]], on: world[0])
    try await world[0].push()
    // Somebody else had given one of them another shelf.
    let other = try world[0].insert("Shelf")
    try world[0].save { context in
      try context.object(withIdentity: items[0])?
        .setValue(try context.object(withIdentity: other), forKey: "shelf")
    }
    try await world[0].sync()
    await #expect(throws: SyncError.self) { try await world[1].sync() }
    #expect(try Set(world[1].identities(of: "Shelf")).isSuperset(of: shelves))
    try SyncEngine.keepMassDeleted(of: world[1].store)
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas {
      for (item, shelf) in zip(items, shelves).dropFirst() {
        #expect(try replica.reference(item, "shelf") == shelf, "\(replica.name)")
        #expect(try replica.elements(item, "labels") == Set(labels), "\(replica.name)")
      }
      #expect(try replica.reference(items[0], "shelf") == other)
      for row in rows { #expect(try replica.reference(row, "shelf") == shelves[9]) }
    }
  }

  @Test("Deletes in the course of the day never ask")
  func small() async throws {
    let (world, items) = try await world()
    for part in 0..<4 {
      try delete(items[(part * 8)..<(part * 8 + 8)], on: world[0])
      try await world.settle()
    }
    #expect(try world[1].identities(of: "Item").count == 8)
  }

  @Test("More than a set number asks, whatever its share; objects that the zone never knew do not")
  func number() async throws {
    var options = SyncOptions()
    options.massDelete.count = 5
    options.massDelete.share = 1
    let world = try await World(1, options: options)
    let items = try (0..<40).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try delete(items.prefix(10), on: world[0])
    try await world.settle()
    try delete(items[10..<16], on: world[0])
    let error = await #expect(throws: SyncError.self) { try await world[0].push() }
    #expect(error?.code == .massDelete)
    _ = try await world[0].engine.push(allowingMassDelete: true)
    try await world.settle()
  }
}
