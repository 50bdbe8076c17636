import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Sets that are offered, of objects that the zone had deleted and has again.
struct OfferedSetSequenceTests {
  @Test(
    "An element that was put in, unsent, goes after the offer of a set that the zone has again with its object"
  )
  func putInAfterTheOffer() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let first = try stage.insert(0, "Tag")
    let second = try stage.insert(0, "Tag")
    try stage.relate(0, item, "tags", to: [first])
    try await stage.settle()
    // The zone is offered the first tag.
    try stage.renew()
    try await stage.settle()
    // Another one is in its place when an edit keeps the item.
    try stage.relate(0, item, "tags", to: [second])
    try stage.delete(1, item)
    try await stage.sync(1)
    try await stage.settle()
    stage.expect(item, has: [second], not: [first])
    // Two put the first one in again, and one of them was in another zone before it sends that.
    try stage.relate(2, item, "tags", to: [first, second])
    try stage.relate(0, item, "tags", to: [first, second])
    try await stage.sync(0)
    let other = try SimulatedServer(
      .memory, clock: stage.clock, folder: stage.folder.file("other"))
    defer { other.close() }
    try await stage.hosts[2].enroll(other)
    try await stage.hosts[2].enroll(stage.server)
    try await stage.settle()
    stage.expect(item, has: [first, second])
  }

  @Test("What was taken out of a set with its delete, by a store that had left its zone, stays out")
  func takenOutAndBack() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.settle()
    try stage.delete(0, tag)
    try await stage.hosts[0].unenroll()
    try await stage.hosts[0].enroll(stage.server)
    try await stage.sync(0)
    try stage.set(2, tag, ["name": .string("edited")])
    try await stage.settle()
    #expect(stage.value(0, tag, "name") == "\"edited\"")
    #expect(stage.value(0, item, "tags") == stage.value(1, item, "tags"))
  }
}
