import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Changes that a server lost, of what was changed or deleted again before its replica came back.
struct LostChangeTests {
  @Test(
    "What the server lost of an object that was deleted since, and that another's edit keeps, is on all",
    arguments: [true, false])
  func keptByAnother(isAcknowledgedByAll: Bool) async throws {
    let stage = try await Stage(.memory, model: RenewedZoneSequenceTests.model())
    let item = try stage.insert(0, "Item", ["title": .string("first"), "stock": .integer(1)])
    let (tags, box) = (try stage.tags(2), try stage.insert(0, "Box"))
    try stage.relate(0, item, "tags", to: [tags[0]])
    try await stage.settle()
    try stage.server.backup()
    try stage.set(0, item, ["title": .string("lost")])
    try stage.count(0, item, by: 5)
    try stage.relate(0, item, "tags", to: tags)
    try stage.relate(0, item, "box", box)
    try await stage.push(0)
    if isAcknowledgedByAll { try await stage.sync(1) }
    try stage.delete(0, item)
    stage.clock.advance(milliseconds: 90_000_000)
    try stage.server.restore(0)
    try stage.set(1, item, ["done": .bool(true)])
    // Who deletes it comes back last: the other's edit is in the zone by then.
    try await stage.sync(1)
    try await stage.sync(2)
    try await stage.settle()
    #expect(stage.value(1, item, "title") == "\"lost\"")
    #expect(stage.value(1, item, "done") == "true")
    #expect(stage.value(1, item, "stock") == "6")
    #expect(stage.value(1, item, "box").contains(box.uuidString.lowercased()))
    stage.expect(item, has: tags)
  }

  @Test(
    "What was taken out of a set, unsent, stays out when the server lost that it was put in",
    arguments: [true, false], 0..<8)
  func takenOut(isOrdered: Bool, way number: Int) async throws {
    let (way, isKnown) = (number % 4, number >= 4)
    let stage = try await Stage(.memory, model: isOrdered ? Stage.model() : Stage.tagged())
    let (item, other) = (try stage.insert(0), try stage.insert(0))
    let tags = try stage.tags(3)
    try await stage.settle()
    try stage.server.backup()
    if way % 2 == 0 {
      try stage.relate(0, item, "tags", to: [tags[0]])
    } else {
      try stage.relate(0, tags[0], "items", to: [item])
    }
    try await stage.push(0)
    if isKnown { _ = try await stage.hosts[1].engine.pull() }
    if way < 2 {
      try stage.relate(0, item, "tags", to: [])
    } else {
      try stage.save(0) { context in
        let tag = try #require(try context.object(withIdentity: tags[0]))
        try tag.setValue([ManagedObject](), forKey: "items")
        try tag.setValue([try #require(try context.object(withIdentity: other))], forKey: "items")
      }
    }
    try stage.insert(1)
    try await stage.push(1)
    stage.clock.advance(milliseconds: 90_000_000)
    try stage.server.restore(0)
    try stage.insert(2)
    try await stage.sync(2)
    // Who knows it offers it, before the one that took it out is back.
    try await stage.sync(1)
    try await stage.settle()
    #expect(!stage.value(2, item, "tags").contains(tags[0].uuidString.lowercased()))
    if way >= 2 { #expect(stage.value(2, other, "tags").contains(tags[0].uuidString.lowercased())) }
  }

  @Test(
    "What was put into a set again, unsent, stays in when the server lost that it was taken out",
    arguments: [true, false], [true, false])
  func putInAgain(isOrdered: Bool, isKnown: Bool) async throws {
    let stage = try await Stage(.memory, model: isOrdered ? Stage.model() : Stage.tagged())
    let item = try stage.insert(0)
    let tags = try stage.tags(2)
    try stage.relate(0, item, "tags", to: tags)
    try await stage.settle()
    try stage.server.backup()
    try stage.relate(0, item, "tags", to: [tags[1]])
    try await stage.push(0)
    if isKnown { _ = try await stage.hosts[1].engine.pull() }
    try stage.relate(0, item, "tags", to: tags)
    stage.clock.advance(milliseconds: 90_000_000)
    try stage.server.restore(0)
    try stage.insert(2)
    try await stage.sync(2)
    try await stage.sync(1)
    try await stage.settle()
    stage.expect(item, has: tags)
  }
}
