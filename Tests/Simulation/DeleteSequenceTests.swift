import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Deletes that the zone's log does not hold any more, or never held: nobody brings the objects back.
struct DeleteSequenceTests {
  /// A zone that lost an entry, in whose place another one lies: an item that all three knew.
  private func parted(
    _ kind: Scenario.Server, model: ManagedObjectModel = Stage.model()
  ) async throws -> (Stage, item: UUID) {
    let stage = try await Stage(kind, model: model)
    try stage.insert(0, "Box", ["name": .string("common")])
    try await stage.settle()
    try stage.server.backup()
    let item = try stage.insert(0, "Item", ["title": .string("lost with the server")])
    try await stage.settle()
    return (stage, item)
  }

  @Test("What a delete and an edit part is weighed by references of what comes back as well")
  func referenceOfWhatComesBack() async throws {
    let model = Stage.model()
    model.entitiesByName["Node"]?.deletePolicy = .editWins
    let stage = try await Stage(.memory, hosts: 2, model: model)
    let child = try stage.insert(0, "Node")
    let parent = try stage.insert(0, "Node")
    try await stage.settle()
    try stage.delete(0, parent)
    try stage.delete(0, child)
    try stage.relate(1, child, "parent", parent)
    try await stage.sync(1)
    try await stage.settle()
    #expect(stage.hosts[0].image.things[child] != nil)
    #expect(stage.hosts[0].image.things[parent] == nil)
    let cut = try stage.hosts.contains { host in
      try host.conflicts.contains { $0.object == child && $0.property == "parent" }
    }
    #expect(cut, "nobody is told that the reference was cut")
  }

  @Test(
    "What a delete took along comes back with the object that it requires, as it was moved there")
  func movedAndTaken() async throws {
    let box = EntityDescription("Box")
    box.properties = [
      RelationshipDescription(
        "items", to: "Item", inverse: "box", toMany: true, deleteRule: .cascade)
    ]
    let item = EntityDescription("Item")
    item.deletePolicy = .editWins
    item.properties = [
      AttributeDescription("title", .string),
      RelationshipDescription("box", to: "Box", inverse: "items", isOptional: false),
    ]
    let stage = try await Stage(
      .memory, hosts: 2, model: ManagedObjectModel(entities: [box, item]))
    let boxes = [
      try stage.insert(0, "Box"), try stage.insert(0, "Box"), try stage.insert(0, "Box"),
    ]
    try stage.save(0) { context in
      let object = try context.insert(entityNamed: "Item")
      try object.setValue(try context.object(withIdentity: boxes[0]), forKey: "box")
    }
    let id = try #require(stage.hosts[0].image.things.first { $0.value.entity == "Item" }?.key)
    try await stage.settle()
    try stage.relate(0, id, "box", boxes[1])
    try await stage.sync(0)
    stage.clock.advance(milliseconds: 1000)
    // Moved later to another one, and gone with that.
    try stage.relate(1, id, "box", boxes[2])
    try stage.delete(1, boxes[2])
    try await stage.settle()
    #expect(Image.identities(in: stage.value(0, id, "box")) == [boxes[2]])
    #expect(stage.hosts[0].image.things[boxes[2]] != nil)
  }

  @Test("What a cascade takes in a merge is named, with its edits and with what referred to it")
  func takenByCascade() async throws {
    let model = Stage.model()
    model.entitiesByName["Box"]?.relationshipsByName["items"]?.deleteRule = .cascade
    let stage = try await Stage(.memory, hosts: 2, model: model)
    let box = try stage.insert(0, "Box")
    let item = try stage.insert(0)
    let badge = try stage.insert(0, "Badge")
    try await stage.settle()
    try stage.relate(1, item, "box", box)
    try await stage.sync(1)
    try stage.relate(0, badge, "owner", item)
    try stage.set(0, item, ["title": .string("edited")])
    try stage.delete(0, box)
    try await stage.settle()
    #expect(stage.hosts[1].image.things[item] == nil)
    let entries = try stage.hosts.flatMap { try $0.conflicts }
    #expect(entries.contains { $0.object == badge && $0.property == "owner" })
    #expect(entries.contains { $0.object == item && $0.property == "title" })
  }

