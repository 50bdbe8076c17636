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

  /// The head of an answer with a piece, and the first bytes of that.
  private static let part = Answer.piece(String(repeating: "x", count: 5000))
    .replacingOccurrences(of: "Content-Length: 5000", with: "Content-Length: 1048576")

  @Test("What came of one that hangs is handed over with why the rest did not come")
  func hanging() async throws {
    let server = try CrookedServer([.send(Self.part), .silence])
    defer { server.stop() }
    let error = await #expect(throws: PartOfValue.self) { try await piece(transport(server)) }
    #expect(error?.bytes == Data(repeating: 0x78, count: 5000))
    #expect((error?.reason as? TransportError)?.code == .timedOut)
  }

  @Test("So it is with one whose task is cancelled")
  func cancelled() async throws {
    let server = try CrookedServer([.send(Self.part), .silence])
    defer { server.stop() }
    var options = TransportOptions()
    options.stallTimeoutSeconds = 600
    let transport = try CurlTransport(
      server: server.url, zone: "shop", token: "token", options: options)
    let asking = Task { try await piece(transport) }
    while transport.phase != .receiving { await Task.yield() }
    asking.cancel()
    let error = await #expect(throws: PartOfValue.self) { try await asking.value }
    #expect(error?.bytes.isEmpty == false)
    #expect((error?.reason as? TransportError)?.code == .cancelled)
  }

  @Test("What is no piece of a value is no part of one")
  func foreign() async throws {
    let page = Answer.text(String(repeating: "x", count: 5000), type: "text/html")
      .replacingOccurrences(of: "Content-Length: 5000", with: "Content-Length: 1048576")
    let server = try CrookedServer([.send(page), .silence])
    defer { server.stop() }
    let error = await #expect(throws: TransportError.self) { try await piece(transport(server)) }
    #expect(error?.code == .timedOut)
  }
}
