import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Counts on what a server lost: they add up, or the journal says which number stands.
struct LostCountTests {
  @Test(
    "A count that was never sent, on an object that the server lost, adds to one that the server lost with it",
    arguments: [[0, 1], [1, 0]])
  func countedOnLost(order: [Int]) async throws {
    let stage = try await Stage(.memory)
    try stage.server.backup()
    let item = try stage.insert(0, "Item", ["stock": .integer(6)])
    try await stage.settle()
    try stage.count(0, item, by: -3)
    try await stage.sync(0)
    try stage.count(1, item, by: -3)
    try await stage.partLogs()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.value(2, item, "stock") == "0")
  }

  @Test(
    "Of two counts on two logs that are both gone, the journal names the one that does not stand")
  func countedOnTwoLogs() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["stock": .integer(6)])
    try await stage.settle()
    try stage.server.backup()
    try stage.count(0, item, by: -3)
    try await stage.sync(0)
    try await stage.partLogs()
    stage.clock.advance(milliseconds: 1000)
    try stage.count(1, item, by: -3)
    try await stage.sync(1)
    try await stage.partLogs()
    for number in [0, 1] { try await stage.sync(number) }
    try await stage.settle()
    let entries = try stage.hosts.flatMap { try $0.conflicts }
    #expect(
      stage.value(2, item, "stock") == "0"
        || entries.contains { $0.object == item && $0.property == "stock" })
  }

  @Test(
    "Counts that a server lost add up with those that were never sent, whoever comes back first",
    arguments: [Scenario.Server.sqlite, .memory], [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]])
  func countedOnBoth(kind: Scenario.Server, order: [Int]) async throws {
    let stage = try await Stage(kind)
    let item = try stage.insert(0, "Item", ["stock": .integer(100)])
    try await stage.settle()
    try stage.server.backup()
    try stage.count(0, item, by: -3)
    try await stage.sync(0)
    try stage.count(2, item, by: 10)
    try await stage.sync(2)
    try stage.count(0, item, by: -20)
    try await stage.sync(0)
    // The second knows nothing of the third's, and has one of its own.
    try stage.count(1, item, by: -1)
    try stage.count(2, item, by: -4)
    try await stage.partLogs()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    for number in 0..<3 { #expect(stage.value(number, item, "stock") == "82") }
  }

  @Test(
    "Counts on two logs that are both gone add up where their replicas come to the third",
    arguments: [[0, 1], [1, 0]])
  func countedOnTwoLogsApart(order: [Int]) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["stock": .integer(6)])
    try await stage.settle()
    try stage.server.backup()
    try stage.count(0, item, by: -1)
    try await stage.sync(0)
    try await stage.partLogs()
    try stage.count(1, item, by: -2)
    try await stage.sync(1)
    try await stage.partLogs()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.value(2, item, "stock") == "3")
  }

  @Test(
    "A count that went out within another one's total, and is lost a second time, does not count twice",
    arguments: [[1, 2], [2, 1]])
  func coveredAndLostAgain(order: [Int]) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["stock": .integer(100)])
    try await stage.settle()
    try stage.server.backup()
    try stage.count(2, item, by: 5)
    try await stage.sync(2)
    try await stage.sync(0)
    try await stage.partLogs()
    try stage.count(0, item, by: 1)
    try await stage.sync(0)
    try await stage.sync(1)
    stage.clock.advance(milliseconds: 2 * 86_400_000)
    try await stage.partLogs()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    let entries = try stage.hosts.flatMap { try $0.conflicts }
    let isJournaled = entries.contains { $0.object == item && $0.property == "stock" }
    let value = stage.value(1, item, "stock")
    #expect(value == "106" || value == "105" && isJournaled, "\(value)")
  }

  @Test(
    "A copy of a store that sends a count does not take along what its twin heard and the server lost"
  )
  func copied() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["stock": .integer(100)])
    try await stage.settle()
    try stage.server.backup()
    try stage.count(0, item, by: 1)
    let copy = try stage.clone(0)
    try stage.count(2, item, by: 5)
    try await stage.sync(2)
    _ = try await stage.hosts[0].engine.pull()
    try await stage.partLogs()
    try await stage.sync(copy)
    try await stage.sync(0)
    try await stage.settle()
    #expect(stage.value(1, item, "stock") == "106")
  }

  @Test(
    "Where nobody knows the total at the last common place, the later total stands, and takes no count along"
  )
  func unknownStart() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["stock": .integer(100)])
    try await stage.settle()
    try stage.server.backup()
    let head = try await stage.server.zoneInfo().head
    try stage.count(1, item, by: 5)
    try await stage.sync(1)
    try stage.count(2, item, by: 7)
    try await stage.sync(2)
    try await stage.sync(0)
    for host in stage.hosts {
      _ = try host.store.write(TransactionInfo()) {
        try $0.connection.execute("DELETE FROM ZDL_FRAME WHERE sequence <= \(head)")
      }
    }
    try stage.count(0, item, by: 1)
    try await stage.partLogs()
    for number in [1, 0, 2] { try await stage.sync(number) }
    try await stage.settle()
    let value = stage.value(1, item, "stock")
    let entries = try stage.hosts.flatMap { try $0.conflicts }
    #expect(value == "113" || entries.contains { $0.object == item && $0.property == "stock" })
    #expect(Int(value) ?? 0 >= 112, "\(value)")
  }

  @Test("What a new object counts in a change set after the one that makes it adds up with others")
  func countedInALaterChangeSet() async throws {
    let stage = try await Stage(.memory)
    let before = Set(stage.hosts[0].image.things.keys)
    try stage.save(0) { context in
      let item = try context.insert(entityNamed: "Item")
      try item.setValue(PropertyValue.integer(-3), forKey: "stock")
      for _ in 0..<3 { _ = try context.insert(entityNamed: "Box") }
    }
    let item = try #require(
      stage.hosts[0].image.things.first {
        !before.contains($0.key) && $0.value.entity == "Item"
      }?.key)
    try stage.save(0) { context in
      let object = try #require(try context.object(withIdentity: item))
      try object.setValue(PropertyValue.integer(-4), forKey: "stock")
      for _ in 0..<3 { _ = try context.insert(entityNamed: "Box") }
    }
    stage.hosts[0].network.isDeaf = true
    await #expect(throws: SimulatedNetwork.Lost.self) { try await stage.push(0) }
    try await stage.sync(1)
    #expect(stage.value(1, item, "stock") == "-3")
    try stage.count(1, item, by: 2)
    try await stage.sync(1)
    stage.hosts[0].network.isDeaf = false
    try await stage.settle()
    #expect(stage.value(2, item, "stock") == "-2")
  }
}
