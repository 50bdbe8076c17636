package import DriftlessSQLite
package import Foundation

/// Owns `ZDL_MISSED`: large values of the zone that were asked for, and were not to be had.
package enum MissedValues {
  /// Why a value was not to be had.
  package enum Reason: String, CaseIterable, Sendable {
    /// The zone lacks it.
    case lost
    /// What the zone has is not what its name says.
    case damaged
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

  /// It was asked for in vain. Since when stays what it was.
  package static func note(
    _ digest: Data, _ reason: Reason, at time: Date, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      """
      INSERT INTO ZDL_MISSED VALUES (?, ?, ?)
      ON CONFLICT (digest) DO UPDATE SET reason = excluded.reason
      """,
      .blob(digest), .real(time.timeIntervalSince1970), .text(reason.rawValue))
  }

  /// It is here, or may be had again.
  package static func forget(_ digest: Data, on connection: SQLiteConnection) throws {
    guard try exist(on: connection) else { return }
    try connection.run("DELETE FROM ZDL_MISSED WHERE digest = ?", .blob(digest))
  }

  /// It may be had again, where that was the reason.
  package static func forget(
    _ digest: Data, _ reason: Reason, on connection: SQLiteConnection
  ) throws {
    guard try exist(on: connection) else { return }
    try connection.run(
      "DELETE FROM ZDL_MISSED WHERE digest = ? AND reason = ?", .blob(digest),
      .text(reason.rawValue))
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
