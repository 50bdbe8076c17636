import DriftlessSQLite

#if canImport(Glibc)
  import Glibc
#endif

/// The database `driftless.sqlite` of a server's data folder.
///
/// `zone`        one row a zone: its UUID, generation with parent and intent, format level, last
///               sequence number and chain, next free object number, newest time of a transaction,
///               and the generations that replaced what was there: 16 bytes each, newest last. One whose name begins with
///               `/` was deleted, and rows of it are left (`LeavingZones`).
/// `token`       one row a token: SHA-256 of the secret, zone, verbs, when revoked.
/// `replica`     one row a replica: its zone, number of its last push.
/// `forgotten_replica`  one row a replica that an operator had forgotten and that has not pushed since (`ForgottenReplicas`).
/// `log`         one row a change set. `position` = zone << 40 | sequence, so that a range of the
///               log is a range of row IDs. `names`: what its transactions drew, 8 bytes each. The
///               frame lies in two pieces, so that its header can be read alone.
/// `identity`    one row a run of identities inserted together: from an identity to its object
///               number.
/// `tombstone`   one row an identity that was deleted before the zone heard of it: the entry that
///               says so.
/// `object`      one row an object that was touched or named after its insert. `position` = zone
///               << 40 | number.
///               `base`: sequence number that set the whole row, 0 = its insert; `deleted`:
///               sequence number of its delete, 0 = alive; `properties`: `PropertySequences` set
///               after `base`; `named`: the last entry whose table names it, `named_by`: the
///               replica that made that entry, `named_before`: the last one by another replica.
/// `claim`       one row a unique key that a living object holds: its hash, the object's number,
///               and the constraint.
/// `key_rule`    constraints of unique keys: a JSON list of the entity and its properties.
/// `property`    names of properties, so that the index holds small numbers. `zone_property`: one row a name that a zone has, so that
///               each zone's can be counted.
/// `clock`       one row: the last time that the server gave. Programs of before know nothing of it, nor of the next ones.
/// `token_note`  one row a token that has a name or an end.
/// `token_binding`  one row a token that one replica may use: which, once it has (`TokenBindings`).
/// `sighting`    one row a replica: when it was last seen, its cursor, the ID of its token, and after which
///               place it asked then.
/// `staged`      one row a part of a push whose last one has not come; `staging` one row a replica that has such: when the last
///               of them came. `staged_head`: of each part its header and the hash of its body, which are asked for without its bytes
///               (`StagedHeads`).
/// `value`       one row a large value of a zone, or one replica's upload of it: its digest, length, how much of it is here,
///               the replica (empty once it is whole), the token that it came with, and until when it stays though nothing
///               names it. `value_piece`: its bytes. `value_use`: which entries of the log name it, and 0 for the snapshot that stands for
///               those that were purged. `value_lost`: values that are named and not there (`LargeValues`).
/// `zone_limit`  one row a bound of a zone beside the server's, and one that its log was put back; `zone_log`: how many bytes the log of a zone has that is bounded so
///               (`ZoneBounds`).
/// `zone_number` one row: the highest number that a zone has had (`ZoneNumbers`).
/// `audit`       one row a line of the record of who did what (`AuditLog`).
/// `operator_token`  one row an operator's token: SHA-256 of the secret, its name, when it ends, when revoked.
/// `enrolment_code`  one row a code for one use: SHA-256 of its text, what its token is to be, when it ends, and which token was made.
/// `purge`       one row a zone whose log was shortened: up to where, and which files its snapshot has; `purge_file`: those files;
///               `purged`: of each entry that went what `log` has beside its change set. The view `entry` is `log` and `purged`.
enum ServerSchema {
  static let version: Int64 = 6
  /// The versions that `apply` brings to the present one.
  static let readable: ClosedRange<Int64> = 2...version

  private static let tombstone = """
    CREATE TABLE tombstone(
      zone INTEGER NOT NULL, identity BLOB NOT NULL, sequence INTEGER NOT NULL,
      PRIMARY KEY(zone, identity)) WITHOUT ROWID
    """

