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
    /// holds, a push say, waits for it in a line of that zone, with one connection: no other zone waits for it.
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
          return try await patient.run(of: zone.id, most: most) {
            try await pool.perform { try body(PostgresValueTables($0, zone)) }
          }
        }
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }

    private static let careSeconds = 3600

    /// Lets go of values that nothing names and nobody waits for, now and each hour until the task is cancelled: they go by
    /// themselves, also where no other comes that wants their room.
    func careForValues() async {
      async let search: Void = noteGoneValues()
      while !Task.isCancelled {
        await letGoOfForgotten()
        try? await Task.sleep(for: .seconds(Self.careSeconds))
      }
    }

    /// A hand, or a disk, may have taken some while no node served.
    func noteGoneValues() async {
      await keeping.noteGone(ofAll: { try await read { try $0.zones() } })
    }

    func letGoOfForgotten() async {
      do {
        while try await pool.perform({ [clock] connection in
          let hasCollected = try PostgresLargeValues.collect(
            at: clock.now(), first: 0, isPatient: { _ in true }, on: connection)
          return try PostgresLargeValues.sweep(on: connection) || hasCollected
        }) {}
      } catch {
        logger.warning("what is forgotten was not let go of", metadata: ["error": "\(error)"])
      }
    }
  }
#endif
      await search
