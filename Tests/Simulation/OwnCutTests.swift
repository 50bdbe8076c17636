import Driftless
import DriftlessSQLite
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

  enum Word: CaseIterable { case lostRequest, lostAnswer }

  @Test(
    "It is in a set that it came into by what was not answered", arguments: Word.allCases,
    ["Item", "Tag"])
  func unanswered(word: Word, deleted: String) async throws {
    for (isItemsEnd, isDeletersFirst) in [
      (true, true), (true, false), (false, true), (false, false),
    ] {
      let stage = try await self.stage(Stage.tagged())
      let (item, tag) = (try stage.insert(0), try stage.insert(0, "Tag"))
      try await stage.settle()
      if isItemsEnd {
        try stage.relate(0, item, "tags", to: [tag])
      } else {
        try stage.relate(0, tag, "items", to: [item])
      }
      try await pushUnanswered(stage.hosts[0], stage, word)
      let id = deleted == "Item" ? item : tag
      try stage.set(1, id, [deleted == "Item" ? "title" : "name": .string("edited")])
      try stage.delete(0, id)
      if isDeletersFirst {
        try await stage.sync(0)
      } else {
        try await stage.sync(1)
        // It hears of the edit before it sends again what was not answered.
        _ = try await stage.hosts[0].engine.pull()
      }
      try await stage.settle()
      for host in stage.hosts { #expect(host.image.things[id] != nil, "\(host.name)") }
      stage.expectAll(item, "tags", [tag])
    }
  }

  @Test("It is out of a set by what was not answered", arguments: Word.allCases)
  func unansweredRemoval(word: Word) async throws {
    let stage = try await self.stage(Stage.tagged())
    let (item, tag) = (try stage.insert(0), try stage.insert(0, "Tag"))
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [])
    try await pushUnanswered(stage.hosts[0], stage, word)
    try stage.set(1, item, ["title": .string("edited")])
    try stage.delete(0, item)
    try await stage.sync(1)
    _ = try await stage.hosts[0].engine.pull()
    try stage.hosts[0].look()
    try await stage.sync(0)
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] != nil, "\(host.name)") }
    stage.expectAll(item, "tags", [])
  }

  @Test("So it is in an ordered set", arguments: Word.allCases)
  func unansweredOrder(word: Word) async throws {
    let stage = try await self.stage(Stage.editsWin())
    let item = try stage.insert(0)
    let tags = try (0..<3).map { _ in try stage.insert(0, "Tag") }
    try stage.relate(0, item, "tags", to: [tags[0], tags[1]])
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [tags[2], tags[1], tags[0]])
    try await pushUnanswered(stage.hosts[0], stage, word)
    try stage.set(1, item, ["title": .string("edited")])
    try stage.delete(0, item)
    try await stage.sync(1)
    _ = try await stage.hosts[0].engine.pull()
    try await stage.settle()
    stage.expectAll(item, "tags", [tags[2], tags[1], tags[0]])
  }

  private func stage(_ model: ManagedObjectModel) async throws -> Stage {
    model.entitiesByName["Item"]?.properties.append(AttributeDescription("blob", .binaryData))
    return try await Stage(model: model, hasLargeValues: true)
  }

  /// What it sends is lost on the way, or the answer is. It names a large value: a pull does not wait for that, and hears of what
  /// others did before it is sent again.
  private func pushUnanswered(_ host: Host, _ stage: Stage, _ word: Word) async throws {
    try stage.insert(0, "Item", ["blob": .data(Data(repeating: 1, count: 63))])
    switch word {
    case .lostAnswer: host.network.isDeaf = true
    case .lostRequest:
      host.network.interlude = { moment in
        if case .beforeServer = moment { throw SimulatedNetwork.Lost(description: "Cut") }
      }
    }
    try? await stage.push(0)
    host.network.isDeaf = false
    host.network.interlude = nil
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
