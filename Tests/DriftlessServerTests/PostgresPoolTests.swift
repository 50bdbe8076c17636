#if PostgreSQL
  import DriftlessProtocol
  import DriftlessStorageConformance
  import Foundation
  import Synchronization
  import TestSupport
  import Testing

  @testable import DriftlessServer

  /// What a node does, and says of itself, where its database lets it do less than it was made for.
  @Suite("A node and what its database allows", .serialized) struct PostgresPoolTests {
    /// A database of a user who owns its tables and nothing else, with a zone.
    private struct Place {
      let cluster: PostgresCluster
      let user: String
      /// What the user connects with, and what whoever may do all connects with.
      let text: String
      let all: String

      init() throws {
        cluster = try PostgresCluster.shared()
        all = try cluster.place()
        let schema = try #require(all.firstMatch(of: /place\d+/)?.output)
        user = "user_\(schema)"
        text = all.replacing("user=driftless", with: "user=\(user)")
        try cluster.execute(
          "CREATE ROLE \(user) LOGIN; ALTER SCHEMA \(schema) OWNER TO \(user)")
        let administration = try PostgresAdministration(database: text)
        defer { administration.close() }
        _ = try administration.createZone("shop")
      }

      func run(_ sql: String) throws { try cluster.execute(sql, on: all) }

      func number(_ sql: String) throws -> Int {
        let text = try cluster.execute(sql, on: all)
        return try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
      }

      var connections: Int {
        get throws {
          try number("SELECT count(*) FROM pg_stat_activity WHERE usename = '\(user)'")
        }
      }

      /// Ends connections, all but some.
      func end(allBut left: Int) throws {
        try run(
          """
          SELECT pg_terminate_backend(pid, 60000) FROM (SELECT pid FROM pg_stat_activity
            WHERE usename = '\(user)' ORDER BY backend_start OFFSET \(left)) AS others
          """)
      }

      func letIn(_ count: Int) throws { try run("ALTER ROLE \(user) CONNECTION LIMIT \(count)") }

      func serving(
        _ change: (inout ServerLimits) -> Void = { _ in },
        _ body: (PostgresZoneStorage, ZoneRecord) async throws -> Void
      ) async throws {
        var limits = ServerLimits()
        limits.databaseConnectionsMax = 4
        change(&limits)
        let node = try PostgresZoneStorage(database: text, limits: limits)
        defer { node.close() }
        try await body(node, try #require(try await node.zone(named: "shop")))
      }
    }

    private final class Count: Sendable { let number = Atomic(0) }

    /// Uses as many connections as there are at one time, as far as the database lets them in.
    private static func crowd(_ node: PostgresZoneStorage) async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask { try await node.pool.perform { _ = try $0.run("SELECT pg_sleep(0.1)") } }
        }
        try await group.waitForAll()
      }
    }

    private static func refusal(_ body: () async throws -> Void) async -> ServerError? {
      do {
        try await body()
        return nil
      } catch {
        return error as? ServerError
      }
    }

    @Test("Connections that broke, and cannot be made again, keep nobody from those that are open")
    func broken() async throws {
      let place = try Place()
      try await place.serving { node, zone in
        try await until("all are open") {
          try await Self.crowd(node)
          return try place.connections == 4
        }
        try place.letIn(1)
        try place.end(allBut: 2)
        var replica = TestReplica()
        for number in 1...20 as ClosedRange<UInt64> {
          let appended = try await node.append(replica.push(zone.generation), to: zone)
          #expect(appended.sequence == number)
        }
        try await Self.crowd(node)
        try await node.checkReady(bytes: 1)
        #expect(try await node.generations() == [zone.generation])
        #expect(try place.connections == 2)
        // With none left it is an outage, and said so.
        try place.letIn(0)
        try place.end(allBut: 0)
        #expect(await Self.refusal { _ = try await node.zone(named: "shop") }?.code == .busy)
        #expect(await Self.refusal { try await node.checkReady(bytes: 1) }?.code == .busy)
        try place.letIn(-1)
        try await until("it has grown back") {
          try? await Self.crowd(node)
          return try place.connections >= 4
        }
        try await node.checkReady(bytes: 1)
      }
    }

    @Test("A node that pushes find no connection at is not ready, whatever it has beside them")
    func reserved() async throws {
      let place = try Place()
      try await place.serving { node, _ in
        try await node.checkReady(bytes: 1)
        let own = "SELECT pid FROM pg_stat_activity WHERE usename = '\(place.user)' AND query LIKE"
        let kept = try place.number("\(own) 'INSERT INTO clock%'")
        try place.letIn(1)
        try place.run(
          """
          SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
          WHERE usename = '\(place.user)' AND pid <> \(kept)
          """)
        // The first that asks finds that they are gone.
        #expect(await Self.refusal { _ = try await node.zone(named: "shop") }?.code == .busy)
        #expect(await Self.refusal { try await node.checkReady(bytes: 1) }?.code == .busy)
        #expect(try await node.generations().count == 1)
      }
    }

    @Test("A start that finds no connection says what to raise")
    func crowded() throws {
      let place = try Place()
      try place.letIn(0)
      let refused = #expect(throws: ServerError.self) {
        try PostgresAdministration(database: place.text)
      }
      #expect(refused?.code == .refusedStart)
      #expect(
        refused?.suggestion.contains("max_connections") == true, "\(String(describing: refused))")
    }

    @Test(
      "A right that pushes need and the user lacks is told by readiness, by a check and at a start",
      arguments: [
        ("log", "INSERT", "SELECT"), ("log", "DELETE", "SELECT, INSERT"),
        ("object", "UPDATE", "SELECT, INSERT, DELETE"),
        ("value_use", "SELECT", "INSERT"),
      ])
    func rights(table: String, lacking: String, given: String) async throws {
      let place = try Place()
      try await place.serving { node, zone in
        try await node.checkReady(bytes: 1)
        #expect(try PostgresAdministration.look(at: place.text) == [])
        try place.run(
          """
          ALTER TABLE \(table) OWNER TO driftless; REVOKE ALL ON \(table) FROM \(place.user);
          GRANT \(given) ON \(table) TO \(place.user)
          """)
        let told = "no right to \(lacking) on the table \(table)"
        for refused in [
          await Self.refusal { try await node.checkReady(bytes: 1) },
          await Self.refusal { _ = try PostgresAdministration.look(at: place.text) },
          await Self.refusal { try await place.serving { _, _ in } },
        ] { #expect(refused?.message.contains(told) == true, "\(String(describing: refused))") }
        try place.run("ALTER TABLE \(table) OWNER TO \(place.user)")
        try await node.checkReady(bytes: 1)
      }
    }

    @Test("The index of parts is made where it is missing, and whoever may not make it serves")
    func index() async throws {
      let place = try Place()
      func count() throws -> Int {
        try place.number(
          """
          SELECT count(*) FROM pg_indexes WHERE indexname = 'staged_body'
            AND schemaname = ANY (current_schemas(false))
          """)
      }
      #expect(try count() == 1)
      // As a program of before leaves it, in a database whose tables are another user's.
      try place.run(
        """
        DROP INDEX staged_body; ALTER TABLE staged OWNER TO driftless;
        GRANT SELECT, INSERT, UPDATE, DELETE ON staged TO \(place.user)
        """)
      try await place.serving { node, _ in try await node.checkReady(bytes: 1) }
      #expect(try count() == 0)
      try place.run("ALTER TABLE staged OWNER TO \(place.user)")
      try await place.serving { node, _ in try await node.checkReady(bytes: 1) }
      #expect(try count() == 1)
    }

    @Test(
      "F69 A node whose database a newer program has taken over stops, and goes on when it is put back"
    )
    func version() async throws {
      let place = try Place()
      try await place.serving {
        $0.watchSeconds = 1
      } _: { node, zone in
        let watch = Task { await node.watch() }
        var replica = TestReplica()
        _ = try await node.append(replica.push(zone.generation), to: zone)
        let next = replica.push(zone.generation)
        try place.run("UPDATE driftless_version SET version = \(PostgresSchema.version + 1)")
        try await until("reads are refused") {
          await Self.refusal { _ = try await node.zone(named: "shop") } != nil
        }
        for refused in [
          await Self.refusal { _ = try await node.append(next, to: zone) },
          await Self.refusal { try await node.checkReady(bytes: 1) },
          await Self.refusal { _ = try await node.generations() },
        ] {
          #expect(refused?.code == .busy)
          #expect(refused?.message.contains("version \(PostgresSchema.version + 1)") == true)
        }
        try place.run("UPDATE driftless_version SET version = \(PostgresSchema.version)")
        try await until("it serves again") {
          await Self.refusal { _ = try await node.append(next, to: zone) } == nil
        }
        #expect(try await node.zone(named: "shop")?.head == 2)
        watch.cancel()
        await watch.value
      }
      // Asked alone it knows as well, before its watch has looked.
      try await place.serving { node, _ in
        try place.run("UPDATE driftless_version SET version = 0")
        #expect(await Self.refusal { try await node.checkReady(bytes: 1) }?.code == .busy)
        #expect(await Self.refusal { _ = try await node.zone(named: "shop") }?.code == .busy)
      }
    }

    @Test(
      "Values that wait for one zone's row take no connection from another zone's",
      arguments: [1, 8])
    func blockedZone(width: Int) async throws {
      let world = try PostgresWorld(zones: ["shop", "other"]) {
        $0.databaseConnectionsMax = 4 * width
      }
      let storage = world.storage
      let (shop, other) = (try world.zone("shop"), try world.zone("other"))
      let holder = try PostgresConnection(serving: world.database, limits: .init())
      defer { holder.close() }
      let process = try holder.run("SELECT pg_backend_pid()").int64(0, 0)
      try holder.execute("BEGIN")
      _ = try holder.zoneRow(named: "shop", locks: true)
      let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE \(process) = ANY(pg_blocking_pids(pid))"
      let ended = Count()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for seed in 0..<20 as Range<UInt8> {
          group.addTask {
            defer { ended.number.add(1, ordering: .relaxed) }
            try await PhotoReplica().send(seed, to: storage, shop)
          }
        }
        while try world.connection.run(waiting).int64(0, 0) == 0 { await Task.yield() }
        for seed in 100..<110 as Range<UInt8> {
          try await PhotoReplica().send(seed, to: storage, other)
        }
        #expect(ended.number.load(ordering: .relaxed) == 0, "they went on beside it")
        // Who waits gives up after a while and tries again: between two tries it is at no lock.
        var seen: Int64 = 0
        try await until("one waits") {
          seen = try world.connection.run(waiting).int64(0, 0)
          return seen != 0
        }
        #expect(seen == 1)
        try holder.execute("COMMIT")
        try await group.waitForAll()
      }
      #expect(try world.count("value") == 30)
    }
  }
#endif
