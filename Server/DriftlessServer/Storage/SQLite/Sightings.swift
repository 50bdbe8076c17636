import DriftlessSQLite
import Foundation
import Logging
import Synchronization

/// Owns the table `sighting`: when a replica was last seen, how far it had come, and by which token.
///
/// What is seen is kept in memory and written once a minute, and when the server ends: a request costs no write.
final class Sightings: Sendable {
  static let statement = """
    CREATE TABLE IF NOT EXISTS sighting(
      zone INTEGER NOT NULL, replica BLOB NOT NULL, cursor INTEGER NOT NULL, token TEXT NOT NULL,
      seen_ms INTEGER NOT NULL, PRIMARY KEY(zone, replica)) WITHOUT ROWID
    """

  private struct Place: Hashable {
    let zone: Int64
    let replica: UUID
  }

  private struct Sighting {
    let generation: UUID
    let cursor: UInt64
    let token: String
    let milliseconds: Int64
  }

  private struct State {
    var seen: [Place: Sighting] = [:]
    var lastWrite: ContinuousClock.Instant
  }

  private let state = Mutex(State(lastWrite: .now))
  private let replicasMax: Int
  private static let span = Duration.seconds(60)

  init(limits: ServerLimits) { replicasMax = limits.replicasPerZoneMax }

  /// - Returns: whether it is time to write what was seen. Who is told so writes it.
  func note(
    _ replica: UUID, in zone: ZoneRecord, at cursor: UInt64, token: String, milliseconds: Int64
  ) -> Bool {
    state.withLock { state in
      let place = Place(zone: zone.id, replica: replica)
      if state.seen[place] != nil || state.seen.count < replicasMax {
        state.seen[place] = Sighting(
          generation: zone.generation, cursor: cursor, token: token, milliseconds: milliseconds)
      }
      guard ContinuousClock.now - state.lastWrite >= Self.span else { return false }
      state.lastWrite = .now
      return true
    }
  }

  /// Writes what was seen, without what belongs to a log that is no more.
  func write(_ database: Database, logger: Logger) {
    let seen = state.withLock { state in
      defer { state.seen = [:] }
      return state.seen
    }
    guard !seen.isEmpty else { return }
    do {
      try database.run { connection in
        try connection.transaction(.immediate) { try write(seen, on: connection) }
      }
    } catch {
      logger.warning("when replicas were seen was not kept", metadata: ["error": "\(error)"])
    }
  }

  private func write(_ seen: [Place: Sighting], on connection: SQLiteConnection) throws {
    for (zone, sightings) in Dictionary(grouping: seen, by: \.key.zone) {
      let generation = try connection.scalar(
        "SELECT generation FROM zone WHERE id = ?", .integer(zone))
      guard case .blob(let current)? = generation else { continue }
      let known = try connection.scalar(
        "SELECT count(*) FROM sighting WHERE zone = ?", .integer(zone))
      guard case .integer(let count)? = known else { continue }
      // Nobody is bound to say a true replica ID: the table is bounded as that of replicas is.
      let isFull = count >= Int64(replicasMax)
      let values: [SQLiteValue] = [.integer(zone)]
      for (place, sighting) in sightings where sighting.generation.bytes == current {
        let row =
          values + [
            .blob(place.replica.bytes), .integer(Int64(clamping: sighting.cursor)),
            .text(sighting.token), .integer(sighting.milliseconds),
          ]
        let statement = try connection.prepare(
          isFull
            ? """
            UPDATE sighting SET cursor = ?3, token = ?4, seen_ms = ?5
            WHERE zone = ?1 AND replica = ?2
            """ : "INSERT OR REPLACE INTO sighting VALUES(?1, ?2, ?3, ?4, ?5)")
        statement.bind(row)
        try statement.run()
      }
    }
  }
}
