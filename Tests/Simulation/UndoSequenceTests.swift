import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What a person puts back fits the rest of the store, or is refused with the reason.
struct UndoSequenceTests {
  @Test("A partner that is put back is known at both ends, and its delete takes it")
  func partner() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let items = [try stage.insert(0), try stage.insert(0), try stage.insert(0)]
    let badges = [try stage.insert(0, "Badge"), try stage.insert(0, "Badge")]
    try await stage.settle()
    try stage.relate(0, badges[0], "owner", items[0])
    stage.clock.advance(milliseconds: 1000)
    try stage.relate(1, badges[0], "owner", items[1])
    try await stage.settle()
    let holder = try #require(
      try stage.hosts.firstIndex { host in try host.conflicts.contains { $0.property == "owner" } })
    let entry = try #require(
      try stage.hosts[holder].conflicts.last { $0.property == "owner" })
    #expect(Image.identities(in: stage.value(holder, badges[0], "owner")) == [items[1]])
    // By now another badge has the item that the undo is to give back.
    try stage.relate(holder, badges[1], "owner", items[0])
    try SyncEngine.undo(conflict: entry.number, of: stage.hosts[holder].store)
    try stage.hosts[holder].look()
    #expect(Image.identities(in: stage.value(holder, badges[0], "owner")) == [items[0]])
    #expect(Image.identities(in: stage.value(holder, badges[1], "owner")) == [])
    let context = ManagedObjectContext(stage.hosts[holder].coordinator)
    let (first, second) = (
      try #require(try context.object(withIdentity: items[0])),
      try #require(try context.object(withIdentity: items[1]))
    )
    let badge = try #require(try context.object(withIdentity: badges[0]))
    #expect(try first.value(forKey: "badge") as? ManagedObject === badge)
    #expect(try second.value(forKey: "badge") == nil)
    try await stage.settle()
    try stage.delete(holder, items[0])
    try await stage.settle()
    for number in 0..<2 {
      #expect(Image.identities(in: stage.value(number, badges[0], "owner")) == [])
    }
  }

  /// Two hosts with a box, and an item that must have one.
  private func required(_ rule: DeleteRule) async throws -> (Stage, home: UUID, item: UUID) {
    let box = EntityDescription("Box")
    box.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "items", to: "Item", inverse: "box", toMany: true, deleteRule: rule),
    ]
    let item = EntityDescription("Item")
    item.properties = [
      AttributeDescription("title", .string),
      RelationshipDescription("box", to: "Box", inverse: "items", isOptional: false),
    ]
    let stage = try await Stage(
      .memory, hosts: 2, model: ManagedObjectModel(entities: [box, item]))
    let home = try stage.insert(0, "Box")
    try stage.save(0) { context in
      let object = try context.insert(entityNamed: "Item")
      try object.setValue(try context.object(withIdentity: home), forKey: "box")
    }
    let id = try #require(stage.hosts[0].image.things.first { $0.value.entity == "Item" }?.key)
    try await stage.settle()
    return (stage, home, id)
  }

  @Test("What requires a deleted object is not put back without it, and the error names both")
  func requiredIsDeleted() async throws {
    let (stage, home, id) = try await required(.cascade)
    try stage.set(1, id, ["title": .string("edited")])
    try stage.delete(0, home)
    try await stage.sync(0)
    try await stage.settle()
    let entries = try stage.hosts[1].conflicts.filter { $0.object == id }
    let entry = try #require(entries.last)
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: entry.number, of: stage.hosts[1].store)
    }
    #expect(error?.code == .cannotUndo)
    #expect(error?.message.contains("Item.box") == true, "\(error as Any)")
    try await stage.settle()
  }

  @Test("What had lost what it requires when it was deleted is not put back without it")
  func requiredAndCut() async throws {
    let (stage, _, id) = try await required(.nullify)
    let other = try stage.insert(0, "Box")
    try await stage.settle()
    // Moved into a box that is deleted elsewhere, and deleted: who edited it has it without a box by then.
    try stage.relate(0, id, "box", other)
    try await stage.sync(0)
    try stage.delete(0, id)
    try stage.delete(1, other)
    try stage.set(1, id, ["title": .string("edited")])
    try await stage.sync(0)
    try await stage.settle()
    let entry = try #require(try stage.hosts[1].conflicts.last { $0.object == id })
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: entry.number, of: stage.hosts[1].store)
    }
    #expect(error?.code == .cannotUndo)
    #expect(error?.message.contains("Item.box") == true, "\(error as Any)")
    try await stage.settle()
  }

  @Test("A parent that is put back closes no ring")
  func ring() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let nodes = [
      try stage.insert(0, "Node"), try stage.insert(0, "Node"), try stage.insert(0, "Node"),
    ]
    try await stage.settle()
    try stage.relate(0, nodes[0], "parent", nodes[1])
    stage.clock.advance(milliseconds: 1000)
    try stage.relate(1, nodes[0], "parent", nodes[2])
    try await stage.settle()
    let holder = try #require(try stage.hosts.first { try !$0.conflicts.isEmpty })
    let entry = try #require(try holder.conflicts.last)
    try stage.relate(holder.number, nodes[1], "parent", nodes[0])
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: entry.number, of: holder.store)
    }
    #expect(error?.code == .cannotUndo)
    try await stage.settle()
  }

  @Test("What an undo brings back has its partner again, at both ends")
  func partnerOfWhatIsBack() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["title": .string("old")])
    let badge = try stage.insert(0, "Badge", ["name": .string("badge")])
    try await stage.settle()
    try stage.relate(2, badge, "owner", item)
    try stage.set(2, item, ["title": .string("edited")])
    try await stage.sync(2)
    stage.clock.advance(milliseconds: 1000)
    try stage.delete(0, item)
    try await stage.sync(0)
    let entry = try #require(
      try stage.hosts[0].conflicts.first { $0.object == item && $0.property == "title" })
    _ = try SyncEngine.undo(conflict: entry.number, of: stage.hosts[0].store)
    try stage.hosts[0].look()
    try await stage.settle()
    #expect(stage.value(1, badge, "owner") == "\"\(item.uuidString.lowercased())\"")
  }

  @Test(
    "What an undo brings back has the partner again that its delete let go of, unless that has another by now",
    arguments: [false, true])
  func partnerThatWasLetGo(isTaken: Bool) async throws {
    let stage = try await Stage(.memory)
    let items = [try stage.insert(0), try stage.insert(0)]
    let badge = try stage.insert(0, "Badge", ["name": .string("badge")])
    try stage.relate(0, badge, "owner", items[0])
    try await stage.settle()
    try stage.set(2, items[0], ["title": .string("edited")])
    stage.clock.advance(milliseconds: 1000)
    try stage.delete(0, items[0])
    if isTaken { try stage.relate(0, badge, "owner", items[1]) }
    try await stage.sync(0)
    try await stage.sync(2)
    #expect(stage.hosts[2].image.things[items[0]] == nil)
    let entry = try #require(
      try stage.hosts[2].conflicts.first { $0.object == items[0] && $0.property == "title" })
    _ = try SyncEngine.undo(conflict: entry.number, of: stage.hosts[2].store)
    try stage.hosts[2].look()
    try await stage.settle()
    #expect(stage.value(1, items[0], "title") == "\"edited\"")
    #expect(Image.identities(in: stage.value(1, badge, "owner")) == [items[isTaken ? 1 : 0]])
  }
}
