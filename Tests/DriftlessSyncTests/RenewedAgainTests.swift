import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Zones that are renewed, as often as somebody does it.
struct RenewedAgainTests {
  @Test("S2 Renewed again and again on purpose, replicas come back by themselves")
  func again() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    for round in 0..<3 {
      world.zone.renew()
      try world[round % 2].set(id, ["title": .string("\(round)")])
      for _ in 0..<2 { for replica in world.replicas { try await replica.sync() } }
    }
    try await world.settle()
    #expect(try world[1].value(id, "title") == .string("2"))
  }

  @Test("S2 An address that leads back to a generation that was left waits for a person")
  func backAndForth() async throws {
    let world = try await World(2)
    _ = try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    let first = world.zone.log
    world.zone.renew()
    try await world[0].sync()
    world.zone.putBack(first)
    let error = await #expect(throws: SyncError.self) { try await world[0].sync() }
    #expect(error?.code == .divergedAgain)
  }

  @Test("Half way back from a renewed zone, the check finds nothing wrong")
  func checkedHalfWay() async throws {
    let world = try await World(2)
    for number in 0..<40 { _ = try world[0].insert("Item", ["title": .string("\(number)")]) }
    try await world.settle()
    world.zone.renew()
    try await world[0].sync()
    var options = SyncOptions()
    options.pullBytesMax = 1
    let transport = HookedTransport(world.zone)
    var pages = 0
    var findings: [StoreCheck.Finding] = []
    transport.beforePull = {
      pages += 1
      findings += try SyncEngine.check(world[1].store).findings
    }
    let engine = try await world[1].engine(through: transport, options: options)
    _ = try await engine.sync()
    await engine.close()
    #expect(pages > 1)
    #expect(findings == [])
  }

  @Test("S2 What is offered waits for nobody, though a person decides on edits of the property")
  func manual() async throws {
    let world = try await World(3)
    let id = try world[0].insert("Item", ["held": .string("base")])
    let edited = try world[0].insert("Item", ["held": .string("base")])
    try await world.settle()
    try world[0].set(id, ["held": .string("later")])
    try world[0].set(edited, ["held": .string("later")])
    try await world[0].sync()
    // Slept, and edited one of both.
    try world[2].set(edited, ["held": .string("of the sleeper")])
    world.zone.renew()
    for order in [[0, 2], [2, 0]] { for place in order { try await world[place].sync() } }
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(id, "held") == .string("later"), "\(replica.name)")
      let waiting = try replica.conflicts.filter(\.isWaiting).map(\.object)
      #expect(waiting == (replica === world[2] ? [edited] : []), "\(replica.name)")
      for told in try replica.conflicts where told.object == id {
        #expect(!told.explanation.contains("person"), "\(told.explanation)")
      }
    }
  }

  @Test(
    "S2 An edit stands where all that others offer is what it was made on, or older, whatever its policy",
    arguments: Unchanged.all, [false, true])
  func unchanged(_ unchanged: Unchanged, isOlder: Bool) async throws {
    let world = try await World(2)
    let (name, base, edit) = (unchanged.property, unchanged.base, unchanged.edit)
    let id = try world[0].insert("Item", base.isNull ? [:] : [name: base])
    try await world.settle()
    if isOlder {
      // The zone had it, and who offers first never heard of it.
      try world[1].set(id, [name: unchanged.between])
      try await world[1].sync()
    }
    try world[1].set(id, [name: edit])
    world.zone.renew()
    try await world[0].sync()
    try await world[1].sync()
    #expect(try world[1].value(id, name) == edit)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(id, name) == edit, "\(replica.name)")
      let conflicts = try replica.conflicts
      #expect(conflicts.isEmpty, "\(replica.name)")
    }
  }

  struct Unchanged: CustomTestStringConvertible, Sendable {
    let property: String
    let base: PropertyValue
    let between: PropertyValue
    let edit: PropertyValue

    var testDescription: String { "\(property) on \(base)" }

    static let all: [Unchanged] =
      ["title", "note", "tag", "text", "pick", "held", "words"].flatMap { name in
        [PropertyValue.null, .string("as long as it was before")].map {
          Unchanged(
            property: name, base: $0, between: .string("as it was in between"),
            edit: .string("mine"))
        }
      } + [
        Unchanged(
          property: "high", base: .integer(9), between: .integer(8), edit: .integer(3)),
        Unchanged(
          property: "low", base: .integer(3), between: .integer(4), edit: .integer(9)),
      ]
  }
}
