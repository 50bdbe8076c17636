import Driftless
import DriftlessProtocol
import DriftlessSync
import Foundation
import Synchronization
import TestSupport
import Testing

/// Sequences by which weaker rules broke: each is told with the rule that it shows.
struct SequenceTests {
  @Test(
    "Sync-rules 1: cursor 40, own entries at 45 and 47, server put back to 42, others fill 43 to 50: nothing lands on another object",
    arguments: [Scenario.Server.sqlite, .memory])
  func putBackAndFilled(server: Scenario.Server) async throws {
    let stage = try await Stage(server, hosts: 4)
    let shared = try stage.insert(0, "Item", ["title": .string("shared"), "stock": .integer(10)])
    try await stage.sync(0)
    for number in 2...40 {
      try stage.set(0, shared, ["title": .string("entry \(number)")])
      try await stage.sync(0)
    }
    for number in 1..<4 { try await stage.sync(number) }
    #expect(try stage.hosts[1].status.cursor == 40)
    for number in [41, 42] {
      try stage.insert(0, "Box", ["name": .string("entry \(number)")])
      try await stage.push(0)
    }
    try stage.server.backup()
    // Host 1 pushes without pulling: its cursor stays.
    let first = try stage.insert(0, "Box", ["name": .string("entry 43")])
    try await stage.push(0)
    try stage.insert(0, "Box", ["name": .string("entry 44")])
    try await stage.push(0)
    let fifth = try stage.insert(1, "Item", ["title": .string("entry 45")])
    try await stage.push(1)
    try stage.insert(0, "Box", ["name": .string("entry 46")])
    try await stage.push(0)
    try stage.count(1, shared, by: 5)
    try await stage.push(1)
    #expect(try await stage.server.zoneInfo().head == 47)
    try stage.server.restore(0)
    for number in 43...50 {
      try stage.insert(2, "Item", ["title": .string("filled \(number)")])
      try await stage.sync(2)
    }
    try stage.set(1, fifth, ["title": .string("entry 45, edited")])
    try await stage.settle()
    #expect(stage.value(3, fifth, "title") == "\"entry 45, edited\"")
    #expect(stage.value(3, first, "name") == "\"entry 43\"")
    #expect(stage.value(3, shared, "stock") == "15")
  }

  @Test(
    "Sync-rules 2: a server that was put back is refilled by the first one back, byte for byte: counters and deletes are right",
    arguments: [Scenario.Server.sqlite, .memory])
  func refilled(server: Scenario.Server) async throws {
    let stage = try await Stage(server)
    let item = try stage.insert(0, "Item", ["stock": .integer(10)])
    let box = try stage.insert(0, "Box", ["name": .string("goes")])
    try await stage.settle()
    try stage.server.backup()
    try stage.count(0, item, by: 3)
    try await stage.sync(0)
    try stage.count(1, item, by: 2)
    try await stage.sync(1)
    try stage.delete(1, box)
    try await stage.sync(1)
    try await stage.sync(0)
    let head = try await stage.server.zoneInfo().head
    try stage.server.restore(0)
    try stage.count(2, item, by: 1)
    try await stage.sync(0)
    #expect(try await stage.server.zoneInfo().head == head)
    try await stage.settle()
    #expect(stage.value(2, item, "stock") == "16")
    #expect(stage.hosts[2].image.things[box] == nil)
  }

  @Test(
    "Sync-rules 4: parents of a tree set crosswise on two replicas close no ring")
  func crosswise() async throws {
    let stage = try await Stage(.memory)
    let a = try stage.insert(0, "Node", ["name": .string("a")])
    let b = try stage.insert(0, "Node", ["name": .string("b")])
    let c = try stage.insert(0, "Node", ["name": .string("c")])
    try await stage.settle()
    try stage.relate(0, a, "parent", b)
    try stage.relate(1, b, "parent", c)
    try stage.relate(2, c, "parent", a)
    try await stage.settle()
    for host in stage.hosts {
      let parents = [a, b, c].map { node in
        Image.identities(in: host.image.value(node, "parent")).first
      }
      #expect(parents.count { $0 != nil } == 2, "\(host.name): one of three is let go of")
      for node in [a, b, c] {
        var passed: [UUID] = []
        var next: UUID? = node
        while let current = next, !passed.contains(current) {
          passed.append(current)
          next = Image.identities(in: host.image.value(current, "parent")).first
        }
        #expect(next == nil, "\(host.name): \(passed) is a ring")
      }
    }
  }