  /// The parts of a push have one number.
  private static let logIndex =
    "CREATE UNIQUE INDEX IF NOT EXISTS log_push ON log(replica, number, position)"

  static let statements = [
    """
    CREATE TABLE zone(
      id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, uuid BLOB NOT NULL,
      generation BLOB NOT NULL, parent_generation BLOB, parent_sequence INTEGER,
      parent_chain BLOB, intent TEXT NOT NULL, format_level INTEGER NOT NULL,
      head INTEGER NOT NULL, chain BLOB NOT NULL, next_object INTEGER NOT NULL,
      newest_ms INTEGER NOT NULL, created_ms INTEGER NOT NULL,
      replacements BLOB NOT NULL DEFAULT x'')
    """,
    """
    CREATE TABLE token(
      id TEXT PRIMARY KEY, hash BLOB NOT NULL, zone INTEGER NOT NULL REFERENCES zone(id),
      verbs INTEGER NOT NULL, created_ms INTEGER NOT NULL, revoked_ms INTEGER) WITHOUT ROWID
    """,
    """
    CREATE TABLE replica(
      id INTEGER PRIMARY KEY, zone INTEGER NOT NULL REFERENCES zone(id), uuid BLOB NOT NULL UNIQUE,
      last_push INTEGER NOT NULL)
    """,
    """
    CREATE TABLE log(
      position INTEGER PRIMARY KEY, replica INTEGER NOT NULL, number INTEGER NOT NULL,
      first_object INTEGER NOT NULL, new_objects INTEGER NOT NULL, received_ms INTEGER NOT NULL,
      digest BLOB NOT NULL, chain BLOB NOT NULL, names BLOB NOT NULL, size INTEGER NOT NULL,
      header BLOB NOT NULL, body BLOB NOT NULL)
    """,
    logIndex,
    """
    CREATE TABLE identity(
      zone INTEGER NOT NULL, first BLOB NOT NULL, count INTEGER NOT NULL, number INTEGER NOT NULL,
      PRIMARY KEY(zone, first)) WITHOUT ROWID
    """,
    tombstone,
    """
    CREATE TABLE object(
      position INTEGER PRIMARY KEY, base INTEGER NOT NULL, deleted INTEGER NOT NULL,
      properties BLOB NOT NULL, named INTEGER NOT NULL, named_by INTEGER NOT NULL,
      named_before INTEGER NOT NULL)
    """,
    """
    CREATE TABLE claim(
      zone INTEGER NOT NULL, hash BLOB NOT NULL, object INTEGER NOT NULL, rule INTEGER NOT NULL,
      PRIMARY KEY(zone, hash)) WITHOUT ROWID
    """,
    "CREATE INDEX claim_object ON claim(zone, object)",
    "CREATE TABLE key_rule(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE property(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "PRAGMA user_version = \(version)",
  ]

  private static let tables =
    [
      "zone", "token", "replica", "log", "identity", "tombstone", "object", "claim", "key_rule",
      "property",
    ] + laterTables
  /// Those that a file of this version may not have yet.
  static let laterTables = [
    "clock", "token_note", "token_binding", "sighting", "operator_token", "staged", "staging",
    "audit",
    "enrolment_code", "purge", "purge_file", "purged", "value", "value_piece", "value_use",
    "value_lost", "zone_property", "zone_limit", "zone_log", "forgotten_replica", "zone_number",
    "staged_head",
  ]

  /// Tables that a database does not have, as far as it may not be without them.
  static func missingTables(_ connection: SQLiteConnection) throws -> [String] {
    let there = try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    return tables.filter { !laterTables.contains($0) && !there.contains([.text($0)]) }
  }

  /// Reads a row of every table, so that a file which is damaged where each begins is noticed at the start. To read all of
  /// it would take as long as the log is.
  ///
  /// - Throws: `SQLiteError`.
  static func look(at connection: SQLiteConnection) throws {
    for table in tables {
      do {
        _ = try connection.integer("SELECT count(*) FROM (SELECT 1 FROM \(table) LIMIT 1)")
      } catch let error as SQLiteError where error.primaryCode == SQLiteError.generic {
        throw SQLiteError.corrupt(error.message)  // The table is not there.
      }
    }
  }

