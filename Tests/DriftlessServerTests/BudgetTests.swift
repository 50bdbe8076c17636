import DriftlessProtocol
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessServer

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

  @Test(
    "A charge grows by the rules of all, keeps what it holds when it may not, and one alone may")
  func growing() throws {
    let budget = MemoryBudget("pushes", most: 800)
    let charge = budget.charge(for: Self.holder("a"))
    try charge.grow(by: 1_000)
    charge.shrink(to: 100)
    try charge.grow(by: 200)
    #expect(throws: ServerError.self) { try charge.grow(by: 1) }
    #expect(charge.held == 300 && budget.held == 300)
    charge.shrink(to: 0)
    #expect(budget.held == 0)
  }

  @Test("A refill goes on where a small entry precedes one larger than what the budget leaves")
  func refill() async throws {
    var limits = ServerLimits()
    limits.valuesInMemoryBytesMax = 1 << 20
    try await withServer(limits: limits) { server in
      let token = try server.token()
      let zone = try await server.zone()
      var log = ZoneLog(name: "shop", generation: zone.generation)
      var maker = FrameMaker(zone)
      // Three eighths of the budget are 384 KiB.
      for letters in [10, 600_000, 10, 10, 500_000] {
        _ = try log.append(
          maker.insert(1, title: Self.noise(letters: letters)), nowMilliseconds: 0)
        maker.cursor.sequence = log.head
        maker.cursor.chain = log.chain
      }
      let request = PullRequest(
        cursor: .start(generation: zone.generation), maxBytes: 1 << 24, waitSeconds: 0,
        replica: UUID(), ownThrough: 0)
      let entries = try log.page(request, nowMilliseconds: 0).entries
      let filled = try await server.request(
        "POST", "/v1/zones/shop/refill", token: token.text,
        headers: ["Content-Type: \(WirePath.logType)"], body: PullPage.body(of: entries))
      #expect(filled.status == 200, "\(filled.code ?? "")")
      #expect(
        try JSONDecoder().decode(RefillReply.self, from: filled.body)
          == RefillReply(head: 5, chain: log.chain))
    }
  }

  @Test("What large pushes took goes back once for all that come at a time, and for no small one")
  func trims() async throws {
    let count = Count()
    let trim = MemoryTrim(milliseconds: 50) { count.number.add(1, ordering: .relaxed) }
    trim.note(bytes: 1_000)
    for _ in 0..<10_000 { trim.note(bytes: 2 << 20) }
    try await until("it is done") { count.value > 0 }
    #expect(count.value < 1_000)
    let before = count.value
    trim.note(bytes: 2 << 20)
    try await until("it is done for the next one") { count.value > before }
  }

  @Test("Who is refused costs no memory that would go back, whatever length a request says")
  func refusedLengths() async throws {
    let count = Count()
    try await withServer(trimsMemory: { count.number.add(1, ordering: .relaxed) }) { server in
      let token = try server.token()
      let port = server.port
      try await until("the zone was looked at when the server started") { count.value > 0 }
      let idle = count.value
      for token in [nil, "wrong", try server.token(verbs: .read).text] {
        let head = LiveServer.head(
          "POST", "/v1/zones/shop/changes", token: token, length: 32 << 20)
        let status = try await blocking {
          let connection = try RawConnection(port: port)
          connection.send(head)
          return try connection.response().status
        }
        #expect(status == 401 || status == 403)
      }
      #expect(count.value == idle)
      let before = count.value
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(1, title: Self.noise(letters: 3_000_000))
      #expect(frame.count > 1 << 20)
      _ = try await server.accepted(frame, token: token)
      try await until("what the push took goes back") { count.value > before }
    }
  }

  @Test("A zone and a token may hold one thing of the largest size, where all leave room")
  func least() throws {
    let budget = MemoryBudget("bodies", most: 800, least: 700)
    let charge = budget.charge(for: Self.holder("a"))
    for _ in 0..<7 { try charge.grow(by: 100) }
    #expect(throws: ServerError.self) { try charge.grow(by: 1) }
    let other = try budget.reserve(100, for: Self.holder("b"))
    #expect(throws: ServerError.self) { try budget.reserve(1, for: Self.holder("c")) }
    withExtendedLifetime(other) { #expect(budget.held == 800) }
  }

  private final class Count: Sendable {
    let number = Atomic(0)
    var value: Int { number.load(ordering: .relaxed) }
  }

  /// Text that is hardly compressed.
  static func noise(letters: Int) -> String {
    var generator = SystemRandomNumberGenerator()
    let words = (0..<letters / 10).map { _ in
      String(generator.next() as UInt64 | 1 << 63, radix: 36).prefix(10)
    }
    return words.joined()
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
      // Well above what the system takes from the server for a client that does not read.
      let title = Self.noise(letters: 18_000_000)
      let frame = try maker.insert(1, title: title)
      _ = try await server.accepted(frame, token: token)
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
      // What was refused was not read of the database.
      let entry = PullPage.Entry.headerSize + frame.count
      let sent = server.server.metrics.totals.bytesSent
      #expect(sent == UInt64(taken * entry), "\(sent) of \(taken) times \(entry)")
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
