import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Somebody deletes an object, and an edit of who had not heard of that brings it back: it has all that who edited it knew of it,
/// also what the delete had cut at others.
struct RevivedCutTests {
  /// The first host deletes the object, and the second one edits it meanwhile.
  private func deleteAndEdit(
    _ stage: Stage, _ id: UUID, meanwhile: () throws -> Void = {}
  ) async throws {
    try stage.delete(0, id)
    try await stage.sync(0)
    try stage.set(1, id, ["name": .string("edited")])
    try meanwhile()
    try await stage.sync(1)
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[id] != nil, "\(host.name)") }
  }

  @Test("It is in the sets that its deleter knew it in")
  func set() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let tag = try stage.insert(0, "Tag")
    let items = try (0..<2).map { _ in try stage.insert(0) }
    for item in items { try stage.relate(0, item, "tags", to: [tag]) }
    try await stage.settle()
    try await deleteAndEdit(stage, tag)
    for item in items { stage.expectAll(item, "tags", [tag]) }
  }

  @Test("So it is in a set that is edited meanwhile", arguments: [false, true])
  func pendingSet(isEarlier: Bool) async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tags = try (0..<2).map { _ in try stage.insert(0, "Tag") }
    try stage.relate(0, item, "tags", to: [tags[0]])
    try await stage.settle()
    if isEarlier { try stage.relate(1, item, "tags", to: tags) }
    try await deleteAndEdit(stage, tags[0]) {
      if !isEarlier { try stage.relate(1, item, "tags", to: tags) }
    }
    for host in stage.hosts {
      #expect(Set(Image.identities(in: host.image.value(item, "tags"))) == Set(tags))
    }
  }

  @Test("It is where it was in an ordered set")
  func orderedSet() async throws {
    let stage = try await Stage(.memory, model: Stage.editsWin())
    let item = try stage.insert(0)
    let tags = try (0..<3).map { _ in try stage.insert(0, "Tag") }
    try stage.relate(0, item, "tags", to: tags)
    try await stage.settle()
    try await deleteAndEdit(stage, tags[1])
    stage.expectAll(item, "tags", tags)
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
    try await deleteAndEdit(stage, box)
    stage.expectAll(item, "box", [box])
    try await deleteAndEdit(stage, badge)
    stage.expectAll(badge, "owner", [item])
  }

  @Test("A set that somebody took it out of by itself before that does not have it")
  func takenOutBefore() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let tag = try stage.insert(0, "Tag")
    let items = try (0..<2).map { _ in try stage.insert(0) }
    for item in items { try stage.relate(0, item, "tags", to: [tag]) }
    try await stage.settle()
    try stage.relate(0, items[0], "tags", to: [])
    try await stage.sync(0)
    try await deleteAndEdit(stage, tag)
    stage.expectAll(items[0], "tags", [])
    stage.expectAll(items[1], "tags", [tag])
  }

  @Test("A reference that was set anew meanwhile stays so")
  func setAnew() async throws {
    let stage = try await Stage(.memory, model: Stage.editsWin())
    let item = try stage.insert(0)
    let boxes = try (0..<2).map { _ in try stage.insert(0, "Box") }
    try stage.relate(0, item, "box", boxes[0])
    try await stage.settle()
    try await deleteAndEdit(stage, boxes[0]) { try stage.relate(1, item, "box", boxes[1]) }
    stage.expectAll(item, "box", [boxes[1]])
  }

  @Test("Two that bring it back say the same, whoever comes first", arguments: [1, 2])
  func twice(first: Int) async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let tag = try stage.insert(0, "Tag")
    let item = try stage.insert(0)
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.settle()
    try stage.delete(0, tag)
    try await stage.sync(0)
    for number in 1..<3 { try stage.set(number, tag, ["name": .string("\(number)")]) }
    // Both have heard of the delete before either of them pushes.
    for number in 1..<3 { _ = try await stage.hosts[number].engine.pull() }
    try await stage.sync(first)
    try await stage.settle()
    stage.expectAll(item, "tags", [tag])
  }

  @Test("The delete and its cuts come in several parts")
  func parts() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged(), partObjectsMax: 2)
    let tag = try stage.insert(0, "Tag")
    let items = try (0..<5).map { _ in try stage.insert(0) }
    for item in items { try stage.relate(0, item, "tags", to: [tag]) }
    try await stage.settle()
    try await deleteAndEdit(stage, tag)
    for item in items { stage.expectAll(item, "tags", [tag]) }
  }

  /// The second host's journal names what is out of a property, and an undo puts it in.
  private func undo(_ stage: Stage, _ item: UUID, _ property: String) async throws {
    let entry = try #require(
      try stage.hosts[1].conflicts.first { $0.object == item && $0.property == property })
    try SyncEngine.undo(conflict: entry.number, of: stage.hosts[1].store)
    try await stage.settle()
  }

  @Test(
    "It is out of a set that its deleter edited since, and in the journal",
    arguments: [false, true])
  func editedSince(isTakenOutBefore: Bool) async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tags = try (0..<2).map { _ in try stage.insert(0, "Tag") }
    try stage.relate(0, item, "tags", to: [tags[0]])
    try await stage.settle()
    if isTakenOutBefore { try stage.relate(0, item, "tags", to: []) }
    try stage.delete(0, tags[0])
    try stage.relate(0, item, "tags", to: [tags[1]])
    try await stage.sync(0)
    try stage.set(1, tags[0], ["name": .string("edited")])
    try await stage.sync(1)
    try await stage.settle()
    stage.expectAll(item, "tags", [tags[1]])
    try await undo(stage, item, "tags")
    for host in stage.hosts {
      #expect(Set(Image.identities(in: host.image.value(item, "tags"))) == Set(tags))
    }
  }

  @Test("A reference that its deleter edited since is null, and in the journal")
  func referenceEditedSince() async throws {
    let stage = try await Stage(.memory, model: Stage.editsWin())
    let item = try stage.insert(0)
    let boxes = try (0..<2).map { _ in try stage.insert(0, "Box") }
    try stage.relate(0, item, "box", boxes[0])
    try await stage.settle()
    try stage.delete(0, boxes[0])
    try stage.relate(0, item, "box", boxes[1])
    try stage.relate(0, item, "box", nil)
    try await stage.sync(0)
    try stage.set(1, boxes[0], ["name": .string("edited")])
    try await stage.sync(1)
    try await stage.settle()
    stage.expectAll(item, "box", [])
    try await undo(stage, item, "box")
    stage.expectAll(item, "box", [boxes[0]])
  }
}
