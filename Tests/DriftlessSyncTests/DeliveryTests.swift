import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What readers see while change sets arrive, and who wins when clocks agree.
struct DeliveryTests {
  @Test("F48 An edit made while an older version of it comes back stands at every moment")
  func editWhilePulling() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("0"), "stock": .integer(0)])
    try await world.settle()
    for round in 1...5 {
      try world[0].set(id, ["title": .string("\(round)"), "stock": .integer(Int64(round * 10))])
      try await world[0].push()
      try world[1].set(id, ["note": .string("\(round)")])
      try await world[1].sync()
      let hook = HookedTransport(world.zone)
      let engine = try await world[0].engine(through: hook)
      hook.beforePull = { [replica = world[0]] in
        guard try replica.value(id, "title") == .string("\(round)") else { return }
        try replica.set(
          id, ["title": .string("\(round) again"), "stock": .integer(Int64(round * 10 + 1))])
      }
      _ = try await engine.pull()
      #expect(try world[0].value(id, "title") == .string("\(round) again"))
      #expect(try world[0].value(id, "stock") == .integer(Int64(round * 10 + 1)))
      await engine.close()
      await world[0].restart()
    }
    try await world.settle()
    #expect(try world[1].value(id, "title") == .string("5 again"))
    #expect(try world[1].value(id, "stock") == .integer(51))
  }

  @Test(
    "F25 Answers and refusals with a flipped bit change nothing, and lead nobody to another log")
  func flippedAnswers() async throws {
    var world = try await World(0)
    for index in 0..<3 {
      let transport = FaultyTransport(
        world.zone, seed: UInt64(25 + index),
        faults: .init(
          lostRequests: 0, lostReplies: 0, duplicates: 0, lateRepeats: 0, flippedAnswers: 30))
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, transport: transport))
    }
    let id = try world[0].insert("Item", ["title": .string("0"), "stock": .integer(0)])
    var damaged = 0
    func sync(_ replica: TestReplica) async throws {
      for _ in 0..<20 {
        do {
          try await replica.sync()
          return
        } catch let error as ProtocolError {
          #expect(error.code == .damaged)
          damaged += 1
        } catch let error as SyncError {
          #expect(error.code == .damagedOnTheWay)
          damaged += 1
        }
      }
      Issue.record("\(replica.name) did not get through")
    }
    for round in 1...20 {
      for (index, replica) in world.replicas.enumerated() {
        try await sync(replica)
        try replica.insert("Item", ["title": .string("\(round) \(index)")])
        try replica.set(id, ["title": .string("\(round) \(index)")])
      }
    }
    for _ in 0..<2 { for replica in world.replicas { try await sync(replica) } }
    #expect(damaged > 0)
    for replica in world.replicas {
      #expect(try replica.identities(of: "Item").count == 61)
      #expect(try replica.export == world[0].export)
      #expect(try replica.status.pending.objects == 0)
      #expect(try replica.status.reconciled == nil)
      #expect(try replica.status.quarantined == 0)
    }
  }

  @Test("A network that is cut carries nothing, and all of it once it is mended")
  func cut() async throws {
    var world = try await World(1)
    let network = FaultyTransport(world.zone, seed: 1, faults: .none)
    world.replicas.append(
      try await TestReplica("far", zone: world.zone, clock: world.clock, transport: network))
    let id = try world[1].insert("Item", ["title": .string("far")])
    network.setCut(true)
    await #expect(throws: FaultyTransport.Lost.self) { try await world[1].sync() }
    try await world[0].sync()
    #expect(try !world[0].exists(id))
    network.setCut(false)
    try await world.settle()
    #expect(try world[0].value(id, "title") == .string("far"))
  }

  @Test("F51 Of three edits with equal clocks every replica takes the same one, whoever relays it")
  func equalClocks() async throws {
    for first in 0..<3 {
      let world = try await World(3)
      let id = try world[0].insert("Item", ["title": .string("base"), "stock": .integer(0)])
      try await world.settle()
      let time = HybridTime(rawValue: world.clock.hybridTime.rawValue + (5_000 << 16))
      for (index, replica) in world.replicas.enumerated() {
        _ = try replica.store.write(
          TransactionInfo(author: replica.name, contextName: nil, hybridTime: time)
        ) { transaction in
          let key = try #require(try transaction.key(of: id))
          let item = try #require(replica.store.model.entitiesByName["Item"])
          var row = try #require(try transaction.row(key)).values
          let title = try #require(item.layout.index(named: "title"))
          let stock = try #require(item.layout.index(named: "stock"))
          row[title] = .string("\(index)")
          row[stock] = .integer(Int64(1 << index))
          try transaction.update(
            key, PropertyMask([title, stock]), values: row, expectedVersion: nil)
        }
      }
      for index in [first, (first + 1) % 3, (first + 2) % 3] { try await world[index].sync() }
      try await world.settle()
      #expect(try world[0].value(id, "stock") == .integer(7))
      let journaled = try world.replicas.flatMap { try $0.conflicts }
        .filter { $0.property == "title" }
      #expect(!journaled.isEmpty, "what lost is in a journal")
    }
  }

  @Test("F53 No reader sees half a transaction, also where pages end and pushes are small")
  func wholeTransactions() async throws {
    let world = try await World(1)
    // Each transaction gives all its objects one number.
    for number in 0..<12 {
      try world[0].write { transaction in
        let item = try #require(world[0].store.model.entitiesByName["Item"])
        let high = try #require(item.layout.index(named: "high"))
        var row = [PropertyValue](repeating: .null, count: item.layout.slots.count)
        row[high] = .integer(Int64(number))
        for key in try transaction.allocateKeys(item, count: 20 + number * 7) {
          try transaction.insert(item, key, values: row)
        }
      }
      try await world[0].push()
    }
    var options = SyncOptions()
    options.pullBytesMax = 1
    let reader = try await TestReplica("reader", zone: world.zone, clock: world.clock)
    let hook = HookedTransport(world.zone)
    let engine = try await reader.engine(through: hook, options: options)
    var looks = 0
    var torn = 0
    hook.beforePull = {
      looks += 1
      let counts = try reader.store.read { transaction in
        try transaction.connection.rows("SELECT ZHIGH, COUNT(*) FROM ZITEM GROUP BY ZHIGH")
      }
      for row in counts {
        guard case .integer(let number) = row[0], case .integer(let count) = row[1] else {
          continue
        }
        if count != 20 + number * 7 { torn += 1 }
      }
    }
    _ = try await engine.pull()
    await engine.close()
    #expect(looks >= 12)
    #expect(torn == 0)
    #expect(try reader.export == world[0].export)
  }

  @Test(
    "F77 Every bit of numbers, texts and bytes that are rarely seen arrives, and stays in a second trip"
  )
  func rareValues() async throws {
    let world = try await World(3)
    let doubles: [Double] = [
      .nan, Double(bitPattern: 0x7ff0_0000_0000_0001), Double(bitPattern: 0xfff8_dead_beef_0001),
      .infinity, -.infinity, -0.0, .leastNonzeroMagnitude, -.leastNormalMagnitude,
      .greatestFiniteMagnitude, 0.1 + 0.2,
    ]
    let texts = [
      "", "\u{0}", "a\u{0}b", "\u{e9}", "e\u{301}", "\u{202e}abc\u{202c}", "שלום عليكم", "👩🏽‍🚒🏳️‍🌈",
      "\u{10ffff}\u{fffe}", "\r\n\t\u{7f}", String(repeating: "ü", count: 70_000),
    ]
    var objects: [(UUID, [String: PropertyValue])] = []
    for index in 0..<max(doubles.count, texts.count) {
      let values: [String: PropertyValue] = [
        "weight": .double(doubles[index % doubles.count]),
        "title": .string(texts[index % texts.count]),
        "high": .integer(index % 2 == 0 ? .min : .max),
        "blob": .data(Data(repeating: UInt8(index), count: [0, 1, 65_537, 3_000_000][index % 4])),
      ]
      objects.append((try world[0].insert("Item", values), values))
    }
    try await world.settle()
    // Set again elsewhere, they take the way back.
    for (id, values) in objects {
      try world[1].set(id, ["title": .string("between")])
      try world[1].set(id, ["title": values["title"] ?? .null])
    }
    try await world.settle()
    for replica in world.replicas {
      for (id, values) in objects {
        guard case .double(let weight)? = try replica.value(id, "weight"),
          case .double(let expected)? = values["weight"]
        else {
          Issue.record("no number")
          continue
        }
        // Whether a NaN's payload survives is SQLite's word: it keeps none.
        #expect(weight.bitPattern == expected.bitPattern || (weight.isNaN && expected.isNaN))
        #expect(weight.sign == expected.sign || expected.isNaN)
        guard case .string(let title)? = try replica.value(id, "title"),
          case .string(let text)? = values["title"]
        else {
          Issue.record("no text")
          continue
        }
        #expect(Array(title.utf8) == Array(text.utf8))
        #expect(try replica.value(id, "high") == values["high"])
        #expect(try replica.value(id, "blob") == values["blob"])
      }
    }
  }
}
