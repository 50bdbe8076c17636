#if PostgreSQL
  import DriftlessProtocol
  import DriftlessStorageConformance
  import Foundation
  import TestSupport
  import Testing

  @testable import DriftlessServer

  /// Large values in a database that several nodes write to, and that fails, is damaged, or is put back to an older copy.
  @Suite("Large values in PostgreSQL")
  struct PostgresValueTests {
    /// Two nodes of one database.
    private static func world(
      _ cluster: PostgresCluster? = nil, database: String? = nil, zones: [String] = ["shop"],
      limits: (inout ServerLimits) -> Void = { _ in }
    ) throws -> PostgresWorld {
      try PostgresWorld(cluster, database: database, zones: zones, nodes: 2, limits: limits)
    }

    @Test(
      "Uploads that begin on two nodes at one time pass no bound, of their zone or of all",
      arguments: [1, 24])
    func bounds(zones count: Int) async throws {
      for round in 0..<4 {
        let names = (0..<count).map { "shop\($0)" }
        let world = try Self.world(zones: names) {
          $0.unnamedValueBytesPerZoneMax = 5000
          $0.unnamedValueBytesMax = count == 1 ? $0.unnamedValueBytesMax : 5000
          // Each begins at once, with a connection of its own.
          $0.databaseConnectionsMax = 64
        }
        let zones = try names.map { try world.zone($0) }
        let begun = try await withThrowingTaskGroup(of: Bool.self) { group in
          for seed in 0..<24 as Range<UInt8> {
            let node = world.nodes[Int(seed) % 2]
            let zone = zones[Int(seed) % count]
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
        let (values, pieces) = (try world.count("value"), try world.count("value_piece"))
        #expect(values == 2 && pieces == 2, "nothing is kept of those that are refused")
      }
    }

    @Test("A value whose lease is over, and that a push is about to name, is not let go of")
    func collectedMeanwhile() async throws {
      let world = try Self.world()
      let zone = try world.zone
      try await world.boxes.send(1, to: world.nodes[0], zone)
      world.pass(days: 30)
      let value = try PhotoReplica.value(1)
      let node = world.nodes[1]
      try await world.holding { push in
        let missing = try PostgresLargeValues.missing([value], zone: zone.id, on: push)
        #expect(missing.isEmpty)
      } _: {
        await node.letGoOfForgotten()
      } then: { push in
        try PostgresLargeValues.use([(value, 1)], zone: zone.id, on: push)
      }
      #expect(try await world.read(1, at: 0) == PhotoReplica.photo(1))
      #expect(try world.count("value_lost") == 0)
    }

    @Test("A value that is made whole while entries come back that name it is named, and not lost")
    func wholeMeanwhile() async throws {
      let world = try Self.world()
      let zone = try world.zone
      let value = try PhotoReplica.value(1)
      let piece = try PhotoReplica().piece(1, of: zone)
      // The upload is there before the transaction: to make it whole is all that is left.
      var nothing = piece
      nothing.bytes = Data()
      let begun = try await world.nodes[1].keep(nothing, of: zone, token: "t")
      #expect(begun == ValueState(held: 0, isWhole: false))
      let node = world.nodes[1]
      try await world.holding { refill in
        try PostgresLargeValues.use([(value, 1)], zone: zone.id, on: refill)
      } _: {
        let state = try await node.keep(piece, of: zone, token: "t")
        #expect(state.isWhole)
      }
      #expect(try world.count("value_lost") == 0)
      let named = try world.connection.run("SELECT lease_ms, token FROM value")
      #expect(named.count == 1 && named.int64(0, 0) == .max && named.text(0, 1) == "")
    }

    @Test("What is damaged is missing at each node, told as lost, and whole again when it is sent")
    func damaged() async throws {
      let world = try Self.world()
      try await world.boxes.show(1, to: world.nodes[0], world.zone)
      try await world.boxes.show(2, to: world.nodes[1], world.zone)
      #expect(try world.administration.verify().damage == [])
      try world.damage(1)
      let value = try PhotoReplica.value(1)
      #expect(try world.administration.verify().damage.map(\.place) == ["value \(value.name)"])
      #expect(try await world.mark(at: 0) == nil, "nobody has looked at it")
      // As a node that was started just now.
      let later = try Self.world(database: world.database)
      let missed = await #expect(throws: ServerError.self) { try await later.read(1, at: 0) }
      #expect(missed?.code.name == "no-value")
      let first = try #require(try await world.mark(at: 1))
      #expect(try await world.lost(at: 1) == [value])
      let lacked = try world.administration.inspectZone(world.zone.name).lackedValues
      #expect(try world.administration.verify().lacked.map(\.digest) == [value.name] && lacked == 1)
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
        let node = try Self.world(database: world.database)
        await #expect(throws: ServerError.self) { try await node.read(seed, at: 0) }
      }
      #expect(try await ![nil, first].contains(world.mark(at: 0)))
    }

    @Test(
      "A value whose row is gone is named by verify, told as lost, and whole again when it is sent",
      arguments: [true, false])
    func gone(isAsked: Bool) async throws {
      let world = try Self.world()
      for seed in 1...3 as ClosedRange<UInt8> {
        try await world.boxes.show(seed, to: world.nodes[0], world.zone)
      }
      let value = try PhotoReplica.value(2)
      try world.connection.run("DELETE FROM value WHERE digest = $1", .blob(value.digest))
      #expect(try world.administration.verify().damage.map(\.place) == ["value \(value.name)"])
      if isAsked {
        let missed = await #expect(throws: ServerError.self) { try await world.read(2, at: 1) }
        #expect(missed?.code.name == "no-value")
      } else {
        await world.nodes[1].noteGoneValues()
      }
      #expect(try await world.lost(at: 0) == [value])
      #expect(try await world.mark(at: 0) != nil)
      #expect(try world.administration.verify().damage == [])
      try await world.boxes.send(2, to: world.nodes[0], world.zone)
      #expect(try await world.mark(at: 1) == nil)
      #expect(try await world.read(2, at: 1) == PhotoReplica.photo(2))
      #expect(try world.administration.verify().damage == [])
    }

    @Test("A zone renewed by a host whose clock is behind keeps its values for a year")
    func renewedBehind() async throws {
      let world = try Self.world()
      try await world.boxes.show(1, to: world.nodes[0], world.zone)
      // The second node's clock is that of the zone.
      world.pass(days: 9)
      try await world.nodes[1].checkReady(bytes: 1)
      _ = try world.administration.renewZone("shop", intent: .offer)
      world.pass(days: 300)
      await world.nodes[1].letGoOfForgotten()
      let zone = try world.zone
      #expect(try await world.nodes[1].missing([PhotoReplica.value(1)], in: zone) == [])
      world.pass(days: 80)
      await world.nodes[1].letGoOfForgotten()
      #expect(try await world.nodes[1].missing([PhotoReplica.value(1)], in: zone).count == 1)
    }

    @Test("Pieces that came before the database crashed need not be sent again")
    func crash() async throws {
      let cluster = try PostgresCluster()
      defer { cluster.stop() }
      let world = try Self.world(cluster)
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
      var world = try Self.world(cluster, database: database)
      try await world.boxes.show(1, to: world.nodes[0], world.zone)
      world.close()
      try cluster.execute("CREATE DATABASE older TEMPLATE whole")
      world = try Self.world(cluster, database: database)
      try await world.boxes.show(2, to: world.nodes[0], world.zone)
      let page = try await world.nodes[0].page(
        of: world.zone,
        PageRequest(after: try world.zone.beginning, bytesMax: 1 << 20, entriesMax: 9))
      world.close()
      try cluster.execute("DROP DATABASE whole WITH (FORCE)")
      try cluster.execute("ALTER DATABASE older RENAME TO whole")
      world = try Self.world(cluster, database: database)
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
      let world = try Self.world()
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
      let world = try Self.world()
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
      try Self.world(cluster, database: database).close()
      try cluster.execute(
        """
        DROP TABLE value, value_piece, value_use, value_lost;
        UPDATE driftless_version SET version = 1
        """, on: database)
      #expect(try PostgresAdministration.look(at: database) == [])
      let world = try Self.world(cluster, database: database)
      let version = try cluster.execute("SELECT version FROM driftless_version", on: database)
      #expect(version == "\(PostgresSchema.version)\n" && PostgresSchema.version > 1)
      try await world.boxes.show(1, to: world.nodes[0], world.zone)
      #expect(try await world.read(1, at: 1) == PhotoReplica.photo(1))
    }

    @Test("A backup takes values into a data folder, and from there into another database")
    func moved() async throws {
      let world = try Self.world()
      try world.administration.changeLimits(of: "shop", ["largeValueBytesMax": 7000])
      try await world.boxes.show(1, to: world.nodes[0], world.zone)
      try await world.boxes.show(2, in: 1, to: world.nodes[0], world.zone)
      // One that is named and lost, and one that is not named.
      try world.damage(2)
      let later = try Self.world(database: world.database)
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
      let moved = try Self.world(database: place)
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

  extension PostgresWorld {
    fileprivate func lost(at node: Int) async throws -> [LargeValue] {
      try await nodes[node].lostValues(of: zone, after: Data(), countMax: 100)
    }

    fileprivate func mark(at node: Int) async throws -> String? {
      let zone = try zone
      return try await nodes[node].page(
        of: zone, PageRequest(after: zone.beginning, bytesMax: 1, entriesMax: 1)
      ).lostValues
    }

    fileprivate func read(_ seed: UInt8, at node: Int) async throws -> Data {
      try await nodes[node].value(
        PhotoReplica.value(seed).digest, of: zone, first: 0, count: 5000)
    }

    fileprivate func damage(_ seed: UInt8) throws {
      try connection.run(
        """
        UPDATE value_piece SET bytes = set_byte(bytes, 7, 99) FROM value
        WHERE value.id = value_piece.value AND value.digest = $1
        """, .blob(try PhotoReplica.value(seed).digest))
    }
  }
#endif
