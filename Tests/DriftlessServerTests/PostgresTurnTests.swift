#if PostgreSQL
  import DriftlessProtocol
  import DriftlessStorageConformance
  import Foundation
  import Logging
  import TestSupport
  import Testing

  @testable import DriftlessServer

  /// Who waits for whom at a node, and who does not.
  @Suite("Turns at a node on PostgreSQL", .serialized) struct PostgresTurnTests {
    /// A transaction of another process that has a zone's row.
    private static func holding(
      _ world: PostgresWorld, _ name: String,
      _ body: (PostgresConnection, Int64) async throws -> Void
    ) async throws {
      let holder = try PostgresConnection(serving: world.database, limits: .init())
      defer { holder.close() }
      try holder.execute("BEGIN")
      _ = try holder.zoneRow(named: name, locks: true)
      try await body(holder, try holder.run("SELECT pg_backend_pid()").int64(0, 0))
    }

    private static func waiting(for process: Int64, _ world: PostgresWorld) throws -> Int64 {
      try world.connection.run(
        "SELECT count(*) FROM pg_stat_activity WHERE \(process) = ANY(pg_blocking_pids(pid))"
      ).int64(0, 0)
    }

    @Test(
      "Of a zone's refills one at a time has a connection, and entries that the log has wait for none"
    )
    func refills() async throws {
      let world = try PostgresWorld(zones: ["fleet", "small"]) { $0.databaseConnectionsMax = 8 }
      let storage = world.storage
      let (zone, small) = (try world.zone("fleet"), try world.zone("small"))
      var lost = LostLog(zone.generation)
      for _ in 0..<3 { try lost.grow() }
      let refills = try lost.refills
      try await Self.holding(world, "fleet") { holder, process in
        try await withThrowingTaskGroup(of: LogMark.self) { group in
          for _ in 0..<20 {
            group.addTask { try await storage.refill(refills, of: zone) }
          }
          try await until { storage.refilling.waiting == 19 }
          try await until { try Self.waiting(for: process, world) > 0 }
          #expect(try Self.waiting(for: process, world) == 1)
          var replica = TestReplica()
          for number in 1...3 as ClosedRange<UInt64> {
            let appended = try await storage.append(replica.push(small.generation), to: small)
            #expect(appended.sequence == number)
          }
          try holder.execute("COMMIT")
          for try await place in group { #expect(place == refills[2].entry.mark) }
        }
      }
      try await Self.holding(world, "fleet") { holder, _ in
        #expect(try await storage.refill(refills, of: zone) == refills[2].entry.mark)
        try holder.execute("COMMIT")
      }
    }

    @Test("Of pushes of one group those alone are refused that know the zone by an older name")
    func renamed() async throws {
      let world = try PostgresWorld(zones: ["old"])
      let storage = world.storage
      let old = try world.zone("old")
      try await Self.holding(world, "old") { holder, process in
        try holder.execute("UPDATE zone SET name = 'new'")
        var new = old
        new = ZoneRecord(
          id: old.id, name: "new", zoneID: old.zoneID, generation: old.generation,
          parent: old.parent, intent: old.intent, replacements: old.replacements,
          formatLevel: old.formatLevel, newestMilliseconds: 0)
        func push(to zone: ZoneRecord) async throws -> ServerError.Code? {
          try await code {
            _ = try await storage.append(TestReplica().push(1, zone.generation), to: zone)
          }
        }
        let record = new
        async let first = push(to: old)
        try await until { try Self.waiting(for: process, world) == 1 }
        async let second = push(to: old)
        try await until { storage.commits.waiting(of: old.id) == 1 }
        async let third = push(to: record)
        try await until { storage.commits.waiting(of: old.id) == 2 }
        try holder.execute("COMMIT")
        let codes = try await [first, second, third]
        #expect(codes == [.noZone, .noZone, nil])
      }
      #expect(try world.zone("new").head == 1)
    }

    @Test("Letting go of parts prepares no statement for each replica")
    func statements() throws {
      let world = try PostgresWorld()
      let connection = world.connection
      func prepared() throws -> Int64 {
        try connection.run("SELECT count(*) FROM pg_prepared_statements").int64(0, 0)
      }
      func drop() throws {
        while try PostgresStagedParts.dropSomeForgotten(before: 1, but: UUID(), on: connection) {}
      }
      try drop()
      let before = try prepared()
      for _ in 0..<5 { try drop() }
      #expect(try prepared() == before)
    }

    @Test("A replica's own parts stay when others' go")
    func own() throws {
      let world = try PostgresWorld()
      let connection = world.connection
      let (own, other) = (UUID(), UUID())
      for replica in [own, other] {
        try connection.run(
          "INSERT INTO staging SELECT id, $1, generation, 0 FROM zone", .uuid(replica))
      }
      while try PostgresStagedParts.dropSomeForgotten(before: 1, but: own, on: connection) {}
      let left = try connection.run("SELECT replica FROM staging")
      #expect((0..<left.count).map { left.uuid($0, 0) } == [own])
      while try PostgresStagedParts.dropSomeForgotten(before: 1, on: connection) {}
      #expect(try world.count("staging") == 0)
    }

    @Test("Parts that nobody goes on with go some in each transaction")
    func portions() throws {
      let world = try PostgresWorld()
      let connection = world.connection
      let replicas = [UUID(), UUID()]
      for (replica, parts) in zip(replicas, [20, 1] as [Int64]) {
        try connection.run(
          "INSERT INTO staging SELECT id, $1, generation, 0 FROM zone", .uuid(replica))
        try connection.run(
          """
          INSERT INTO staged SELECT id, $1, 1, part, 1, ''::bytea, ''::bytea, ''::bytea, ''::bytea
          FROM zone, generate_series(1, $2::bigint) AS part
          """, .uuid(replica), .integer(parts))
      }
      // 8, 8 and 4 of the one, and those of the other.
      var transactions = 0
      while try PostgresStagedParts.dropSomeForgotten(before: 1, on: connection) {
        transactions += 1
      }
      #expect(transactions == 4)
      #expect(try world.count("staged") == 0)
      #expect(try world.count("staging") == 0)
    }

    @Test("A bell that rang while nobody heard it ends one wait, not each")
    func bell() {
      let bell = PostgresBell()
      for _ in 0..<3 { bell.ring() }
      #expect(bell.wait(milliseconds: 60_000))
      #expect(!bell.wait(milliseconds: 0))
      bell.ring()
      #expect(bell.wait(milliseconds: 60_000))
    }

    @Test("What was due before a node's listener was connected is told when it is")
    func due() async throws {
      let world = try PostgresWorld()
      let zone = try world.zone
      let heard = ZoneNews(waitersMax: 10)
      let logger = Logger(label: "test")
      // Nothing is found by looking.
      var limits = ServerLimits()
      limits.watchSeconds = 3600
      let live = LiveLimits(limits)
      func news(_ news: ZoneNews) -> PostgresNews {
        PostgresNews(
          world.database, news: news, limits: live,
          served: PostgresServed(logger), logger: logger)
      }
      let (teller, listener) = (news(ZoneNews(waitersMax: 10)), news(heard))
      // The log has it by then.
      try world.connection.run("UPDATE zone SET head = 7")
      teller.publish(zone.generation, head: 8)
      // As a wait for the database does.
      #expect(teller.bell.wait(milliseconds: 0))
      async let listening: Void = listener.run()
      try await until { heard.heads[zone.generation] == 7 }
      try world.connection.run("UPDATE zone SET head = 8")
      async let telling: Void = teller.run()
      try await until { heard.heads[zone.generation] == 8 }
      teller.stop()
      listener.stop()
      _ = await (telling, listening)
    }

    @Test("What a connection was lost with is told over the next one")
    func toldAgain() throws {
      struct Lost: Error {}
      let logger = Logger(label: "test")
      let teller = PostgresNews(
        "", news: ZoneNews(waitersMax: 1), limits: LiveLimits(.init()),
        served: PostgresServed(logger), logger: logger)
      let logs = (0..<250).map { _ in UUID() }
      for (place, log) in logs.enumerated() { teller.publish(log, head: UInt64(place + 1)) }
      var told: [String] = []
      // The first notification comes through; the connection is lost with the second.
      #expect(throws: Lost.self) {
        try teller.tell { text in
          guard told.isEmpty else { throw Lost() }
          told += text.split(separator: " ").map(String.init)
        }
      }
      #expect(told.count == 100)
      // What has grown meanwhile is told as it is by then.
      teller.publish(logs[0], head: 1_000)
      try teller.tell { told += $0.split(separator: " ").map(String.init) }
      let last = Dictionary(
        told.map { ($0.prefix(36), $0.dropFirst(37)) }, uniquingKeysWith: { _, last in last })
      #expect(last.count == 250)
      #expect(last[logs[0].uuidString[...]] == "1000")
      #expect(last[logs[249].uuidString[...]] == "250")
      try teller.tell { _ in Issue.record("what was told is told again") }
    }

    @Test("What comes while news are told is told the next time: the telling ends")
    func told() throws {
      let logger = Logger(label: "test")
      let teller = PostgresNews(
        "", news: ZoneNews(waitersMax: 1), limits: LiveLimits(.init()),
        served: PostgresServed(logger), logger: logger)
      var count = 0
      func tell() throws {
        try teller.tell { _ in
          count += 1
          if count < 1_000 { teller.publish(UUID(), head: 1) }
        }
      }
      teller.publish(UUID(), head: 1)
      #expect(teller.bell.wait(milliseconds: 0))
      for expected in 1...3 {
        try tell()
        #expect(count == expected)
        #expect(teller.bell.wait(milliseconds: 0), "there is more to tell")
      }
      // Who has stopped tells nobody any more.
      teller.stop()
      try tell()
      #expect(count == 3)
    }

    @Test("A log that a failover took some of is waited for again at nodes that run")
    func failover() async throws {
      let world = try PostgresWorld()
      let zone = try world.zone
      let news = ZoneNews(waitersMax: 10)
      var limits = ServerLimits()
      limits.watchSeconds = 1
      let storage = try PostgresZoneStorage(database: world.database, limits: limits, news: news)
      news.publish(zone.generation, head: 10)
      #expect(await news.wait(zone.generation, after: 3) == .over)
      async let watching: Void = storage.watch()
      try await until { news.heads[zone.generation] == 0 }
      async let ending = news.wait(zone.generation, after: 0)
      try await until { news.waiting == 1 }
      news.publish(zone.generation, head: 1)
      #expect(await ending == .woken)
      #expect(try world.zone.isPutBack)
      storage.close()
      await watching
    }
  }
#endif
