import DriftlessHTTP
import DriftlessSync
import Foundation
import TestSupport
import Testing

/// A real server behind a network that cuts, swallows, changes and delays.
@Suite(.serialized) struct NetworkFaultTests {
  private struct World {
    let shared: FaultWorld
    let relay: FaultyRelay
    /// Behind the relay.
    let far: EmbeddedReplica
    /// Beside the server.
    let near: EmbeddedReplica

    init(stallSeconds: Int = 10) async throws {
      shared = try FaultWorld()
      relay = try FaultyRelay(to: shared.server.address)
      far = try await shared.embedded("far", route: relay.address) {
        $0.stallTimeoutSeconds = stallSeconds
      }
      near = try await shared.embedded("near")
    }

    /// The network is whole again: all arrives, once.
    func settle(
      _ count: Int, objects: Int, _ location: SourceLocation = #_sourceLocation
    ) async throws {
      relay.set(.none)
      for replica in [far, near, far, near] { _ = try await replica.engine.sync() }
      #expect(try far.export == near.export, sourceLocation: location)
      #expect(try near.shared == Int64(count), sourceLocation: location)
      #expect(
        try near.export.split(separator: "\n").count == objects, sourceLocation: location)
      #expect(try far.pendingObjects == 0, sourceLocation: location)
      relay.stop()
    }
  }

  /// Every byte where all are wanted, else every so many.
  private var stride: Int { FileFault.areAllWanted ? 1 : 37 }

  private func isFailing(_ replica: EmbeddedReplica) async -> Bool {
    do {
      _ = try await replica.engine.sync()
      return false
    } catch { return true }
  }

  @Test("F19 Cut at every byte of request and answer, a sync has one effect and takes pages whole")
  func cutAnywhere() async throws {
    let world = try await World()
    try world.far.count("first")
    for replica in [world.far, world.near] { _ = try await replica.engine.sync() }
    var (count, extra, failures) = (1, 0, 0)
    for isRequest in [true, false] {
      var place = 1
      var isBeyond = false
      while !isBeyond {
        count += 1
        try world.far.count("far\(count)")
        if count % 4 == 0 {
          extra += 1
          try world.near.count("near\(count)")
          count += 1
          _ = try await world.near.engine.sync()
        }
        let here = place
        world.relay.set { number in
          number > 0 ? .none : isRequest ? .cutRequest(after: here) : .cutReply(after: here)
        }
        if await isFailing(world.far) {
          failures += 1
          // What waits must not grow faster than the place moves on.
          world.relay.set(.none)
          _ = try await world.far.engine.sync()
        } else {
          // Whole, and with bytes to spare.
          let passed = world.relay.passed.first ?? .init()
          isBeyond = (isRequest ? passed.requestBytes : passed.replyBytes) < here
        }
        place += stride
      }
    }
    #expect(failures > 10)
    try await world.settle(count, objects: count + 1)
  }

  @Test("F19 What comes byte by byte is read and sent as if it came at once")
  func byteByByte() async throws {
    let world = try await World()
    world.relay.set(.byteByByte)
    try world.far.count("far")
    _ = try await world.far.engine.sync()
    try await world.settle(1, objects: 2)
  }

  @Test(
    "F20 A network that carries one way alone, or nothing, is given up in time, and one effect remains"
  )
  func oneWay() async throws {
    let world = try await World(stallSeconds: 1)
    try world.far.count("one way")
    world.relay.set(.oneWay)
    #expect(await isFailing(world.far))
    #expect(try world.far.pendingObjects == 2)
    try world.far.count("black hole")
    world.relay.set(.blackHole)
    #expect(await isFailing(world.far))
    try await world.settle(2, objects: 3)
  }

  @Test("F22 A slow network that loses connections gets a little further each time")
  func slowAndLossy() async throws {
    let world = try await World(stallSeconds: 3)
    var generator = SeededGenerator(seed: 22)
    func payload() -> String {
      String(
        (0..<6_000).map { _ in
          Character(UnicodeScalar(UInt8.random(in: 33..<127, using: &generator)))
        })
    }
    for index in 1...6 { try world.far.count("far\(index)", payload: payload()) }
    // 64 KB a second is less than the whole in the time that counts as a stall of the link.
    world.relay.set(.slow(bytesPerSecond: 64_000, piece: 1_400))
    for replica in [world.far, world.near] { _ = try await replica.engine.sync() }
    for index in 7...12 {
      try world.near.count("near\(index)", payload: payload())
      _ = try await world.near.engine.sync()
    }
    // Each connection carries no more than some pages.
    var options = SyncOptions()
    options.pullBytesMax = 8_000
    let engine = SyncEngine(
      store: world.far.store, transport: world.far.transport, options: options)
    await world.far.engine.close()
    world.relay.set(.cutReply(after: 20_000))
    var attempts = 0
    var isDone = false
    while !isDone, attempts < 20 {
      attempts += 1
      isDone = (try? await engine.sync()) != nil
    }
    #expect(isDone, "no attempt got through")
    #expect(attempts > 1, "nothing was lost")
    await engine.close()
    try await world.settle(12, objects: 13)
  }

  @Test(
    "F23 A server that answers with errors for long loses no change and sets none aside",
    arguments: [
      "500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable",
      "429 Too Many Requests",
    ])
  func errorsForLong(status: String) async throws {
    let world = try await World()
    let words =
      "HTTP/1.1 \(status)\r\nRetry-After: 3600\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    world.relay.set(.answer(words))
    for count in 1...10 {
      try world.far.count("far\(count)")
      #expect(await isFailing(world.far))
      #expect(try world.far.pendingObjects == count + 1)
      #expect(try SyncEngine.quarantine(of: world.far.store).isEmpty)
    }
    try await world.settle(10, objects: 11)
  }

  @Test("F24 F25 Pages of strangers and damaged answers change nothing, and are told")
  func strangers() async throws {
    let world = try await World()
    try world.far.count("far")
    let page = "<html>Please sign in</html>"
    for words in [
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: \(page.utf8.count)\r\n\r\n\(page)",
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/login\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{\"seq",
    ] {
      world.relay.set(.answer(words))
      #expect(await isFailing(world.far), "\(words.prefix(60))")
      #expect(try world.far.pendingObjects == 2)
      #expect(try SyncEngine.status(of: world.far.store).lastError != nil)
    }
    try await world.settle(1, objects: 2)
  }

  @Test(
    "F25 A byte of a request or an answer that is another is noticed, or does no harm",
    arguments: [false, true])
  func flippedBytes(isRequest: Bool) async throws {
    let world = try await World(stallSeconds: 1)
    try world.far.count("first")
    for replica in [world.far, world.near] { _ = try await replica.engine.sync() }
    let reconciled = try SyncEngine.status(of: world.far.store).reconciled
    var (count, place) = (1, 0)
    var isBeyond = false
    while !isBeyond {
      count += 2
      try world.near.count("near\(count)")
      _ = try await world.near.engine.sync()
      try world.far.count("far\(count)")
      let here = place
      world.relay.set { number in
        number > 0 ? .none : isRequest ? .flippedRequest(at: here) : .flippedReply(at: here)
      }
      _ = await isFailing(world.far)
      let passed = world.relay.passed.first ?? .init()
      isBeyond = (isRequest ? passed.requestBytes : passed.replyBytes) <= here
      world.relay.set(.none)
      if await isFailing(world.far) {
        // Once more: what was noticed late is mended by then.
        _ = try await world.far.engine.sync()
      }
      #expect(try SyncEngine.quarantine(of: world.far.store).isEmpty, "byte \(here)")
      #expect(
        try SyncEngine.status(of: world.far.store).reconciled == reconciled,
        "byte \(here): it came back to a log that it never left")
      place += stride
    }
    #expect(place > 500)
    try await world.settle(count, objects: count + 1)
  }
}
