import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What was deleted comes back, and the pairs of many-to-many relationships with it.
struct ComingBackTests {
  /// Sends what is pending, and does not hear that the zone took it.
  private func pushUnheard(_ stage: Stage, _ number: Int) async {
    let network = stage.hosts[number].network
    network.interlude = { moment in
      if case .afterServer = moment { throw SimulatedNetwork.Lost(description: "lost") }
    }
    defer { network.interlude = nil }
    await #expect(throws: SimulatedNetwork.Lost.self) { try await stage.push(number) }
  }

  @Test("A set that was sent before its object was deleted is there when an edit brings that back")
  func deletedAfterSending() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [tag])
    await pushUnheard(stage, 0)
    try stage.delete(0, item)
    try stage.set(1, item, ["title": .string("edited")])
    try await stage.sync(1)
    try await stage.settle()
    #expect(Image.identities(in: stage.value(0, item, "tags")) == [tag])
  }

  @Test("An element that was sent before it was deleted is there when an edit brings it back")
  func elementDeletedAfterSending() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [tag])
    await pushUnheard(stage, 0)
    try stage.delete(0, tag)
    try stage.set(1, tag, ["name": .string("edited")])
    try await stage.sync(1)
    try await stage.settle()
    #expect(stage.hosts[0].image.things[tag] != nil)
  }

  @Test("An object that is deleted here and became its own friend elsewhere comes back with itself")
  func ownFriend() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    try await stage.settle()
    try stage.delete(0, item)
    try stage.relate(1, item, "friends", to: [item])
    try await stage.sync(1)
    try await stage.settle()
    #expect(Image.identities(in: stage.value(0, item, "friends")) == [item])
  }

  @Test("Two that were deleted here and related elsewhere come back related")
  func bothDeleted() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try await stage.settle()
    try stage.delete(0, item)
    try stage.delete(0, tag)
    try stage.relate(1, item, "tags", to: [tag])
    try stage.set(1, tag, ["name": .string("edited")])
    try await stage.sync(1)
    try await stage.settle()
    #expect(Image.identities(in: stage.value(0, item, "tags")) == [tag])
  }

  @Test("A reference that was taken off before a delete cut it is not put back with the object")
  func takenOffBefore() async throws {
    let model = Stage.model()
    model.entitiesByName["Box"]?.deletePolicy = .editWins
    let stage = try await Stage(.memory, hosts: 2, model: model)
    let box = try stage.insert(0, "Box")
    let item = try stage.insert(0)
    try stage.relate(0, item, "box", box)
    try await stage.settle()
    try stage.relate(0, item, "box", nil)
    try stage.set(0, box, ["name": .string("edited")])
    stage.clock.advance(milliseconds: 1000)
    try stage.delete(1, box)
    try await stage.sync(0)
    try await stage.settle()
    #expect(stage.hosts[1].image.things[box] != nil)
    #expect(Image.identities(in: stage.value(1, item, "box")) == [])
  }

  @Test("A pair that a delete cut is there again everywhere when its element comes back")
  func cutByDelete() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tags = [try stage.insert(0, "Tag"), try stage.insert(0, "Tag")]
    try stage.relate(0, item, "tags", to: [tags[0]])
    try await stage.settle()
    try stage.delete(0, tags[0])
    try stage.set(1, tags[0], ["name": .string("edited")])
    try stage.relate(1, item, "tags", to: tags)
    try await stage.sync(1)
    try await stage.settle()
    // The delete, which cut it, does not stand.
    #expect(Set(Image.identities(in: stage.value(0, item, "tags"))) == Set(tags))
  }
}
