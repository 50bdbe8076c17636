import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging
import Synchronization

/// Owns the table `sighting`: when a replica was last seen, how far it had come, by which token, from where, and the name and the format level that it told; and after which place it
/// asked last: whether it has what it was given then, nobody knows who takes something away because of it.
///
/// What is seen is kept in memory and written a minute after the first of it, and when the server ends: a request costs no
/// write.
final class Sightings: Sendable {
  static let statement = """
    CREATE TABLE IF NOT EXISTS sighting(
      zone INTEGER NOT NULL, replica BLOB NOT NULL, cursor INTEGER NOT NULL, token TEXT NOT NULL,
      seen_ms INTEGER NOT NULL, asked INTEGER, name TEXT, address TEXT, format INTEGER,
      PRIMARY KEY(zone, replica)) WITHOUT ROWID
    """

  /// Gives the table of a program of before what it lacks.
  static func bringUpToDate(_ connection: SQLiteConnection) throws {
    for (column, type) in [
      ("asked", "INTEGER"), ("name", "TEXT"), ("address", "TEXT"), ("format", "INTEGER"),
    ] {
      let has = "SELECT count(*) FROM pragma_table_info('sighting') WHERE name = '\(column)'"
      guard try connection.integer(has) == 0 else { continue }
      try connection.execute("ALTER TABLE sighting ADD COLUMN \(column) \(type)")
    }
  }

  struct Place: Hashable, Sendable {
    let zone: Int64
    let replica: UUID
  }

  struct Sighting: Sendable {
    let generation: UUID
    let cursor: UInt64
    /// After which place it asked.
    let asked: UInt64
    let token: String
    /// Nil where none was told.
    let name: String?
    /// Where it came from; nil where that is not known.
    let address: String?
    /// The highest format level that it reads; nil where it told none.
    let format: UInt16?
    let milliseconds: Int64
  }

  private struct State {
    var seen: [Place: Sighting] = [:]
    /// After which place each asked last for entries, and up to where it was given some.
    var pulls: [Place: (after: UInt64, given: UInt64)] = [:]
    var isWriteDue = false
  }

  private let state = Mutex(State())
  private let limits: LiveLimits
  private var replicasMax: Int { limits.replicasPerZoneMax }
  private let span: Double

  /// - Parameter span: seconds after which what was seen is written.
  init(limits: LiveLimits, span: Double = 60) {
    self.limits = limits
    self.span = span
  }

  /// - Returns: in how many seconds who is told so is to write what was seen; nil for not at all.
  func note(_ visit: Visit, in zone: ZoneRecord, milliseconds: Int64) -> Double? {
    state.withLock { state in
      let after = visit.place
      let place = Place(zone: zone.id, replica: visit.replica)
      let isFull = state.seen.count >= replicasMax
      var cursor = after
      if let given = visit.given {
        let last = state.pulls[place]
        let asksAgain = last.map { $0.after == after && $0.given > after } ?? false
        if !asksAgain { cursor = given }
        if state.pulls.count >= replicasMax, last == nil { state.pulls = [:] }
        state.pulls[place] = (after, given)
      }
      if state.seen[place] != nil || !isFull {
        state.seen[place] = Sighting(
          generation: visit.generation, cursor: cursor, asked: after, token: visit.token,
          name: visit.name?.text, address: visit.address?.isEmpty == true ? nil : visit.address,
          format: visit.format, milliseconds: milliseconds)
      }
      if isFull { return 0 }
      guard !state.isWriteDue else { return nil }
      state.isWriteDue = true
      return span
    }
  }

  /// What was seen since the last time, for who writes it.
  func taken() -> [Place: Sighting] {
    state.withLock { state in
      defer { (state.seen, state.isWriteDue) = ([:], false) }
      return state.seen
    }
  }

  /// Writes what was seen, without what belongs to a log that is no more.
  func write(_ database: Database, logger: Logger) {
    let seen = taken()
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
      let statement = try connection.prepare(
        """
        INSERT OR REPLACE INTO sighting(
          zone, replica, cursor, token, seen_ms, asked, name, address, format)
        VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        """)
      for (place, sighting) in sightings where sighting.generation.bytes == current {
        statement.bind([
          .integer(zone), .blob(place.replica.bytes), .integer(Int64(clamping: sighting.cursor)),
          .text(sighting.token), .integer(sighting.milliseconds),
          .integer(Int64(clamping: sighting.asked)), sighting.name.map { .text($0) } ?? .null,
          sighting.address.map { .text($0) } ?? .null,
          sighting.format.map { .integer(Int64($0)) } ?? .null,
        ])
        try statement.run()
      }
      try evict(zone, on: connection)
    }
  }

  /// Nobody is bound to say a true replica ID: the table is bounded as that of replicas is. Who says many pays for them: those
  /// of the token that has the most go first, and of them who never pushed, and who was not seen for longest.
  private func evict(_ zone: Int64, on connection: SQLiteConnection) throws {
    while case .integer(let count)? = try connection.scalar(
      "SELECT count(*) FROM sighting WHERE zone = ?", .integer(zone)),
      count > Int64(replicasMax)
    {
      try connection.run(
        """
        DELETE FROM sighting WHERE zone = ?1 AND replica IN (
          SELECT replica FROM sighting WHERE zone = ?1 AND token = (
            SELECT token FROM sighting WHERE zone = ?1 GROUP BY token ORDER BY count(*) DESC LIMIT 1)
          ORDER BY replica IN (SELECT uuid FROM replica WHERE zone = ?1), seen_ms LIMIT ?2)
        """, .integer(zone), .integer(count - Int64(replicasMax)))
    }
  }
}
