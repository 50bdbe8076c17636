import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// An object that became one with another goes by both identities where it was made.
struct UnitedNameTests {
  @Test("Why a value stands is told under the identity that went as under the one that stayed")
  func why() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let a = try await TestReplica("a", zone: zone, clock: clock, model: staffModel())
    let b = try await TestReplica("b", zone: zone, clock: clock, model: staffModel())
    let stayed = try a.insert("Person", ["email": .string("q"), "name": .string("of a")])
    let went = try b.insert("Person", ["email": .string("q"), "name": .string("of b")])
    try await a.sync()
    try await b.sync()
    try await a.sync()
    let known = try SyncEngine.why(of: b.store, object: stayed, property: "name")
    #expect(!known.conflicts.isEmpty)
    let asked = try SyncEngine.why(of: b.store, object: went, property: "name")
    #expect(asked.conflicts == known.conflicts && asked.value == known.value)
  }
}
