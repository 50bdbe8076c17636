import DriftlessProtocol
import Foundation
import Testing

@testable import DriftlessServer

/// What bodies that come slowly hold, for how long, and who gets in beside them.
@Suite("Bodies that come slowly") struct SlowBodyTests {
  /// Connections of one token that have said how long their bodies are, of which some are let in and fill its part.
  ///
  /// - Returns: those that were let in.
  private static func slow(
    _ count: Int, of length: Int, letIn: Int = 1, _ server: LiveServer, zone: String = "shop",
    token: String
  ) async throws -> [RawConnection] {
    let port = server.port
    let head = LiveServer.head(
      "POST", "/v1/zones/\(zone)/changes", token: token, length: length)
    let slow = try await blocking {
      try (0..<count).map { _ in
        let connection = try RawConnection(port: port)
        connection.send(head)
        return connection
      }
    }
    let (waiting, refused) = try await blocking {
      var (waiting, statuses) = (slow, [Int]())
      let end = ContinuousClock.now + .seconds(60)
      while statuses.count < count - letIn, ContinuousClock.now < end {
        for (place, connection) in waiting.enumerated().reversed()
        where connection.hasMore(milliseconds: 50) {
          statuses.append(try connection.response().status)
          waiting.remove(at: place)
        }
      }
      return (waiting, statuses)
    }
    #expect(refused == Array(repeating: 503, count: count - letIn), "\(refused)")
    return waiting
  }

  private static var narrow: ServerLimits {
    var limits = ServerLimits()
    limits.bodiesInMemoryBytesMax = 8 << 20
    limits.bodyBytesMax = 2 << 20
    return limits
  }

  @Test("V3 Bodies that are sent slowly fill their token's part, and pushes to other zones get in")
  func others() async throws {
    try await withServer(limits: Self.narrow, zones: ["shop", "other"]) { server in
      let token = try server.token(zone: "other").text
      let slow = try await Self.slow(8, of: 2 << 20, server, zone: "other", token: token)
      // The largest body of another token of that zone gets in, and is read: it is no change set.
      let other = try server.token(zone: "other").text
      let status = try await server.request(
        "POST", "/v1/zones/other/changes", token: other,
        headers: ["Content-Type: \(WirePath.logType)"], body: Data(count: 2 << 20)
      ).status
      #expect((400..<500).contains(status) && status != 413, "\(status)")
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(1, title: BudgetTests.noise(letters: 2_000_000))
      #expect(frame.count > 1 << 20)
      _ = try await server.accepted(frame, token: server.token())
      withExtendedLifetime(slow) {}
    }
  }

  @Test("F84 V6 A small push of a token gets in beside slow bodies that fill that token's part")
  func smallBeside() async throws {
    try await withServer(limits: Self.narrow) { server in
      let token = try server.token()
      let slow = try await Self.slow(3, of: 2 << 20, server, token: token.text)
      var maker = FrameMaker(try await server.zone())
      _ = try await server.accepted(maker.insert(1), token: token)
      // Who does not say how long a body is holds what has come of it, and a small one is small.
      let frame = try maker.insert(1)
      let port = server.port
      let response = try await blocking {
        let connection = try RawConnection(port: port)
        let size = String(frame.count, radix: 16)
        connection.send(
          LiveServer.head(
            "POST", "/v1/zones/shop/changes", token: token.text,
            headers: ["Transfer-Encoding: chunked", "Content-Type: \(WirePath.changeSetType)"],
            length: nil) + Data("\(size)\r\n".utf8) + frame + Data("\r\n0\r\n\r\n".utf8))
        return try connection.response()
      }
      #expect(response.status == 200, "\(String(decoding: response.body, as: UTF8.self))")
      // One that is no longer small finds no room.
      let large = try await server.request(
        "POST", "/v1/zones/shop/changes", token: token.text, body: Data(count: (1 << 20) + 1))
      #expect(large.status == 503 && large.headers["connection"] == "close")
      withExtendedLifetime(slow) {}
    }
  }

