import DriftlessProtocol
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// Files of snapshots, over HTTP.
@Suite("Snapshots over HTTP")
struct SnapshotRouteTests {
  @Test("A piece is cut at the file's end, and behind it there is nothing, wherever that is")
  func pieces() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      _ = try await server.accepted(try maker.insert(3), token: token)
      let administration = try Administration(folder: DataFolder(server.data))
      let snapshot = try administration.foldZone("shop")
      administration.close()
      let file = try #require(snapshot.files.first)
      let generation = try await server.zone().generation
      func piece(_ first: Int, _ count: Int) async throws -> RawConnection.Response {
        try await server.request(
          "GET",
          "/v1/zones/shop/snapshot/\(file.name)?generation=\(generation)&first=\(first)&count=\(count)",
          token: token.text)
      }
      let whole = try await piece(0, 1 << 40)
      #expect(whole.status == 200 && whole.body.count == file.bytes)
      #expect(try await piece(1, 4).body == whole.body.dropFirst().prefix(4))
      for first in [file.bytes, file.bytes + 1, 1 << 40] {
        let behind = try await piece(first, 10)
        #expect(behind.status == 200 && behind.body.isEmpty, "\(first)")
      }
      #expect(try await piece(-1, 10).status == 400)
      #expect(try await piece(0, (1 << 40) + 1).status == 400)
    }
  }
}
