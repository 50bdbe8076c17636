import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// Sequences of zones that began anew while a replica did not know whether what it had sent was heard.
struct UnansweredSequenceTests {
  @Test(
    "A count that arrived, and whose answer did not, counts once when the zone begins anew",
    arguments: [0, 1])
  func countedUnanswered(first: Int) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(1, "Item", ["stock": .integer(1)])
    try await stage.settle()
    try stage.count(0, item, by: 4)
    stage.hosts[0].network.isDeaf = true
    try? await stage.push(0)
    try await stage.sync(1)
    #expect(stage.value(1, item, "stock") == "5")
    try stage.renew()
    stage.hosts[0].network.isDeaf = false
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.value(2, item, "stock") == "5")
  }

  @Test(
    "A count that arrived unanswered, before its store went to another zone and back, counts once",
    arguments: [false, true], [false, true])
  func countedBeforeAnotherZone(makesMore: Bool, isOffered: Bool) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["stock": .integer(5)])
    try await stage.settle()
    try stage.save(0) { context in
      // The save is a maker too: an offer of what it made names it, and need not have its count.
      if makesMore { try context.insert(entityNamed: "Box") }
      try context.object(withIdentity: item)?.setValue(8, forKey: "stock")
    }
    let host = stage.hosts[0]
    host.network.isDeaf = true
    try? await stage.push(0)
    host.network.isDeaf = false
    let other = try SimulatedServer(
      .memory, clock: stage.clock, folder: stage.folder.file("other"))
    defer { other.close() }
    try await host.enroll(other)
    if isOffered {
      // The other zone has the offers, and not the count beside them.
      let requests = Mutex(0)
      host.network.interlude = { moment in
        guard case .beforeServer = moment else { return }
        let count = requests.withLock { count in
          count += 1
          return count
        }
        if count > 3 { throw SimulatedNetwork.Lost(description: "Cut") }
      }
      try? await stage.sync(0)
      host.network.interlude = nil
    }
    try stage.count(0, item, by: 1)
    try await host.enroll(stage.server)
    try await stage.settle()
    #expect(stage.value(2, item, "stock") == "9")
  }

  @Test(
    "A count on what was deleted and is brought back in a new zone is the same everywhere",
    arguments: [false, true], [false, true])
  func countedAndDeleted(isTold: Bool, isSent: Bool) async throws {
    try await countedAndDeleted(isTold: isTold) { stage, _ in
      if isSent { try await pushUnanswered(stage, 2) }
    }
  }

  @Test("A count that the zone alone had of what comes back in a new zone is the same everywhere")
  func countAcknowledgedAndDeleted() async throws {
    try await countedAndDeleted(isTold: false) { stage, _ in try await stage.push(2) }
  }

  @Test("A count that is acknowledged once its object is deleted is acknowledged all the same")
  func countAcknowledgedAfterTheDelete() async throws {
    try await countedAndDeleted(isTold: false, deletes: false) { stage, item in
      var pushes = 0
      nonisolated(unsafe) let push = {
        pushes += 1
        guard pushes == 1 else { throw SimulatedNetwork.Lost(description: "Cut") }
        try stage.delete(2, item)
      }
      stage.hosts[2].network.interlude = { moment in
        if case .beforeServer = moment { try push() }
      }
      await #expect(throws: SimulatedNetwork.Lost.self) { try await stage.push(2) }
      stage.hosts[2].network.interlude = nil
    }
  }

  private func countedAndDeleted(
    isTold: Bool, deletes: Bool = true, send: (Stage, UUID) async throws -> Void
  ) async throws {
    let stage = try await Stage(.memory, model: RenewedZoneSequenceTests.model())
    let item = try stage.insert(0, "Item", ["stock": .integer(-2)])
    try await stage.settle()
    try stage.set(1, item, ["done": .bool(true)])
    if isTold { try await stage.sync(1) }
    try stage.count(2, item, by: 4)
    try await send(stage, item)
    if deletes { try stage.delete(2, item) }
    try stage.renew()
    stage.hosts[2].network.isDeaf = false
    try await stage.settle()
    #expect(stage.value(0, item, "stock") == "2")
  }

  @Test(
    "What was made and counted, and was never answered, is counted once in a new zone",
    arguments: [false, true])
  func madeAndCounted(hasArrived: Bool) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["stock": .integer(1)])
    try stage.count(0, item, by: 3)
    stage.hosts[0].network.isCut = !hasArrived
    stage.hosts[0].network.isDeaf = hasArrived
    await #expect(throws: SimulatedNetwork.Lost.self) { try await stage.push(0) }
    try await stage.sync(1)
    try stage.count(0, item, by: 5)
    try stage.renew()
    stage.hosts[0].network.isDeaf = false
    stage.hosts[0].network.isCut = false
    try await stage.settle()
    #expect(stage.value(2, item, "stock") == "9")
  }

  @Test(
    "A push in parts goes on, however often a former one of the same replica comes again",
    arguments: [Scenario.Server.memory, .sqlite])
  func formerPushComesAgain(server: Scenario.Server) async throws {
    let stage = try await Stage(server, hosts: 2, partObjectsMax: 2)
    func saveFour() throws {
      try stage.save(0) { context in
        for box in 0..<4 {
          try context.insert(entityNamed: "Box").setValue("\(box)", forKey: "name")
        }
      }
    }
    for _ in 0..<4 {
      try saveFour()
      try await stage.settle()
    }
    stage.hosts[0].network.faults.lateRepeats = 100
    try saveFour()
    try await stage.sync(0)
    try await stage.settle()
    #expect(stage.hosts[1].image.things.count == 20)
  }

  /// A host sends what it has, and hears no answer.
  private func pushUnanswered(_ stage: Stage, _ number: Int) async throws {
    stage.hosts[number].network.isDeaf = true
    await #expect(throws: SimulatedNetwork.Lost.self) { try await stage.push(number) }
  }

  @Test("An object whose maker was never answered is one object in the second zone after that")
  func madeTwoZonesAgo() async throws {
    let stage = try await Stage(.memory)
    let tag = try stage.insert(1, "Tag", ["name": .string("made")])
    try await pushUnanswered(stage, 1)
    try await stage.sync(2)
    for _ in 0..<2 {
      try stage.renew()
      try await stage.sync(2)
    }
    try stage.set(1, tag, ["name": .string("edited")])
    stage.hosts[1].network.isDeaf = false
    try await stage.settle()
    #expect(stage.value(0, tag, "name") == "\"edited\"")
    #expect(stage.hosts[0].image.things.count == 1)
  }

  @Test("What left a set, and whose coming was never answered, stays out of it in a new zone")
  func removedUnanswered() async throws {
    let stage = try await Stage(.memory)
    let tags = try stage.tags(2)
    let item = try stage.insert(0)
    try stage.relate(0, item, "tags", to: [tags[0]])
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [tags[0], tags[1]])
    try await pushUnanswered(stage, 0)
    try await stage.sync(2)
    stage.expect(item, has: tags)
    try stage.relate(0, item, "tags", to: [tags[0]])
    try stage.renew()
    try await stage.sync(2)
    stage.hosts[0].network.isDeaf = false
    try await stage.settle()
    stage.expect(item, has: [tags[0]], not: [tags[1]])
  }

  @Test("Two sets of which either is offered to a new zone are journaled, with the way back")
  func journaledSets() async throws {
    let stage = try await Stage(.memory)
    let tags = try stage.tags(2)
    let item = try stage.insert(0)
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [tags[0]])
    try await pushUnanswered(stage, 0)
    try await stage.sync(1)
    stage.clock.advance(milliseconds: 1000)
    try stage.relate(1, item, "tags", to: [tags[1]])
    try await stage.sync(1)
    try stage.renew()
    try await stage.sync(2)
    stage.hosts[0].network.isDeaf = false
    try await stage.settle()
    let entry = try #require(
      try stage.hosts[1].conflicts.first { $0.object == item && $0.property == "tags" })
    _ = try SyncEngine.decide(
      conflict: entry.number, for: entry.loser, of: stage.hosts[1].store)
    try stage.hosts[1].look()
    expectText(entry, entry.loser, stage.value(1, item, "tags"))
    try await stage.settle()
  }

  private func expectText(
    _ entry: JournalEntry, _ side: JournalEntry.Side, _ value: String,
    _ location: SourceLocation = #_sourceLocation
  ) {
    let names = { (text: String?) in Set(Image.identities(in: text ?? "")) }
    #expect(
      names(side == .local ? entry.local : entry.remote) == names(value), sourceLocation: location)
  }

  @Test("A change set in flight that is damaged here goes with the log that it was for")
  func damagedInFlight() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["title": .string("made")])
    stage.hosts[0].network.isCut = true
    await #expect(throws: SimulatedNetwork.Lost.self) { try await stage.push(0) }
    stage.hosts[0].network.isCut = false
    _ = try stage.hosts[0].store.write(TransactionInfo(kind: .imported)) {
      try $0.connection.execute("UPDATE ZDL_OUTBOX SET frame = x'00'")
    }
    try stage.renew()
    try await stage.settle()
    #expect(stage.value(2, item, "title") == "\"made\"")
  }

  @Test(
    "A count that a copy of the store had sent long before a zone began anew counts once",
    arguments: [[1, 3], [0, 3], [3, 1], [3, 0]])
  func countedByACopy(order: [Int]) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["stock": .integer(1)])
    try await stage.settle()
    try stage.count(0, item, by: 4)
    let clone = try stage.clone(0)
    try await stage.push(0)
    for title in ["one", "two"] {
      try stage.set(0, item, ["title": .string(title)])
      try await stage.push(0)
    }
    try await stage.sync(1)
    try stage.count(clone, item, by: 10)
    try stage.renew()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    let entries = try stage.hosts.flatMap { try $0.conflicts }
    #expect(
      stage.value(2, item, "stock") == "15"
        || entries.contains { $0.object == item && $0.property == "stock" })
  }

  @Test(
    "A count that a copy of the store had sent, and did not count on since, counts once",
    arguments: [[1, 3], [0, 3], [3, 1], [3, 0]])
  func sentByACopy(order: [Int]) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["stock": .integer(1)])
    try await stage.settle()
    try stage.count(0, item, by: 4)
    _ = try stage.clone(0)
    try await stage.push(0)
    try stage.set(0, item, ["title": .string("one")])
    try await stage.push(0)
    try await stage.sync(1)
    try stage.renew()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.value(2, item, "stock") == "5")
  }
}
