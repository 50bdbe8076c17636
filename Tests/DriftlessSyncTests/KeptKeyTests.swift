import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import Testing

@testable import DriftlessSync

/// A value that waits for its key, since another object holds it, and an edit that is made over it meanwhile: the edit is the
/// object's last word.
struct KeptKeyTests {
  /// A program without the constraint, which gave two objects one code, and two with it.
  private func world() async throws -> (world: World, one: UUID, other: UUID) {
    func model(isUnique: Bool) -> ManagedObjectModel {
      let product = EntityDescription("Product")
      product.properties = [
        AttributeDescription("code", .string), AttributeDescription("name", .string),
      ]
      if isUnique { product.uniquenessConstraints = [["code"]] }
      return ManagedObjectModel(entities: [product])
    }
    var world = try await World(0)
    for index in 0..<3 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: model(isUnique: index > 0)))
    }
    let one = try world[0].insert("Product", ["code": .string("k"), "name": .string("one")])
    try await world.settle()
    let other = try world[0].insert("Product", ["code": .string("k"), "name": .string("other")])
    for replica in world.replicas { try await replica.sync() }
    for replica in world.replicas[1...] {
      #expect(try replica.value(one, "code") == .string("k"))
      #expect(try replica.value(other, "code") == .null)
    }
    return (world, one, other)
  }

  private func expect(
    _ id: UUID, _ code: PropertyValue, _ world: World, _ location: SourceLocation = #_sourceLocation
  ) throws {
    for replica in world.replicas {
      #expect(try replica.value(id, "code") == code, "\(replica.name)", sourceLocation: location)
    }
  }

  @Test(
    "The object of the earlier entry keeps a key that a program with another name for it, or without it, gave as well",
    arguments: [true, false])
  func earlierHolder(isRenamed: Bool) async throws {
    func model(isOld: Bool) -> ManagedObjectModel {
      let product = EntityDescription("Product")
      let code = AttributeDescription(isOld || !isRenamed ? "code" : "sku", .string)
      if !isOld, isRenamed { code.renamingIdentifier = "code" }
      product.properties = [code, AttributeDescription("name", .string)]
      if isRenamed || !isOld { product.uniquenessConstraints = [[code.name]] }
      return ManagedObjectModel(entities: [product])
    }
    var world = try await World(0)
    for index in 0..<3 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: model(isOld: index == 0)))
    }
    let name = isRenamed ? "sku" : "code"
    let first = try world[0].insert("Product", ["code": .string("k")])
    try await world[0].push()
    let second = try world[1].insert("Product", [name: .string("k")])
    #expect(try await world[1].push().changeSets == 1, "it knows nothing of the other one")
    for _ in 0..<3 { try await world.syncAll() }
    #expect(try world[0].value(first, "code") == .string("k"))
    for replica in world.replicas[1...] {
      #expect(try replica.value(first, name) == .string("k"), "\(replica.name)")
      #expect(try replica.value(second, name) == .null, "\(replica.name)")
      let entry = try #require(try SyncEngine.parked(of: replica.store).first)
      #expect(entry.code == "key-taken" && entry.object == second, "\(replica.name)")
      #expect(try replica.status.pending.objects == 0)
    }
    #expect(try world[1].export == world[2].export)
    // It is free once the first has another one.
    try world[2].set(first, [name: .string("m")])
    for _ in 0..<2 { try await world.syncAll() }
    for replica in world.replicas[1...] {
      #expect(try replica.value(second, name) == .string("k"), "\(replica.name)")
    }
  }

  @Test("For all keys that an entry is refused, the entries that are kept are read once")
  func refusedTogether() async throws {
    try await expectLinear((40, 80)) { count in
      var world = try await World(0)
      for isUnique in [false, true] {
        let product = EntityDescription("Product")
        product.properties = [AttributeDescription("code", .string)]
        if isUnique { product.uniquenessConstraints = [["code"]] }
        world.replicas.append(
          try await TestReplica(
            "\(isUnique)", zone: world.zone, clock: world.clock,
            model: ManagedObjectModel(entities: [product])))
      }
      let first = try (0..<count).map {
        try world[0].insert("Product", ["code": .string("\($0)")])
      }
      try await world[0].push()
      for number in 0..<count {
        try world[1].insert("Product", ["code": .string("\(number)")])
        try await world[1].push()
      }
      let work = try await world[1].statementWork { try await world[1].pull() }
      for (number, id) in first.enumerated() {
        #expect(try world[1].value(id, "code") == .string("\(number)"))
      }
      #expect(try SyncEngine.parked(of: world[1].store).count == count)
      return work
    }
  }

  @Test("An edit over a value that waits for its key stands, and is sent")
  func edited() async throws {
    let (world, one, other) = try await world()
    try world[1].set(other, ["code": .string("m")])
    #expect(try SyncEngine.check(world[1].store).findings == [])
    try await world.settle()
    try expect(one, .string("k"), world)
    try expect(other, .string("m"), world)
    #expect(try world[1].conflicts.isEmpty)
  }

  @Test("A value that waits because the log has its key twice is told until a person has looked")
  func told() async throws {
    let (world, one, other) = try await world()
    #expect(try world[0].status.parked == 0)
    for replica in world.replicas[1...] {
      let entry = try #require(try SyncEngine.parked(of: replica.store).first)
      #expect(entry.code == "key-taken")
      #expect(entry.object == other && entry.entity == "Product" && entry.property == "code")
      #expect(entry.reason.contains(one.uuidString.lowercased()))
      #expect(entry.sender == (try world[0].status.replica))
      #expect(try replica.status.parked == 1)
    }
    let store = world[1].store
    #expect(try SyncEngine.acceptParked(of: store) == 1)
    #expect(try world[1].status.parked == 0)
    let entry = try #require(try SyncEngine.parked(of: store).first)
    #expect(entry.isAccepted)
    #expect(try SyncEngine.retryParked(of: store, sequence: entry.sequence) == 1)
    #expect(try world[1].status.parked == 1)
    try world[2].set(one, ["code": .string("m")])
    try await world.settle()
    try expect(one, .string("m"), world)
    try expect(other, .string("k"), world)
    for replica in world.replicas { #expect(try replica.status.parked == 0) }
  }

  @Test("What waits of a log that is gone is older than all that another one says")
  func otherLog() async throws {
    let (world, one, other) = try await world()
    // The number of the entry that says it is beyond all of another log.
    for number in 0..<6 {
      try world[0].set(one, ["name": .string("\(number)")])
      try await world[0].sync()
    }
    try world[0].set(other, ["code": .null])
    try await world.syncAll()
    try world[0].set(other, ["code": .string("k")])
    try await world.syncAll()
    let kept = world[1]
    func ask(_ what: String) throws -> Int64 {
      try kept.store.read { try $0.connection.number("SELECT \(what) FROM ZDL_KEPT") }
    }
    #expect(try ask("count(*)") == 1)
    #expect(try ask("max(sequence)") > 6)
    await kept.engine.close()
    try SyncEngine.unenroll(store: kept.store)
    #expect(try ask("max(sequence)") == 0)
    // In another zone, which says nothing of it yet.
    let zone = MemoryZone(clock: world.clock)
    try SyncEngine.enroll(
      store: kept.store, server: MemoryZone.url, zone: zone.name, info: try await zone.zoneInfo())
    let engine = SyncEngine(store: kept.store, transport: zone)
    _ = try await engine.sync()
    try kept.set(other, ["code": .string("m")])
    _ = try await engine.sync()
    await engine.close()
    #expect(try ask("count(*)") == 0)
    #expect(try kept.value(other, "code") == .string("m"))
    #expect(try SyncEngine.check(kept.store).findings == [])
  }

  @Test("An edit over a value that waits stands where the key is free before the edit is sent")
  func freed() async throws {
    let (world, one, other) = try await world()
    try world[1].set(other, ["code": .string("m")])
    try world[0].delete(one)
    try await world[0].sync()
    try await world.settle()
    try expect(other, .string("m"), world)
  }

  @Test(
    "A value that was typed over one that waits and taken out again is nothing, also when the key is free",
    arguments: [false, true])
  func cleared(isPushedAlone: Bool) async throws {
    let (world, one, other) = try await world()
    try world[1].set(other, ["code": .string("m")])
    try world[1].set(other, ["code": .null])
    if isPushedAlone { try await world[1].push() }
    try await world.syncAll()
    try world[0].delete(one)
    try await world.settle()
    try expect(other, .null, world)
  }

  @Test("What the zone says of the value later is settled with the edit over it, by time")
  func meetsLater() async throws {
    let (world, _, other) = try await world()
    try world[1].set(other, ["code": .string("m")])
    try world[0].set(other, ["code": .string("q")])
    try await world[0].sync()
    try await world.settle()
    try expect(other, .string("q"), world)
    let told = try #require(world[1].conflicts.first)
    #expect(told.local == "\"m\"" && told.kept == "\"q\"")
  }

  @Test("An edit over a value that waits and whose new key is taken goes back to the zone's value")
  func taken() async throws {
    let (world, one, other) = try await world()
    let third = try world[0].insert("Product", ["code": .string("m")])
    try world[1].set(other, ["code": .string("m")])
    try await world[0].sync()
    for _ in 0..<2 { try await world.syncAll() }
    for replica in world.replicas {
      #expect(try replica.value(third, "code") == .string("m"))
      #expect(try replica.status.pending.objects == 0)
    }
    let told = try world[1].conflicts.filter { $0.property == "code" }
    #expect(told.map(\.local) == ["\"m\""])
    #expect(told.map(\.kept) == ["\"k\""])
    // The value waits again, and stands once its key is free.
    try world[0].delete(one)
    try await world.settle()
    try expect(other, .string("k"), world)
  }

  @Test("An edit over a value that waits stands where the brake held up the delete of its holder")
  func braked() async throws {
    let (world, one, other) = try await world()
    let rest = try (0..<40).map { try world[0].insert("Product", ["name": .string("\($0)")]) }
    try await world.syncAll()
    for id in rest.prefix(36) + [one] { try world[0].delete(id) }
    _ = try await world[0].engine.sync(allowingMassDelete: true)
    try world[1].set(other, ["code": .string("m")])
    do { try await world[1].sync() } catch let error as SyncError {
      #expect(error.code == .massDelete)
    }
    _ = try await world[1].engine.sync(allowingMassDelete: true)
    try await world.settle()
    try expect(other, .string("m"), world)
  }
}
