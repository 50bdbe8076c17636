import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Objects that are deleted here one after the other, and that edits of elsewhere bring back: their sets have all that the
/// zone has in them.
struct RevivedSetTests {
  /// The first host deleted a tag before it heard that an item has it, and then deletes the item as well, which nobody
  /// hears of yet. The second host has not heard of the tag's delete.
  private func deletedUnseen(
    _ model: ManagedObjectModel, _ property: String = "tags", _ entity: String = "Tag"
  ) async throws -> (Stage, item: UUID, tags: [UUID]) {
    for entity in model.entities { entity.deletePolicy = .editWins }
    let stage = try await Stage(.memory, model: model)
    let item = try stage.insert(0)
    let tags = try (0..<3).map { _ in try stage.insert(0, entity) }
    try await stage.settle()
    if property == "tags" {
      try stage.relate(1, item, property, to: [tags[0]])
    } else {
      try stage.relate(1, item, property, tags[0])
    }
    try await stage.sync(1)
    try stage.delete(0, tags[0])
    // It hears of the set with the tag that it has deleted.
    try await stage.sync(0)
    try stage.delete(0, item)
    return (stage, item, tags)
  }

  @Test("A set that another replica changed has the element that came back before its object")
  func elementBefore() async throws {
    let (stage, item, tags) = try await deletedUnseen(Stage.tagged())
    try stage.relate(1, item, "tags", to: [tags[0], tags[1]])
    try stage.set(1, tags[0], ["name": .string("edited")])
    try await stage.sync(1)
    try await stage.settle()
    for host in stage.hosts {
      let value = Set(Image.identities(in: host.image.value(item, "tags")))
      #expect(value == [tags[0], tags[1]], "\(host.name)")
    }
  }

  @Test("So does an ordered set, where it was")
  func orderedElementBefore() async throws {
    let (stage, item, tags) = try await deletedUnseen(Stage.model())
    try stage.relate(1, item, "tags", to: [tags[1], tags[0], tags[2]])
    try stage.set(1, tags[0], ["name": .string("edited")])
    try await stage.sync(1)
    try await stage.settle()
    stage.expectAll(item, "tags", [tags[1], tags[0], tags[2]])
  }

  @Test("A set that is back has the element that comes back after its object")
  func elementAfter() async throws {
    let (stage, item, tags) = try await deletedUnseen(Stage.tagged())
    // The tag's edit comes later, by who has not heard of its delete.
    try stage.set(2, tags[0], ["name": .string("edited")])
    try stage.relate(1, item, "tags", to: [tags[0], tags[1]])
    try await stage.sync(1)
    try await stage.sync(0)
    try await stage.settle()
    for host in stage.hosts {
      let value = Set(Image.identities(in: host.image.value(item, "tags")))
      #expect(value == [tags[0], tags[1]], "\(host.name)")
    }
  }

  @Test("A reference is there again when both its ends are")
  func reference() async throws {
    let (stage, item, boxes) = try await deletedUnseen(Stage.model(), "box", "Box")
    try stage.set(1, boxes[0], ["name": .string("edited")])
    try stage.set(1, item, ["title": .string("edited")])
    try await stage.sync(1)
    try await stage.settle()
    stage.expectAll(item, "box", [boxes[0]])
  }

  @Test(
    "What left a set with a delete that was not heard to be taken comes back into it on both sides")
  func unheardDelete() async throws {
    let stage = try await Stage(.memory, hosts: 2, model: Stage.tagged())
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.settle()
    try stage.delete(0, tag)
    stage.hosts[0].network.interlude = { moment in
      if case .afterServer = moment { throw SimulatedNetwork.Lost(description: "lost") }
    }
    await #expect(throws: SimulatedNetwork.Lost.self) { try await stage.push(0) }
    stage.hosts[0].network.interlude = nil
    try stage.set(1, tag, ["name": .string("edited")])
    try stage.set(1, item, ["title": .string("edited")])
    try stage.delete(0, item)
    try await stage.sync(1)
    try await stage.settle()
    // Who edited it knew it there (`DeleteCuts`).
    stage.expectAll(item, "tags", [tag])
  }

  @Test(
    "What was put into a set and taken out again, in pushes that got no answer, is the same everywhere when its element comes back"
  )
  func unansweredSet() async throws {
    var scenario = try #require(
      Scenario.combined.first { $0.name == "clocks and purged restored servers" })
    scenario.partObjectsMax = 2
    let steps = [
      Step(.save, 0, 764152), Step(.save, 1, 225397), Step(.pull, 2, 109821),
      Step(.save, 1, 806563), Step(.push, 2, 838945), Step(.sync, 1, 554587),
      Step(.deaf, 1, 351173), Step(.sync, 0, 892772), Step(.save, 2, 288925),
      Step(.pull, 2, 840739), Step(.save, 1, 930121), Step(.save, 1, 742771),
      Step(.save, 0, 965491), Step(.sync, 2, 211661), Step(.save, 2, 370083),
      Step(.save, 0, 620680), Step(.save, 2, 471635), Step(.save, 0, 688974),
      Step(.sync, 2, 763440), Step(.settle, 0, 0),
    ]
    let outcome = await Simulation.run(scenario, seed: 33, steps)
    #expect(outcome.failures == [])
  }
}