  @Test(
    "Sync-rules 4: a partner that two replicas take at once has one owner, and nobody stops")
  func takenAtOnce() async throws {
    let stage = try await Stage(.memory)
    let badge = try stage.insert(0, "Badge")
    let items = [try stage.insert(0), try stage.insert(0), try stage.insert(0)]
    try await stage.settle()
    for number in 0..<3 { try stage.relate(number, items[number], "badge", badge) }
    try await stage.settle()
    for host in stage.hosts {
      let owners = Image.identities(in: host.image.value(badge, "owner"))
      #expect(owners.count == 1 && items.contains(owners[0]), "\(host.name): \(owners)")
    }
  }

  @Test(
    "Sync-rules 5: a key that is freed and taken, swapped, or claimed by three at once is held by one object"
  )
  func keys() async throws {
    let stage = try await Stage(.memory)
    let a = try stage.insert(0, "Item", ["email": .string("a")])
    let b = try stage.insert(0, "Item", ["email": .string("b")])
    try await stage.settle()
    try stage.save(0) { context in
      let first = try #require(try context.object(withIdentity: a))
      let second = try #require(try context.object(withIdentity: b))
      try first.setValue("b", forKey: "email")
      try second.setValue("a", forKey: "email")
    }
    try await stage.settle()
    #expect(stage.value(1, a, "email") == "\"b\"")
    try stage.delete(0, a)
    try stage.insert(0, "Item", ["email": .string("b")])
    try await stage.settle()
    for number in 0..<3 { try stage.insert(number, "Item", ["email": .string("c")]) }
    try await stage.settle()
    let holders = stage.hosts[0].image.things.values.filter { $0.values["email"] == "\"c\"" }
    #expect(holders.count == 1)
  }

