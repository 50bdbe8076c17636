import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// What a replica made while it was away, and another one made as well: it goes on by itself below the floor of a purged log, and
/// comes to what it would have come to by the log.
struct PurgedMeetingTests {
  /// Two replicas that read the log, and one that is away.
  private func world(
    _ model: () -> ManagedObjectModel
  ) async throws -> (world: World, way: PurgedZone) {
    var world = try await World(0)
    let way = try PurgedZone(world.zone)
    for name in ["one", "two"] {
      world.replicas.append(
        try await TestReplica(name, zone: world.zone, clock: world.clock, model: model()))
    }
    world.replicas.append(
      try await TestReplica(
        "away", zone: world.zone, clock: world.clock, model: model(), transport: way))
    return (world, way)
  }

  /// The one that was away comes back.
  private func comeBack(_ world: World, _ way: PurgedZone, isPurged: Bool) async throws {
    if isPurged { try way.purge() }
    try await world[2].sync()
    #expect((way.refused > 0) == isPurged)
    #expect(try world[2].status.pending.objects == 0)
    #expect(try world[2].status.parked == 0)
    try await world.settle()
    #expect(try SyncEngine.check(world[2].store).findings.map(\.message) == [])
  }

  private func point(
    _ replica: TestReplica, _ source: UUID, _ property: String, at target: UUID?
  ) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: source))
      try object.setValue(
        try target.map { try #require(try context.object(withIdentity: $0)) }, forKey: property)
    }
  }

  @Test(
    "Two objects that were made with one unique key become one, with the edits of both",
    arguments: [false, true])
  func oneKey(isPurged: Bool) async throws {
    let (world, way) = try await world { staffModel() }
    try world[0].insert("Person", ["email": .string("other")])
    try await world.settle()
    let zones = try world[0].insert(
      "Person", ["email": .string("a"), "name": .string("zone's")])
    try await world[0].sync()
    let own = try world[2].insert(
      "Person", ["email": .string("a"), "name": .string("mine")])
    let note = try world[2].insert("Note", ["text": .string("of mine")])
    try point(world[2], note, "person", at: own)
    try await comeBack(world, way, isPurged: isPurged)
    for replica in world.replicas {
      #expect(try replica.identities(of: "Person").count == 2)
      #expect(try replica.value(zones, "name") == .string("mine"))
      #expect(try replica.reference(note, "person") == zones)
    }
    #expect(try world[2].conflicts.contains { $0.object == zones })
  }

  @Test(
    "A new value of a unique key that another object has by now goes back, and is in the journal",
    arguments: [false, true])
  func takenKey(isPurged: Bool) async throws {
    let (world, way) = try await world { staffModel() }
    let person = try world[0].insert("Person", ["email": .string("first")])
    try await world.settle()
    try world[0].insert("Person", ["email": .string("b")])
    try await world[0].sync()
    try world[2].set(person, ["email": .string("b"), "name": .string("mine")])
    try await comeBack(world, way, isPurged: isPurged)
    for replica in world.replicas {
      #expect(try replica.value(person, "email") == .string("first"))
      #expect(try replica.value(person, "name") == .string("mine"))
      #expect(try replica.identities(of: "Person").count == 2)
    }
    #expect(try world[2].conflicts.contains { $0.object == person && $0.property == "email" })
  }

  @Test(
    "What both imported under one identity is one object, with the later word on each property",
    arguments: [false, true], [false, true])
  func oneIdentity(isPurged: Bool, isEarlier: Bool) async throws {
    let (world, way) = try await world { shopModel() }
    let label = try world[0].insert("Label", ["name": .string("label")])
    try await world.settle()
    let given = UUID()
    func setLabels(_ replica: TestReplica) throws {
      try replica.save { context in
        let labels = [try #require(try context.object(withIdentity: label))]
        try #require(try context.object(withIdentity: given)).setValue(
          Set(labels), forKey: "labels")
      }
    }
    func mine() throws {
      try world[2].insert(
        "Item", ["title": .string("mine"), "stock": .integer(3), "high": .integer(7)],
        identity: given)
      try setLabels(world[2])
    }
    func theirs() async throws {
      try world[0].insert(
        "Item", ["title": .string("zone's"), "stock": .integer(1), "price": .decimal(2)],
        identity: given)
      try await world[0].sync()
      try world[0].set(given, ["weight": .double(1.5), "high": .integer(5)])
      try await world[0].sync()
    }
    if isEarlier { try mine() }
    try await theirs()
    if !isEarlier { try mine() }
    try await comeBack(world, way, isPurged: isPurged)
    for replica in world.replicas {
      #expect(try replica.identities(of: "Item") == [given])
      #expect(try replica.value(given, "title") == .string(isEarlier ? "zone's" : "mine"))
      #expect(try replica.value(given, "high") == .integer(7))
      #expect(try replica.value(given, "price") == .decimal(2))
      #expect(try replica.value(given, "weight") == .double(1.5))
      #expect(try replica.elements(given, "labels") == [label])
    }
    #expect(try world[2].conflicts.contains { $0.object == given && $0.property == "title" })
  }

  @Test(
    "What was made here under an identity that others made and deleted stays",
    arguments: [false, true])
  func deletedThere(isPurged: Bool) async throws {
    let (world, way) = try await world { shopModel() }
    try world[0].insert("Item", ["title": .string("other")])
    try await world.settle()
    let given = UUID()
    try world[0].insert("Item", ["title": .string("zone's")], identity: given)
    try await world[0].sync()
    try world[0].delete(given)
    try await world[0].sync()
    try world[2].insert("Item", ["title": .string("mine")], identity: given)
    try await comeBack(world, way, isPurged: isPurged)
    for replica in world.replicas {
      #expect(try replica.value(given, "title") == .string("mine"))
    }
  }

  @Test(
    "What was made and deleted here under an identity that others made as well is theirs",
    arguments: [false, true], [false, true])
  func deletedHere(isPurged: Bool, isDeletedThere: Bool) async throws {
    let (world, way) = try await world { shopModel() }
    try world[0].insert("Item", ["title": .string("other")])
    try await world.settle()
    let given = UUID()
    try world[2].insert("Item", ["title": .string("mine")], identity: given)
    try world[2].delete(given)
    try world[0].insert("Item", ["title": .string("zone's")], identity: given)
    try await world[0].sync()
    if isDeletedThere {
      try world[0].delete(given)
      try await world[0].sync()
    }
    try await comeBack(world, way, isPurged: isPurged)
    for replica in world.replicas {
      #expect(try replica.exists(given) == !isDeletedThere)
    }
  }

  @Test(
    "One partner that two took has one of them, and the journal the other",
    arguments: [false, true])
  func onePartner(isPurged: Bool) async throws {
    let (world, way) = try await world { fleetModel() }
    let driver = try world[0].insert("Driver", ["name": .string("one")])
    try await world.settle()
    let theirs = try world[0].insert("Car", ["plate": .string("theirs")])
    try point(world[0], theirs, "driver", at: driver)
    try await world[0].sync()
    let mine = try world[2].insert("Car", ["plate": .string("mine")])
    try point(world[2], mine, "driver", at: driver)
    try await comeBack(world, way, isPurged: isPurged)
    for replica in world.replicas {
      #expect(try replica.reference(theirs, "driver") == driver)
      #expect(try replica.reference(mine, "driver") == nil)
    }
    #expect(try world[2].conflicts.contains { $0.object == mine })
  }

  @Test(
    "Whatever two import of one list, and give one key, while one of them is away, all agree",
    arguments: 1...12)
  func random(seed: UInt64) async throws {
    var numbers = SeededGenerator(seed: seed)
    let (world, way) = try await world {
      staffModel(deletePolicy: seed % 2 == 0 ? .editWins : .deleteWins)
    }
    let lines = (0..<8).map { _ in UUID() }
    func step(_ replica: TestReplica) throws {
      let line = lines[Int.random(in: lines.indices, using: &numbers)]
      let values: [String: PropertyValue] = [
        "email": .string("\(Int.random(in: 0..<5, using: &numbers))"),
        "name": .string("\(replica.name) \(Int.random(in: 0..<99, using: &numbers))"),
      ]
      let persons = try replica.identities(of: "Person")
      do {
        switch Int.random(in: 0..<6, using: &numbers) {
        case 0...2 where try !replica.exists(line):
          try replica.save { context in
            let person = try context.insert(entityNamed: "Person", identity: line)
            for (name, value) in values { try person.setValue(value, forKey: name) }
          }
        case 3:
          if let one = persons.randomElement(using: &numbers) { try replica.delete(one) }
        default:
          if let one = persons.randomElement(using: &numbers) {
            try replica.save { context in
              let person = try #require(try context.object(withIdentity: one))
              for (name, value) in values { try person.setValue(value, forKey: name) }
            }
          }
        }
      } catch is ConstraintConflictError {
        // A person is told that the key is taken here.
      }
    }
    for _ in 0..<3 { try step(world[0]) }
    try await world.settle()
    for _ in 0..<8 {
      try step(world[0])
      try await world[0].sync()
    }
    for _ in 0..<8 { try step(world[2]) }
    try await comeBack(world, way, isPurged: true)
  }
}
