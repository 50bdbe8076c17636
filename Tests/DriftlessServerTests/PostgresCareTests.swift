#if PostgreSQL
  import DriftlessProtocol
  import Foundation
  import Synchronization
  import TestSupport
  import Testing

  @testable import DriftlessServer

  /// What an operator does for a PostgreSQL database: looks for damage, and sets its time right.
  @Suite("Care of zones in PostgreSQL", .serialized)
  struct PostgresCareTests {
    /// A zone with inserts, updates, keys, a delete, and a push in several parts.
    static func filled(_ zone: TestedZone) async throws {
      var writer = ZoneWriter(zone.generation)
      var first = ZoneWriter.Content()
      (first.inserts, first.emails) = (3, [(.new(0), "one@"), (.new(1), "two@")])
      var second = ZoneWriter.Content()
      second.known = [1: .update(["title"]), 2: .named, 3: .delete]
      second.tombstones = [UUID()]
      for content in [first, second] {
        writer.number += 1
        _ = try await zone.push(writer.frame(content))
        writer.cursor = try await zone.head
      }
      let parts = try ZonePartsTests.parts(&writer)
      for part in parts.dropLast() { _ = try await zone.stage(part) }
      _ = try await zone.push(parts[2])
      writer.cursor = try await zone.head
      _ = try await zone.stage(try ZonePartsTests.parts(&writer)[0])
    }

    static func world(
      _ test: (TestedZone, PostgresAdministration, String) async throws -> Void
    ) async throws {
      let zone = try await TestedZone(.postgres)
      let database = try #require(zone.database)
      let administration = try PostgresAdministration(database: database)
      defer { administration.close() }
      try await test(zone, administration, database)
    }

    @Test(
      "All that a server wrote is whole, and each thing that was changed behind its back is named")
    func verify() async throws {
      try await Self.world { zone, administration, _ in
        try await Self.filled(zone)
        _ = try administration.createToken(zone: "shop", verbs: .read, label: nil)
        _ = try administration.createOperator(name: "ada")
        _ = try administration.foldZone("shop")
        let whole = try administration.verify()
        #expect(whole.damage.isEmpty, "\(whole.damage)")
        #expect(whole.zones == 1 && whole.entries == 5)
        let connection = administration.connection
        let cases: [(sql: String, table: String, place: String)] = [
          (
            "UPDATE log SET body = set_byte(body, 3, (get_byte(body, 3) + 1) % 256) WHERE sequence = 2",
            "log", "entry 2"
          ),
          ("DELETE FROM log WHERE sequence = 4", "log", "entry 5"),
          ("UPDATE log SET size = 5 WHERE sequence = 1", "log", "entry 1"),
          ("UPDATE zone SET head = 6", "log", "end"),
          ("UPDATE zone SET next_object = 77", "zone", "next object"),
          ("UPDATE object SET deleted = 99 WHERE number = 3", "object", "object 3"),
          ("UPDATE object SET properties = '\\x80' WHERE number = 1", "object", "object 1"),
          ("DELETE FROM identity WHERE number = 4", "identity", "object 4"),
          ("UPDATE claim SET object = 99 WHERE object = 1", "claim", "object 99"),
          ("UPDATE replica SET last_push = 1", "replica", ""),
          ("UPDATE zone SET next_name = 1", "zone", "next numbers"),
          ("UPDATE staged SET size = 1", "staged", ""),
          ("DELETE FROM staging", "staged", ""),
          ("UPDATE token SET verbs = 9", "token", ""),
          ("UPDATE clock SET given_ms = -1", "clock", "row 1"),
          ("DELETE FROM replica_home", "replica", ""),
          ("INSERT INTO tombstone VALUES(9, gen_random_uuid(), 1)", "tombstone", "zone 9"),
          (
            "UPDATE segment SET content = set_byte(content, 9, 1 + get_byte(content, 9) % 200)",
            "segment", ""
          ),
          ("DELETE FROM segment", "segment", ""),
          ("UPDATE snapshot SET manifest = 'other'::bytea", "snapshot", "row"),
          ("UPDATE snapshot SET sequence = 1", "snapshot", "row"),
          ("UPDATE snapshot SET generation = gen_random_uuid()", "snapshot", "row"),
        ]
        try connection.run("INSERT INTO clock VALUES(1, 5) ON CONFLICT DO NOTHING")
        for (sql, table, place) in cases {
          // Taken back, and looked at within: as damage of its own.
          struct Back: Error {}
          do {
            try connection.transaction(.write) {
              try connection.execute(sql)
              let found = try PostgresCheck.read(connection).damage
              #expect(
                found.contains { $0.table == table && (place.isEmpty || $0.place == place) },
                "\(sql): \(found)")
              throw Back()
            }
          } catch is Back {}
        }
        #expect(try administration.verify().damage.isEmpty)
      }
    }

    @Test(
      "A backup is of one moment, is one of a data folder too, and goes into a database that has no zones"
    )
    func backup() async throws {
      try await Self.world { zone, administration, database in
        try await Self.filled(zone)
        _ = try administration.createZone("other")
        let token = try administration.createToken(
          zone: "shop", verbs: [.read, .write], label: "till", expiresMilliseconds: 5)
        let revoked = try administration.createToken(zone: "other", verbs: .read, label: nil)
        try administration.revokeToken(id: revoked.id)
        _ = try administration.createOperator(name: "ada")
        // One that was forgotten is so in the copy as well.
        let all = try administration.replicas(of: "shop").map(\.replica)
        _ = try administration.forgetReplicas(
          of: "shop", .named([try #require(all.first)]), isDryRun: false)
        func known(_ administration: any ZoneAdministration) throws -> Set<UUID> {
          Set(try administration.replicas(of: "shop").map(\.replica))
        }
        #expect(try known(administration) == Set(all.dropFirst()))
        let directory = try TemporaryDirectory()
        let backup = Backup(directory.file("copy.sqlite"))
        let content = try backup.make(ofPostgres: database)
        #expect(content.entries == 5 && content.zones.map(\.name) == ["other", "shop"])
        #expect(try backup.checked().entries == 5)
        let head = try await zone.head
        // What comes after is not in it.
        var late = ZoneWriter(zone.generation)
        late.cursor = head
        _ = try await zone.push(late.frame { $0.inserts = 1 })
        let again = #expect(throws: ServerError.self) { try backup.make(ofPostgres: database) }
        #expect(again?.code == .exists)

        // Into a data folder: all of it is there, and goes on.
        let folder = try DataFolder(directory.file("data"))
        #expect(try backup.restore(to: folder).content.entries == 5)
        let local = try Administration(folder: folder)
        #expect(try local.verify().damage.isEmpty)
        try Self.expectSame(local, head: head, token, revoked)
        #expect(try known(local) == Set(all.dropFirst()))
        local.close()
        let moved = try SQLiteZoneStorage(folder: folder)
        try await Self.goOn(moved, from: head)
        moved.close()

        // And from there into another database.
        let back = Backup(directory.file("back.sqlite"))
        #expect(try back.make(of: folder).entries == 6)
        let place = try PostgresCluster.shared().place()
        #expect(try backup.restore(toPostgres: place).content.entries == 5)
        let other = try PostgresAdministration(database: place)
        defer { other.close() }
        #expect(try other.verify().damage == [])
        try Self.expectSame(other, head: head, token, revoked)
        #expect(try known(other) == Set(all.dropFirst()))
        let node = try PostgresZoneStorage(database: place)
        try await Self.goOn(node, from: head)
        node.close()
        #expect(try other.verify().damage == [])
        // Never over zones that are there.
        let refused = #expect(throws: ServerError.self) { try back.restore(toPostgres: place) }
        #expect(refused?.code == .exists)
        let third = try PostgresCluster.shared().place()
        #expect(try back.restore(toPostgres: third, revokesTokens: true).tokensRevoked == 1)
        // Again where its zones were deleted: who may sign in is as it was there.
        for zone in ["other", "shop"] { try other.deleteZone(zone) }
        try other.revokeOperator(id: try #require(try other.operators().first).id)
        // A program that knows no codes left one of a zone.
        try other.connection.execute(
          """
          INSERT INTO enrolment_code(hash, id, zone, verbs, created_ms, expires_ms, zone_uuid)
          VALUES('\\x00', 'left', 1, 1, 0, 1, '00000000-0000-0000-0000-000000000000')
          """)
        #expect(try other.verify().damage.map(\.place) == ["left"])
        #expect(try back.restore(toPostgres: place).content.entries == 6)
        #expect(try other.verify().damage == [])
        #expect(try other.operators().map { $0.revokedMilliseconds != nil } == [true])
      }
    }

    private static func expectSame(
      _ administration: any ZoneAdministration, head: LogMark, _ token: AccessToken,
      _ revoked: AccessToken
    ) throws {
      let shop = try #require(try administration.zones().first { $0.name == "shop" })
      #expect(LogMark(sequence: shop.head, chain: shop.chain) == head)
      let tokens = try administration.tokens()
      let kept = try #require(tokens.first { $0.id == token.id })
      #expect(token.matches(kept.hash) && kept.name == "till" && kept.expiresMilliseconds == 5)
      #expect(tokens.first { $0.id == revoked.id }?.revokedMilliseconds != nil)
      #expect(try administration.operators().map(\.name) == ["ada"])
      #expect(try administration.clock().givenMilliseconds != nil)
    }

    /// The rules know what they knew: who is stale, which keys are taken, and what a push was answered.
    private static func goOn(_ storage: any ZoneStorage, from head: LogMark) async throws {
      let zone = try #require(try await storage.zone(named: "shop"))
      let reader = PushReader(limits: .init())
      var writer = ZoneWriter(zone.generation)
      writer.cursor = Cursor.start(generation: zone.generation).mark
      let page = try await storage.page(
        of: zone, PageRequest(after: writer.cursor, bytesMax: 1 << 30, entriesMax: 100))
      let known = try #require(page.entries.first)
      #expect(page.entries.count == Int(head.sequence))
      func refusal(_ fill: (inout ZoneWriter.Content) -> Void) async throws -> ServerError.Code? {
        let push = try reader.read(writer.frame(fill))
        return try await code { _ = try await storage.append(push, to: zone) }
      }
      writer.cursor = LogMark(sequence: 1, chain: known.chain)
      #expect(try await refusal { $0.known = [1: .update(["title"])] } == .stale)
      writer.cursor = head
      let taken = try await refusal { content in
        (content.inserts, content.emails) = (1, [(.new(0), "one@")])
      }
      #expect(taken == .stale)
      #expect(try await storage.append(reader.read(known.bytes), to: zone).isRepeat)
      let next = try await refusal { content in
        (content.inserts, content.known) = (1, [1: .update(["title"])])
      }
      #expect(next == nil)
      #expect(try await storage.zone(named: "shop")?.head == head.sequence + 1)
    }

    @Test("Time that was believed ahead is shown, and set back while no node serves")
    func clock() async throws {
      try await Self.world { zone, administration, database in
        let day: Int64 = 86_400_000
        let host = Administration.hostMilliseconds
        zone.clock.ahead.withLock { $0 = 299 * day }
        try await Self.filled(zone)
        let before = try administration.clock(at: host, limits: .init())
        #expect(before.state == .behind && before.nodes == 0)
        #expect(try #require(before.aheadMilliseconds) > 298 * day)
        let node = try PostgresZoneStorage(database: database)
        let watch = Task { await node.watch() }
        let deadline = ContinuousClock.now + .seconds(60)
        while try administration.clock().nodes == 0, ContinuousClock.now < deadline {
          await Task.yield()
        }
        #expect(try administration.clock().nodes == 1)
        let refused = #expect(throws: ServerError.self) {
          try administration.setClockBack(to: host)
        }
        #expect(refused?.code == .locked)
        #expect(refused?.message == "a node serves the database")
        watch.cancel()
        await watch.value
        node.close()
        // The database hears of the end a moment later.
        while try administration.clock().nodes > 0, ContinuousClock.now < deadline {
          await Task.yield()
        }
        let zones = try administration.zones().map(\.name)
        let ids = try [host + 290 * day, host + 1_000 * day].map { end in
          try administration.createCode(
            CodeRequest(zone: zones[0], verbs: .read, expiresMilliseconds: end)
          ) { _, _ in }.id
        }
        #expect(try administration.setClockBack(to: host).state == .behind)
        // Both were made at a time that is to come again.
        let codes = try administration.codes().filter { ids.contains($0.id) }
        #expect(codes.map { $0.state(at: host) } == ["revoked", "revoked"])
        let after = try administration.clock(at: host, limits: .init())
        #expect(after.state == .right && after.givenMilliseconds == host)
        let again = #expect(throws: ServerError.self) {
          try administration.setClockBack(to: host)
        }
        #expect(again?.code == .nothingToSetBack)
        // Nodes that are started go on from there.
        let later = try PostgresZoneStorage(database: database, now: { host + 1000 })
        #expect(await later.time() == UInt64(host + 1000))
        later.close()
      }
    }
  }
#endif
