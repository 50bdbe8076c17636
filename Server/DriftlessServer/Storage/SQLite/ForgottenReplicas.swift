import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Owns the table `forgotten_replica`: replicas that an operator had forgotten, and that have not pushed since.
///
/// They are not counted among those of their zone, are not listed, and keep nothing from being purged. What the log has of them
/// stays, and so does their row in `replica` while it has something: its entries name it, and one that comes back finds the answers
/// that it got. A program of before, which knows nothing of the table, counts them.
enum ForgottenReplicas {
  static let statement = """
    CREATE TABLE IF NOT EXISTS forgotten_replica(
      zone INTEGER NOT NULL, replica BLOB NOT NULL, PRIMARY KEY(zone, replica)) WITHOUT ROWID
    """

  /// Forgets what is said of replicas that are no more. A program of before leaves that where it deletes or renews a zone.
  static let cleaning = """
    DELETE FROM forgotten_replica
    WHERE (zone, replica) NOT IN (SELECT zone, uuid FROM replica)
    """

  static func has(
    _ replica: UUID, of zone: Int64, on connection: SQLiteConnection
  ) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM forgotten_replica WHERE zone = ? AND replica = ?", .integer(zone),
      .blob(replica.bytes)) != nil
  }

  /// How many replicas a zone has that are not forgotten.
  static func countOfOthers(in zone: Int64, on connection: SQLiteConnection) throws -> Int {
    let count = try connection.scalar(
      """
      SELECT count(*) FROM replica WHERE zone = ?1 AND NOT EXISTS (
        SELECT 1 FROM forgotten_replica AS forgotten
        WHERE forgotten.zone = ?1 AND forgotten.replica = replica.uuid)
      """, .integer(zone))
    guard case .integer(let count)? = count else { return 0 }
    return Int(clamping: count)
  }

  static func all(of zone: Int64, on connection: SQLiteConnection) throws -> Set<UUID> {
    let rows = try connection.rows(
      "SELECT replica FROM forgotten_replica WHERE zone = ?", .integer(zone))
    return Set(
      rows.compactMap { if case .blob(let bytes) = $0[0] { UUID(bytes: bytes) } else { nil } })
  }

  static func add(_ replica: UUID, to zone: Int64, on connection: SQLiteConnection) throws {
    try connection.run(
      "INSERT OR IGNORE INTO forgotten_replica VALUES(?, ?)", .integer(zone), .blob(replica.bytes))
  }

  static func remove(_ replica: UUID, of zone: Int64, on connection: SQLiteConnection) throws {
    try connection.run(
      "DELETE FROM forgotten_replica WHERE zone = ? AND replica = ?", .integer(zone),
      .blob(replica.bytes))
  }

  /// Forgets a replica: what was seen of it, the parts of its pushes that wait, and its row where the log has nothing of it.
  static func forget(_ replica: UUID, of zone: Int64, on connection: SQLiteConnection) throws {
    let place: [SQLiteValue] = [.integer(zone), .blob(replica.bytes)]
    try connection.run("DELETE FROM sighting WHERE zone = ? AND replica = ?", place[0], place[1])
    try StagedParts.drop(of: replica, through: .max, on: connection)
    guard let row = try connection.replicaRow(replica), row.zone == zone else { return }
    if try connection.scalar("SELECT 1 FROM entry WHERE replica = ? LIMIT 1", .integer(row.id))
      == nil
    {
      try connection.run("DELETE FROM replica WHERE zone = ? AND uuid = ?", place[0], place[1])
      try remove(replica, of: zone, on: connection)
    } else {
      try add(replica, to: zone, on: connection)
    }
  }
}

extension Administration {
  /// Forgets replicas of a zone, while a server serves it or not. One that comes back goes on where it was.
  ///
  /// - Throws: `ServerError` (`.noZone`, `.notFound`).
  package func forgetReplicas(
    of name: String, _ choice: ForgettingChoice, isDryRun: Bool
  ) throws -> ForgettingReport {
    try forgetReplicas(of: name, choice, isDryRun: isDryRun, at: Self.hostMilliseconds)
  }

  package func forgetReplicas(
    of name: String, _ choice: ForgettingChoice, isDryRun: Bool, at host: Int64
  ) throws -> ForgettingReport {
    try writeAtNeed {
      let zone = try existingZone(name)
      let plan = try ForgettingPlan(
        choice, of: zone, known: replicaReports(of: zone),
        forgotten: ForgottenReplicas.all(of: zone.id, on: connection),
        tokens: connection.tokens(), at: purgeTime(host))
      let report = ForgettingReport(
        zone: zone.name, replicas: plan.replicas, before: plan.before, isDryRun: isDryRun)
      guard !isDryRun else { return report }
      for replica in plan.replicas {
        try ForgottenReplicas.forget(replica.report.replica, of: zone.id, on: connection)
      }
      for event in plan.events(choice, of: zone, at: try serverMilliseconds()) {
        try AuditLog.add(event, on: connection)
      }
      return report
    }
  }
}
