#if PostgreSQL
  import DriftlessProtocol
  import Foundation
  import Logging

  extension PostgresZoneStorage: ValueStorage, ValueSource {
    package var values: any KeptValues { keeping }

    private var keeping: ValueKeeping<PostgresZoneStorage> {
      ValueKeeping(source: self, seen: seenValues, limits: limits, clock: clock, logger: logger)
    }

    func readValues<Result: Sendable>(
      of zone: ZoneRecord, _ body: @escaping @Sendable (PostgresValueTables) throws -> Result
    ) async throws -> Result {
      do {
        return try await read { try body(PostgresValueTables($0, zone)) }
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }

    /// A few at a time, so that most connections are left to all else that is asked. What needs a row of its zone that another
    /// holds, a push say, waits for it in a line of that zone, and has a connection for moments only: no other zone waits for it,
    /// and all zones together leave most connections to all else.
    func writeValues<Result: Sendable>(
      of zone: ZoneRecord, bytes: Int,
      _ body: @escaping @Sendable (PostgresValueTables) throws -> Result
    ) async throws -> Result {
      do {
        let most = limits.current.queuedPushesMax
        do {
          return try await staging.run(of: zone.id, cost: bytes, most: most) {
            try await pool.perform { try body(PostgresValueTables($0, zone, waits: false)) }
          }
        } catch is PostgresValueTables.IsHeld {
          // What waits leaves most of the memory for bodies to others.
          let bytesMax = limits.current.bodiesInMemoryBytesMax / 4
          return try await patient.run(of: zone.id, bytes: bytes, most: (most, bytesMax)) {
            try await waiting(for: zone, bytes: bytes, body)
          }
        }
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }

    /// Tries to get the rows that others hold, again and again, for as long as a statement may take.
    private func waiting<Result: Sendable>(
      for zone: ZoneRecord, bytes: Int,
      _ body: @escaping @Sendable (PostgresValueTables) throws -> Result
    ) async throws -> Result {
      let end = ContinuousClock.now + .seconds(limits.current.databaseSeconds)
      while true {
        do {
          return try await tries.run(of: zone.id, cost: bytes, most: .max) {
            try await pool.perform {
              try $0.waitingBriefly { try body(PostgresValueTables($0, zone)) }
            }
          }
        } catch is PostgresValueTables.IsHeld {
          guard ContinuousClock.now < end else {
            throw ServerError.busy("others write to zone \(zone.name) all the time")
          }
          // Whoever has a connection meanwhile goes on.
          try await Task.sleep(for: .milliseconds(Int.random(in: 20...100)))
        }
      }
    }

    private static let careSeconds = 3600

    /// Lets go of parts whose push nobody goes on with, of what is left of deleted zones, and of values that nothing names and nobody
    /// waits for, now and each hour until the task is cancelled: they go by themselves, also where no other comes that wants their
    /// room.
    func careForValues() async {
      async let search: Void = noteGoneValues()
      while !Task.isCancelled {
        await letGoOfForgotten()
        try? await Task.sleep(for: .seconds(Self.careSeconds))
      }
      await search
    }

    /// A hand, or a disk, may have taken some while no node served.
    func noteGoneValues() async {
      await keeping.noteGone(ofAll: { try await read { try $0.zones() } })
    }

    /// One that fails keeps none of the others from its part.
    func letGoOfForgotten() async {
      let lettingGo = LettingGo(logger: logger)
      await lettingGo.run("parts") {
        try await self.pool.perform { [clock = self.clock, limits = self.limits] connection in
          try PostgresStagedParts.dropSomeForgotten(
            before: clock.now() - Int64(limits.current.stagedSeconds) * 1000, on: connection)
        }
      }
      await lettingGo.run("what is left of deleted zones") {
        try await self.pool.perform { try PostgresLeavingZones.takeAway(on: $0) }
      }
      await lettingGo.run("large values") {
        try await self.pool.perform { [clock = self.clock] connection in
          let hasCollected = try PostgresLargeValues.collect(
            at: clock.now(), first: 0, isPatient: { _ in true }, on: connection)
          return try PostgresLargeValues.sweep(on: connection) || hasCollected
        }
      }
    }
  }
#endif
