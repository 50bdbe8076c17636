import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A store that left its zone with edits that were not sent, or forgot what it knew of it, and comes back to it.
struct LeftZoneTests {
  enum Way: CaseIterable { case anew, unenrolled }

  private func comeBack(_ replica: TestReplica, _ way: Way) async throws {
    await replica.engine.close()
    if way == .unenrolled {
      try SyncEngine.unenroll(store: replica.store, leavingUnsent: true)
    }
    try SyncEngine.enroll(
      store: replica.store, server: MemoryZone.url, zone: replica.zone.name,
      info: try await replica.zone.zoneInfo(), anew: way == .anew)
    await replica.restart()
  }

  private func labels(_ replica: TestReplica, _ item: UUID) throws -> Set<UUID> {
    try replica.store.read { transaction in
      guard let key = try transaction.key(of: item),
        let relationship = replica.store.schema.entity(numbered: key.entity)?
          .relationshipsByName["labels"]
      else { return [] }
      return Set(
        try transaction.toManyKeys(of: key, relationship).map { try transaction.identity(of: $0) })
    }
  }

  /// A zone that refuses what says *poison*, and a replica that it does so to.
  private func pickyWorld() async throws -> (World, PickyTransport) {
    var world = try await World(1)
    let picky = PickyTransport(world.zone, .init(word: "poison"))
    world.replicas.insert(
      try await TestReplica("picky", zone: world.zone, clock: world.clock, transport: picky), at: 0)
    return (world, picky)
  }

