import DriftlessHTTP
import DriftlessProtocol
import Foundation
import Testing

/// Pieces of large values over a line that does not carry them.
@Suite struct ValuePieceTests {
  private static let mebibyte = 0..<(1 << 20)

  private func transport(_ server: CrookedServer) throws -> CurlTransport {
    var options = TransportOptions()
    options.stallTimeoutSeconds = 1
    options.retry.delaySecondsFirst = 0.01
    return try CurlTransport(server: server.url, zone: "shop", token: "token", options: options)
  }

  private func piece(_ transport: CurlTransport) async throws -> Data {
    try await transport.value(Data(repeating: 7, count: 32), of: UUID(), range: Self.mebibyte)
  }

  @Test(
    "One that does not come in time is asked for once, by who can go on with all else, and then in a shorter piece"
  )
  func stalled() async throws {
    let server = try CrookedServer([.silence], [.send(Answer.piece("some"))])
    defer { server.stop() }
    let transport = try transport(server)
    let error = await #expect(throws: TransportError.self) { try await piece(transport) }
    #expect(error?.code == .timedOut)
    #expect(server.seen.count == 1)
    #expect(try await piece(transport) == Data("some".utf8))
    #expect(server.seen.map { $0.head.contains("first=0&count=1048576 ") } == [true, false])
    #expect(server.seen.last?.head.contains("first=0&count=262144 ") == true)
  }

  @Test("One at which the line breaks is asked for again, in shorter pieces")
  func broken() async throws {
    let server = try CrookedServer(
      [.send(String(Answer.piece("some").dropLast(2))), .reset], [.send(Answer.piece("some"))])
    defer { server.stop() }
    #expect(try await piece(transport(server)) == Data("some".utf8))
    #expect(server.seen.last?.head.contains("first=0&count=262144 ") == true)
  }
}
