#if PostgreSQL
  import Foundation
  import Logging

  /// Owns the table `audit`, as `AuditLog` does in a data folder.
  enum PostgresAudit {
    static let statement = """
      CREATE TABLE IF NOT EXISTS audit(
        id bigserial PRIMARY KEY, time_ms bigint NOT NULL, actor text NOT NULL, act text NOT NULL,
        zone text, subject text, detail text, count bigint NOT NULL)
      """

    /// Adds a line within the transaction of what it tells.
    static func add(_ event: AuditEvent, on connection: PostgresConnection) throws {
      try insert(event, on: connection)
      // A few at a time: a clock that leaps ahead for a moment forgets no year.
      try connection.run(
        """
        DELETE FROM audit WHERE id IN (
          SELECT id FROM (SELECT id, time_ms FROM audit ORDER BY id LIMIT \(AuditBounds.lookedAt)) AS oldest
          WHERE time_ms < $1 LIMIT \(AuditBounds.forgottenAtOnce))
        """, .integer(AuditBounds.oldest(at: event.timeMilliseconds)))
      let (kind, most) = AuditBounds.kind(of: event.act)
      // Of fewer numbers there are fewer lines: there is nothing to count.
      let numbers = try connection.run(
        "SELECT (SELECT max(id) FROM audit) - (SELECT min(id) FROM audit)")
      guard numbers.int64(0, 0) >= most else { return }
      try connection.run(
        """
        DELETE FROM audit WHERE \(kind) AND id <= (
          SELECT id FROM audit WHERE \(kind) ORDER BY id DESC LIMIT 1 OFFSET $1)
        """, .integer(most))
    }

    static func insert(_ event: AuditEvent, on connection: PostgresConnection) throws {
      // A text of PostgreSQL has no null character.
      func text(_ value: String?) -> PostgresValue {
        value.map { .text($0.replacingOccurrences(of: "\0", with: "")) } ?? .null
      }
      try connection.run(
        """
        INSERT INTO audit(time_ms, actor, act, zone, subject, detail, count)
        VALUES($1, $2, $3, $4, $5, $6, $7)
        """, .integer(event.timeMilliseconds), text(event.actor), .text(event.act.rawValue),
        text(event.zone), text(event.subject), text(event.detail),
        .integer(Int64(event.count)))
    }

    static func events(
      since milliseconds: Int64, on connection: PostgresConnection
    ) throws -> [AuditEvent] {
      let rows = try connection.run(
        """
        SELECT time_ms, actor, act, zone, subject, detail, count FROM audit
        WHERE time_ms >= $1 ORDER BY id
        """, .integer(milliseconds))
      return (0..<rows.count).compactMap { row in
        guard let act = AuditEvent.Act(rawValue: rows.text(row, 2)) else { return nil }
        func text(_ column: Int) -> String? {
          rows.isNull(row, column) ? nil : rows.text(row, column)
        }
        return AuditEvent(
          act, by: rows.text(row, 1), zone: text(3), subject: text(4), detail: text(5),
          count: Int(clamping: rows.int64(row, 6)), at: rows.int64(row, 0))
      }
    }
  }

  extension PostgresAdministration {
    package func audit(since milliseconds: Int64) throws -> [AuditEvent] {
      try told { try PostgresAudit.events(since: milliseconds, on: connection) }
    }

    /// Notes what a command does, within its transaction.
    func note(
      _ act: AuditEvent.Act, zone: String? = nil, _ subject: String? = nil,
      _ detail: String? = nil
    ) throws {
      let now = max(Administration.hostMilliseconds, try PostgresTimes.last(connection))
      try PostgresAudit.add(
        AuditEvent(act, zone: zone, subject: subject, detail: detail, at: now), on: connection)
    }
  }

  extension PostgresZoneStorage {
    package func audit(_ events: [AuditEvent]) async {
      do {
        try await pool.perform { connection in
          try connection.transaction(.write) {
            for event in events { try PostgresAudit.add(event, on: connection) }
          }
        }
      } catch {
        logger.warning(
          "what was done is not in the audit log", metadata: ["error": "\(error)"])
      }
    }
  }
#endif
