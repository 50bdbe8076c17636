import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Conflicts that wait for a person, about objects that are deleted meanwhile.
struct WaitingConflictTests {
  /// An object with a conflict that waits at the second replica.
  private func world() async throws -> (world: World, id: UUID, conflict: Int64) {
    let world = try await World(3)
    let id = try world[0].insert("Item", ["held": .string("base"), "title": .string("t")])
    try await world.settle()
    try world[0].set(id, ["held": .string("theirs")])
    try world[1].set(id, ["held": .string("mine")])
    try await world[0].sync()
    try await world[1].sync()
    let waiting = try world[1].conflicts.filter(\.isWaiting)
    return (world, id, try #require(waiting.first).number)
  }

  @Test("Undone after the zone deleted the object, a conflict brings it back with the value")
  func deletedByTheZone() async throws {
    let (world, id, conflict) = try await world()
    try world[0].delete(id)
    try await world.settle()
    #expect(try world[1].status.waiting == 1)
    try SyncEngine.undo(conflict: conflict, of: world[1].store)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(id, "held") == .string("mine"), "\(replica.name)")
      #expect(try replica.value(id, "title") == .string("t"))
      #expect(try replica.status.waiting == 0)
    }
  }

  @Test(
    "Of an object that was deleted here the undoing brings it back, or says what else ends the conflict",
    arguments: [false, true])
  func deletedHere(isSent: Bool) async throws {
    let (world, id, conflict) = try await world()
    try world[1].delete(id)
    guard isSent else {
      try SyncEngine.undo(conflict: conflict, of: world[1].store)
      try await world.settle()
      #expect(try world[0].value(id, "held") == .string("mine"))
      #expect(try world[0].value(id, "title") == .string("t"))
      return
    }
    try await world.settle()
    let store = world[1].store
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: conflict, of: store)
    }
    #expect(error?.suggestion.contains("syncctl conflicts keep \(conflict)") == true)
    let entry = try SyncEngine.keep(conflict: conflict, of: store)
    #expect(try world[1].status.waiting == 0)
    // What stands is the delete.
    #expect(entry.explanation.contains("the object is deleted"), "\(entry.explanation)")
    let again = #expect(throws: SyncError.self) {
      try SyncEngine.keep(conflict: conflict, of: store)
    }
    #expect(again?.code == .cannotUndo && again?.message.contains("deleted") == true)
  }

  @Test("What was undone is not kept afterwards; what stands while a conflict waits is")
  func keptAfterwards() async throws {
    let (world, id, conflict) = try await world()
    let store = world[1].store
    try world[1].set(id, ["held": .string("by hand")])
    let entry = try SyncEngine.keep(conflict: conflict, of: store)
    #expect(entry.kept == "\"by hand\"" && entry.decision == .remote)
    #expect(try world[1].value(id, "held") == .string("by hand"))
    // Decided, it is as any other conflict: what it kept stands, or it is not said to.
    try world[1].set(id, ["held": .string("again")])
    var error = #expect(throws: SyncError.self) {
      try SyncEngine.keep(conflict: conflict, of: store)
    }
    #expect(error?.code == .cannotUndo)
    try SyncEngine.undo(conflict: conflict, of: store)
    error = #expect(throws: SyncError.self) { try SyncEngine.keep(conflict: conflict, of: store) }
    #expect(error?.message.contains("was undone") == true)
    #expect(try world[1].value(id, "held") == .string("mine"))
    #expect(try world[1].conflicts.first { $0.number == conflict }?.decision == .local)
    try await world.settle()
  }

  @Test("What a person sets while a conflict waits ends it, and is not written over by an undoing")
  func setByHand() async throws {
    let (world, id, conflict) = try await world()
    let store = world[1].store
    try world[1].set(id, ["held": .string("by hand")])
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: conflict, of: store)
    }
    #expect(error?.code == .cannotUndo)
    #expect(error?.message.contains("by hand") == true)
    #expect(try world[1].value(id, "held") == .string("by hand"))
    try await world.settle()
    #expect(try world[1].status.waiting == 0)
    #expect(try world[1].conflicts.first { $0.number == conflict }?.kept == "\"by hand\"")
    #expect(try world[0].value(id, "held") == .string("by hand"))
    // Who says so afterwards gets the other value all the same.
    try SyncEngine.undo(conflict: conflict, of: store)
    #expect(try world[1].value(id, "held") == .string("mine"))
  }

  @Test("What another replica sets while a conflict waits is not written over unseen")
  func setElsewhere() async throws {
    let (world, id, conflict) = try await world()
    try world[0].set(id, ["held": .string("later")])
    try await world.settle()
    let store = world[1].store
    #expect(try world[1].status.waiting == 1)
    #expect(throws: SyncError.self) { try SyncEngine.undo(conflict: conflict, of: store) }
    try SyncEngine.keep(conflict: conflict, of: store)
    #expect(try world[1].value(id, "held") == .string("later"))
  }
}
