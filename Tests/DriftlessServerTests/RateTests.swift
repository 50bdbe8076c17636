import DriftlessServer
import Foundation
import Testing

@Suite("Who asks too often, and who hangs up")
struct RateTests {
  @Test("What is counted is counted a client, and forgotten at the end of the span")
  func counting() {
    let start = ContinuousClock.now
    let limit = RateLimit(countMax: 2, seconds: 10, now: start)
    #expect(limit.secondsToWait(of: "a", now: start) == nil)
    #expect(limit.secondsToWait(of: "a", now: start) == nil)
    #expect(limit.secondsToWait(of: "a", now: start + .seconds(4)) == 7)
    #expect(limit.secondsToWait(of: "b", now: start + .seconds(4)) == nil)
    #expect(limit.secondsToWait(of: "a", now: start + .seconds(10)) == nil)
  }

  @Test("A token that asks too often gets 429 with Retry-After; another token does not")
  func tokens() async throws {
    var limits = ServerLimits()
    (limits.rateSeconds, limits.requestsPerTokenMax) = (3600, 3)
    try await withServer(limits: limits) { server in
      let busy = try server.token().text
      let other = try server.token().text
      for _ in 0..<3 {
        #expect(try await server.request("GET", "/v1/zones/shop", token: busy).status == 200)
      }
      let refused = try await server.request("GET", "/v1/zones/shop", token: busy)
      #expect(refused.status == 429)
      #expect(refused.code == "busy")
      let seconds = try #require(refused.headers["retry-after"].flatMap { Int($0) })
      #expect((1...3600).contains(seconds))
      #expect(try await server.request("GET", "/v1/zones/shop", token: other).status == 200)
    }
  }

  @Test("An address that tries many tokens gets 429; a right token passes from there all the same")
  func addresses() async throws {
    var limits = ServerLimits()
    (limits.rateSeconds, limits.refusalsPerAddressMax) = (3600, 2)
    try await withServer(limits: limits) { server in
      for status in [401, 401, 429, 429] {
        let wrong = AccessToken.mint().text
        #expect(
          try await server.request("GET", "/v1/zones/shop", token: wrong).status == status)
      }
      let right = try server.token().text
      #expect(try await server.request("GET", "/v1/zones/shop", token: right).status == 200)
    }
  }

  @Test("A long poll whose client hangs up frees its place at once")
  func hangUp() async throws {
    try await withServer { server in
      let poll = try await server.longPoll()
      let port = server.port
      let news = server.server.news
      try await blocking {
        let connection = try RawConnection(port: port)
        connection.send(poll)
        try wait("the poll waits") { news.waiting == 1 }
      }
      // The connection is closed now. The poll itself would wait 50 s.
      try await blocking { try wait("the place is free") { news.waiting == 0 } }
    }
  }

  @Test("A long poll whose client hangs up at any moment holds no place")
  func hangUpAtOnce() async throws {
    try await withServer { server in
      let poll = try await server.longPoll()
      let port = server.port
      let news = server.server.news
      try await blocking {
        // From before a poll has come to when it has waited for a while, as long as that takes here.
        var (delay, waited) = (UInt32(0), 0)
        let deadline = ContinuousClock.now + .seconds(60)
        while delay < 5_000 || waited < 20, .now < deadline {
          let connection = try RawConnection(port: port)
          connection.send(poll)
          usleep(delay)
          if news.waiting > 0 { waited += 1 }
          delay += 50
        }
        #expect(waited >= 20, "polls came, and waited")
      }
      try await blocking { try wait("the places are free") { news.waiting == 0 } }
    }
  }
}

extension LiveServer {
  /// A request that waits 50 s for news.
  fileprivate func longPoll() async throws -> Data {
    let generation = try await zone().generation.uuidString
    return Self.head(
      "GET", "/v1/zones/shop/changes?generation=\(generation)&after=0&wait_seconds=50",
      token: try token().text)
  }
}

/// Asks until `condition` holds. The time is a bound for a broken server, not a measure.
private func wait(_ what: String, _ condition: () -> Bool) throws {
  let deadline = ContinuousClock.now + .seconds(20)
  while !condition() {
    guard ContinuousClock.now < deadline else {
      throw RawConnection.Failure(reason: "still not: \(what)")
    }
    usleep(10_000)
  }
}
