import DriftlessProtocol
import DriftlessServer
import Foundation
import Testing

/// Pages of the log that go in pieces, of change sets that are read in pieces.
@Suite("Large pages") struct LargePageTests {
  private static func path(_ server: LiveServer, _ query: String = "") async throws -> String {
    let zone = try await server.zone()
    return "/v1/zones/shop/changes?generation=\(zone.generation)&after=0\(query)"
  }

  @Test(
    "A page is what was pushed, byte for byte, wherever its pieces end", arguments: [false, true])
  func pieces(ownHeaders: Bool) async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      var frames: [Data] = []
      // About what comes with its row, about what is sent at a time, and far beyond.
      let letters = [10, 85_000, 88_000, 90_000, 349_000, 350_000, 352_000, 10, 3_000_000, 10]
      for letters in letters {
        let frame = try maker.insert(1, title: BudgetTests.noise(letters: letters))
        _ = try await server.accepted(frame, token: token)
        maker.cursor = try await server.cursor(at: UInt64(frames.count + 1))
        frames.append(frame)
      }
      let sizes = frames.map(\.count)
      #expect(sizes.contains { $0 < 64 << 10 } && sizes.contains { $0 > 1 << 20 }, "\(sizes)")
      let query = ownHeaders ? "&replica=\(maker.replica)&own_through=5" : ""
      let path = try await Self.path(server, "&max_bytes=\(4 << 20)" + query)
      let response = try await server.request("GET", path, token: token.text)
      let entries = try PullPage.entries(of: response.body)
      #expect(entries.map(\.sequence) == Array(1...10))
      for (entry, frame) in zip(entries, frames) {
        let isOwn = ownHeaders && entry.sequence <= 5
        #expect(entry.isOwnHeaderOnly == isOwn, "\(entry.sequence)")
        #expect(
          entry.frame == (isOwn ? frame.prefix(ChangeSetHeader.size) : frame),
          "\(entry.sequence) of \(frame.count) bytes")
      }
      // The check of the answer covers what came.
      let check = AnswerCheck.value(
        for: .init(
          method: "GET", target: path, authorization: "Bearer \(token.text)", contentDigest: ""),
        status: response.status, field: { response.headers[$0.lowercased()] },
        pageBytes: response.body.count)
      #expect(response.headers[AnswerCheck.field.lowercased()] == check)
    }
  }
}
