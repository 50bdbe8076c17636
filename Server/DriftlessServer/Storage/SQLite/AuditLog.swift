import DriftlessSQLite
import Logging

/// Owns the table `audit`: the record of who did what. Lines are added and, by age and number, forgotten; none is changed.
enum AuditLog {
  static let statement = """
    CREATE TABLE IF NOT EXISTS audit(
      id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, actor TEXT NOT NULL,
      act TEXT NOT NULL, zone TEXT, subject TEXT, detail TEXT, count INTEGER NOT NULL)
    """

  /// Adds a line within the transaction of what it tells.
  static func add(_ event: AuditEvent, on connection: SQLiteConnection) throws {
    try insert(event, on: connection)
    // A few at a time: a clock that leaps ahead for a moment forgets no year.
    try connection.run(
      """
      DELETE FROM audit WHERE id IN (
        SELECT id FROM (SELECT id, time_ms FROM audit ORDER BY id LIMIT \(AuditBounds.lookedAt)) AS oldest
        WHERE time_ms < ? LIMIT \(AuditBounds.forgottenAtOnce))
      """, .integer(AuditBounds.oldest(at: event.timeMilliseconds)))
    let (kind, most) = AuditBounds.kind(of: event.act)
    // Of fewer numbers there are fewer lines: there is nothing to count.
    let numbers = try connection.integer(
      "SELECT (SELECT max(id) FROM audit) - (SELECT min(id) FROM audit)")
    guard numbers ?? 0 >= most else { return }
    try connection.run(
      """
      DELETE FROM audit WHERE \(kind) AND id <= (
        SELECT id FROM audit WHERE \(kind) ORDER BY id DESC LIMIT 1 OFFSET ?)
      """, .integer(most))
  }

  private static func insert(_ event: AuditEvent, on connection: SQLiteConnection) throws {
    func text(_ value: String?) -> SQLiteValue { value.map { .text($0) } ?? .null }
    try connection.run(
      """
      INSERT INTO audit(time_ms, actor, act, zone, subject, detail, count)
      VALUES(?, ?, ?, ?, ?, ?, ?)
      """, .integer(event.timeMilliseconds), .text(event.actor), .text(event.act.rawValue),
      text(event.zone), text(event.subject), text(event.detail), .integer(Int64(event.count)))
  }

  /// Puts the lines of another database in the place of all that are here.
  static func replace(by events: [AuditEvent], on connection: SQLiteConnection) throws {
    try connection.execute("DELETE FROM audit")
    for event in events { try insert(event, on: connection) }
  }

  /// Lines of a time and later ones, oldest first. One of an act that a newer program notes is left out.
  static func events(
    since milliseconds: Int64, on connection: SQLiteConnection
  ) throws -> [AuditEvent] {
    let statement = try connection.prepare(
      """
      SELECT time_ms, actor, act, zone, subject, detail, count FROM audit
      WHERE time_ms >= ? ORDER BY id
      """)
    defer { statement.reset() }
    statement.bind(milliseconds, at: 1)
    var events: [AuditEvent] = []
    while try statement.step() {
      guard let act = AuditEvent.Act(rawValue: statement.string(2)) else { continue }
      func text(_ column: Int32) -> String? {
        statement.isNull(column) ? nil : statement.string(column)
      }
      events.append(
        AuditEvent(
          act, by: statement.string(1), zone: text(3), subject: text(4), detail: text(5),
          count: Int(clamping: statement.int64(6)), at: statement.int64(0)))
    }
    return events
  }
}

extension Administration {
  package func audit(since milliseconds: Int64) throws -> [AuditEvent] {
    try AuditLog.events(since: milliseconds, on: connection)
  }

  /// Notes what a command does, within its transaction.
  func note(
    _ act: AuditEvent.Act, zone: String? = nil, _ subject: String? = nil, _ detail: String? = nil
  ) throws {
    try AuditLog.add(
      AuditEvent(act, zone: zone, subject: subject, detail: detail, at: serverMilliseconds()),
      on: connection)
  }
}

extension SQLiteZoneStorage {
  package func audit(_ events: [AuditEvent]) async {
    do {
      try await writer.perform { connection in
        try connection.transaction(.immediate) {
          for event in events { try AuditLog.add(event, on: connection) }
        }
      }
    } catch {
      logger.warning(
        "what was done is not in the audit log", metadata: ["error": "\(error)"])
    }
  }
}
