#if PostgreSQL
  import DriftlessProtocol
  import DriftlessStorageConformance
  import Foundation
  import TestSupport
  import Testing

  @testable import DriftlessServer

  /// A fleet that brings parts of large pushes to a node all at once.
  @Suite("Parts of a fleet on PostgreSQL", .serialized) struct PostgresStagingTests {
    @Test("However many parts of a fleet are held up, another zone's pushes find a connection")
    func fleet() async throws {
      let connections = 8
      let world = try PostgresWorld(zones: ["fleet", "small"]) {
        $0.databaseConnectionsMax = connections
      }
      let storage = world.storage
      let (zone, small) = (try world.zone("fleet"), try world.zone("small"))
      let reader = PushReader(limits: .init())
      let parts = try (0..<40).map { _ in
        var writer = ZoneWriter(zone.generation)
        return try reader.read(
          ZonePartsTests.numbered(ZonePartsTests.parts(&writer), mebibytes: 0)[0])
      }
      // A database that does not get to them: each part that is at it keeps its connection.
      let connection = world.connection
      try connection.execute("BEGIN; LOCK TABLE staging IN EXCLUSIVE MODE")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for part in parts {
          group.addTask { try await storage.stage(part, of: zone) }
        }
        let width = connections / 4
        while storage.staging.waiting < parts.count - width { await Task.yield() }
        var replica = TestReplica()
        for number in 1...3 as ClosedRange<UInt64> {
          let appended = try await storage.append(replica.push(small.generation), to: small)
          #expect(appended.sequence == number)
        }
        #expect(storage.staging.waiting == parts.count - width)
        try connection.execute("COMMIT")
        try await group.waitForAll()
      }
      let bytes = try PostgresStagedParts.allBytes(on: connection)
      #expect(bytes == Int64(parts.reduce(0) { $0 + $1.frame.count }))
    }
  }
#endif
