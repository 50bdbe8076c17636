import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Sets of objects that a server lost: what was put in and taken out since.
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
}
