#if PostgreSQL
  import DriftlessProtocol
  import DriftlessServerTesting
  import Foundation
  import Synchronization
  import TestSupport
  import Testing

  @testable import DriftlessServer

  /// Large values in a database that several nodes write to, and that fails, is damaged, or is put back to an older copy.
  @Suite("Large values in PostgreSQL")
  struct PostgresValueTests {
    /// Two nodes of one database.
    private final class World {
      let cluster: PostgresCluster
      let database: String
      let administration: PostgresAdministration
      let nodes: [PostgresZoneStorage]
      var boxes = PhotoReplica()
      /// Milliseconds by which the second node's clock is ahead.
      private let ahead: Ahead

      private final class Ahead: Sendable { let milliseconds = Mutex<Int64>(0) }

      init(
        _ cluster: PostgresCluster? = nil, database: String? = nil,
        limits: (inout ServerLimits) -> Void = { _ in }
      ) throws {
        self.cluster = try cluster ?? PostgresCluster.shared()
        let database = try database ?? self.cluster.place()
        self.database = database
        administration = try PostgresAdministration(database: database)
        if try administration.zones().isEmpty { _ = try administration.createZone("shop") }
        var taking = ServerLimits()
        taking.valueBytesMax = 256 << 20
        limits(&taking)
        let ahead = Ahead()
        self.ahead = ahead
        nodes = [
          try PostgresZoneStorage(database: database, limits: taking),
          try PostgresZoneStorage(database: database, limits: taking) {
            Administration.hostMilliseconds + ahead.milliseconds.withLock { $0 }
          },
        ]
      }

      deinit { close() }

      func close() {
        for node in nodes { node.close() }
        administration.close()
      }

      func pass(days: Int64) { ahead.milliseconds.withLock { $0 += days * 86_400_000 } }

      var zone: ZoneRecord {
        get throws { try #require(try administration.connection.zoneRow(named: "shop")).zone }
      }

      func count(_ table: String) throws -> Int64 {
        try administration.connection.run("SELECT count(*) FROM \(table)").int64(0, 0)
      }

      func lost(at node: Int) async throws -> [LargeValue] {
        try await nodes[node].lostValues(of: zone, after: Data(), countMax: 100)
      }

      func mark(at node: Int) async throws -> String? {
        let zone = try zone
        return try await nodes[node].page(
          of: zone, PageRequest(after: zone.beginning, bytesMax: 1, entriesMax: 1)
        ).lostValues
      }

      func read(_ seed: UInt8, at node: Int) async throws -> Data {
        try await nodes[node].value(
          PhotoReplica.value(seed).digest, of: zone, first: 0, count: 5000)
      }

      func damage(_ seed: UInt8) throws {
        try administration.connection.run(
          """
          UPDATE value_piece SET bytes = set_byte(bytes, 7, 99) FROM value
          WHERE value.id = value_piece.value AND value.digest = $1
          """, .blob(try PhotoReplica.value(seed).digest))
      }
    }

    @Test("Uploads that begin on two nodes at one time pass no bound of their zone")
    func bounds() async throws {
      for round in 0..<4 {
        let world = try World {
          $0.unnamedValueBytesPerZoneMax = 5000
          // Each begins at once, with a connection of its own.
          $0.databaseConnectionsMax = 64
        }
        let zone = try world.zone
        let begun = try await withThrowingTaskGroup(of: Bool.self) { group in
          for seed in 0..<24 as Range<UInt8> {
            let node = world.nodes[Int(seed) % 2]
            group.addTask {
              do {
                let piece = try PhotoReplica().piece(seed, of: zone)
                return try await node.keep(piece, of: zone, token: "t\(seed)").isWhole
              } catch let error as ServerError where error.code == .diskFull {
                return false
              }
            }
          }
          return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(begun == 2, "round \(round): two of 2,000 bytes have room in 5,000")
      }
    }

    private final class Flag: Sendable { let isSet = Atomic(false) }

    @Test("A value whose lease is over, and that a push is about to name, is not let go of")
    func collectedMeanwhile() async throws {
      let world = try World()
      let zone = try world.zone
      try await world.boxes.send(1, to: world.nodes[0], zone)
      world.pass(days: 30)
      let push = try PostgresConnection(serving: world.database, limits: .init())
      defer { push.close() }
      let blocker = try push.run("SELECT pg_backend_pid()").int64(0, 0)
      let node = world.nodes[1]
      let over = Flag()
      try await withThrowingTaskGroup(of: Void.self) { group in
        try push.execute("BEGIN")
        _ = try push.zoneRow(named: "shop", locks: true)
        let value = try PhotoReplica.value(1)
        #expect(try PostgresLargeValues.missing([value], zone: zone.id, on: push).isEmpty)
        group.addTask {
          await node.letGoOfForgotten()
          over.isSet.store(true, ordering: .relaxed)
        }
        let waiting =
          "SELECT count(*) FROM pg_stat_activity WHERE \(blocker) = ANY(pg_blocking_pids(pid))"
        while try world.administration.connection.run(waiting).int64(0, 0) == 0,
          !over.isSet.load(ordering: .relaxed)
        { await Task.yield() }
        try PostgresLargeValues.use([(value, 1)], zone: zone.id, on: push)
        try push.execute("COMMIT")
        try await group.waitForAll()
      }
      #expect(try await world.read(1, at: 0) == PhotoReplica.photo(1))
      #expect(try world.count("value_lost") == 0)
    }

    @Test("What is damaged is missing at each node, told as lost, and whole again when it is sent")
    func damaged() async throws {
      let world = try World()
      try await world.boxes.show(1, to: world.nodes[0], world.zone)
      try await world.boxes.show(2, to: world.nodes[1], world.zone)
      #expect(try world.administration.verify().damage == [])
      try world.damage(1)
      let value = try PhotoReplica.value(1)
      #expect(try world.administration.verify().damage.map(\.place) == ["value \(value.name)"])
      #expect(try await world.mark(at: 0) == nil, "nobody has looked at it")
      // As a node that was started just now.
      let later = try World(database: world.database)
      let missed = await #expect(throws: ServerError.self) { try await later.read(1, at: 0) }
      #expect(missed?.code.name == "no-value")
      let first = try #require(try await world.mark(at: 1))
      #expect(try await world.lost(at: 1) == [value])
      #expect(try await world.nodes[0].look(from: "", count: 9).lostValues == 1)
      let again = await #expect(throws: ServerError.self) { try await world.read(1, at: 0) }
      #expect(again?.code.name == "no-value")
      try await world.boxes.send(1, to: world.nodes[1], world.zone)
      #expect(try await world.mark(at: 0) == nil)
      #expect(try await world.read(1, at: 0) == PhotoReplica.photo(1))
      #expect(try world.administration.verify().damage == [])
      try world.damage(1)
      try world.damage(2)
      for seed in 1...2 as ClosedRange<UInt8> {
        let node = try World(database: world.database)
        await #expect(throws: ServerError.self) { try await node.read(seed, at: 0) }
      }
      let second = try await world.mark(at: 0)
      #expect(second != nil && second != first)
    }

    @Test("Pieces that came before the database crashed need not be sent again")
    func crash() async throws {
      let cluster = try PostgresCluster()
      defer { cluster.stop() }
      let world = try World(cluster)
      defer { world.close() }
      let zone = try world.zone
      let size = LargeValue.pieceBytesMax
      let bytes = Data((0..<(3 * size + 9)).map { UInt8(truncatingIfNeeded: $0 / 11) })
      let value = try #require(LargeValue(of: bytes))
      let replica = UUID()
      func keep(_ first: Int, _ count: Int, at node: Int) async throws -> ValueState {
        let piece = ValuePiece(
          value: value, replica: replica, generation: zone.generation, first: first,
          bytes: bytes.dropFirst(first).prefix(count))
        // Idle connections are from before the crash.
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
          do {
            return try await world.nodes[node].keep(piece, of: zone, token: "t")
          } catch let error as ServerError
            where error.code == .busy && ContinuousClock.now < deadline
          { await Task.yield() }
        }
      }
      for part in 0..<3 {
        let state = try await keep(part * size, size, at: part % 2)
        #expect(state == ValueState(held: (part + 1) * size, isWhole: false))
        try cluster.crash()
        let asked = try await keep(0, 0, at: (part + 1) % 2)
        #expect(asked == state)
      }
      #expect(try await keep(3 * size, size, at: 1).isWhole)
      var read = Data()
      while read.count < bytes.count {
        read += try await world.nodes[0].value(
          value.digest, of: zone, first: read.count, count: size)
      }
      #expect(read == bytes)
    }

    @Test(
      "A database that is put back to an older copy tells which values the log names and it lacks")
    func putBack() async throws {
      let cluster = try PostgresCluster()
      defer { cluster.stop() }
      try cluster.execute("CREATE DATABASE whole")
      let database = cluster.text(database: "whole")
      var world = try World(cluster, database: database)
      try await world.boxes.show(1, to: world.nodes[0], world.zone)
      world.close()
      try cluster.execute("CREATE DATABASE older TEMPLATE whole")
      world = try World(cluster, database: database)
      try await world.boxes.show(2, to: world.nodes[0], world.zone)
      let page = try await world.nodes[0].page(
        of: world.zone,
        PageRequest(after: try world.zone.beginning, bytesMax: 1 << 20, entriesMax: 9))
      world.close()
      try cluster.execute("DROP DATABASE whole WITH (FORCE)")
      try cluster.execute("ALTER DATABASE older RENAME TO whole")
      world = try World(cluster, database: database)
      defer { world.close() }
      #expect(try await world.mark(at: 0) == nil)
      let entry = page.entries[1]
      let lost = (
        entry: PullPage.Entry(
          sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber,
          chain: entry.chain, isOwnHeaderOnly: false, frame: entry.bytes),
        push: try PushReader(limits: .init()).read(entry.bytes)
      )
      _ = try await world.nodes[0].refill([lost], of: world.zone)
      #expect(try await world.lost(at: 1) == [PhotoReplica.value(2)])
      #expect(try await world.mark(at: 1) != nil)
      // No bound keeps out what the log names.
      let piece = try world.boxes.piece(2, of: world.zone)
      let none = try PostgresZoneStorage(database: database)
      #expect(try await none.keep(piece, of: world.zone, token: "t").isWhole)
      none.close()
      #expect(try await world.lost(at: 0) == [])
      #expect(try await world.mark(at: 0) == nil)
      #expect(try await world.read(2, at: 1) == PhotoReplica.photo(2))
      #expect(try world.administration.verify().damage == [])
    }

    @Test("Of a zone that is deleted nothing stays; what a killed command left goes by itself")
    func deleted() async throws {
      let world = try World()
      try await world.boxes.show(1, to: world.nodes[0], world.zone)
      try await world.boxes.send(2, to: world.nodes[0], world.zone)
      try world.administration.connection.run(
        "INSERT INTO value_piece VALUES($1, $2, 0, ''::bytea)", .integer(try world.zone.id),
        .uuid(UUID()))
      await world.nodes[0].letGoOfForgotten()
      #expect(try world.count("value_piece") == 2)
      try world.administration.deleteZone("shop")
      for table in ["value", "value_piece", "value_use", "value_lost"] {
        #expect(try world.count(table) == 0, "\(table)")
      }
    }

    @Test("A node lets go by itself of what nothing names, in each zone, and of no other")
    func careful() async throws {
      let world = try World()
      try await world.boxes.show(1, to: world.nodes[0], world.zone)
      try await world.boxes.send(2, to: world.nodes[0], world.zone)
      _ = try world.administration.createZone("other")
      let other = try #require(try await world.nodes[0].zone(named: "other"))
      try await PhotoReplica().send(3, to: world.nodes[0], other)
      var part = try PhotoReplica().piece(4, of: other)
      part.bytes = Data()
      _ = try await world.nodes[0].keep(part, of: other, token: "t")
      #expect(try await world.nodes[0].look(from: "", count: 9).valueBytes == 6000)
      #expect(try await world.nodes[0].look(from: "", count: 9).unnamedValueBytes == 4000)
      await world.nodes[1].letGoOfForgotten()
      #expect(try world.count("value") == 4)
      world.pass(days: 8)
      await world.nodes[1].letGoOfForgotten()
      #expect(try world.count("value") == 1 && world.count("value_piece") == 1)
      #expect(try await world.read(1, at: 0) == PhotoReplica.photo(1))
    }

    @Test(
      "A database of before gets tables of values, and a program of before refuses it from then on")
    func taken() async throws {
      let cluster = try PostgresCluster.shared()
      let database = try cluster.place()
      try World(cluster, database: database).close()
      try cluster.execute(
        """
        DROP TABLE value, value_piece, value_use, value_lost;
        UPDATE driftless_version SET version = 1
        """, on: database)
      #expect(try PostgresAdministration.look(at: database) == [])
      let world = try World(cluster, database: database)
      let version = try cluster.execute("SELECT version FROM driftless_version", on: database)
      #expect(version == "\(PostgresSchema.version)\n" && PostgresSchema.version > 1)
      try await world.boxes.show(1, to: world.nodes[0], world.zone)
      #expect(try await world.read(1, at: 1) == PhotoReplica.photo(1))
    }

    @Test("A backup takes values into a data folder, and from there into another database")
    func moved() async throws {
      let world = try World()
      try world.administration.changeLimits(of: "shop", ["largeValueBytesMax": 7000])
      try await world.boxes.show(1, to: world.nodes[0], world.zone)
      try await world.boxes.show(2, in: 1, to: world.nodes[0], world.zone)
      // One that is named and lost, and one that is not named.
      try world.damage(2)
      let later = try World(database: world.database)
      await #expect(throws: ServerError.self) { try await later.read(2, at: 0) }
      try await world.boxes.send(3, to: world.nodes[0], world.zone)
      var upload = try PhotoReplica().piece(4, of: world.zone)
      upload.bytes = Data()
      _ = try await world.nodes[0].keep(upload, of: world.zone, token: "t")

      let directory = try TemporaryDirectory()
      let backup = Backup(directory.file("copy.sqlite"))
      #expect(try backup.make(ofPostgres: world.database).entries == 2)
      let folder = try DataFolder(directory.file("data"))
      _ = try backup.restore(to: folder)
      let local = try Administration(folder: folder)
      #expect(try local.verify().damage == [])
      #expect(try local.zones().first?.limits.largeValueBytesMax == 7000)
      local.close()
      var limits = ServerLimits()
      limits.valueBytesMax = 1 << 20
      let storage = try SQLiteZoneStorage(folder: folder, limits: limits)
      try await Self.expectMoved(to: storage)
      storage.close()

      let back = Backup(directory.file("back.sqlite"))
      _ = try back.make(of: folder)
      let place = try PostgresCluster.shared().place()
      _ = try back.restore(toPostgres: place)
      let moved = try World(database: place)
      #expect(try moved.administration.verify().damage == [])
      #expect(try moved.zone.limits.largeValueBytesMax == 7000)
      try await Self.expectMoved(to: moved.nodes[1])
      // Uses came along: what a log names has no lease.
      moved.pass(days: 30)
      await moved.nodes[1].letGoOfForgotten()
      #expect(try await moved.read(1, at: 0) == PhotoReplica.photo(1))
      await #expect(throws: ServerError.self) { try await moved.read(3, at: 0) }
    }

    private static func expectMoved(to storage: any ZoneStorage) async throws {
      let zone = try #require(try await storage.zone(named: "shop"))
      for seed in [1, 3] as [UInt8] {
        let read = try await storage.value(
          PhotoReplica.value(seed).digest, of: zone, first: 0, count: 5000)
        #expect(read == PhotoReplica.photo(seed), "\(seed)")
      }
      #expect(
        try await storage.lostValues(of: zone, after: Data(), countMax: 9) == [
          PhotoReplica.value(2)
        ])
      #expect(try await storage.missing([PhotoReplica.value(4)], in: zone).count == 1)
    }
  }
#endif
