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

    @Test("Parts whose push nobody goes on with go by themselves, and those of others stay")
    func forgotten() async throws {
      let world = try PostgresWorld()
      let zone = try world.zone
      let reader = PushReader(limits: .init())
      func stage() async throws -> UUID {
        var writer = ZoneWriter(zone.generation)
        let frame = try ZonePartsTests.numbered(ZonePartsTests.parts(&writer), mebibytes: 0)[0]
        let part = try reader.read(frame)
        try await world.storage.stage(part, of: zone)
        return part.replica
      }
      let (gone, kept) = (try await stage(), try await stage())
      // More than go at once.
      try world.connection.run(
        """
        INSERT INTO staged SELECT zone, replica, number, 100 + more, size, digest, body_hash, header,
          body FROM staged, generate_series(1, $1::bigint) AS more WHERE replica = $2
        """, .integer(Int64(PostgresStagedParts.partsAtOnce * 2)), .uuid(gone))
      func left(_ table: String, of replica: UUID) throws -> Int64 {
        try world.connection.run(
          "SELECT count(*) FROM \(table) WHERE replica = $1", .uuid(replica)
        ).int64(0, 0)
      }
      await world.storage.letGoOfForgotten()
      #expect(try left("staging", of: gone) == 1, "somebody may go on with it")
      try world.connection.run(
        "UPDATE staging SET touched_ms = 0 WHERE replica = $1", .uuid(gone))
      await world.storage.letGoOfForgotten()
      for table in ["staged", "staging"] {
        #expect(try left(table, of: gone) == 0)
        #expect(try left(table, of: kept) == 1)
      }
    }
  }
#endif
