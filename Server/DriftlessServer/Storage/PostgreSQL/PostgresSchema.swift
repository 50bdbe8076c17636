#if PostgreSQL
  import Foundation

  /// The tables of the server in PostgreSQL. Every key begins with the zone, but where a whole is looked up by a name of its
  /// own; what a table holds is said at SQLite's (`ServerSchema`), and here where it differs.
  ///
  /// `zone`          also `next_replica` and `next_name`: the small numbers that come next. One whose name begins with `/` was
  ///                 deleted, and rows of it are left (`PostgresLeavingZones`).
  /// `replica`       `id` is a number within the zone.
  /// `replica_home`  the zone of each replica: one that a zone has belongs to no other.
  /// `log`           one row a change set, with its header apart.
  /// `name`          small numbers within a zone for names of properties and for constraints of unique keys. Bytes, since a
  ///                 name may have a character that a text of PostgreSQL may not.
  /// `token`         also what SQLite has in `token_note`.
  /// `staged`        also the digests of a part, and `staging` the generation that its parts are of.
  /// `snapshot`, `segment`, `folding`  what zones' logs come to (`PostgresSnapshots`).
  /// `value`, `value_piece`, `value_use`, `value_lost`  large values (`PostgresLargeValues`): with version 2.
  /// `purge`, `purge_file`, `purged`, and the view `entry`  logs that were shortened (`PostgresPurgedLog`): likewise.
  /// `zone_number`   one row: the highest number that a zone has had (`PostgresZoneNumbers`).
  /// These, `sighting`, `operator_token`, `staged`, `staging`, `audit`, `enrolment_code`, `token_binding`, `zone_limit`, `zone_log`, `forgotten_replica`, `zone_number` and those three are made where they are missing, whatever the
  /// version.
  enum PostgresSchema {
    static let version: Int64 = 3
    /// The versions that `apply` brings to the present one. Programs of before refuse it from then on: they know no floor
    /// of a log, would leave large values behind, of zones that they delete or renew, and take what is left of a deleted zone for a
    /// damaged one.
    private static let readable: ClosedRange<Int64> = 1...version

    /// The parts of a push have one number.
    private static let logIndex =
      "CREATE UNIQUE INDEX IF NOT EXISTS log_push ON log(zone, replica, number, sequence)"

    private static let statements = [
      """
      CREATE TABLE driftless_version(id bigint PRIMARY KEY, version bigint NOT NULL)
      """,
      """
      CREATE TABLE zone(
        id bigint PRIMARY KEY, name text NOT NULL UNIQUE, uuid uuid NOT NULL,
        generation uuid NOT NULL, parent_generation uuid, parent_sequence bigint,
        parent_chain bytea, intent text NOT NULL, format_level bigint NOT NULL,
        head bigint NOT NULL, chain bytea NOT NULL, next_object bigint NOT NULL,
        newest_ms bigint NOT NULL, created_ms bigint NOT NULL, replacements bytea NOT NULL,
        next_replica bigint NOT NULL, next_name bigint NOT NULL) WITH (fillfactor = 50)
      """,
      """
      CREATE TABLE token(
        id text PRIMARY KEY, hash bytea NOT NULL, zone bigint NOT NULL, verbs bigint NOT NULL,
        created_ms bigint NOT NULL, revoked_ms bigint, name text, expires_ms bigint)
      """,
      """
      CREATE TABLE replica(
        zone bigint NOT NULL, uuid uuid NOT NULL, id bigint NOT NULL, last_push bigint NOT NULL,
        PRIMARY KEY(zone, uuid)) WITH (fillfactor = 80)
      """,
      """
      CREATE TABLE replica_home(uuid uuid PRIMARY KEY, zone bigint NOT NULL)
      """,
      """
      CREATE TABLE log(
        zone bigint NOT NULL, sequence bigint NOT NULL, replica bigint NOT NULL,
        number bigint NOT NULL, first_object bigint NOT NULL, new_objects bigint NOT NULL,
        received_ms bigint NOT NULL, digest bytea NOT NULL, chain bytea NOT NULL,
        names bytea NOT NULL, size bigint NOT NULL, header bytea NOT NULL, body bytea NOT NULL,
        PRIMARY KEY(zone, sequence))
      """,
      logIndex,
      "CREATE INDEX log_replica ON log(zone, replica, sequence)",
      """
      CREATE TABLE identity(
        zone bigint NOT NULL, first uuid NOT NULL, count bigint NOT NULL, number bigint NOT NULL,
        PRIMARY KEY(zone, first))
      """,
      """
      CREATE TABLE tombstone(
        zone bigint NOT NULL, identity uuid NOT NULL, sequence bigint NOT NULL,
        PRIMARY KEY(zone, identity))
      """,
      """
      CREATE TABLE object(
        zone bigint NOT NULL, number bigint NOT NULL, base bigint NOT NULL,
        deleted bigint NOT NULL, named bigint NOT NULL, named_by bigint NOT NULL,
        named_before bigint NOT NULL, properties bytea NOT NULL,
        PRIMARY KEY(zone, number)) WITH (fillfactor = 80)
      """,
      """
      CREATE TABLE claim(
        zone bigint NOT NULL, hash bytea NOT NULL, object bigint NOT NULL, rule bigint NOT NULL,
        PRIMARY KEY(zone, hash))
      """,
      "CREATE INDEX claim_object ON claim(zone, object)",
      """
      CREATE TABLE name(
        zone bigint NOT NULL, name bytea NOT NULL, id bigint NOT NULL, PRIMARY KEY(zone, name))
      """,
      "CREATE TABLE clock(id bigint PRIMARY KEY, given_ms bigint NOT NULL)",
      "INSERT INTO driftless_version VALUES(1, \(version))",
    ]

    /// Those that hold what a generation of a zone is: with the next one the zone has another number, and they leave.
    static let tablesOfLog = [
      "log", "object", "identity", "claim", "tombstone", "replica", "replica_home", "name",
      "sighting", "staging", "staged", "forgotten_replica", "value_use", "value_lost", "purge",
      "purge_file", "purged",
    ]

    /// Those that hold what a zone's log comes to.
    static let tablesOfSnapshot = ["folding", "snapshot", "segment"]

    /// Makes the tables in a new database; refuses one of another version.
    ///
    /// - Throws: `ServerError` (`.refusedStart`), `PostgresError`.
    static func apply(to connection: PostgresConnection) throws {
      if try isMade(connection) {
        try check(connection)
        try addLaterTables(to: connection)
        return try PostgresStagedParts.makeIndex(on: connection)
      }
      try connection.transaction(.write) {
        // Two nodes that are started at once: one makes them, the other finds them.
        try connection.run("SELECT pg_advisory_xact_lock(7301112)")
        guard try !isMade(connection) else { return }
        for statement in statements { try connection.execute(statement) }
        try keepAsItComes("log", "body", connection)
      }
      try check(connection)
      try addLaterTables(to: connection)
      try PostgresStagedParts.makeIndex(on: connection)
    }

    /// Has a column's values lie beside the rows as they are: they are compressed, and to try again costs time alone.
    /// Databases that know no such thing go without.
    static func keepAsItComes(
      _ table: String, _ column: String, _ connection: PostgresConnection
    ) throws {
      do {
        try connection.savepoint {
          try connection.execute(
            "ALTER TABLE \(table) ALTER COLUMN \(column) SET STORAGE EXTERNAL")
        }
      } catch let error as PostgresError where error.kind == .statement {
        // Such a database keeps them as it likes.
      }
    }

    static let laterTables = [
      "sighting", "operator_token", "staged", "staging", "audit", "folding", "snapshot", "segment",
      "enrolment_code", "token_binding", "zone_limit", "zone_log", "forgotten_replica", "value",
      "value_piece", "value_use", "value_lost", "purge", "purge_file", "purged", "zone_number",
    ]

    /// Those that a database of this version may not have yet: programs of before know nothing of them.
    private static func addLaterTables(to connection: PostgresConnection) throws {
      let there = try connection.run(
        """
        SELECT count(*) FROM information_schema.tables
        WHERE table_name IN (\(laterTables.map { "'\($0)'" }.joined(separator: ", ")))
          AND table_schema = ANY (current_schemas(false))
        """
      ).int64(0, 0)
      let isWhole =
        try there == laterTables.count && PostgresSightings.isWhole(connection)
        && number(on: connection) == version
      guard !isWhole else { return }
      try connection.patiently {
        try connection.transaction(.write) {
          try connection.run("SELECT pg_advisory_xact_lock(7301112)")
          try PostgresSightings.make(on: connection)
          try connection.execute(PostgresOperators.statement)
          try connection.execute(PostgresAudit.statement)
          try PostgresStagedParts.make(on: connection)
          try PostgresSnapshots.make(on: connection)
          try connection.execute(PostgresCodes.statement)
          try connection.execute(PostgresBindings.statement)
          for statement in PostgresBounds.statements { try connection.execute(statement) }
          try connection.execute(PostgresForgotten.statement)
          try PostgresLargeValues.make(on: connection)
          try PostgresPurgedLog.make(on: connection)
          try PostgresZoneNumbers.make(on: connection)
          // A newer program's stays.
          try connection.run(
            "UPDATE driftless_version SET version = $1 WHERE id = 1 AND version < $1",
            .integer(version))
          guard try !hasLogIndex(connection) else { return }
          // An index of a log takes as long as that is; a push that has read it would wait for this, and this for the push.
          try connection.execute("LOCK TABLE log IN ACCESS EXCLUSIVE MODE")
          try connection.execute(logIndex)
          try connection.execute("DROP INDEX IF EXISTS log_number")
        }
      }
    }

    /// Whether the log has the index of this version, and no former one: then nobody has to wait for it.
    private static func hasLogIndex(_ connection: PostgresConnection) throws -> Bool {
      let rows = try connection.run(
        """
        SELECT indexname FROM pg_indexes WHERE tablename = 'log'
          AND schemaname = ANY (current_schemas(false))
        """)
      let names = Set((0..<rows.count).map { rows.text($0, 0) })
      return names.contains("log_push") && !names.contains("log_number")
    }

    /// Whether the tables are there.
    ///
    /// - Throws: `ServerError` (`.refusedStart`) for those of another version.
    static func isKnown(to connection: PostgresConnection) throws -> Bool {
      guard try isMade(connection) else { return false }
      try check(connection)
      return true
    }

    private static func isMade(_ connection: PostgresConnection) throws -> Bool {
      // A table that is read: who looks a name up alone may remember, from before it waited, that there is none.
      try connection.run(
        """
        SELECT EXISTS (SELECT 1 FROM information_schema.tables
        WHERE table_name = 'driftless_version' AND table_schema = ANY (current_schemas(false)))
        """
      ).bool(0, 0)
    }

    private static func check(_ connection: PostgresConnection) throws {
      if let other = try otherVersion(connection) { throw other }
    }

    /// Why this program does not serve the database's tables; nil where it does.
    static func otherVersion(_ connection: PostgresConnection) throws -> ServerError? {
      let number = try number(on: connection)
      guard !readable.contains(number) else { return nil }
      return ServerError(
        .refusedStart,
        "the database's tables have version \(number); this program reads versions up to \(version)",
        suggestion: "Use the program that wrote them, or a newer one.")
    }

    /// Until the transaction ends nobody else is in one that has asked for this, at whatever node: for sums over all zones. It
    /// takes a row that each database has and that none but a new version writes. Who calls asks for no zone's row after it.
    static func hold(_ connection: PostgresConnection) throws {
      try connection.run("SELECT version FROM driftless_version WHERE id = 1 FOR UPDATE")
    }

    private static func number(on connection: PostgresConnection) throws -> Int64 {
      let found = try connection.run("SELECT version FROM driftless_version WHERE id = 1")
      return found.count > 0 ? found.int64(0, 0) : 0
    }
  }
#endif