  @Test(
    "An edit that a server lost is named when whoever deleted the object had not known it",
    arguments: [false, true])
  func offeredAgainstADelete(isKnown: Bool) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0)
    try await stage.settle()
    try stage.server.backup()
    try stage.set(0, item, ["title": .string("lost, and offered")])
    try await stage.sync(0)
    if isKnown { try await stage.sync(1) }
    try await stage.partLogs()
    stage.clock.advance(milliseconds: 1000)
    try stage.delete(1, item)
    try await stage.sync(0)
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] == nil, "\(host.name)") }
    let entries = try stage.hosts.flatMap { try $0.conflicts }
    #expect(entries.contains { $0.object == item && $0.property == "title" } != isKnown)
  }

  @Test(
    "What was deleted, unsent, when its insert was lost stays deleted, whoever comes back first",
    arguments: [Scenario.Server.sqlite, .memory], [[0, 1], [1, 0]])
  func deletedUnsent(kind: Scenario.Server, order: [Int]) async throws {
    let (stage, item) = try await parted(kind)
    try stage.delete(1, item)
    try await stage.partLogs()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] == nil, "\(host.name)") }
  }

  @Test(
    "What was deleted in what the server lost stays deleted",
    arguments: [Scenario.Server.sqlite, .memory], [[0, 1], [1, 0]])
  func deletedInTheLostPart(kind: Scenario.Server, order: [Int]) async throws {
    let (stage, item) = try await parted(kind)
    try stage.delete(1, item)
    try await stage.sync(1)
    try await stage.partLogs()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] == nil, "\(host.name)") }
  }

  @Test("What a server lost twice and was deleted before it was offered again stays deleted")
  func deletedWhileItIsOffered() async throws {
    let (stage, item) = try await parted(.memory)
    try await stage.partLogs()
    try await stage.settle()
    stage.clock.advance(milliseconds: 2 * 86_400_000)
    // Who made the item is in no log any more: the one that is lost now has it as it was offered.
    try await stage.partLogs()
    _ = try await stage.hosts[1].engine.pull()
    try stage.delete(1, item)
    for number in [0, 1] { try await stage.sync(number) }
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] == nil, "\(host.name)") }
  }

  @Test("An edit that was never sent keeps an object against a tombstone, where edits win")
  func editedAgainstATombstone() async throws {
    let model = Stage.model()
    model.entitiesByName["Item"]?.deletePolicy = .editWins
    let (stage, item) = try await parted(.memory, model: model)
    try stage.delete(1, item)
    try stage.set(2, item, ["title": .string("edited, unsent")])
    try await stage.partLogs()
    try await stage.sync(1)
    try await stage.sync(2)
    try await stage.settle()
    #expect(stage.value(0, item, "title") == "\"edited, unsent\"")
  }

  @Test("What was deleted long before a zone began anew does not come back from who was away")
  func deletedBeforeTheRenewal() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["title": .string("everybody's")])
    try await stage.settle()
    try stage.delete(1, item)
    try await stage.sync(1)
    try stage.server.renew(.offer)
    for number in [2, 0, 1] { try await stage.sync(number) }
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] == nil, "\(host.name)") }
  }

  @Test("What was deleted after a clone was made does not come back from the clone")
  func deletedAfterTheClone() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("pending when it was cloned")])
    let clone = try stage.clone(0)
    try stage.delete(0, item)
    try await stage.sync(clone)
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] == nil, "\(host.name)") }
  }

  @Test("What was edited after its delete, and lost with it, is not made again where deletes win")
  func editedAfterTheLostDelete() async throws {
    let stage = try await Stage(.memory)
    try stage.server.backup()
    let item = try stage.insert(0, "Item", ["title": .string("everybody's")])
    try await stage.sync(0)
    try await stage.sync(2)
    try stage.delete(0, item)
    try await stage.sync(0)
    try stage.server.backup()
    // The server forgets the item: who still has it offers it again, edited after the delete.
    stage.clock.advance(milliseconds: 2 * 86_400_000)
    try stage.server.restore(0)
    try stage.set(2, item, ["title": .string("edited later")])
    try stage.insert(1, "Box")
    try await stage.push(1)
    try await stage.sync(2)
    // And remembers the delete.
    stage.clock.advance(milliseconds: 2 * 86_400_000)
    try stage.server.restore(1)
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] == nil, "\(host.name)") }
    let entries = try stage.hosts.flatMap { try $0.conflicts }
    #expect(entries.contains { $0.object == item && $0.property == "title" })
  }

  @Test("A reference that whoever deleted both its ends never saw is named")
  func unseenReference() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let box = try stage.insert(0, "Box")
    try await stage.settle()
    try stage.delete(1, box)
    let item = try stage.insert(0)
    try stage.relate(0, item, "box", box)
    try await stage.sync(0)
    for number in 0..<40 {
      try stage.insert(0, "Box", ["name": .string("\(number) of more than a page")])
      try await stage.push(0)
    }
    // A pull that ends before what it brought is settled.
    let host = stage.hosts[1]
    host.network.interlude = { _ in
      try host.look()
      if host.image.things[item] != nil { throw SimulatedNetwork.Lost(description: "cut") }
    }
    await #expect(throws: (any Error).self) { try await stage.sync(1) }
    host.network.interlude = nil
    try host.look()
    try stage.delete(1, item)
    try await stage.settle()
    let entries = try stage.hosts.flatMap { try $0.conflicts }
    #expect(entries.contains { $0.object == item && $0.property == "box" })
  }

  @Test("What was edited before a delete is sent when an edit keeps the object after a push")
  func deletedAfterAPart() async throws {
    let model = Stage.model()
    model.entitiesByName["Item"]?.deletePolicy = .editWins
    let stage = try await Stage(.memory, hosts: 2, model: model)
    let item = try stage.insert(0, "Item", ["title": .string("everybody's")])
    try await stage.settle()
    try stage.set(0, item, ["done": .bool(true)])
    try await stage.sync(0)
    try stage.set(1, item, ["title": .string("edited")])
    // As many as one change set takes: the delete goes with the next one.
    try stage.save(1) { context in
      for _ in 0..<4 { _ = try context.insert(entityNamed: "Box", identity: nil) }
    }
    try stage.delete(1, item)
    try await stage.push(1)
    try await stage.settle()
    #expect(stage.value(0, item, "title") == "\"edited\"")
    #expect(stage.value(1, item, "done") == "true")
  }

  @Test(
    "F46 A delete that was sent before a store was put back does not take what was made again since"
  )
  func sentBeforeTheRestore() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let identity = try #require(UUID(uuidString: "00000000-0000-5000-8000-000000000008"))
    try stage.insert(0, "Item", ["title": .string("first")], identity: identity)
    try await stage.settle()
    try stage.delete(1, identity)
    let backup = try stage.backup(1)
    try await stage.sync(1)
    try await stage.sync(0)
    try stage.insert(0, "Item", ["title": .string("made again")], identity: identity)
    try await stage.sync(0)
    try await stage.restore(1, backup)
    try await stage.settle()
    #expect(stage.value(1, identity, "title") == "\"made again\"")
    #expect(try stage.hosts[1].conflicts.isEmpty)
  }

  @Test(
    "A given identity that is made and deleted here is not another replica's object of that identity"
  )
  func givenIdentity() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let identity = try #require(UUID(uuidString: "00000000-0000-5000-8000-000000000007"))
    try stage.insert(0, "Item", ["title": .string("mine")], identity: identity)
    try stage.delete(0, identity)
    try stage.insert(1, "Item", ["title": .string("theirs")], identity: identity)
    try await stage.settle()
    #expect(stage.value(0, identity, "title") == "\"theirs\"")
  }
}
