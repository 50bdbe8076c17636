import DriftlessProtocol
import DriftlessServer
import Foundation
import Testing

@Suite("Bodies that are wrong, long, slow or cut")
struct BadBodyTests {
  private static let path = "/v1/zones/shop/changes"

  @Test("F19 F25 A body cut at any place is refused whole")
  func truncated() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(50)
      for length in stride(from: 0, to: frame.count, by: 37) + [191, 192, 193, frame.count - 1] {
        let response = try await server.push(frame.prefix(length), token: token)
        #expect(response.status == 400, "\(length) bytes")
      }
      let longer = try await server.push(frame + [0], token: token)
      #expect(longer.status == 400)
      #expect(try await server.zone().head == 0)
      #expect(try await server.push(frame, token: token).status == 200)
    }
  }

  @Test("F25 A body with any byte flipped is refused whole")
  func flipped() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(20)
      for place in stride(from: 0, to: frame.count, by: 11) {
        var changed = frame
        changed[place] ^= 0x40
        let response = try await server.push(changed, token: token)
        #expect((400...413).contains(response.status), "byte \(place): \(response.status)")
      }
      #expect(try await server.zone().head == 0)
    }
  }

  @Test("A number that the zone never gave out is malformed")
  func unknownNumber() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let response = try await server.push(try maker.update([12345]), token: token)
      #expect(response.status == 400)
      #expect(response.code == "malformed")
      #expect(try await server.zone().head == 0)
    }
  }

  @Test("A body that says it is too long is refused unread; one that lies, when it gets too long")
  func oversized() async throws {
    var limits = ServerLimits()
    limits.bodyBytesMax = 100_000
    try await withServer(limits: limits) { server in
      let token = try server.token()
      let port = server.port
      let declared = try await blocking {
        let connection = try RawConnection(port: port)
        connection.send(
          LiveServer.head("POST", Self.path, token: token.text, length: 1 << 40))
        return try connection.response()
      }
      #expect(declared.status == 413)
      #expect(declared.code == "too-large")
      #expect(declared.headers["connection"] == "close")
      let chunked = try await blocking {
        let connection = try RawConnection(port: port)
        connection.send(
          LiveServer.head(
            "POST", Self.path, token: token.text, headers: ["Transfer-Encoding: chunked"],
            length: nil))
        let chunk = Data("2710\r\n".utf8) + Data(count: 10_000) + Data("\r\n".utf8)
        for _ in 0..<50 where !connection.send(chunk) { break }
        return try connection.response()
      }
      #expect(chunked.status == 413)
      #expect(try await server.request("GET", "/healthz").status == 200)
    }
  }

  @Test("F19 A connection that ends within a body leaves nothing, and the server serves on")
  func hungUp() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(50)
      let port = server.port
      for length in [0, 1, 100, frame.count - 1] {
        try await blocking {
          let connection = try RawConnection(port: port)
          connection.send(
            LiveServer.head("POST", Self.path, token: token.text, length: frame.count))
          connection.send(frame.prefix(length))
        }
      }
      #expect(try await server.zone().head == 0)
      #expect(try await server.push(frame, token: token).status == 200)
      #expect(!server.log.text.contains("level=error"), "\(server.log.text)")
    }
  }

  @Test("A body that breaks the rules of HTTP, or ends early, is the client's fault")
  func brokenBody() async throws {
    try await withServer { server in
      let token = try server.token()
      let port = server.port
      let response = try await blocking {
        let connection = try RawConnection(port: port)
        connection.send(
          LiveServer.head(
            "POST", Self.path, token: token.text, headers: ["Transfer-Encoding: chunked"],
            length: nil) + Data("ZZ\r\nabc".utf8))
        return try connection.response()
      }
      #expect(response.status == 400)
      try await blocking {
        let connection = try RawConnection(port: port)
        connection.send(
          LiveServer.head("POST", Self.path, token: token.text, length: 1000) + Data("abc".utf8))
        connection.finishSending()
        _ = try? connection.response()
      }
      #expect(try await server.request("GET", "/healthz").status == 200)
      #expect(!server.log.text.contains("level=error"), "\(server.log.text)")
      #expect(!server.log.text.contains("status=500"), "\(server.log.text)")
    }
  }

  @Test("An answer to HEAD has the fields of one to GET, and no body")
  func head() async throws {
    try await withServer { server in
      let port = server.port
      for path in ["/healthz", "/nowhere"] {
        let text = try await blocking {
          let connection = try RawConnection(port: port)
          connection.send(LiveServer.head("HEAD", path, headers: ["Connection: close"]))
          return connection.rest()
        }
        #expect(text.hasPrefix("HTTP/1.1 ") && text.hasSuffix("\r\n\r\n"), "\(text)")
        #expect(text.components(separatedBy: "\r\n\r\n").count == 2, "\(text)")
      }
    }
  }

  @Test("One connection serves many requests, a refused one between them")
  func reuse() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(5)
      let port = server.port
      let statuses = try await blocking {
        let connection = try RawConnection(port: port)
        var statuses: [Int] = []
        for body in [Data("not a frame".utf8), frame, frame] {
          connection.send(
            LiveServer.head("POST", Self.path, token: token.text, length: body.count) + body)
          statuses.append(try connection.response().status)
        }
        return statuses
      }
      #expect(statuses == [400, 200, 200])
    }
  }

  @Test("F84 A connection that sends half a head, or nothing, is closed after the idle time")
  func slowloris() async throws {
    var limits = ServerLimits()
    limits.idleSeconds = 1
    try await withServer(limits: limits) { server in
      let port = server.port
      for bytes in ["", "GET /healthz HT", "GET /healthz HTTP/1.1\r\nHost: x\r\nA: "] {
        let isHungUp = try await blocking {
          let connection = try RawConnection(port: port)
          connection.send(Data(bytes.utf8))
          return connection.isHungUp()
        }
        #expect(isHungUp, "\(bytes)")
      }
    }
  }

  @Test("F83 Too many or too long header fields are refused")
  func headers() async throws {
    try await withServer { server async throws in
      let many = (0..<1000).map { "X-\($0): y" }
      let long = ["X: " + String(repeating: "y", count: 200_000)]
      for headers in [many, long] {
        let response = try? await server.request("GET", "/healthz", headers: headers)
        #expect(response.map { (400...431).contains($0.status) } ?? true)
      }
      #expect(try await server.request("GET", "/healthz").status == 200)
    }
  }

  @Test("F84 V6 A body that comes too slowly is told to come again, and is not called wrong")
  func slowBody() async throws {
    var limits = ServerLimits()
    limits.bodySeconds = 1
    limits.bodyBytesPerSecondMin = 1 << 20
    try await withServer(limits: limits) { server in
      let (port, token) = (server.port, try server.token())
      let response = try await blocking {
        let connection = try RawConnection(port: port)
        connection.send(LiveServer.head("POST", Self.path, token: token.text, length: 1_000_000))
        return try connection.responseWhileTrickling()
      }
      #expect(response.status == 503 && response.code == "busy")
      #expect(response.headers["connection"] == "close")
    }
  }

  @Test(
    "F83 A name that stands twice in an object of a body is refused, in whatever way it is written")
  func namesTwice() async throws {
    try await withServer { server in
      let token = try server.token()
      let generation = try await server.zone().generation
      let other = UUID()
      let bodies = [
        #"{"generation":"\#(generation)","generation":"\#(other)","marks":[]}"#,
        #"{"generation":"\#(generation)","marks":[],"g\u0065neration":"\#(other)"}"#,
        #"{"generation":"\#(generation)","marks":[],"x":[{"a":{"b":1,"c":2,"b":3}}]}"#,
      ]
      for body in bodies {
        let response = try await server.request(
          "POST", "/v1/zones/shop/common", token: token.text, body: Data(body.utf8))
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(response.status == 400 && text.contains("twice"), "\(body): \(text)")
      }
      let right = #"{"generation":"\#(generation)","marks":[],"x":[{"a":"\"a\":1"},{"a":2}]}"#
      let response = try await server.request(
        "POST", "/v1/zones/shop/common", token: token.text, body: Data(right.utf8))
      #expect(response.status == 200, "\(String(decoding: response.body, as: UTF8.self))")
    }
  }
}
