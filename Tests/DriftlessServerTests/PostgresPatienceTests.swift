#if PostgreSQL
  import DriftlessProtocol
  import Foundation
  import TestSupport
  import Testing

  @testable import DriftlessServer

  /// Large values of zones to which others write.
  @Suite("Values that wait for a zone's row in PostgreSQL")
  struct PostgresPatienceTests {
    @Test(
      "Those of many zones leave connections to who reads, and are taken when the rows are free")
    func many() async throws {
      let names = (0..<12).map { "shop\($0)" }
      let world = try PostgresWorld(zones: names) { $0.databaseConnectionsMax = 8 }
      let zones = try names.map { try world.zone($0) }
      let holder = try PostgresConnection(serving: world.database, limits: .init())
      defer { holder.close() }
      try holder.execute("BEGIN")
      _ = try holder.run("SELECT id FROM zone FOR UPDATE")
      let node = world.storage
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for (zone, seed) in zip(zones, 1...12 as ClosedRange<UInt8>) {
          group.addTask {
            try await node.keep(PhotoReplica().piece(seed, of: zone), of: zone, token: "t").isWhole
          }
        }
        // Until those that wait have what connections they may have.
        while node.patient.zones < zones.count { await Task.yield() }
        for name in names {
          let start = ContinuousClock.now
          #expect(try await node.zone(named: name) != nil)
          #expect(ContinuousClock.now - start < .seconds(5), "\(name)")
        }
        try holder.execute("COMMIT")
        for try await isWhole in group { #expect(isWhole) }
      }
      #expect(try world.count("value") == 12)
      let timeouts = try await node.read {
        try $0.run("SELECT current_setting('lock_timeout')").text(0, 0)
      }
      #expect(timeouts == "0")
    }

    @Test("Where a row is held for longer than a statement may take, it is told as busy")
    func tooLong() async throws {
      let world = try PostgresWorld { $0.databaseSeconds = 4 }
      let zone = try world.zone
      let holder = try PostgresConnection(serving: world.database, limits: .init())
      defer { holder.close() }
      try holder.execute("BEGIN")
      _ = try holder.zoneRow(named: "shop", locks: true)
      let error = await #expect(throws: ServerError.self) {
        _ = try await world.storage.keep(
          PhotoReplica().piece(1, of: zone), of: zone, token: "t")
      }
      #expect(error?.code == .busy)
      try holder.execute("COMMIT")
      let state = try await world.storage.keep(
        PhotoReplica().piece(1, of: zone), of: zone, token: "t")
      #expect(state.isWhole)
    }

    @Test("A command that is stopped within a transaction leaves the zone's row to others")
    func stoppedCommand() throws {
      let world = try PostgresWorld()
      var limits = ServerLimits()
      limits.databaseSeconds = 3
      let command = try PostgresConnection(serving: world.database, limits: limits)
      defer { command.close() }
      var isFree = false
      #expect(throws: PostgresError.self, "nothing of the transaction stands") {
        try command.patiently {
          try command.transaction(.write) {
            _ = try command.zoneRow(named: "shop", locks: true)
            // Here it says nothing any more; another waits for half a minute at most.
            let other = try PostgresConnection(serving: world.database, limits: .init())
            defer { other.close() }
            isFree = try other.zoneRow(named: "shop", locks: true) != nil
          }
        }
      }
      #expect(isFree)
    }

    @Test("Who reads a value that is gone hears it, also where nothing can be noted")
    func unnoted() async throws {
      let world = try PostgresWorld()
      try await world.show(1...1)
      let value = try PhotoReplica.value(1)
      let zone = try world.zone
      try world.connection.execute("DELETE FROM value")
      try world.connection.execute(
        "ALTER TABLE value_lost ADD CONSTRAINT nothing_noted CHECK (length < 0)")
      let missed = await #expect(throws: ServerError.self) {
        try await world.storage.value(value.digest, of: zone, first: 0, count: 9)
      }
      #expect(missed?.code.name == "no-value")
      try world.connection.execute("ALTER TABLE value_lost DROP CONSTRAINT nothing_noted")
      await world.storage.noteGoneValues()
      let lost = try await world.storage.lostValues(of: zone, after: Data(), countMax: 9)
      #expect(lost == [value])
    }
  }
#endif