  @Test(
    "Sync-rules 5: a key that is let go of in a later part of what is pending is taken all the same"
  )
  func keyLetGoLater() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let holder = try stage.insert(0, "Item", ["email": .string("k")])
    try await stage.settle()
    // A push holds four objects: what takes the key would go before what lets go of it.
    let item = try stage.insert(1, "Item", ["title": .string("takes it")])
    try stage.save(1) { context in
      for number in 0..<4 {
        try context.insert(entityNamed: "Box").setValue("\(number)", forKey: "name")
      }
    }
    try stage.delete(1, holder)
    try stage.set(1, item, ["email": .string("k")])
    try await stage.settle()
    #expect(stage.value(0, item, "email") == "\"k\"")
  }

  @Test("Sync-rules 5: an object that came and went between two pulls never was")
  func cameAndWent() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("stays")])
    try await stage.settle()
    let box = try stage.insert(0, "Box")
    try await stage.sync(0)
    try stage.relate(0, item, "box", box)
    try await stage.sync(0)
    try stage.delete(0, box)
    try await stage.sync(0)
    try stage.set(1, item, ["title": .string("edited meanwhile")])
    try await stage.settle()
    #expect(try stage.hosts[1].conflicts.isEmpty)
    #expect(stage.value(0, item, "title") == "\"edited meanwhile\"")
  }

  @Test("Sync-rules 5: one conflict is one entry of the journal, wherever the pages end")
  func pageBorders() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("base")])
    try await stage.settle()
    try stage.set(1, item, ["title": .string("mine")])
    for number in 0..<5 {
      try stage.set(
        0, item, ["title": .string("theirs \(number) " + String(repeating: "x", count: 900))])
      try await stage.sync(0)
    }
    try await stage.settle()
    let entries = try stage.hosts[1].conflicts.filter { $0.property == "title" }
    #expect(entries.count == 1)
    #expect(entries.first?.local == "\"mine\"")
  }

  @Test("S3 A later edit stands when its value was once the zone's")
  func onceTheZones() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["done": .bool(false)])
    try await stage.settle()
    try stage.set(0, item, ["done": .bool(true)])
    try await stage.sync(0)
    try stage.set(0, item, ["done": .bool(false)])
    try await stage.sync(0)
    try stage.set(1, item, ["done": .bool(true)])
    try await stage.settle()
    #expect(stage.value(0, item, "done") == "true")
  }

  @Test(
    "Sync-rules 7: a clock that was years ahead and is right again stops nobody")
  func fastClock() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("base")])
    try await stage.settle()
    stage.hosts[0].skew.withLock { $0 = 50 * 365 * 86_400_000 }
    try stage.set(0, item, ["title": .string("from the future")])
    try await stage.sync(0)
    stage.hosts[0].skew.withLock { $0 = 0 }
    try stage.set(1, item, ["title": .string("later")])
    try await stage.settle()
    #expect(stage.value(0, item, "title") == "\"later\"")
  }

  @Test("S1 Two callers of one engine: objects keep their own numbers, and nobody hears an error")
  func twoCallers() async throws {
    let stage = try await Stage(.memory)
    let first = try stage.insert(0, "Item", ["title": .string("first")])
    try stage.insert(1, "Item", ["title": .string("elsewhere")])
    try await stage.sync(1)
    let host = stage.hosts[0]
    host.network.held = HeldReplies()
    let engine = host.engine
    async let one = engine.sync()
    async let other = engine.sync()
    _ = try await (one, other)
    host.network.held = nil
    let second = try stage.insert(0, "Item", ["title": .string("second")])
    try await stage.settle()
    try stage.set(2, first, ["title": .string("first, edited")])
    try stage.set(1, second, ["title": .string("second, edited")])
    try await stage.settle()
    #expect(stage.value(0, first, "title") == "\"first, edited\"")
    #expect(stage.value(0, second, "title") == "\"second, edited\"")
  }

  @Test("S4 A reference that a delete cut is in a journal")
  func cutReference() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["title": .string("item")])
    let box = try stage.insert(0, "Box", ["name": .string("box")])
    try await stage.settle()
    try stage.delete(0, box)
    try stage.relate(1, item, "box", box)
    try await stage.settle()
    let isNamed = try stage.hosts.contains { host in
      try host.conflicts.contains { $0.object == item || $0.object == box }
    }
    #expect(isNamed || stage.hosts[0].image.things[box] != nil)
  }

  @Test(
    "S10 The order of a many-to-many relationship is one order on every replica")
  func orderOfMany() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0)
    var tags: [UUID] = []
    for number in 0..<5 { tags.append(try stage.insert(0, "Tag", ["name": .string("\(number)")])) }
    try stage.relate(0, item, "tags", to: Array(tags[0..<3]))
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [tags[2], tags[0], tags[1], tags[3]])
    try stage.relate(1, item, "tags", to: [tags[1], tags[4], tags[0], tags[2]])
    try stage.relate(2, item, "tags", to: [tags[2], tags[1]])
    try await stage.settle()
  }

  @Test("S12 Two inserts of one identity: what one of them does not name is no edit of it")
  func twoInserts() async throws {
    let stage = try await Stage(.memory)
    let identity = try #require(UUID(uuidString: "00000000-0000-5000-8000-000000000001"))
    try stage.insert(0, "Item", ["title": .string("named by the first")], identity: identity)
    try stage.insert(1, "Item", ["done": .bool(true)], identity: identity)
    try await stage.settle()
    #expect(stage.value(2, identity, "title") == "\"named by the first\"")
    #expect(stage.value(2, identity, "done") == "true")
  }

  @Test(
    "S22 One identity under two entities gives two objects, the same ones everywhere")
  func twoEntities() async throws {
    let stage = try await Stage(.memory)
    let identity = try #require(UUID(uuidString: "00000000-0000-5000-8000-000000000001"))
    try stage.insert(0, "Item", ["title": .string("an item")], identity: identity)
    try stage.insert(1, "Box", ["name": .string("a box")], identity: identity)
    try await stage.settle()
    #expect(stage.hosts[2].image.things.count == 2)
    try await stage.addHost()
    try await stage.settle()
  }

  @Test(
    "Sync-rules 1: a zone that was emptied on purpose does not come back")
  func renewedToReplace() async throws {
    let stage = try await Stage(.memory)
    try stage.insert(0, "Item", ["title": .string("gone")])
    try await stage.settle()
    try stage.server.renew(.replace)
    try stage.insert(1, "Item", ["title": .string("after it")])
    for _ in 0..<3 { for number in stage.hosts.indices { try? await stage.sync(number) } }
    let titles = stage.hosts[2].image.things.values.compactMap { $0.values["title"] }
    #expect(!titles.contains("\"gone\""))
  }

  @Test("Sync-rules 1: a copy of production as staging is not filled with production's data")
  func anotherZone() async throws {
    let stage = try await Stage(.memory)
    try stage.insert(0, "Item", ["title": .string("production's")])
    try await stage.settle()
    let staging = try SimulatedServer(
      .memory, clock: stage.clock, folder: stage.folder.file("staging"))
    stage.hosts[0].network.server = staging
    try stage.insert(0, "Item", ["title": .string("pending")])
    await #expect(throws: (any Error).self) { try await stage.sync(0) }
    #expect(try await staging.zoneInfo().head == 0)
    stage.hosts[0].network.server = stage.server
    try await stage.settle()
    #expect(stage.hosts[2].image.things.count == 2)
  }
}
