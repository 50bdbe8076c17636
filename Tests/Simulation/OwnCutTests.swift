import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Somebody deletes an object, and hears of an edit of it before anybody heard of the delete: the object is back, and so is
/// all that the delete had cut.
struct OwnCutTests {
  /// The first host deletes the object. What the second one edited meanwhile comes before that.
  private func deleteEdited(
    _ stage: Stage, _ id: UUID, meanwhile: () throws -> Void = {}
  ) async throws {
    try stage.set(1, id, ["name": .string("edited")])
    try await stage.sync(1)
    try stage.delete(0, id)
    try meanwhile()
    try await stage.sync(0)
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[id] != nil, "\(host.name)") }
  }

  @Test("It is in the sets that it was in")
  func set() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let tag = try stage.insert(0, "Tag")
    let items = try (0..<2).map { _ in try stage.insert(0) }
    for item in items { try stage.relate(0, item, "tags", to: [tag]) }
    try await stage.settle()
    try await deleteEdited(stage, tag)
    for item in items { stage.expectAll(item, "tags", [tag]) }
  }

  @Test("It is where it was in an ordered set")
  func orderedSet() async throws {
    let stage = try await Stage(.memory, model: Stage.editsWin())
    let item = try stage.insert(0)
    let tags = try (0..<3).map { _ in try stage.insert(0, "Tag") }
    try stage.relate(0, item, "tags", to: tags)
    try await stage.settle()
    try await deleteEdited(stage, tags[1])
    stage.expectAll(item, "tags", tags)
  }

  @Test("It is in a set that was edited after the delete")
  func editedAfter() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tags = try (0..<3).map { _ in try stage.insert(0, "Tag") }
    try stage.relate(0, item, "tags", to: [tags[0], tags[1]])
    try await stage.settle()
    try await deleteEdited(stage, tags[0]) { try stage.relate(0, item, "tags", to: [tags[2]]) }
    // The second one was taken out by itself.
    stage.expectAll(item, "tags", [tags[0], tags[2]], isOrdered: false)
  }

  @Test("It is in a set that the other host edited as well")
  func editedThere() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tags = try (0..<2).map { _ in try stage.insert(0, "Tag") }
    try stage.relate(0, item, "tags", to: [tags[0]])
    try await stage.settle()
    try stage.relate(1, item, "tags", to: tags)
    try await deleteEdited(stage, tags[0])
    stage.expectAll(item, "tags", tags, isOrdered: false)
  }

  @Test("It is not in a set that somebody took it out of before", arguments: [false, true])
  func takenOut(isEditedAfter: Bool) async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tags = try (0..<2).map { _ in try stage.insert(0, "Tag") }
    try stage.relate(0, item, "tags", to: [tags[0]])
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [])
    try await deleteEdited(stage, tags[0]) {
      if isEditedAfter { try stage.relate(0, item, "tags", to: [tags[1]]) }
    }
    stage.expectAll(item, "tags", isEditedAfter ? [tags[1]] : [])
  }

  @Test("It is not in a set that the other host took it out of")
  func takenOutThere() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.settle()
    try stage.relate(1, item, "tags", to: [])
    try await deleteEdited(stage, tag)
    stage.expectAll(item, "tags", [])
  }

  @Test(
    "It is in a set that it came into by what was not answered",
    arguments: [SimulatedNetwork.Moment.beforeServer, .afterServer], ["Item", "Tag"])
  func unanswered(moment: SimulatedNetwork.Moment, deleted: String) async throws {
    for isItemsEnd in [true, false] {
      let stage = try await Stage(model: Stage.tagged())
      let (item, tag) = (try stage.insert(0), try stage.insert(0, "Tag"))
      try await stage.settle()
      if isItemsEnd {
        try stage.relate(0, item, "tags", to: [tag])
      } else {
        try stage.relate(0, tag, "items", to: [item])
      }
      let id = deleted == "Item" ? item : tag
      try await deleteUnanswered(stage, id, moment) {
        try stage.set(1, id, [deleted == "Item" ? "title" : "name": .string("edited")])
      }
      stage.expectAll(item, "tags", [tag])
    }
  }

  @Test(
    "It is out of a set by what was not answered",
    arguments: [SimulatedNetwork.Moment.beforeServer, .afterServer])
  func unansweredRemoval(moment: SimulatedNetwork.Moment) async throws {
    let stage = try await Stage(model: Stage.tagged())
    let (item, tag) = (try stage.insert(0), try stage.insert(0, "Tag"))
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [])
    try await deleteUnanswered(stage, item, moment) {
      try stage.set(1, item, ["title": .string("edited")])
    }
    stage.expectAll(item, "tags", [])
  }

  @Test(
    "So it is in an ordered set",
    arguments: [SimulatedNetwork.Moment.beforeServer, .afterServer])
  func unansweredOrder(moment: SimulatedNetwork.Moment) async throws {
    let stage = try await Stage(model: Stage.editsWin())
    let item = try stage.insert(0)
    let tags = try (0..<3).map { _ in try stage.insert(0, "Tag") }
    try stage.relate(0, item, "tags", to: [tags[0], tags[1]])
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [tags[2], tags[1], tags[0]])
    try await deleteUnanswered(stage, item, moment) {
      try stage.set(1, item, ["title": .string("edited")])
    }
    stage.expectAll(item, "tags", [tags[2], tags[1], tags[0]])
  }

  /// The first host deletes the object while what it sent before is not answered, and hears of the edit before it is.
  private func deleteUnanswered(
    _ stage: Stage, _ id: UUID, _ moment: SimulatedNetwork.Moment, edit: () throws -> Void
  ) async throws {
    let host = stage.hosts[0]
    host.network.tooBusyForPushes = moment
    await #expect(throws: ProtocolError.self) { try await stage.push(0) }
    try edit()
    try stage.delete(0, id)
    try await stage.sync(1)
    _ = try await host.engine.pull()
    try host.look()
    #expect(host.image.things[id] != nil)
    host.network.tooBusyForPushes = nil
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[id] != nil, "\(host.name)") }
  }

  @Test("What referred to it does so again")
  func references() async throws {
    let stage = try await Stage(.memory, model: Stage.editsWin())
    let item = try stage.insert(0)
    let box = try stage.insert(0, "Box")
    let badge = try stage.insert(0, "Badge")
    try stage.relate(0, item, "box", box)
    try stage.relate(0, item, "badge", badge)
    try await stage.settle()
    try await deleteEdited(stage, box)
    stage.expectAll(item, "box", [box])
    try await deleteEdited(stage, badge)
    stage.expectAll(badge, "owner", [item])
  }
}