  @Test("Slow small bodies that fill the room of small ones leave further ones to that of all")
  func smallBesideSmall() async throws {
    var limits = Self.narrow
    limits.smallBodiesInMemoryBytesMax = 1 << 20
    try await withServer(limits: limits) { server in
      // One in the room of small ones, two in the token's part of all.
      let slow = try await Self.slow(
        5, of: 1 << 20, letIn: 3, server, token: server.token().text)
      let statuses = try await blocking {
        for connection in slow { connection.send(Data(count: 1 << 20)) }
        return try slow.map { try $0.response().status }
      }
      // They are no change sets.
      #expect(statuses == [400, 400, 400])
    }
  }

  @Test("Pieces of large values, pushes and enrolments have one budget of memory together")
  func oneBudget() async throws {
    var limits = Self.narrow
    limits.valueBytesMax = 1 << 20
    try await withServer(limits: limits) { server in
      let token = try server.token()
      let slow = try await Self.slow(3, of: 2 << 20, server, token: token.text)
      let bytes = Data(repeating: 3, count: 100)
      let value = try #require(LargeValue(of: bytes))
      let generation = try await server.zone().generation
      let path =
        "/v1/zones/shop/values/\(value.name)?generation=\(generation)&replica=\(UUID())"
        + "&length=\(value.length)&first=0"
      func put(_ token: AccessToken) async throws -> Int {
        try await server.request(
          "PUT", path, token: token.text, headers: ["Content-Type: \(WirePath.valueType)"],
          body: bytes
        ).status
      }
      #expect(try await put(token) == 503)
      #expect(try await put(server.token()) == 200)
      withExtendedLifetime(slow) {}
    }
  }

  @Test("F84 V6 A long body that comes too slowly for what it holds is told to come again")
  func longBody() async throws {
    var limits = ServerLimits()
    limits.bodySeconds = 1
    // By the rate of short ones it would have days.
    limits.bodyBytesPerSecondMin = 1
    limits.longBodyBytes = 1
    limits.longBodyBytesPerSecondMin = 1 << 20
    try await withServer(limits: limits) { server in
      let (port, token) = (server.port, try server.token())
      let response = try await blocking {
        let connection = try RawConnection(port: port)
        connection.send(
          LiveServer.head(
            "POST", "/v1/zones/shop/changes", token: token.text, length: 2_000_000)
            + Data(count: 1_000_000))
        return try connection.responseWhileTrickling()
      }
      #expect(response.status == 503 && response.code == "busy")
      #expect(response.headers["connection"] == "close")
    }
  }

  @Test(
    "A line of 40 KB/s sends whatever is allowed, one of 4 KiB/s a part; nothing is held for long")
  func pace() {
    let limits = ServerLimits()
    for length in [1, 4 << 10, 1 << 20, 4 << 20, 5 << 20, 8 << 20, 20 << 20, limits.bodyBytesMax] {
      var before = 0
      for count in stride(from: 0, through: length, by: max(1, length / 50)) {
        let seconds = limits.seconds(for: count, ofBody: length)
        #expect(seconds >= before && seconds > count / 40_000, "\(count) of \(length)")
        if length <= 4 << 20 { #expect(seconds >= count / (4 << 10), "\(count) of \(length)") }
        before = seconds
      }
      // Whoever holds a token's part has to have sent it by then.
      #expect(before <= 36 * 60, "\(length): \(before)")
      // What says nothing of its length is not judged by less than what has come.
      #expect(limits.seconds(for: length, ofBody: length) >= before)
    }
    // What holds as much as it says from its head on is not given the time of a short one.
    #expect(limits.seconds(for: 1 << 20, ofBody: 64 << 20) < 160)
    #expect(limits.seconds(for: 1 << 20, ofBody: 1 << 20) == 120 + 256)
  }
}
