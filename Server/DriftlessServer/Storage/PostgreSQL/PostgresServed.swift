#if PostgreSQL
  import Foundation
  import Logging
  import Synchronization

  /// Whether a database is still one that this program serves. A newer program that is started brings its tables to its own
  /// version while this one runs: from then on this one neither reads nor writes them.
  final class PostgresServed: Sendable {
    private let refusal = Mutex<ServerError?>(nil)
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// - Throws: `ServerError` (`.busy`) where the tables are another version's.
    func check() throws {
      if let refusal = refusal.withLock({ $0 }) { throw refusal }
    }

    /// Looks which version the tables have.
    ///
    /// - Throws: `PostgresError`.
    func look(_ connection: PostgresConnection) throws {
      let refusal = try PostgresSchema.otherVersion(connection).map {
        ServerError(.busy, $0.message, suggestion: $0.suggestion)
      }
      let isNew = self.refusal.withLock { former in
        defer { former = refusal }
        return (former == nil) != (refusal == nil)
      }
      guard isNew else { return }
      if let refusal {
        logger.error("the node serves no more", metadata: ["error": "\(refusal)"])
      } else {
        logger.notice("the node serves again")
      }
    }

    // MARK: - Rights

    /// What a node does with tables, those apart that are read, written and emptied. Of a log it takes the rows of deleted zones away.
    private static let rights: [(table: String, verbs: [String])] =
      [
        ("driftless_version", ["SELECT", "UPDATE"]), ("log", ["SELECT", "INSERT", "DELETE"]),
        ("audit", ["SELECT", "INSERT"]),
      ]
      + ([
        "zone", "token", "replica", "replica_home", "identity", "tombstone", "object", "claim",
        "name", "clock",
      ] + PostgresSchema.laterTables).filter { $0 != "audit" }
      .map { ($0, ["SELECT", "INSERT", "UPDATE", "DELETE"]) }

    /// Whether the database's user may do all that pushes need.
    ///
    /// - Parameter needsAll: whether all tables are there; else those that are not are made at a start.
    /// - Throws: `ServerError` (`.refusedStart`) with a table where he may not; `PostgresError`.
    static func checkRights(_ connection: PostgresConnection, needsAll: Bool = true) throws {
      let needed = rights.flatMap { table, verbs in verbs.map { (table, $0) } }
      let rows: PostgresRows
      do {
        rows = try connection.run(
          """
          SELECT need.place, need.verb FROM unnest($1::text[], $2::text[]) AS need(place, verb)
          WHERE NOT coalesce(has_table_privilege(to_regclass(need.place)::oid, need.verb), $3::bigint = 0)
          LIMIT 1
          """, .texts(needed.map(\.0)), .texts(needed.map(\.1)), .integer(needsAll ? 1 : 0))
      } catch let error as PostgresError where error.sqlState == "42883" {
        // Such a database does not tell.
        return
      }
      guard rows.count > 0 else { return }
      throw ServerError(
        .refusedStart,
        "the database's user has no right to \(rows.text(0, 1)) on the table \(rows.text(0, 0))",
        suggestion:
          "Give the user of --postgres the table (ALTER TABLE \(rows.text(0, 0)) OWNER TO …), as "
          + "pushes need it.")
    }
  }
#endif
