import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A relationship that is to-one in the models of before and to-many in a newer one.
struct NewerKindTests {
  /// - Parameter isOrdered: the other end keeps an order, so that a place stands beside each reference.
  private func model(isToMany: Bool, isOrdered: Bool = false) -> ManagedObjectModel {
    let part = EntityDescription("Part")
    part.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("shelf", to: "Shelf", inverse: "parts", toMany: isToMany),
    ]
    let shelf = EntityDescription("Shelf")
    shelf.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "parts", to: "Part", inverse: "shelf", toMany: true, isOrdered: isOrdered && !isToMany),
    ]
    return ManagedObjectModel(entities: [part, shelf])
  }

  private func replica(
    _ name: String, _ world: World, isToMany: Bool, isOrdered: Bool = false, file: URL? = nil
  ) async throws -> TestReplica {
    try await TestReplica(
      name, zone: world.zone, clock: world.clock,
      model: model(isToMany: isToMany, isOrdered: isOrdered), file: file)
  }

  private func point(_ part: UUID, at shelf: UUID?, _ replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: part))
      try object.setValue(
        try shelf.map { try #require(try context.object(withIdentity: $0)) }, forKey: "shelf")
    }
  }

  private func shelves(_ part: UUID, _ replica: TestReplica) throws -> Set<UUID> {
    try replica.store.read { transaction in
      guard let key = try transaction.key(of: part),
        let relationship = replica.store.schema.entity(numbered: key.entity)?
          .relationshipsByName["shelf"]
      else { return [] }
      return Set(try transaction.toManyKeys(of: key, relationship).map(transaction.identity))
    }
  }

  @Test(
    "Who joins after the others migrated has what they have, and nothing is set aside",
    arguments: [false, true])
  func joins(isOrdered: Bool) async throws {
    var world = try await World(0)
    var old: [TestReplica] = []
    for index in 0..<2 {
      old.append(
        try await replica("r\(index)", world, isToMany: false, isOrdered: isOrdered))
    }
    let shelves = try ["1", "2"].map { try old[0].insert("Shelf", ["name": .string($0)]) }
    let parts = try (0..<4).map { try old[0].insert("Part", ["name": .string("\($0)")]) }
    for part in parts.dropLast() { try point(part, at: shelves[0], old[0]) }
    try await old[0].sync()
    try await old[1].sync()
    try point(parts[1], at: shelves[1], old[1])
    try point(parts[2], at: nil, old[1])
    for replica in [old[1], old[0]] { try await replica.sync() }
    for replica in old {
      await replica.engine.close()
      replica.store.close()
      world.replicas.append(
        try await self.replica(replica.name, world, isToMany: true, file: replica.store.url))
    }
    world.replicas.append(try await replica("late", world, isToMany: true))
    try await world.settle()
    for replica in world.replicas {
      let found = try parts.map { try self.shelves($0, replica) }
      #expect(found == [[shelves[0]], [shelves[1]], [], []], "\(replica.name)")
      #expect(try SyncEngine.parked(of: replica.store).isEmpty, "\(replica.name)")
    }
    try world[2].save { context in
      let object = try #require(try context.object(withIdentity: parts[0]))
      try object.setValue(
        try shelves.map { try #require(try context.object(withIdentity: $0)) }, forKey: "shelf")
    }
    try await world.settle()
    #expect(try self.shelves(parts[0], world[0]) == Set(shelves))
  }

  private func setShelves(_ part: UUID, _ shelves: [UUID], _ replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: part))
      try object.setValue(
        try shelves.map { try #require(try context.object(withIdentity: $0)) }, forKey: "shelf")
    }
  }

  /// What comes after an entry of before that is read late.
  enum Since: CaseIterable { case nothing, added, addedAgain, said, edited }

  @Test(
    "An entry of before that is read late says what it says to who reads the log in its order",
    arguments: Since.allCases)
  func readLate(since: Since) async throws {
    var world = try await World(0)
    let old = try await replica("old", world, isToMany: false)
    let new = try await replica("new", world, isToMany: true)
    let spoiler = DamagingTransport(world.zone)
    let late = try await TestReplica(
      "late", zone: world.zone, clock: world.clock, model: model(isToMany: true),
      transport: spoiler)
    world.replicas = [new, late]
    let shelves = try (0..<4).map { try old.insert("Shelf", ["name": .string("\($0)")]) }
    let part = try old.insert("Part")
    try point(part, at: shelves[0], old)
    try await old.sync()
    try await world.syncAll()
    try setShelves(part, [shelves[0], shelves[3]], new)
    try await world.syncAll()
    try await world.syncAll()
    try await old.sync()
    try point(part, at: shelves[1], old)
    try await old.sync()
    spoiler.damaged.insert(world.zone.head)
    _ = await #expect(throws: ProtocolError.self) { try await late.sync() }
    try await late.sync()
    try await new.sync()
    switch since {
    case .nothing: break
    case .added: try setShelves(part, [shelves[1], shelves[2]], new)
    // Of those that the entry took out, one is put in again.
    case .addedAgain: try setShelves(part, [shelves[1], shelves[3]], new)
    case .said:
      try point(part, at: shelves[2], old)
      try await old.sync()
    case .edited: try setShelves(part, [shelves[0], shelves[2], shelves[3]], late)
    }
    if since != .edited { try await new.sync() }
    try await late.sync()
    spoiler.damaged = []
    #expect(try SyncEngine.retryParked(of: late.store) > 0)
    try await world.settle()
    #expect(try SyncEngine.parked(of: late.store).isEmpty)
    let expected: Set<UUID> =
      switch since {
      case .nothing: [shelves[1]]
      case .added: [shelves[1], shelves[2]]
      case .addedAgain: [shelves[1], shelves[3]]
      case .said: [shelves[2]]
      case .edited: [shelves[1], shelves[2]]
      }
    for replica in world.replicas {
      #expect(try self.shelves(part, replica) == expected, "\(replica.name)")
    }
  }

  @Test("A program of before says the whole set, also against an edit that is pending")
  func both() async throws {
    var world = try await World(0)
    let old = try await replica("old", world, isToMany: false)
    let new = try await replica("new", world, isToMany: true)
    let late = try await replica("late", world, isToMany: true)
    world.replicas = [new, late]
    let shelves = try ["1", "2", "3"].map { try old.insert("Shelf", ["name": .string($0)]) }
    let part = try old.insert("Part")
    try point(part, at: shelves[0], old)
    try await old.sync()
    try await world.syncAll()
    #expect(try self.shelves(part, new) == [shelves[0]])
    try new.save { context in
      let object = try #require(try context.object(withIdentity: part))
      try object.setValue(
        try shelves[..<2].map { try #require(try context.object(withIdentity: $0)) },
        forKey: "shelf")
    }
    try point(part, at: shelves[2], old)
    try await old.sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try self.shelves(part, replica) == [shelves[1], shelves[2]], "\(replica.name)")
    }
  }

  /// A part is moved from one shelf to another, all migrate, and the server loses the move.
  @Test(
    "A reference of before that a server lost is offered as all that the set has",
    arguments: [false, true])
  func lostReference(isChangedSince: Bool) async throws {
    var world = try await World(0)
    let old = try await replica("old", world, isToMany: false)
    let shelves = try (0..<3).map { try old.insert("Shelf", ["name": .string("\($0)")]) }
    let part = try old.insert("Part")
    try point(part, at: shelves[0], old)
    try await old.sync()
    let writer = try await replica("writer", world, isToMany: true)
    if isChangedSince {
      try await writer.sync()
      try setShelves(part, [shelves[0], shelves[2]], writer)
      try await writer.sync()
      try await old.sync()
    }
    let copy = world.zone.log
    try point(part, at: shelves[1], old)
    try await old.sync()
    await old.engine.close()
    old.store.close()
    let new = try await replica("old", world, isToMany: true, file: old.store.url)
    world.zone.putBack(copy)
    // Another log from there on.
    try writer.insert("Shelf")
    try await writer.sync()
    world.replicas = [new, writer]
    try await world.settle()
    for replica in world.replicas {
      #expect(try self.shelves(part, replica) == [shelves[1]], "\(replica.name)")
    }
  }
}
