#if PostgreSQL
  import DriftlessProtocol
  import DriftlessStorageConformance
  import Foundation
  import TestSupport
  import Testing

  @testable import DriftlessServer

  /// What operators do to zones, tokens and replicas of a PostgreSQL database.
  @Suite("Operators on PostgreSQL", .serialized)
  struct PostgresOperatorTests {
    private static func world(
      _ test: (PostgresAdministration, PostgresZoneStorage, String) async throws -> Void
    ) async throws {
      let world = try PostgresWorld()
      defer { world.close() }
      try await test(world.administration, world.storage, world.database)
    }

    private static func zone(_ storage: PostgresZoneStorage) async throws -> ZoneRecord {
      try #require(try await storage.zone(named: "shop"))
    }

    @Test("Zones are looked into, renamed and deleted; nothing of a deleted one is left")
    func zones() async throws {
      try await Self.world { administration, storage, _ in
        let zone = try await Self.zone(storage)
        var replica = TestReplica()
        let push = replica.push(zone.generation, inserts: [.init(first: UUID(), count: 3)])
        _ = try await storage.append(push, to: zone)
        let token = try administration.createToken(zone: "shop", verbs: .read, label: "till")
        let report = try administration.inspectZone("shop")
        #expect(report.entries == 1 && report.objects == 3 && report.tokens == 1)
        #expect(report.bytes == Int64(push.frame.count) && report.replicas == 1)
        #expect(report.lastPushMilliseconds != nil && report.createdMilliseconds > 0)
        let log = try administration.log(of: "shop", from: 1, count: 10)
        #expect(log.map(\.sequence) == [1] && log[0].newObjects == 3 && log[0].firstObject == 1)
        #expect(log[0].replica == push.replica && log[0].pushNumber == push.number)
        #expect(log[0].bytes == report.bytes)
        #expect(log[0].receivedMilliseconds == report.lastPushMilliseconds)
        #expect(try administration.log(of: "shop", from: 2, count: 10).isEmpty)
        _ = try administration.createZone("other")
        #expect(try administration.renameZone("shop", to: "north").zoneID == zone.zoneID)
        #expect(try await storage.zone(named: "shop") == nil)
        #expect(try await storage.token(id: token.id)?.zoneName == "north")
        for (name, other, code) in [
          ("north", "other", ServerError.Code.exists), ("north", "../x", .badName),
          ("shop", "new", .noZone),
        ] {
          let refused = try await DriftlessServerTests.code {
            _ = try administration.renameZone(name, to: other)
          }
          #expect(refused == code, "\(name) \(other)")
        }
        try administration.deleteZone("north")
        #expect(try administration.zones().map(\.name) == ["other"])
        #expect(try await storage.token(id: token.id) == nil)
        for table in PostgresSchema.tablesOfLog + ["token"] {
          let left = try administration.connection.run("SELECT count(*) FROM \(table)")
          #expect(left.int64(0, 0) == 0, "\(table)")
        }
        #expect(
          try await DriftlessServerTests.code { try administration.deleteZone("north") } == .noZone)
      }
    }

    @Test(
      "A token in the place of another has its zone, verbs and name; the old one ends when it is told to"
    )
    func rotation() async throws {
      try await Self.world { administration, storage, _ in
        let old = try administration.createToken(
          zone: "shop", verbs: [.read, .write], label: "till", expiresMilliseconds: nil)
        let new = try administration.rotateToken(
          id: old.id, grace: 60_000, expiresMilliseconds: nil)
        let record = try #require(try await storage.token(id: new.id))
        #expect(record.name == "till" && record.verbs == [.read, .write])
        let end = try #require(try await storage.token(id: old.id)?.expiresMilliseconds)
        #expect(end > Administration.hostMilliseconds)
        // Not later than it would have ended.
        _ = try administration.rotateToken(
          id: old.id, grace: 86_400_000, expiresMilliseconds: nil)
        #expect(try await storage.token(id: old.id)?.expiresMilliseconds == end)
        _ = try administration.rotateToken(id: new.id, grace: 0, expiresMilliseconds: 5)
        #expect(try await storage.token(id: new.id)?.revokedMilliseconds != nil)
        let refused = try await DriftlessServerTests.code {
          _ = try administration.rotateToken(id: new.id, grace: 0, expiresMilliseconds: nil)
        }
        #expect(refused == .notFound)
      }
    }

    private static var milliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    @Test(
      "What nodes see of replicas is kept: the later word of two, at most so many, none of a log that is no more"
    )
    func sightings() async throws {
      try await Self.world { administration, storage, database in
        let zone = try await Self.zone(storage)
        let other = try PostgresZoneStorage(database: database)
        let replica = UUID()
        func seen() throws -> [ReplicaReport] { try administration.replicas(of: "shop") }
        await other.noteSeen(
          replica, in: zone, generation: zone.generation, at: 1, given: nil, token: "first")
        // Words are told apart by the millisecond, and the later one counts.
        let first = Self.milliseconds
        while Self.milliseconds == first { await Task.yield() }
        await storage.noteSeen(
          replica, in: zone, generation: zone.generation, at: 2, given: nil, token: "second",
          name: ReplicaName("till 店"), address: "192.0.2.7")
        await storage.writeSightings()
        // A node that ends writes what it saw: it was before.
        other.close()
        #expect(try seen().map(\.token) == ["second"])
        #expect(try seen().map(\.cursor) == [2])
        #expect(try seen().map(\.name) == ["till 店"])
        #expect(try seen().map(\.address) == ["192.0.2.7"])
        for _ in 0..<2500 {
          await storage.noteSeen(
            UUID(), in: zone, generation: zone.generation, at: 0, given: nil, token: "many")
        }
        await storage.writeSightings()
        #expect(try seen().count == 2501)
        var few = ServerLimits()
        few.replicasPerZoneMax = 10
        storage.take(few)
        await storage.noteSeen(
          replica, in: zone, generation: zone.generation, at: 3, given: nil, token: "second")
        await storage.writeSightings()
        #expect(try seen().count == 10)
        #expect(try seen().contains { $0.replica == replica }, "who says many pays for them")
        _ = try administration.renewZone("shop", intent: .offer)
        #expect(try seen().isEmpty)
        await storage.noteSeen(
          replica, in: zone, generation: zone.generation, at: 3, given: nil, token: "second")
        await storage.writeSightings()
        #expect(try seen().isEmpty, "it spoke of the log before")
      }
    }

    @Test("A database of before gets the tables that it lacks, and keeps what it has")
    func before() async throws {
      try await Self.world { administration, _, database in
        try administration.connection.execute(
          "ALTER TABLE sighting DROP COLUMN name, DROP COLUMN address, DROP COLUMN format")
        try PostgresAdministration(database: database).close()
        #expect(try PostgresSightings.isWhole(administration.connection))
        for table in ["sighting", "operator_token", "staged", "staging", "forgotten_replica"] {
          try administration.connection.execute("DROP TABLE \(table)")
        }
        try administration.connection.execute(
          "DROP INDEX log_push; CREATE UNIQUE INDEX log_number ON log(zone, replica, number)")
        #expect(try PostgresAdministration.look(at: database) == [])
        let later = try PostgresAdministration(database: database)
        defer { later.close() }
        #expect(try later.zones().map(\.name) == ["shop"])
        #expect(try later.operators().isEmpty && later.replicas(of: "shop").isEmpty)
        let indexes = try later.connection.run(
          "SELECT indexname FROM pg_indexes WHERE tablename = 'log' AND schemaname = current_schema() ORDER BY 1"
        )
        #expect(
          (0..<indexes.count).map { indexes.text($0, 0) } == [
            "log_pkey", "log_push", "log_replica",
          ])
      }
    }
  }
#endif
