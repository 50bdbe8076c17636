package import DriftlessSQLite
package import Foundation

/// Owns `ZDL_MISSED`: large values of the zone that were asked for, and were not to be had.
package enum MissedValues {
  /// Why a value was not to be had.
  package enum Reason: String, CaseIterable, Sendable {
    /// The zone lacks it, whose log names it.
    case lost
    /// The zone has no bytes of it and was not told its name: the object got it in another log or zone.
    case absent
    /// What the zone has is not what its name says.
    case damaged
    /// The server refuses to give it, and gives others.
    case refused
    /// The store's disk had no room for it.
    case room
    /// The store left the zone, and has no way to it.
    case left
  }

  /// What each row keeps by itself.
  package static let rules: [RowRule] = [
    .bytes("digest", count: 32),
    RowRule("typeof(since) = 'real'", "its since is no time"),
    RowRule(
      "reason IN (\(Reason.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")))",
      "its reason is none that is known", declared: "typeof(reason) = 'text'"),
  ]
  package static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_MISSED(
      digest BLOB PRIMARY KEY, since REAL NOT NULL,
      reason TEXT NOT NULL\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  /// Since when a value is not to be had; nil for one that nobody asked for in vain, and for one that the zone has and this host's disk
  /// had no room for.
  package static func since(_ digest: Data, on connection: SQLiteConnection) throws -> Date? {
    guard try exist(on: connection),
      case .real(let seconds)? = try connection.scalar(
        "SELECT since FROM ZDL_MISSED WHERE digest = ? AND reason <> 'room'", .blob(digest))
    else { return nil }
    return Date(timeIntervalSince1970: seconds)
  }

  /// Why a value is not to be had; nil for one that is not noted.
  package static func reason(_ digest: Data, on connection: SQLiteConnection) throws -> Reason? {
    guard try exist(on: connection),
      case .text(let text)? = try connection.scalar(
        "SELECT reason FROM ZDL_MISSED WHERE digest = ?", .blob(digest))
    else { return nil }
    return Reason(rawValue: text)
  }

  /// How many there are of one reason.
  package static func count(_ reason: Reason, on connection: SQLiteConnection) throws -> Int {
    guard try exist(on: connection),
      case .integer(let count)? = try connection.scalar(
        "SELECT count(*) FROM ZDL_MISSED WHERE reason = ?", .text(reason.rawValue))
    else { return 0 }
    return Int(clamping: count)
  }

  package static func digests(on connection: SQLiteConnection) throws -> [Data: Reason] {
    guard try exist(on: connection) else { return [:] }
    var digests: [Data: Reason] = [:]
    for row in try connection.rows("SELECT digest, reason FROM ZDL_MISSED") {
      guard case .blob(let digest) = row[0], case .text(let text) = row[1],
        let reason = Reason(rawValue: text)
      else { continue }
      digests[digest] = reason
    }
    return digests
  }

  /// It was asked for in vain. Since when stays what it was, and so does that the zone was left, or was not told: that such a zone has
  /// no bytes is no news.
  package static func note(
    _ digest: Data, _ reason: Reason, at time: Date, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      """
      INSERT INTO ZDL_MISSED VALUES (?, ?, ?)
      ON CONFLICT (digest) DO UPDATE SET reason = excluded.reason,
      since = CASE reason WHEN 'room' THEN excluded.since ELSE since END
      WHERE reason <> 'left' AND NOT (reason = 'absent' AND excluded.reason = 'lost')
      """,
      .blob(digest), .real(time.timeIntervalSince1970), .text(reason.rawValue))
  }

  /// It is here, or may be had again.
  package static func forget(_ digest: Data, on connection: SQLiteConnection) throws {
    guard try exist(on: connection) else { return }
    try connection.run("DELETE FROM ZDL_MISSED WHERE digest = ?", .blob(digest))
  }

  /// The log of the zone names it: it is there, whatever zone the store left it in, or asked for it in vain, before.
  package static func noteInLog(_ digest: Data, on connection: SQLiteConnection) throws {
    guard try exist(on: connection) else { return }
    try connection.run(
      "DELETE FROM ZDL_MISSED WHERE digest = ? AND reason IN ('left', 'absent')", .blob(digest))
  }

  /// Those of one reason may be had again.
  package static func forget(_ reason: Reason, on connection: SQLiteConnection) throws {
    guard try exist(on: connection) else { return }
    try connection.run("DELETE FROM ZDL_MISSED WHERE reason = ?", .text(reason.rawValue))
  }

  package static func forgetAll(on connection: SQLiteConnection) throws {
    guard try exist(on: connection) else { return }
    try connection.run("DELETE FROM ZDL_MISSED")
  }

  /// Whether the file has the table: one that never synced has none.
  private static func exist(on connection: SQLiteConnection) throws -> Bool {
    try connection.scalar("SELECT 1 FROM sqlite_master WHERE name = 'ZDL_MISSED'") != nil
  }
}

extension PersistentStore {
  /// Since when a large value is not to be had, as far as this store knows.
  func missedSince(_ value: ValueInZone) throws -> Date? {
    try read { try MissedValues.since(value.digest, on: $0.connection) }
  }
}
