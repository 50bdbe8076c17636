#if PostgreSQL
  import DriftlessProtocol
  @testable import DriftlessServer
  import DriftlessStorageConformance
  import Foundation
  import Synchronization
  import TestSupport
  import Testing

  /// What befalls a database, and the way to it.
  @Suite("Zones in PostgreSQL")
  struct PostgresTests {
    private static func made(
      _ database: String, _ limits: ServerLimits = .init(), zones: [String] = ["shop"]
    ) throws -> PostgresZoneStorage {
      let administration = try PostgresAdministration(database: database)
      defer { administration.close() }
      for zone in zones { _ = try administration.createZone(zone) }
      return try PostgresZoneStorage(database: database, limits: limits)
    }

    private static func zone(
      _ storage: any ZoneStorage, _ name: String = "shop"
    ) async throws -> ZoneRecord {
      try #require(try await storage.zone(named: name))
    }

    @Test("F68 A push whose transaction meets another is done again until it passes")
    func contention() async throws {
      let cluster = try PostgresCluster.shared()
      let database = try cluster.place()
      let storage = try Self.made(database)
      defer { storage.close() }
      try cluster.execute(
        """
        CREATE SEQUENCE tries;
        CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          CASE nextval('tries')
            WHEN 1 THEN RAISE EXCEPTION 'met' USING ERRCODE = '40001';
            WHEN 2 THEN RAISE EXCEPTION 'ring' USING ERRCODE = '40P01';
            ELSE RETURN NEW;
          END CASE; END $$;
        CREATE TRIGGER meet BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION meet();
        """, on: database)
      let zone = try await Self.zone(storage)
      var replica = TestReplica()
      let appended = try await storage.append(replica.push(zone.generation), to: zone)
      #expect(appended.sequence == 1 && !appended.isRepeat)
      #expect(try cluster.execute("SELECT last_value FROM tries", on: database).hasPrefix("3"))
    }

    @Test("A commit that comes with a warning is not acknowledged, and is found by its number")
    func warning() async throws {
      let cluster = try PostgresCluster.shared()
      let database = try cluster.place()
      let storage = try Self.made(database)
      defer { storage.close() }
      // As PostgreSQL warns when it waits for a standby no longer.
      try cluster.execute(
        """
        CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          RAISE WARNING 'canceling wait for synchronous replication'; RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON log DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION warn();
        """, on: database)
      let zone = try await Self.zone(storage)
      var replica = TestReplica()
      let push = replica.push(zone.generation)
      do {
        _ = try await storage.append(push, to: zone)
        Issue.record("acknowledged")
      } catch let error as ServerError {
        #expect(error.code == .busy && error.code.status == 503)
        #expect(error.reason?.contains("canceling wait") == true)
      }
      try cluster.execute("DROP TRIGGER warn ON log", on: database)
      #expect(try await storage.append(push, to: zone).isRepeat)
      #expect(try await Self.zone(storage).head == 1)
    }

    private final class Refusals: Sendable { let count = Atomic(0) }

    @Test("F68 Where no connection is free some wait, and further ones are refused as busy")
    func exhausted() async throws {
      let database = try PostgresCluster.shared().place()
      var limits = ServerLimits()
      limits.databaseConnectionsMax = 1
      limits.databaseWaitersMax = 1
      let storage = try Self.made(database, limits)
      defer { storage.close() }
      let zone = try await Self.zone(storage)
      let other = try PostgresConnection(serving: database, limits: limits)
      defer { other.close() }
      try other.execute("BEGIN")
      _ = try other.zoneRow(named: "shop", locks: true)
      let blocker = try other.run("SELECT pg_backend_pid()").int64(0, 0)
      // A transaction would see the same activity for ever.
      let watch = try PostgresConnection(serving: database, limits: limits)
      defer { watch.close() }
      let replica = TestReplica()
      // The one connection waits for the zone's row.
      async let first = storage.append(replica.push(1, zone.generation), to: zone)
      let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE \(blocker) = ANY(pg_blocking_pids(pid))"
      try await until { try watch.run(waiting).int64(0, 0) > 0 }
      // Of three one may wait for it.
      let refused = Refusals()
      let others = (0..<3).map { _ in
        Task {
          let code = try await code { _ = try await storage.zone(named: "shop") }
          if code == .busy { refused.count.add(1, ordering: .relaxed) }
          return code
        }
      }
      try await until { refused.count.load(ordering: .relaxed) >= 2 }
      // Whether the server is well is asked by a way of its own.
      #expect(try await storage.generations() == [zone.generation])
      try other.execute("COMMIT")
      #expect(try await first.sequence == 1)
      var codes: [ServerError.Code?] = []
      for other in others { codes.append(try await other.value) }
      #expect(codes.filter { $0 == nil }.count == 1)
      #expect(try await Self.zone(storage).head == 1)
    }

    @Test("A statement that is not answered is given up in time, and the next push passes")
    func deadline() async throws {
      let database = try PostgresCluster.shared().place()
      var limits = ServerLimits()
      limits.databaseSeconds = 2
      let storage = try Self.made(database, limits)
      defer { storage.close() }
      let zone = try await Self.zone(storage)
      let other = try PostgresConnection(serving: database, limits: .init())
      defer { other.close() }
      try other.execute("BEGIN")
      _ = try other.zoneRow(named: "shop", locks: true)
      let replica = TestReplica()
      let push = replica.push(1, zone.generation)
      let refused = try await code { _ = try await storage.append(push, to: zone) }
      #expect(refused == .busy)
      try other.execute("COMMIT")
      #expect(try await storage.append(push, to: zone).sequence == 1)
    }

    /// How far the pushes of a test are.
    private final class Progress: Sendable {
      let isOver = Atomic(false)
      let acknowledged = Mutex<[UInt64: Data]>([:])
    }

    /// Pushes of several replicas, each again and again until it is acknowledged, on several nodes, while something goes on.
    private static func pushes(
      on nodes: [any ZoneStorage], while work: @escaping @Sendable () async throws -> Void
    ) async throws {
      let zone = try await zone(nodes[0])
      let progress = Progress()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<6 {
          group.addTask {
            var replica = TestReplica()
            var node = worker
            repeat {
              let run = Push.IdentityRun(first: UUID(), count: 1)
              let push = replica.push(zone.generation, inserts: [run])
              let deadline = ContinuousClock.now + .seconds(60)
              while true {
                node += 1
                do {
                  let appended = try await nodes[node % nodes.count].append(push, to: zone)
                  let before = progress.acknowledged.withLock {
                    $0.updateValue(push.frame, forKey: appended.sequence)
                  }
                  #expect(before == nil)
                  break
                } catch let error as ServerError
                  where error.code == .busy && ContinuousClock.now < deadline
                {
                  try await Task.sleep(for: .milliseconds(5))  // between two tries
                }
              }
            } while !progress.isOver.load(ordering: .relaxed)
          }
        }
        try await work()
        progress.isOver.store(true, ordering: .relaxed)
        try await group.waitForAll()
      }
      let known = progress.acknowledged.withLock { $0 }
      let whole = PageRequest(after: zone.beginning, bytesMax: 1 << 30, entriesMax: 1 << 30)
      var read: LogPage?
      // The connections that are idle may be from before.
      try await until("the log is read") {
        do { read = try await nodes[0].page(of: zone, whole) } catch let error as ServerError
          where error.code == .busy
        {}
        return read != nil
      }
      let page = try #require(read)
      #expect(page.entries.map(\.sequence) == Array(1...UInt64(page.entries.count)))
      #expect(page.entries.count == known.count, "each push has one effect")
      #expect(page.entries.allSatisfy { known[$0.sequence] == $0.bytes })
      #expect(page.entries.map(\.firstObjectNumber) == page.entries.map(\.sequence))
    }

    @Test("F64 F68 Connections that are ended at any moment lose no push and double none")
    func terminated() async throws {
      let cluster = try PostgresCluster()
      defer { cluster.stop() }
      let database = try cluster.place()
      let nodes = [try Self.made(database), try PostgresZoneStorage(database: database)]
      defer { for node in nodes { node.close() } }
      try await Self.pushes(on: nodes) {
        for _ in 0..<40 {
          try cluster.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'driftless-server'
            """)
        }
      }
    }

    @Test(
      "F64 F68 A database that crashes and comes back while pushes go on loses none and doubles none"
    )
    func crash() async throws {
      let cluster = try PostgresCluster()
      defer { cluster.stop() }
      let database = try cluster.place()
      let nodes = [try Self.made(database), try PostgresZoneStorage(database: database)]
      defer { for node in nodes { node.close() } }
      try await Self.pushes(on: nodes) {
        for _ in 0..<3 { try cluster.crash() }
      }
    }

    @Test(
      "F69 Nodes lose no push while one of a later program comes that brings the tables up to date and adds its own"
    )
    func upgraded() async throws {
      let cluster = try PostgresCluster.shared()
      let database = try cluster.place()
      let nodes = [try Self.made(database), try PostgresZoneStorage(database: database)]
      defer { for node in nodes { node.close() } }
      try await Self.pushes(on: nodes) {
        try cluster.execute(
          """
          ALTER TABLE sighting DROP COLUMN name, DROP COLUMN address, DROP COLUMN format;
          DROP TABLE operator_token;
          DROP INDEX log_push; CREATE UNIQUE INDEX log_number ON log(zone, replica, number)
          """, on: database)
        try PostgresZoneStorage(database: database).close()
        try cluster.execute(
          """
          CREATE TABLE later(zone bigint PRIMARY KEY);
          ALTER TABLE zone ADD COLUMN later bigint; ALTER TABLE log ADD COLUMN later bigint
          """, on: database)
      }
      #expect(try PostgresAdministration.look(at: database) == [])
    }

    @Test("F68 While the database is away the server says so, and comes back by itself")
    func away() async throws {
      let cluster = try PostgresCluster()
      defer { cluster.stop() }
      let database = try cluster.place()
      let administration = try PostgresAdministration(database: database)
      _ = try administration.createZone("shop")
      administration.close()
      try await withServer(database: database) { server in
        func health() async throws -> Int { try await server.request("GET", "/healthz").status }
        #expect(try await health() == 200)
        #expect(try await server.request("GET", "/readyz").status == 200)
        let metrics = try await server.request("GET", "/metrics")
        #expect(String(decoding: metrics.body, as: UTF8.self).contains("\ndriftless_zones 1\n"))
        try cluster.suspend()
        let away = try await server.request("GET", "/healthz")
        #expect(away.status == 503 && away.code == "busy")
        #expect(away.headers["retry-after"] != nil)
        // What was found a second ago is told for a second.
        var notReady = try await server.request("GET", "/readyz")
        while notReady.status == 200 { notReady = try await server.request("GET", "/readyz") }
        #expect(notReady.status == 503 && notReady.code == "busy")
        let error = #expect(throws: ServerError.self) {
          try PostgresZoneStorage(database: database)
        }
        #expect(error?.code == .refusedStart)
        try cluster.resume()
        let deadline = ContinuousClock.now + .seconds(60)
        while try await health() != 200, ContinuousClock.now < deadline { await Task.yield() }
        #expect(try await health() == 200)
        while try await server.request("GET", "/readyz").status != 200,
          ContinuousClock.now < deadline
        { await Task.yield() }
        #expect(try await server.request("GET", "/readyz").status == 200)
      }
    }

    @Test("F67 A long poll at one node hears of a push at another, and of an operator's command")
    func nodes() async throws {
      let database = try PostgresCluster.shared().place()
      let administration = try PostgresAdministration(database: database)
      defer { administration.close() }
      _ = try administration.createZone("shop")
      var limits = ServerLimits()
      // A push is heard of by notification alone.
      limits.watchSeconds = 3600
      try await withServer(limits: limits, database: database) { one in
        try await withServer(limits: limits, database: database) { two in
          let token = try one.token()
          var maker = FrameMaker(try await one.zone())
          let frame = try maker.insert(1)
          async let poll = two.pull(after: 0, "&wait_seconds=50", token: token)
          try await until { two.server.news.waiting > 0 }
          let start = ContinuousClock.now
          #expect(try await one.accepted(frame, token: token).sequence == 1)
          #expect(try await poll.entries.map(\.frame) == [frame])
          #expect(ContinuousClock.now - start < .seconds(40), "not at the end of its time")
        }
      }
    }

    @Test(
      "F65 A database that was put back to an older copy is found by the chain, and filled again")
    func putBack() async throws {
      let cluster = try PostgresCluster.shared()
      try cluster.execute("CREATE DATABASE whole")
      let database = cluster.text(database: "whole")
      var storage = try Self.made(database)
      var zone = try await Self.zone(storage)
      var maker = FrameMaker(zone)
      let reader = PushReader(limits: .init())
      func append(_ count: Int) async throws {
        for _ in 0..<count {
          let appended = try await storage.append(try reader.read(maker.insert(2)), to: zone)
          maker.cursor = Cursor(
            generation: zone.generation, sequence: appended.sequence, chain: appended.chain)
        }
      }
      try await append(3)
      storage.close()
      try cluster.execute("CREATE DATABASE older TEMPLATE whole")
      storage = try PostgresZoneStorage(database: database)
      try await append(3)
      let page = try await storage.page(
        of: zone, PageRequest(after: zone.beginning, bytesMax: 1 << 30, entriesMax: 100))
      storage.close()
      try cluster.execute("DROP DATABASE whole WITH (FORCE)")
      try cluster.execute("ALTER DATABASE older RENAME TO whole")
      storage = try PostgresZoneStorage(database: database)
      zone = try await Self.zone(storage)
      #expect(zone.head == 3)
      let next = try reader.read(maker.insert(1))
      let refused = try await code { _ = try await storage.append(next, to: zone) }
      #expect(refused == .diverged)
      let marks = page.entries.map { LogMark(sequence: $0.sequence, chain: $0.chain) }
      #expect(try await storage.commonPlace(of: marks, in: zone) == marks[2])
      let lost = try page.entries[3...].map { entry in
        (
          entry: PullPage.Entry(
            sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber,
            chain: entry.chain, isOwnHeaderOnly: false, frame: entry.bytes),
          push: try reader.read(entry.bytes)
        )
      }
      #expect(try await storage.refill(lost, of: zone) == marks[5])
      #expect(try await storage.append(next, to: zone).sequence == 7)
      storage.close()
    }

    @Test("Tables of another version are refused with words that say what to do")
    func version() async throws {
      let cluster = try PostgresCluster.shared()
      let database = try cluster.place()
      try Self.made(database).close()
      try cluster.execute("UPDATE driftless_version SET version = 99", on: database)
      let error = #expect(throws: ServerError.self) {
        try PostgresZoneStorage(database: database)
      }
      #expect(error?.code == .refusedStart)
      #expect(error?.message.contains("99") == true)
    }

    @Test("Nodes that are started at one time on a new database make its tables once")
    func startsAtOnce() async throws {
      for _ in 0..<4 {
        let database = try PostgresCluster.shared().place()
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<6 {
            group.addTask {
              try await blocking { try PostgresZoneStorage(database: database).close() }
            }
          }
          try await group.waitForAll()
        }
      }
    }
  }
#endif
