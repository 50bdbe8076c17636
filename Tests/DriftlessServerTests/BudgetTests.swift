import DriftlessProtocol
import DriftlessServer
import Foundation
import Synchronization
import TestSupport
import Testing

/// What requests may hold in memory, and whose change sets are read next.
@Suite("Budgets of memory and of reading") struct BudgetTests {
  private static func holder(_ zone: String, _ token: String = "t") -> MemoryBudget.Holder {
    MemoryBudget.Holder(zone: zone, token: "\(zone)-\(token)")
  }

  @Test("A zone gets half, a token three eighths; others get in meanwhile; what goes is free again")
  func parts() throws {
    let budget = MemoryBudget("answers", most: 800)
    let first = try budget.reserve(300, for: Self.holder("a", "1"))
    #expect(throws: ServerError.self) { try budget.reserve(1, for: Self.holder("a", "1")) }
    let second = try budget.reserve(100, for: Self.holder("a", "2"))
    #expect(throws: ServerError.self) { try budget.reserve(1, for: Self.holder("a", "2")) }
    let other = try budget.reserve(300, for: Self.holder("b"))
    #expect(budget.held == 700)
    #expect(throws: ServerError.self) { try budget.reserve(101, for: Self.holder("c")) }
    first.shrink(to: 50)
    first.shrink(to: 60)
    #expect(budget.held == 450)
    let third = try budget.reserve(101, for: Self.holder("c"))
    second.shrink(to: 0)
    withExtendedLifetime((first, second, other, third)) { #expect(budget.held == 451) }
  }

  @Test("One alone gets in however large it is; a charge goes with its last reference")
  func alone() throws {
    let budget = MemoryBudget("answers", most: 10)
    var charge: MemoryBudget.Charge? = try budget.reserve(1_000, for: Self.holder("a"))
    #expect(throws: ServerError.self) { try budget.reserve(1, for: Self.holder("b")) }
    withExtendedLifetime(charge) { #expect(budget.held == 1_000) }
    charge = nil
    #expect(budget.held == 0)
    _ = try budget.reserve(1, for: Self.holder("b"))
  }

  @Test("However much of one zone is to be read, another zone's is next; the zones take turns")
  func turns() async throws {
    let turns = DecodingTurns(threads: 2)
    let gate = DispatchSemaphore(value: 0)
    let order = Order()
    try await withThrowingTaskGroup(of: Void.self) { group in
      let (begun, beginning) = AsyncStream<Void>.makeStream()
      for index in 0..<8 {
        group.addTask {
          try await turns.perform(for: 1) {
            beginning.yield()
            gate.wait()
            order.add("heavy \(index)")
          }
        }
      }
      var iterator = begun.makeAsyncIterator()
      await iterator.next()
      // One of the eight holds its thread; the other thread is for others.
      for index in 0..<3 {
        try await turns.perform(for: 2) { order.add("small \(index)") }
      }
      #expect(order.all == ["small 0", "small 1", "small 2"])
      for _ in 0..<8 { gate.signal() }
      try await group.waitForAll()
    }
    #expect(order.all.count == 11)
  }

  @Test("What reading throws comes to who waits for it")
  func failing() async throws {
    let turns = DecodingTurns(threads: 1)
    await #expect(throws: ServerError.self) {
      try await turns.perform(for: 1) { throw ServerError.tooManyNamesForTest }
    }
    #expect(try await turns.perform(for: 1) { 7 } == 7)
  }

  @Test("V3 Answers that nobody reads fill their zone's part, and the next is told to come back")
  func slowReaders() async throws {
    var limits = ServerLimits()
    limits.answersInMemoryBytesMax = 64 << 20
    try await withServer(limits: limits, zones: ["shop", "other"]) { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      var generator = SystemRandomNumberGenerator()
      // Well above what the system takes from the server for a client that does not read.
      let title = (0..<1_500_000).map { _ in String(generator.next() as UInt64, radix: 36) }
        .joined()
      _ = try await server.accepted(maker.insert(1, title: title), token: token)
      let (zone, port) = (try await server.zone(), server.port)
      let path =
        "/v1/zones/shop/changes?generation=\(zone.generation)&after=0&chain="
        + "\(try await server.cursor(at: 0).chain)"
      let ask = LiveServer.head("GET", path, token: token.text)
      let statuses = try await blocking {
        let readers = try (0..<12).map { _ in try RawConnection(port: port, receives: 4_096) }
        for reader in readers { reader.send(ask) }
        return try withExtendedLifetime(readers) { try readers.map { try $0.status() } }
      }
      let (taken, refused) = (
        statuses.filter { $0 == 200 }.count, statuses.filter { $0 == 503 }.count
      )
      // A slow host takes some while others go: that some are refused, and none is left waiting, is what holds.
      #expect(taken >= 1 && refused >= 1 && taken + refused == 12, "\(statuses)")
      // They have hung up: the room is free again.
      let deadline = ContinuousClock.now + .seconds(60)
      var status = 503
      while status == 503, ContinuousClock.now < deadline {
        status = try await server.request("GET", path, token: token.text).status
      }
      #expect(status == 200)
    }
  }
}

extension ServerError {
  fileprivate static let tooManyNamesForTest = ServerError(.tooLarge, "too large", suggestion: "")
}

/// What was done, in its order.
private final class Order: Sendable {
  private let names = Mutex<[String]>([])

  var all: [String] { names.withLock { $0 } }

  func add(_ name: String) { names.withLock { $0.append(name) } }
}
