import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What a change set leaves out of a save goes later, and nothing else is told in its place.
struct LeftOutTests {
  /// Things with a unique code, in topics; files with a unique name in a folder.
  private func model() -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    thing.properties = [
      AttributeDescription("code", .string), AttributeDescription("blob", .binaryData),
      RelationshipDescription("topic", to: "Topic", inverse: "things"),
    ]
    thing.uniquenessConstraints = [["code"]]
    let topic = EntityDescription("Topic")
    topic.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("things", to: "Thing", inverse: "topic", toMany: true),
      RelationshipDescription("above", to: "Topic", inverse: "below"),
      RelationshipDescription("below", to: "Topic", inverse: "above", toMany: true),
    ]
    let file = EntityDescription("File")
    file.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("folder", to: "Folder", inverse: "files"),
    ]
    file.uniquenessConstraints = [["folder", "name"]]
    let folder = EntityDescription("Folder")
    folder.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("files", to: "File", inverse: "folder", toMany: true),
    ]
    return ManagedObjectModel(entities: [thing, topic, file, folder])
  }

  private func world(
    _ rule: PickyTransport.Rule
  ) async throws -> (world: World, picky: TestReplica, transport: PickyTransport) {
    var world = try await World(0)
    let transport = PickyTransport(world.zone, rule)
    for index in 0..<3 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: model(),
          transport: index == 0 ? transport : nil))
    }
    return (world, world[0], transport)
  }

  private func noise(_ count: Int) -> Data {
    var generator = SeededGenerator(seed: 7)
    return Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
  }

  @Test("A reference to a new object that did not fit comes with it, and is not told as none")
  func cutTopic() async throws {
    let (world, picky, transport) = try await world(.init(bytesMax: 3000))
    let thing = try picky.insert("Thing", ["code": .string("1")])
    try await world.syncAll()
    var topic = UUID()
    try picky.save { context in
      let made = try context.insert(entityNamed: "Topic")
      try made.setValue("new", forKey: "name")
      let known = try #require(try context.object(withIdentity: thing))
      try known.setValue("2", forKey: "code")
      try known.setValue(made, forKey: "topic")
      for index in 0..<8 {
        let other = try context.insert(entityNamed: "Thing")
        // The first takes what the known one gives up; one is too large.
        try other.setValue(index == 0 ? "1" : "other \(index)", forKey: "code")
        if index == 7 { try other.setValue(noise(6000), forKey: "blob") }
      }
      try context.obtainPermanentIDs(for: [made])
      topic = try picky.store.read { try $0.identity(of: made.objectID.key) }
    }
    for _ in 0..<2 { try await world.syncAll() }
    #expect(transport.refusals > 0)
    for replica in world.replicas {
      #expect(try replica.value(thing, "code") == .string("2"), "\(replica.name)")
      #expect(try replica.reference(thing, "topic") == topic, "\(replica.name)")
      #expect(try replica.conflicts.isEmpty)
    }
    #expect(try SyncEngine.quarantine(of: picky.store).count == 1)
    #expect(try world[1].export == world[2].export)
  }

  @Test("A key with a part that waits is claimed as the zone will have it")
  func waitingPart() async throws {
    let (world, picky, transport) = try await world(.init(word: "poison"))
    let old = try picky.insert("Folder", ["name": .string("old")])
    let file = try picky.save(in: old, "first")
    try await world.syncAll()
    try picky.save { context in
      let folder = try context.insert(entityNamed: "Folder")
      try folder.setValue("poison", forKey: "name")
      let known = try #require(try context.object(withIdentity: file))
      try known.setValue(folder, forKey: "folder")
      try known.setValue("x", forKey: "name")
    }
    try await picky.sync()
    #expect(transport.refusals > 0)
    // The zone has it as "x" in the old folder.
    let other = try world[1].save(in: old, "x")
    try await world[1].push()
    try await world[1].sync()
    try await world[2].sync()
    try await world[1].sync()
    let names = try world[2].identities(of: "File").map { try world[2].value($0, "name") }
    #expect(names == [.string("x")], "the two are one")
    #expect(try world[2].conflicts.isEmpty)
    #expect(try world[1].export == world[2].export)
    transport.set(.init())
    try SyncEngine.retryQuarantined(of: picky.store)
    try await world.settle()
    #expect(try world[2].exists(file) != world[2].exists(other))
  }

  @Test("Selections of new objects that need each other come to an end, each with what it needs")
  func ring() async throws {
    let (world, picky, _) = try await world(.init(bytesMax: 3000))
    let known = try picky.insert("Topic", ["name": .string("known")])
    try await world.syncAll()
    try picky.save { context in
      let topics = try (0..<12).map { index in
        let topic = try context.insert(entityNamed: "Topic")
        try topic.setValue("\(index)", forKey: "name")
        return topic
      }
      for (topic, next) in zip(topics, topics.dropFirst() + topics.prefix(1)) {
        try topic.setValue(next, forKey: "above")
      }
      try #require(try context.object(withIdentity: known)).setValue(topics[5], forKey: "above")
      let large = try context.insert(entityNamed: "Thing")
      try large.setValue(noise(6000), forKey: "blob")
    }
    for _ in 0..<3 { try await world.syncAll() }
    #expect(try SyncEngine.quarantine(of: picky.store).count == 1)
    #expect(try world[1].identities(of: "Topic").count == 13)
    #expect(try world[1].export == world[2].export)
    for topic in try world[1].identities(of: "Topic") {
      #expect(try world[1].reference(topic, "above") == picky.reference(topic, "above"))
    }
  }
}

extension TestReplica {
  /// A file in a folder.
  fileprivate func save(in folder: UUID, _ name: String) throws -> UUID {
    var id = UUID()
    try save { context in
      let file = try context.insert(entityNamed: "File")
      try file.setValue(name, forKey: "name")
      try file.setValue(try context.object(withIdentity: folder), forKey: "folder")
      try context.obtainPermanentIDs(for: [file])
      id = try store.read { try $0.identity(of: file.objectID.key) }
    }
    return id
  }
}
