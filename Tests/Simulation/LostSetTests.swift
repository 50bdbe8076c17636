import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Sets of objects that a server lost, or that two copies of a store have: what was put in and taken out since.
struct LostSetTests {
  @Test("What an object has in a set is offered with it, also to a log that has the object without")
  func objectWithout() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    try stage.server.backup()
    let item = try stage.insert(2)
    let tag = try stage.insert(2, "Tag")
    try await stage.sync(2)
    try await stage.sync(1)
    try stage.server.backup()
    try stage.relate(1, item, "tags", to: [tag])
    try stage.server.restore(0)
    try stage.insert(0)
    try await stage.settle()
    stage.clock.advance(milliseconds: 90_000_000)
    // Back to the log that had been left, in which the object has nothing in its set.
    try stage.server.restore(1)
    try await stage.settle()
    stage.expect(item, has: [tag])
  }

  /// More than fit into one change set with what was made before.
  private func insertMany(_ stage: Stage) throws {
    try stage.save(0) { context in
      for _ in 0..<4 { _ = try context.insert(entityNamed: "Tag") }
    }
  }

  @Test("What was put into a set again stays in, where a copy of the store has only taken it out")
  func putInAgain() async throws {
    let stage = try await Stage(.memory, hosts: 3, model: Stage.tagged())
    let tag = try stage.insert(0, "Tag")
    let item = try stage.insert(0)
    try stage.relate(0, item, "tags", to: [tag])
    try stage.relate(0, item, "tags", to: [])
    _ = try stage.clone(0)
    try stage.relate(0, item, "tags", to: [tag])
    try insertMany(stage)
    try await stage.settle()
    stage.expect(item, has: [tag])
  }

  @Test("What one copy of a store took out of a set stays out, where both had put it in unsent")
  func takenOutByOne() async throws {
    let stage = try await Stage(.memory, hosts: 3, model: Stage.tagged())
    let tag = try stage.insert(0, "Tag")
    let item = try stage.insert(0)
    try stage.relate(0, item, "tags", to: [tag])
    _ = try stage.clone(0)
    try stage.relate(0, item, "tags", to: [])
    try insertMany(stage)
    try await stage.settle()
    stage.expect(item, has: [], not: [tag])
  }
}
