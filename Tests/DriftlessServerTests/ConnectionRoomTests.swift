import DriftlessServer
import Foundation
import TestSupport
import Testing

/// Who connects and says nothing keeps nobody out.
@Suite("Room for connections") struct ConnectionRoomTests {
  private static func metric(_ name: String, of server: LiveServer) async throws -> Int {
    let page = String(
      decoding: try await server.request("GET", "/metrics").body, as: UTF8.self)
    let line = page.split(separator: "\n").first { $0.hasPrefix("driftless_\(name) ") }
    return line?.split(separator: " ").last.flatMap { Int($0) } ?? -1
  }

  @Test("F84 Silent connections of one address make room for others at once; the log says so once")
  func silent() async throws {
    try await withServer { server in
      let port = server.port
      let (statuses, isFirstClosed) = try await blocking {
        let silent = try (0..<1_050).map { _ in try RawConnection(port: port) }
        // None of the silent ones has ended by itself by now: the idle time is a minute.
        let statuses = try (0..<5).map { _ in
          let connection = try RawConnection(port: port)
          connection.send(LiveServer.head("GET", "/healthz"))
          return try connection.response().status
        }
        return (statuses, silent[0].isHungUp())
      }
      #expect(statuses == [200, 200, 200, 200, 200])
      #expect(isFirstClosed)
      #expect(try await Self.metric("closed_connections_total", of: server) >= 1_050 - 256)
      let told = server.log.text.components(separatedBy: "showed no token were closed").count - 1
      #expect(told == 1)
    }
  }

  @Test("Above the cap the oldest connection without a token makes room for the next")
  func cap() async throws {
    var limits = ServerLimits()
    limits.connectionsMax = 2
    try await withServer(limits: limits) { server in
      let port = server.port
      let (status, isFirstClosed) = try await blocking {
        var held: [RawConnection] = []
        for _ in 0..<2 {
          let connection = try RawConnection(port: port)
          connection.send(LiveServer.head("GET", "/healthz"))
          _ = try connection.response()
          held.append(connection)
        }
        let third = try RawConnection(port: port)
        third.send(LiveServer.head("GET", "/healthz"))
        return (try third.response().status, held[0].isHungUp())
      }
      #expect(status == 200 && isFirstClosed)
    }
  }

  @Test("Who has shown a token keeps the connection, however many come without one")
  func admitted() async throws {
    var limits = ServerLimits()
    limits.connectionsMax = 8
    limits.connectionsReserve = 2
    limits.connectionsPerAddressMax = 4
    try await withServer(limits: limits) { server in
      let (port, token) = (server.port, try server.token())
      let ask = LiveServer.head("GET", "/v1/zones/shop", token: token.text)
      let statuses = try await blocking {
        let trusted = try (0..<8).map { _ in
          let connection = try RawConnection(port: port)
          connection.send(ask)
          _ = try connection.response()
          return connection
        }
        let silent = try (0..<100).map { _ in try RawConnection(port: port) }
        let health = try RawConnection(port: port)
        health.send(LiveServer.head("GET", "/healthz"))
        var statuses = [try health.response().status]
        for connection in trusted {
          connection.send(ask)
          statuses.append(try connection.response().status)
        }
        return withExtendedLifetime(silent) { statuses }
      }
      #expect(statuses == [Int](repeating: 200, count: 9))
    }
  }

  @Test("A wrong token, or none, makes nobody one who is let in")
  func strangers() async throws {
    var limits = ServerLimits()
    limits.connectionsPerAddressMax = 1
    try await withServer(limits: limits) { server in
      let port = server.port
      let wrong = LiveServer.head("GET", "/v1/zones/shop", token: "dl_0000000000000000_0000")
      let isClosed = try await blocking {
        let first = try RawConnection(port: port)
        first.send(wrong)
        #expect(try first.response().status == 401)
        let second = try RawConnection(port: port)
        return withExtendedLifetime(second) { first.isHungUp() }
      }
      #expect(isClosed)
    }
  }

  @Test("A connection that brings no whole head in its time is closed; one that did may be idle")
  func head() async throws {
    var limits = ServerLimits()
    limits.headSeconds = 1
    limits.idleSeconds = 600
    try await withServer(limits: limits) { server in
      let port = server.port
      let idle = try await blocking {
        let connection = try RawConnection(port: port)
        connection.send(LiveServer.head("GET", "/healthz"))
        _ = try connection.response()
        return connection
      }
      for bytes in ["", "GET /healthz HT", "GET /healthz HTTP/1.1\r\nHost: x\r\nA: "] {
        let isHungUp = try await blocking {
          let connection = try RawConnection(port: port)
          connection.send(Data(bytes.utf8))
          return connection.isHungUp()
        }
        #expect(isHungUp, "\(bytes)")
      }
      let status = try await blocking {
        idle.send(LiveServer.head("GET", "/healthz"))
        return try idle.response().status
      }
      #expect(status == 200)
    }
  }

  @Test("Fewer files than the limits want mean fewer connections, and always some")
  func files() {
    let usual = ServerLimits()
    #expect(usual.fitted(toFiles: 16_384) == usual)
    #expect(usual.connectionsMax > usual.waitersMax && usual.contradictions.isEmpty)
    for count in [1, 70, 80, 256, 1_024, 4_096] {
      let fitted = usual.fitted(toFiles: count)
      #expect(fitted.connectionsMax >= 1 && fitted.connectionsReserve >= 1)
      #expect(fitted.files <= max(count, 68), "\(count)")
    }
    var narrow = usual
    narrow.connectionsMax = narrow.waitersMax
    #expect(narrow.contradictions.count == 1)
    var slow = usual
    slow.bodiesInMemoryBytesMax = 4 * slow.bodyBytesMax - 1
    #expect(slow.contradictions.count == 1)
  }
}
