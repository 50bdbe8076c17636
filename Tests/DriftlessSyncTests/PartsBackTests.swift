import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What comes of a transaction in parts where its log is lost in part, or its answer.
@Suite("A transaction in parts, of which something is lost")
struct PartsBackTests {
  private static func options() -> SyncOptions {
    var options = SyncOptions()
    options.partObjectsMax = 3
    options.pullBytesMax = 400
    return options
  }

  /// Items with labels, more than a change set holds.
  private func fill(_ replica: TestReplica) throws {
    try replica.save { context in
      let labels = try (0..<3).map { number in
        let label = try context.insert(entityNamed: "Label")
        try label.setValue("label \(number)", forKey: "name")
        return label
      }
      for number in 0..<9 {
        let item = try context.insert(entityNamed: "Item")
        try item.setValue("item \(number)", forKey: "title")
        try item.setValue([labels[number % 3]], forKey: "labels")
      }
    }
  }

  @Test("A reader whose kept entries end within it offers what it has")
  func endsWithin() async throws {
    let world = try await World(2, options: Self.options())
    try world[0].insert("Item", ["title": .string("first")])
    try await world.settle()
    let backup = world.zone.log
    try fill(world[0])
    try await world.syncAll()
    let url = try #require(world[1].store.url)
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    // As of a part that came damaged.
    try connection.execute(
      "DELETE FROM ZDL_FRAME WHERE sequence = (SELECT max(sequence) FROM ZDL_FRAME)")
    connection.close()
    world.zone.putBack(backup)
    try await world[1].sync()
    try await world.settle()
    #expect(try world[0].identities(of: "Item").count == 10)
  }

  /// Boxes with parts that go with them, and notes about parts.
  private static func boxes() -> ManagedObjectModel {
    let box = EntityDescription("Box")
    box.deletePolicy = .editWins
    box.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "parts", to: "Part", inverse: "box", toMany: true, deleteRule: .cascade),
    ]
    let part = EntityDescription("Part")
    part.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("box", to: "Box", inverse: "parts"),
      RelationshipDescription("notes", to: "Note", inverse: "part", toMany: true),
    ]
    let note = EntityDescription("Note")
    note.properties = [
      AttributeDescription("text", .string),
      RelationshipDescription("part", to: "Part", inverse: "notes"),
    ]
    return ManagedObjectModel(entities: [box, part, note])
  }

  @Test(
    "What a delete of it cut in another part is as it was, once an edit brings back what the delete took"
  )
  func cutInAnotherPart() async throws {
    var world = try await World(0)
    for name in ["a", "b"] {
      world.replicas.append(
        try await TestReplica(
          name, zone: world.zone, clock: world.clock, model: Self.boxes(),
          options: Self.options()))
    }
    let box = try world[0].insert("Box", ["name": .string("box")])
    let part = try world[0].insert("Part", ["name": .string("part")])
    let notes = try (0..<9).map { try world[0].insert("Note", ["text": .string("\($0)")]) }
    try world[0].save { context in
      let part = try #require(try context.object(withIdentity: part))
      try part.setValue(try context.object(withIdentity: box), forKey: "box")
      for note in notes {
        try #require(try context.object(withIdentity: note)).setValue(part, forKey: "part")
      }
    }
    try await world.settle()
    try world[0].delete(box)
    #expect(try !world[0].exists(part))
    try world[1].set(box, ["name": .string("edited")])
    #expect(try await world[0].push().changeSets == 1)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.exists(part), "\(replica.name)")
      for note in notes {
        #expect(try replica.reference(note, "part") == part, "\(replica.name)")
      }
    }
  }

  @Test("Its answer is found in a page, and the sync goes on", arguments: [false, true])
  func answerInPage(isBehind: Bool) async throws {
    let world = try await World(2, options: Self.options())
    let known = try world[0].insert("Item", ["title": .string("first")])
    try await world.settle()
    if isBehind {
      try world[1].set(known, ["low": .integer(1)])
      try await world[1].sync()
    }
    try fill(world[0])
    let first = HookedTransport(world.zone)
    first.afterPush = { throw CutTransport.Cut() }
    let engine = try await world[0].engine(through: first, options: Self.options())
    await #expect(throws: (any Error).self) { try await engine.push() }
    await engine.close()
    try world[1].set(known, ["high": .integer(1)])
    try await world[1].sync()
    // What was edited since waits for the answer.
    try world[0].set(known, ["title": .string("later")])
    let second = HookedTransport(world.zone)
    var isFirst = true
    second.rewritten = { frame in
      defer { isFirst = false }
      guard !isFirst else { throw ProtocolError(.busy, "Later", suggestion: "Wait.") }
      return frame
    }
    let again = try await world[0].engine(through: second, options: Self.options())
    let report = try await again.sync()
    #expect(report.push.changeSets == 1)
    await again.close()
    await world[0].restart()
    try await world.settle()
    #expect(try world[1].identities(of: "Item").count == 10)
    #expect(try world[1].value(known, "title") == .string("later"))
  }
}
