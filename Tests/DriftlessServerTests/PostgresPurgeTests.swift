#if PostgreSQL
  import DriftlessProtocol
  import DriftlessSQLite
  import DriftlessStorageConformance
  import Foundation
  import Synchronization
  import TestSupport
  import Testing

  @testable import DriftlessServer

  /// A purge in a database that several nodes serve: what stands in its way, what a killed one leaves, and where it goes.
  @Suite("Purge in PostgreSQL")
  struct PostgresPurgeTests {
    @Test("A purge that was killed behind its floor goes on, and files of another go")
    func goesOn() async throws {
      let world = try PostgresWorld()
      try await world.show(1...7)
      try world.purge(through: 3)
      #expect(try world.uses() == [0, 0, 0, 0, 0, 0, 0, 4, 5, 6, 7])
      try world.connection.execute(
        """
        UPDATE purge SET floor = 5;
        INSERT INTO purge_file SELECT zone, 'other', '' FROM purge
        """)
      let zone = try world.zone
      #expect(try await world.storage.floor(of: zone) == 5)
      try world.expectWhole()
      #expect(try world.count("log") == 4)
      #expect(try world.purge(through: 5).entries == 0)
      #expect(try world.count("log") == 2 && world.count("purged") == 5)
      #expect(try world.uses() == [0, 0, 0, 0, 0, 0, 0, 6, 7])
      let names = try world.connection.run("SELECT count(*) FROM purge_file WHERE name = 'other'")
      #expect(names.int64(0, 0) == 0)
      try world.expectWhole()
    }

    @Test("A fold under way, and a node of a program of before, stand in the way")
    func locked() async throws {
      let world = try PostgresWorld()
      try await world.show(1...5)
      let logs = PostgresLogs(world.database, limits: .init())
      defer { logs.close() }
      try logs.withFold(of: world.zone) { _ in
        let error = #expect(throws: ServerError.self) { try world.purge() }
        #expect(error?.code == .locked)
      }
      let node = try PostgresConnection(serving: world.database, limits: .init())
      try PostgresNodes.enter(node)
      #expect(try world.purge(through: 2).floor == 2, "one of this version does not")
      let older = try PostgresConnection(serving: world.database, limits: .init())
      try older.run(
        """
        SELECT pg_advisory_lock_shared(7301113, ((SELECT oid::bigint FROM pg_namespace
          WHERE nspname = current_schema()) & 2147483647)::integer)
        """)
      let error = #expect(throws: ServerError.self) { try world.purge() }
      #expect(error?.code == .locked && error?.message.contains("older program") == true)
      older.close()
      // The database hears of the end a moment later.
      let deadline = ContinuousClock.now + .seconds(60)
      while try PostgresNodes.count(world.connection) > 1, ContinuousClock.now < deadline {
        await Task.yield()
      }
      #expect(try world.purge().floor == 4)
      node.close()
    }

    @Test(
      "A push below the floor that is under way while it is set keeps it down; a later one is refused"
    )
    func underWay() async throws {
      let world = try PostgresWorld()
      try await world.show(1...5)
      let zone = try world.zone
      let below = try #require(try world.connection.place(at: 2, of: zone))
      // Made after entry 2, by one that nobody has seen.
      var late = FrameMaker(zone)
      late.cursor = Cursor(generation: zone.generation, sequence: 2, chain: below.chain)
      let reader = PushReader(limits: .init())
      let push = try reader.read(late.insert(1))
      let (isFolded, isHeld, isOver) = (
        PostgresWorld.Flag(), PostgresWorld.Flag(), PostgresWorld.Flag()
      )
      let database = world.database
      async let report = try blocking {
        defer { isOver.set() }
        return try InterruptedPurge.run(database, zone) {
          isFolded.set()
          while !isHeld.isSet { usleep(1000) }
        }
      }
      while !isFolded.isSet, !isOver.isSet { await Task.yield() }
      // The snapshot is made, and the floor planned. The push is taken, and committed once the purge waits for it, or is done, as
      // it must not be.
      try await world.holding(until: isOver) { connection in
        defer { isHeld.set() }
        let row = try #require(try connection.zoneRow(named: "shop"))
        let tables = PostgresZoneTables(connection, row)
        try tables.load(for: [push])
        tables.begin()
        let append = LogAppend(
          tables: tables, limits: .init(), nowMilliseconds: Administration.hostMilliseconds)
        let appended = try append.append(push, to: zone)
        #expect(appended.sequence == 6)
        try tables.flush()
      }
      #expect(try await report.floor == 2, "the author has to find what follows entry 2")
      #expect(try await world.storage.floor(of: zone) == 2)
      let page = try await world.storage.page(
        of: world.zone, PageRequest(after: below, bytesMax: 1 << 20, entriesMax: 9))
      #expect(page.entries.map(\.sequence) == [3, 4, 5, 6])
      try world.expectWhole()
      #expect(try world.purge().floor == 5)
      let later = try reader.read(late.insert(1))
      let refused = try await code { _ = try await world.storage.append(later, to: world.zone) }
      #expect(refused == .purged)
    }

    @Test("F55 Age, and the place after which a replica asked last, keep what they need")
    func bounds() async throws {
      let world = try PostgresWorld()
      try await world.show(1...9)
      // As a node has given times until now.
      try world.connection.run(
        "INSERT INTO clock VALUES(1, $1)", .integer(Administration.hostMilliseconds))
      func floor(_ keepDays: Int, _ replicaDays: Int = 0) throws -> String {
        let report = try world.purge(
          keepDays: keepDays, replicaDays: replicaDays, isDryRun: true,
          at: Administration.hostMilliseconds + PostgresWorld.day)
        return "\(report.floor) \(report.bound)"
      }
      #expect(try floor(0) == "8 head")
      #expect(try floor(3) == "0 age")
      try world.connection.execute("UPDATE log SET received_ms = 1")
      #expect(try floor(3) == "8 head")
      let later = Administration.hostMilliseconds + 9000 * PostgresWorld.day
      try world.connection.execute("UPDATE log SET received_ms = \(later) WHERE number = 4")
      #expect(try floor(3) == "3 age")
      // A clock that leapt between two of them makes the first ones no older than the others.
      let now = Administration.hostMilliseconds
      try world.connection.execute(
        "UPDATE log SET received_ms = CASE WHEN number < 5 THEN 1 ELSE \(now) END")
      #expect(try floor(3) == "0 age")
      try world.connection.execute("UPDATE log SET received_ms = 1")
      let zone = try world.zone
      let replica = UUID()
      // What was given after the place that it asked after may not have come there.
      await world.storage.noteSeen(
        replica, in: zone, generation: zone.generation, at: 5, given: 9, token: "t")
      await world.storage.writeSightings()
      #expect(try floor(3, 365) == "5 replica")
      #expect(try world.administration.replicas(of: "shop").contains { $0.cursor == 9 })
      try world.connection.execute("UPDATE sighting SET asked = NULL, cursor = 7")
      #expect(try floor(3, 365) == "7 replica")
    }

    @Test("What stands for the log is looked at by verify, and named where it is damaged")
    func damaged() async throws {
      let world = try PostgresWorld()
      try await world.show(1...5)
      try world.purge()
      let name = try PhotoReplica.value(2).name
      for (change, table) in [
        ("UPDATE purge_file SET bytes = ''", "purge"), ("DELETE FROM purge", "purge"),
        ("DELETE FROM purged WHERE number = 2", "purged"), ("UPDATE purge SET floor = 9", "purge"),
        ("UPDATE purge SET snapshot = 'other'", "purge"),
        ("DELETE FROM value_use WHERE sequence = 0 AND digest = '\\x\(name)'", "purge"),
      ] {
        struct Back: Error {}
        do {
          try world.connection.transaction(.write) {
            try world.connection.execute(change)
            let damage = try PostgresCheck.read(world.connection).damage
            #expect(damage.contains { $0.table == table }, "\(change): \(damage)")
            throw Back()
          }
        } catch is Back {}
      }
      try world.expectWhole()
    }

    @Test("Values that the snapshot names stay, and what only purged entries named goes")
    func values() async throws {
      let world = try PostgresWorld()
      try await world.show(1...1)
      try await world.boxes.show(2, in: 1, to: world.storage, world.zone)
      try await world.boxes.show(3, to: world.storage, world.zone)
      try await world.boxes.show(4, to: world.storage, world.zone)
      #expect(try world.purge().floor == 3)
      #expect(try world.uses() == [0, 0, 0, 4])
      let later = try PostgresZoneStorage(database: world.database) {
        Administration.hostMilliseconds + 30 * PostgresWorld.day
      }
      defer { later.close() }
      await later.letGoOfForgotten()
      let zone = try world.zone
      let missing = try await world.storage.missing(
        (1...4).map { try PhotoReplica.value($0) }, in: zone)
      #expect(missing == [try PhotoReplica.value(1)])
      // The next purge lets go of what only the snapshot before it named.
      try await world.boxes.show(5, in: 2, to: world.storage, world.zone)
      try await world.boxes.show(6, in: 3, to: world.storage, world.zone)
      #expect(try world.purge().floor == 5)
      await later.letGoOfForgotten()
      let left = try await world.storage.missing(
        (2...6).map { try PhotoReplica.value($0) }, in: zone)
      #expect(try Set(left) == Set([3, 4].map { try PhotoReplica.value($0) }))
      try world.expectWhole()
    }

    @Test("A purged log moves into a data folder, and from there into another database")
    func moved() async throws {
      let world = try PostgresWorld()
      try await world.show(1...6)
      try world.purge(through: 4)
      let zone = try world.zone
      let directory = try TemporaryDirectory()
      let backup = Backup(directory.file("copy.sqlite"))
      #expect(try backup.make(ofPostgres: world.database).entries == 6)
      let folder = try DataFolder(directory.file("data"))
      _ = try backup.restore(to: folder)
      let local = try Administration(folder: folder)
      #expect(try local.verify().damage == [])
      #expect(try local.floor(of: local.existingZone("shop")) == 4)
      local.close()
      let storage = try SQLiteZoneStorage(folder: folder)
      #expect(
        try await storage.keptSnapshot(of: storage.zone(named: "shop") ?? zone)
          == world.storage.keptSnapshot(of: zone))
      storage.close()
      let back = Backup(directory.file("back.sqlite"))
      _ = try back.make(of: folder)
      let place = try PostgresCluster.shared().place()
      _ = try back.restore(toPostgres: place)
      let moved = try PostgresWorld(database: place)
      try moved.expectWhole()
      #expect(try await moved.storage.floor(of: moved.zone) == 4)
      #expect(
        try await moved.storage.keptSnapshot(of: moved.zone)
          == world.storage.keptSnapshot(of: zone))
      // It goes on from there.
      #expect(try moved.purge().floor == 5)
      try moved.expectWhole()
      let folded = try moved.administration.foldZone("shop")
      #expect(folded.place.sequence == 6)
    }
  }

  extension PostgresWorld {
    fileprivate static let day: Int64 = 86_400_000

    @discardableResult
    fileprivate func purge(
      through: UInt64 = .max, keepDays: Int = 0, replicaDays: Int = 0, isDryRun: Bool = false,
      at milliseconds: Int64 = Administration.hostMilliseconds + 10_000
    ) throws -> PurgeReport {
      try administration.purgeZone(
        "shop",
        PurgeOptions(
          keepDays: keepDays, replicaDays: replicaDays, isTried: true, isDryRun: isDryRun,
          through: through), at: milliseconds)
    }

    fileprivate func uses() throws -> [Int64] {
      let rows = try connection.run("SELECT sequence FROM value_use ORDER BY sequence")
      return (0..<rows.count).map { rows.int64($0, 0) }
    }
  }

  /// A purge to which something happens between its fold and its first write.
  private struct InterruptedPurge: PurgePlace {
    let place: PostgresPurge
    let between: () -> Void

    static func run(
      _ database: String, _ zone: ZoneRecord, between: @escaping () -> Void
    ) throws -> PurgeReport {
      let administration = try PostgresAdministration(database: database)
      defer { administration.close() }
      let logs = PostgresLogs(database, limits: .init())
      defer { logs.close() }
      let place = InterruptedPurge(place: PostgresPurge(administration, logs), between: between)
      let options = PurgeOptions(keepDays: 0, replicaDays: 0, isTried: true)
      return try ZonePurge(place: place, zone: zone, options: options)
        .run(at: Administration.hostMilliseconds + 10_000)
    }

    func withFoldAnew<Result>(
      of zone: ZoneRecord, _ kept: KeptLog?, through last: UInt64?,
      _ body: (Snapshot, @escaping (Snapshot.File) throws -> Data) throws -> Result
    ) throws -> Result {
      try place.withFoldAnew(of: zone, kept, through: last) {
        between()
        return try body($0, $1)
      }
    }

    func tables(of zone: ZoneRecord) -> PostgresPurgeTables { place.tables(of: zone) }
    func checkServers() throws { try place.checkServers() }
    func givenMilliseconds() throws -> Int64 { try place.givenMilliseconds() }
    func isServed() throws -> Bool { try place.isServed() }
    func requireRoom(for bytes: Int, of zone: ZoneRecord, _ options: PurgeOptions) throws {
      try place.requireRoom(for: bytes, of: zone, options)
    }
    func withLock<Result>(of zone: ZoneRecord, _ body: () throws -> Result) throws -> Result {
      try place.withLock(of: zone, body)
    }
    func discardFolded(of zone: ZoneRecord) throws { try place.discardFolded(of: zone) }
    func write<Result>(
      to zone: ZoneRecord, _ body: (PostgresPurgeTables) throws -> Result
    ) throws -> Result { try place.write(to: zone, body) }
    func giveWay() { place.giveWay() }
    func makeRoom() { place.makeRoom() }
  }
#endif