  @Test(
    "A reference and an element that wait for what the server refuses arrive once it takes that",
    arguments: Way.allCases, [false, true])
  func waitingReference(way: Way, isKnown: Bool) async throws {
    let (world, picky) = try await pickyWorld()
    var ids: [UUID] = []
    if isKnown {
      ids.append(try world[0].insert("Item", ["title": .string("q")]))
      try await world.settle()
    }
    try world[0].save { context in
      let item =
        isKnown
        ? try #require(try context.object(withIdentity: ids[0]))
        : try context.insert(entityNamed: "Item")
      let shelf = try context.insert(entityNamed: "Shelf")
      try shelf.setValue("poison", forKey: "name")
      let made = try ["poison", "fine"].map { name in
        let label = try context.insert(entityNamed: "Label")
        try label.setValue(name, forKey: "name")
        return label
      }
      // In an ordered relationship its place waits with the reference.
      try context.insert(entityNamed: "Row").setValue(shelf, forKey: "shelf")
      try item.setValue("new", forKey: "title")
      try item.setValue(shelf, forKey: "shelf")
      try item.setValue(made, forKey: "labels")
    }
    let item = try #require(try world[0].identities(of: "Item").first)
    let shelf = try #require(try world[0].identities(of: "Shelf").first)
    let row = try world[0].identities(of: "Row")
    let all = Set(try world[0].identities(of: "Label"))
    try await world[0].sync()
    try await world[1].sync()
    #expect(try world[1].value(item, "title") == .string("new"))
    #expect(try world[1].reference(item, "shelf") == nil)
    #expect(try labels(world[1], item).count == 1)
    picky.set(.init())
    try await comeBack(world[0], way)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.reference(item, "shelf") == shelf, "\(replica.name)")
      #expect(try replica.rows(of: shelf) == row, "\(replica.name)")
      #expect(try labels(replica, item) == all, "\(replica.name)")
      let told = try replica.conflicts
      #expect(told.isEmpty, "\(replica.name): \(told)")
    }
  }

  @Test("An element alone that waits arrives", arguments: Way.allCases)
  func waitingElement(way: Way) async throws {
    let (world, picky) = try await pickyWorld()
    try world[0].save { context in
      let label = try context.insert(entityNamed: "Label")
      try label.setValue("poison", forKey: "name")
      let item = try context.insert(entityNamed: "Item")
      try item.setValue("new", forKey: "title")
      try item.setValue([label], forKey: "labels")
      // Others that fill the columns.
      let other = try context.insert(entityNamed: "Item")
      let shelf = try context.insert(entityNamed: "Shelf")
      try other.setValue(shelf, forKey: "shelf")
      try other.setValue([try context.insert(entityNamed: "Label")], forKey: "labels")
    }
    try await world[0].sync()
    picky.set(.init())
    try await comeBack(world[0], way)
    try await world.settle()
    for replica in world.replicas {
      let counts = try replica.identities(of: "Item").map { try labels(replica, $0).count }
      #expect(counts == [1, 1], "\(replica.name)")
      #expect(try replica.conflicts.isEmpty)
    }
  }

  struct Delete: CustomTestStringConvertible {
    var entity = "Item"
    var isOwn = true
    var isGiven = false
    var way: Way
    var testDescription: String {
      "\(entity) \(isOwn ? "own" : "pulled") \(isGiven ? "given" : "minted") \(way)"
    }

    static let all = Way.allCases.flatMap { way in
      ["Item", "Shelf"].flatMap { entity in
        [(true, false), (true, true), (false, false), (false, true)].map {
          Delete(entity: entity, isOwn: $0.0, isGiven: $0.1, way: way)
        }
      }
    }
  }

  @Test("A delete that was not sent holds, whoever made the object", arguments: Delete.all)
  func unsentDelete(_ delete: Delete) async throws {
    let world = try await World(2)
    let name = delete.entity == "Item" ? "title" : "name"
    let id = try world[delete.isOwn ? 0 : 1].insert(
      delete.entity, [name: .string("a")], identity: delete.isGiven ? UUID() : nil)
    try await world.settle()
    try world[0].set(id, [name: .string("b")])
    try await world.settle()
    try world[0].delete(id)
    try await comeBack(world[0], delete.way)
    try await world.settle()
    for replica in world.replicas {
      #expect(try !replica.exists(id), "\(replica.name)")
      let told = try replica.conflicts
      #expect(told.isEmpty, "\(replica.name): \(told)")
    }
  }

  @Test(
    "An edit of another replica that was not known to who deleted the object keeps it",
    arguments: Delete.all.filter { $0.entity == "Shelf" })
  func editWins(_ delete: Delete) async throws {
    let world = try await World(2)
    let id = try world[delete.isOwn ? 0 : 1].insert(
      "Shelf", ["name": .string("a")], identity: delete.isGiven ? UUID() : nil)
    try await world.settle()
    try world[1].set(id, ["name": .string("theirs")])
    try await world[1].sync()
    try world[0].delete(id)
    try await comeBack(world[0], delete.way)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(id, "name") == .string("theirs"), "\(replica.name)")
    }
  }

  /// What a store deletes that is no replica at that time.
  private func deleteMeanwhile(_ id: UUID, _ replica: TestReplica) async throws {
    await replica.engine.close()
    try SyncEngine.unenroll(store: replica.store)
    try replica.delete(id)
    try await replica.enroll()
    await replica.restart()
  }

  @Test(
    "A delete that was made while the store was no replica holds, whoever made the object",
    arguments: Delete.all.filter { $0.way == .unenrolled }, [false, true])
  func deletedMeanwhile(_ delete: Delete, isReferredTo: Bool) async throws {
    let world = try await World(2)
    let name = delete.entity == "Item" ? "title" : "name"
    let id = try world[delete.isOwn ? 0 : 1].insert(
      delete.entity, [name: .string("a")], identity: delete.isGiven ? UUID() : nil)
    if isReferredTo {
      try world[delete.isOwn ? 0 : 1].save { context in
        let object = try #require(try context.object(withIdentity: id))
        let isItem = delete.entity == "Item"
        let other = try context.insert(entityNamed: isItem ? "Label" : "Row")
        try other.setValue(isItem ? [object] : object, forKey: isItem ? "items" : "shelf")
      }
    }
    try await world.settle()
    try world[0].set(id, [name: .string("b")])
    try await world.settle()
    try await deleteMeanwhile(id, world[0])
    #expect(try SyncEngine.check(world[0].store).findings == [])
    // Known to the zone, and not sent.
    try await world[0].pull()
    #expect(try SyncEngine.check(world[0].store).findings == [])
    try await world.settle()
    for replica in world.replicas {
      #expect(try !replica.exists(id), "\(replica.name)")
      let told = try replica.conflicts.filter { $0.object == id }
      #expect(told.isEmpty, "\(replica.name): \(told)")
    }
  }

  @Test(
    "A delete holds that was not sent when its store left the zone twice",
    arguments: Delete.all.filter { $0.entity == "Item" }, Way.allCases)
  func leftTwice(_ delete: Delete, again: Way) async throws {
    let world = try await World(2)
    let id = try world[delete.isOwn ? 0 : 1].insert(
      "Item", ["title": .string("a")], identity: delete.isGiven ? UUID() : nil)
    try await world.settle()
    try world[0].delete(id)
    for way in [delete.way, again] { try await comeBack(world[0], way) }
    try await world.settle()
    for replica in world.replicas { #expect(try !replica.exists(id), "\(replica.name)") }
  }

  @Test(
    "A delete that was made while the store was no replica holds in a zone that began anew meanwhile",
    arguments: Delete.all.filter { $0.way == .unenrolled && $0.entity == "Item" })
  func renewedMeanwhile(_ delete: Delete) async throws {
    let world = try await World(2)
    let id = try world[delete.isOwn ? 0 : 1].insert(
      "Item", ["title": .string("a")], identity: delete.isGiven ? UUID() : nil)
    try await world.settle()
    await world[0].engine.close()
    try SyncEngine.unenroll(store: world[0].store)
    try world[0].delete(id)
    world.zone.renew()
    try await world[1].sync()
    try await world[0].enroll()
    await world[0].restart()
    try await world.settle()
    for replica in world.replicas { #expect(try !replica.exists(id), "\(replica.name)") }
  }

  @Test(
    "A delete holds that is made after the store came back, before it has read the log again",
    arguments: Delete.all, [false, true])
  func deletedBeforeReading(_ delete: Delete, isEdited: Bool) async throws {
    let world = try await World(2)
    let name = delete.entity == "Item" ? "title" : "name"
    let id = try world[delete.isOwn ? 0 : 1].insert(
      delete.entity, [name: .string("a")], identity: delete.isGiven ? UUID() : nil)
    try await world.settle()
    if isEdited {
      try world[0].set(id, [name: .string("b")])
      try await world.settle()
    }
    try await comeBack(world[0], delete.way)
    try world[0].delete(id)
    try await world.settle()
    for replica in world.replicas {
      #expect(try !replica.exists(id), "\(replica.name)")
      let told = try replica.conflicts
      #expect(told.isEmpty, "\(replica.name): \(told)")
    }
  }

  @Test(
    "What was made here and deleted by another replica is not pending when the store comes back",
    arguments: Way.allCases)
  func deletedElsewhere(way: Way) async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    try world[1].delete(id)
    try await world.settle()
    try await comeBack(world[0], way)
    #expect(try world[0].status.pending.objects == 0)
    #expect(try SyncEngine.check(world[0].store).findings == [])
    try await world.settle()
    for replica in world.replicas { #expect(try !replica.exists(id), "\(replica.name)") }
  }

  @Test(
    "An edit of what was deleted here, and came from another replica since, is sent when the store comes back",
    arguments: Way.allCases)
  func editOfWhatCameAgain(way: Way) async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("mine")], identity: UUID())
    try world[0].delete(id)
    _ = try world[1].insertOrRemake("Item", ["title": .string("theirs")], identity: id)
    try await world[1].sync()
    try await world[0].sync()
    #expect(try world[0].value(id, "title") == .string("theirs"))
    try world[0].set(id, ["title": .string("edited")])
    try await comeBack(world[0], way)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(id, "title") == .string("edited"), "\(replica.name)")
    }
  }

  @Test("What was made and deleted while the store was no replica is nobody's business")
  func madeMeanwhile() async throws {
    let world = try await World(2)
    try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    let head = world.zone.head
    await world[0].engine.close()
    try SyncEngine.unenroll(store: world[0].store)
    let id = try world[0].insert("Item", ["title": .string("b")])
    try world[0].delete(id)
    try await world[0].enroll()
    await world[0].restart()
    try await world.settle()
    #expect(try world[1].identities(of: "Item").count == 1)
    #expect(world.zone.head == head)
  }

  @Test(
    "What was deleted and made again by another replica stays",
    arguments: Delete.all.filter { $0.entity == "Item" })
  func madeAgain(_ delete: Delete) async throws {
    let world = try await World(2)
    let id = try world[delete.isOwn ? 0 : 1].insert(
      "Item", ["title": .string("a")], identity: delete.isGiven ? UUID() : nil)
    try await world.settle()
    try world[0].delete(id)
    try await world.settle()
    _ = try world[1].insertOrRemake("Item", ["title": .string("again")], identity: id)
    try await world[1].sync()
    try await comeBack(world[0], delete.way)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(id, "title") == .string("again"), "\(replica.name)")
    }
  }

  @Test(
    "What was made and deleted before it was sent is nobody's business", arguments: Way.allCases)
  func neverSent(way: Way) async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a")])
    try world[0].delete(id)
    try await comeBack(world[0], way)
    #expect(try world[0].status.pending.objects == 0)
    try await world.settle()
    #expect(world.zone.head == 0)
  }
}
