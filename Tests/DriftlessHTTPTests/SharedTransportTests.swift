import DriftlessHTTP
import DriftlessProtocol
import Foundation
import Testing

/// A transport that many tasks have.
@Suite struct SharedTransportTests {
  @Test("A transport that many tasks ask gives each its answer")
  func manyTasks() async throws {
    // It has one connection at a time, which has to end for the next.
    let server = try CrookedServer([.send(Answer.json(Answer.zone)), .close])
    defer { server.stop() }
    let transport = try CurlTransport(server: server.url, zone: "shop", token: "token")
    let heads = try await withThrowingTaskGroup(of: UInt64.self) { group in
      for _ in 0..<24 { group.addTask { try await transport.zoneInfo().head } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(heads == Array(repeating: 7, count: 24) && server.seen.count >= 24)
  }
}
