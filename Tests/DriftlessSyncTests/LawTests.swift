import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What holds of every policy, in every order of delivery.
struct LawTests {
  /// Every order of five replicas, some of which are alike.
  private static func orders(_ count: Int) -> [[Int]] {
    guard count > 1 else { return [[0]] }
    return orders(count - 1).flatMap { order in
      (0...order.count).map { place in
        var order = order
        order.insert(count - 1, at: place)
        return order
      }
    }
  }

  @Test("F52 Counters add up and greatest and least win in every order of delivery")
  func everyOrder() async throws {
    for order in Self.orders(4) {
      let world = try await World(4)
      let id = try world[0].insert(
        "Item", ["stock": .integer(100), "high": .integer(0), "low": .integer(0)])
      try await world.settle()
      for (index, replica) in world.replicas.enumerated() {
        try replica.set(
          id,
          [
            "stock": .integer(100 + Int64(1 << index)), "high": .integer([3, 9, 5, 9][index]),
            "low": .integer([-3, -1, -8, -2][index]),
          ])
      }
      for index in order { try await world[index].sync() }
      try await world.settle()
      #expect(try world[0].value(id, "stock") == .integer(115), "\(order)")
      #expect(try world[0].value(id, "high") == .integer(9), "\(order)")
      #expect(try world[0].value(id, "low") == .integer(-8), "\(order)")
    }
  }

  @Test("F52 The last writer wins in every order of delivery")
  func lastWriterInEveryOrder() async throws {
    for order in Self.orders(4) {
      let world = try await World(4)
      let id = try world[0].insert("Item")
      try await world.settle()
      for (index, replica) in world.replicas.enumerated() {
        try replica.set(id, ["title": .string("\(index)")])
      }
      for index in order { try await world[index].sync() }
      try await world.settle()
      #expect(try world[0].value(id, "title") == .string("3"), "\(order)")
    }
  }

  @Test("F17 F18 No count is lost or doubled, whatever the network does", arguments: UInt64(1)...20)
  func countersUnderFaults(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    var world = try await World(1)
    var transports: [FaultyTransport] = []
    for index in 1..<4 {
      let transport = FaultyTransport(world.zone, seed: seed &+ UInt64(index))
      transports.append(transport)
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, transport: transport))
    }
    let id = try world[0].insert("Item", ["stock": .integer(0)])
    try await world[0].sync()
    var expected: Int64 = 0
    for _ in 0..<60 {
      let replica = world[Int.random(in: 0..<4, using: &generator)]
      if generator.chance(50), case .integer(let now)? = try replica.value(id, "stock") {
        let count = Int64.random(in: -9...9, using: &generator)
        try replica.set(id, ["stock": .integer(now + count)])
        expected += count
      } else {
        do {
          try await replica.sync()
        } catch is FaultyTransport.Lost {
          await replica.restart()
        }
      }
    }
    for transport in transports { transport.setFaults(.none) }
    try await world.settle()
    #expect(try world[0].value(id, "stock") == .integer(expected))
  }

  @Test("Applying a log twice over gives what applying it once gives")
  func idempotent() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a"), "stock": .integer(1)])
    try await world[0].sync()
    try world[0].set(id, ["title": .string("b")])
    try await world[0].sync()
    try await world[1].sync()
    let before = try world[1].export
    // A store that was restored from a copy hears its own change sets again, as those of another.
    try world[1].store.forgetCursor()
    await world[1].restart()
    try await world[1].sync()
    #expect(try world[1].export == before)
    try await world.settle()
  }
}