  static func otherVersion(_ other: Int64) -> ServerError {
    ServerError(
      .otherVersion, "the data folder has version \(other); this program reads version \(version)",
      suggestion: "Use the program that wrote it, or a newer one.")
  }

  /// Looks whether a file is a server's database, or nothing yet, before anything of it is changed.
  ///
  /// - Throws: `ServerError` (`.noData`), `SQLiteError`.
  static func checkIsOwn(_ path: String) throws {
    guard access(path, F_OK) == 0 else { return }
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    defer { connection.close() }
    try checkIsOwn(connection)
  }

  /// - Throws: `ServerError` (`.noData`) where other tables are there, and none of a server's.
  static func checkIsOwn(_ connection: SQLiteConnection) throws {
    let there = try connection.rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*' ORDER BY name"
    ).compactMap { if case .text(let name) = $0[0] { name } else { nil } }
    let isNew = try connection.integer("PRAGMA user_version") ?? 0 == 0
    guard let other = there.first(where: { !tables.contains($0) }),
      isNew || !there.contains(where: tables.contains)
    else { return }
    let isStore = there.contains { $0.hasPrefix("ZDL_") }
    throw ServerError(
      .noData,
      "\(connection.path) is no server's database: it is "
        + (isStore ? "a replica's store" : "another program's, with a table \(other)"),
      suggestion:
        "It was not changed. Name another folder with --data, or move the file to where it belongs."
    )
  }

  /// Creates the tables in a new file; refuses a file of another version, and one that is no server's.
  static func apply(to connection: SQLiteConnection) throws {
    try connection.transaction(.immediate) {
      try checkIsOwn(connection)
      switch try connection.integer("PRAGMA user_version") ?? 0 {
      case 0: for statement in statements { try connection.execute(statement) }
      case version: break
      case 2:
        try connection.execute(tombstone)
        try addReplacements(to: connection)
      case 3: try addReplacements(to: connection)
      // A program of before knows no floor, or takes what is left of a deleted zone for a damaged one.
      case 4, 5: try connection.execute("PRAGMA user_version = \(version)")
      case 1:
        throw ServerError(
          .otherVersion, "the data folder is of version 1, whose logs have no chains",
          suggestion: "Start on a new folder: replicas that enrol again bring what they hold.")
      case let other: throw otherVersion(other)
      }
      // Programs of before open a file that has it.
      for statement in [
        GivenTimes.statement, TokenNotes.statement, TokenBindings.statement, Sightings.statement,
        OperatorTokens.statement, StagedParts.statement, StagedHeads.statement, AuditLog.statement,
        EnrolmentCodes.statement,
        PurgedLog.statement, LargeValues.statement, PropertyNames.statement,
        ZoneBounds.statement, ZoneBounds.forgetting,
        ForgottenReplicas.statement, ForgottenReplicas.cleaning, ZoneNumbers.statement,
        "DROP INDEX IF EXISTS log_replica", logIndex,
        // A program of before deletes zones, and knows nothing of these.
        "DELETE FROM zone_property WHERE zone NOT IN (SELECT id FROM zone)",
        TokenBindings.forgetting,
      ] {
        try connection.execute(statement)
      }
      try Sightings.bringUpToDate(connection)
    }
  }
}

extension ServerSchema {
  /// Of a zone that was replaced by an earlier program the present generation alone is known.
  private static func addReplacements(to connection: SQLiteConnection) throws {
    try connection.execute(
      """
      ALTER TABLE zone ADD COLUMN replacements BLOB NOT NULL DEFAULT x'';
      UPDATE zone SET replacements = generation WHERE intent = 'replace';
      PRAGMA user_version = \(version)
      """)
  }
}

extension SQLiteConnection {
  /// The first column of the first row, as an integer.
  func integer(_ sql: String) throws -> Int64? {
    let statement = try prepare(sql)
    defer { statement.reset() }
    return try statement.step() ? statement.int64(0) : nil
  }
}
