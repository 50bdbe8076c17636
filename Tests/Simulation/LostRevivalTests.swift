import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What was brought back above the place to which a server was put back.
struct LostRevivalTests {
  @Test("A reference goes with what it refers to, also where that was brought back later")
  func referenceToWhatWasBroughtBack() async throws {
    let model = Stage.model()
    model.entitiesByName["Node"]?.deletePolicy = .editWins
    let stage = try await Stage(.memory, model: model)
    try stage.server.backup()
    let child = try stage.insert(0, "Node")
    let parent = try stage.insert(0, "Node")
    try stage.insert(0, "Box")
    try stage.insert(0, "Box")
    for number in [0, 1] { try await stage.sync(number) }
    try stage.delete(1, parent)
    try await stage.sync(1)
    try stage.relate(0, child, "parent", parent)
    // A change set ends with it: what is offered goes by the times of the edits.
    try stage.insert(0, "Box")
    try stage.set(0, parent, ["name": .string("kept")])
    for _ in 0..<2 { try await stage.sync(0) }
    try await stage.partLogs()
    try await stage.settle()
    #expect(stage.value(1, child, "parent") == Image.text(of: parent))
  }

  @Test("A key goes back to what the zone has, of what was deleted and brought back above that")
  func keyOfWhatWasBroughtBack() async throws {
    let model = Stage.model()
    model.entitiesByName["Item"]?.deletePolicy = .editWins
    let stage = try await Stage(.memory, model: model)
    let item = try stage.insert(0, "Item", ["email": .string("former")])
    let other = try stage.insert(0)
    try await stage.settle()
    try stage.server.backup()
    try stage.delete(0, item)
    try stage.set(1, item, ["title": .string("kept")])
    try await stage.sync(0)
    try await stage.sync(1)
    try stage.set(1, item, ["email": .string("lost")])
    try await stage.sync(1)
    try stage.delete(1, item)
    stage.clock.advance(milliseconds: 90_000_000)
    try stage.server.restore(0)
    try stage.set(2, other, ["email": .string("lost")])
    try stage.set(2, item, ["title": .string("edited")])
    try await stage.sync(2)
    try await stage.settle()
    #expect(stage.value(1, item, "email") == "\"former\"")
  }
}
