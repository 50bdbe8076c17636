import DriftlessProtocol
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// What a body of few bytes may have the server do.
@Suite("What small bodies cost")
struct BodyCostTests {
  private static func common(
    _ server: LiveServer, _ token: AccessToken, _ body: Data
  ) async throws -> RawConnection.Response {
    try await server.request("POST", "/v1/zones/shop/common", token: token.text, body: body)
  }

  private static func marks(_ count: Int) -> [LogMark] {
    let chain = LogChain.start(generation: UUID())
    return (0..<UInt64(count)).map { LogMark(sequence: (1 << 40) - 1 - $0, chain: chain) }
  }

  @Test("A question after common places has as many bytes as the most places take, and no more")
  func common() async throws {
    try await withServer { server in
      let token = try server.token(verbs: .read)
      let generation = try await server.zone().generation
      let most = ServerLimits().commonPlacesMax
      func body(_ count: Int) throws -> Data {
        try JSONEncoder().encode(
          CommonPlaceRequest(generation: generation, marks: Self.marks(count)))
      }
      let whole = try body(most)
      #expect(try await Self.common(server, token, whole).status == 200)
      let open = Data(repeating: UInt8(ascii: "["), count: 2 << 20)
      #expect(try await Self.common(server, token, open).status == 413)
      let many = try body((2 << 20) * most / whole.count)
      #expect(many.count > 2_000_000)
      #expect(try await Self.common(server, token, many).status == 413)
    }
  }

  @Test("Lists within each other are refused before anybody goes into them")
  func nested() async throws {
    try await withServer { server in
      let token = try server.token()
      let generation = try await server.zone().generation
      func body(_ depth: Int) -> Data {
        let (open, close) = (
          String(repeating: "[", count: depth), String(repeating: "]", count: depth)
        )
        return Data(#"{"generation":"\#(generation)","marks":[],"x":\#(open)\#(close)}"#.utf8)
      }
      #expect(try await Self.common(server, token, body(63)).status == 200)
      let deep = try await Self.common(server, token, body(64))
      #expect(deep.status == 400 && deep.code == "malformed")
      #expect(String(decoding: deep.body, as: UTF8.self).contains("within each other"))
      let enrolled = try await server.request(
        "POST", "/v1/zones/shop/enroll",
        body: Data(String(repeating: "[", count: 200).utf8))
      #expect(String(decoding: enrolled.body, as: UTF8.self).contains("within each other"))
    }
  }

  @Test(
    "A part that comes as its header alone takes as much room among bodies as one that is sent whole"
  )
  func header() async throws {
    var limits = ServerLimits()
    limits.bodyBytesMax = 1 << 20
    limits.bodiesInMemoryBytesMax = 1 << 20
    limits.smallBodyBytesMax = 1024
    try await withServer(limits: limits) { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(1, title: BudgetTests.noise(letters: 900_000))
      let part = ZonePartsTests.numbered([frame, frame], mebibytes: 0)[0]
      #expect(part.count > 500_000)
      #expect(try await server.push(part, token: token).status == 200)
      let header = Data(part.prefix(ChangeSetHeader.size))
      #expect(try await server.push(header, token: token).status == 200)
      // A body of the same token that does not come holds most of what that has.
      let port = server.port
      let head = LiveServer.head(
        "POST", "/v1/zones/shop/changes", token: token.text, length: 800 << 10)
      // One that comes while a header is looked at is refused itself.
      var slow: RawConnection?
      try await until("there is no room for the part") {
        let next = try await blocking {
          let connection = try RawConnection(port: port)
          connection.send(head)
          return connection
        }
        slow = next
        let answer = try await server.push(header, token: token)
        return answer.status == 503 && answer.code == "busy"
      }
      withExtendedLifetime(slow) {}
      slow = nil
      try await until("there is room again") {
        try await server.push(header, token: token).status == 200
      }
    }
  }
}
