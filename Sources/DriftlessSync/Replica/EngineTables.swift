import Driftless
import DriftlessProtocol
import DriftlessSQLite

/// The engine's own tables in the store. Each is written in the transaction of what it describes.
///
/// | table | holds |
/// |---|---|
/// | `ZDL_REPLICA` | one row: who this replica is, and where it stands in the zone's log |
/// | `ZDL_OUTBOX` | the change set in flight, byte for byte |
/// | `ZDL_DANGLING` | references whose target is deleted: null here, and back when the target comes back |
/// | `ZDL_ZONE` | what the zone says of what is pending, until the pull has reached its head |
/// | `ZDL_PENDING` | what an import left pending of an object, in place of the history before it |
/// | `ZDL_JOURNAL` | every settled conflict |
/// | `ZDL_QUARANTINE` | objects that the server refuses for good, with the reason |
/// | `ZDL_OMITTED` | what the change set in flight leaves out: it stays pending |
/// | `ZDL_IMPORT` | when the changes of imports were made, where they came from |
/// | `ZDL_PARKED_VALUE` | values of the zone that the model cannot hold |
/// | `ZDL_KEPT` | values that wait for a unique key which another object holds (`KeptKeys`) |
/// | `ZDL_ALIAS` | identities that went when two objects became one (`Unions`) |
/// | `ZDL_CHAIN` | places of the zone's log, with their chains: dense near the cursor, then thinner |
/// | `ZDL_FRAME` | entries of the log that were applied or sent, for a server that loses them |
/// | `ZDL_PARKED` | entries of the log that were not taken in, whole or in part, and why |
/// | `ZDL_DELETED` | deletes that the zone never heard of, of objects that may come (`RememberedDeletes`) |
/// | `ZDL_STRUCK` | what later entries set of what parked ones say |
enum EngineTables {
  /// Grows with each table or column that is added.
  static let version: Int64 = 6
  static let versionSetting = "sync.tables"

  /// Makes the tables, or brings those of an earlier version up to date.
  static func create(in transaction: WriteTransaction) throws {
    let connection = transaction.connection
    // An earlier form held whole change sets; what they hold is pending all the same.
    if try connection.number(
      "SELECT count(*) FROM pragma_table_info('ZDL_QUARANTINE') WHERE name = 'frame'") != 0
    {
      try connection.execute("DROP TABLE ZDL_QUARANTINE")
    }
    for statement in statements { try connection.execute(statement) }
    if try connection.number(
      "SELECT count(*) FROM pragma_table_info('ZDL_DANGLING') WHERE name = 'place'") == 0
    {
      try connection.execute("ALTER TABLE ZDL_DANGLING ADD COLUMN place INTEGER")
    }
    if try connection.number(
      "SELECT count(*) FROM pragma_table_info('ZDL_JOURNAL') WHERE name = 'decision'") == 0
    {
      for column in [
        "local_value BLOB", "remote_value BLOB", "row BLOB", "decision TEXT",
        "decided_at REAL",
      ] {
        try connection.execute("ALTER TABLE ZDL_JOURNAL ADD COLUMN \(column)")
      }
    }
    try transaction.setSetting(versionSetting, .integer(version))
  }

  /// Whether the store was enrolled by an earlier version, whose tables are others.
  static func needCreation(_ transaction: ReadTransaction) throws -> Bool {
    guard try exist(on: transaction.connection) else { return false }
    return try transaction.setting(versionSetting) != .integer(version)
  }

  static func exist(_ table: String = "ZDL_REPLICA", on connection: SQLiteConnection) throws -> Bool
  {
    try connection.number(
      "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?)", [.text(table)]) != 0
  }

  /// What each row of these tables keeps by itself, as the store's own do (`StoreDefinition`).
  static let replicaRules: [RowRule] = [
    RowRule("id = 1", "its id is not 1"), .identity("replica"), .identity("zone_id"),
    .identity("generation"), .natural("cursor"), .bytes("chain", count: LogChain.size),
    .natural("mark", orNull: true), .bytes("mark_chain", count: LogChain.size, orNull: true),
    RowRule("(mark IS NULL) = (mark_chain IS NULL)", "its mark has no chain"),
    .natural("push_number"), .text("server"), .text("zone"), .natural("head"),
    .seconds("last_sync", orNull: true), .text("last_error", orNull: true),
  ]
  static let placeRules: [RowRule] = [
    .place("sequence"), .bytes("chain", count: LogChain.size), .place("next_number"),
  ]
  static let frameRules: [RowRule] = [
    .place("sequence"), .place("first_number"), .bytes("chain", count: LogChain.size),
    .seconds("time"), .bytes("frame"),
  ]

  private static let statements = [
    """
    CREATE TABLE IF NOT EXISTS ZDL_REPLICA(
      id INTEGER PRIMARY KEY, replica BLOB NOT NULL, zone_id BLOB NOT NULL,
      generation BLOB NOT NULL, cursor INTEGER NOT NULL, chain BLOB NOT NULL, mark INTEGER, mark_chain BLOB,
      push_number INTEGER NOT NULL, acknowledged INTEGER NOT NULL, server TEXT NOT NULL,
      zone TEXT NOT NULL, head INTEGER NOT NULL, last_sync REAL,
      last_error TEXT\(RowRule.constraints(replicaRules)))
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_OUTBOX(
      push_number INTEGER PRIMARY KEY, through_transaction INTEGER NOT NULL,
      objects INTEGER NOT NULL, properties INTEGER NOT NULL, runs BLOB NOT NULL,
      frame BLOB NOT NULL)
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_DANGLING(
      target_root INTEGER NOT NULL, target_key INTEGER NOT NULL, entity INTEGER NOT NULL,
      key INTEGER NOT NULL, property TEXT NOT NULL, state INTEGER NOT NULL, place INTEGER,
      PRIMARY KEY (target_root, target_key, entity, key, property)) WITHOUT ROWID
    """,
    ZoneStates.statement, ParkedValues.statement,
    "CREATE INDEX IF NOT EXISTS ZDL_DANGLING_SOURCE ON ZDL_DANGLING(entity, key, property)",
    """
    CREATE TABLE IF NOT EXISTS ZDL_PENDING(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, transaction_number INTEGER NOT NULL,
      state BLOB NOT NULL, PRIMARY KEY (entity, key)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_JOURNAL(
      number INTEGER PRIMARY KEY AUTOINCREMENT, object BLOB NOT NULL, entity TEXT NOT NULL,
      property TEXT, policy TEXT NOT NULL, base TEXT, local TEXT, remote TEXT, kept TEXT,
      outcome TEXT NOT NULL, origin BLOB NOT NULL, local_time INTEGER NOT NULL,
      remote_time INTEGER NOT NULL, transaction_number INTEGER NOT NULL,
      sequence INTEGER NOT NULL, explanation TEXT NOT NULL)
    """,
    "CREATE INDEX IF NOT EXISTS ZDL_JOURNAL_OBJECT ON ZDL_JOURNAL(object, property)",
    """
    CREATE TABLE IF NOT EXISTS ZDL_QUARANTINE(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL,
      suggestion TEXT NOT NULL, bytes INTEGER NOT NULL, last_edit INTEGER NOT NULL,
      time REAL NOT NULL, PRIMARY KEY (entity, key)) WITHOUT ROWID
    """,
    "CREATE TABLE IF NOT EXISTS ZDL_IMPORT(first_change INTEGER PRIMARY KEY, time INTEGER NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS ZDL_OMITTED(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL,
      PRIMARY KEY (entity, key, property)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_CHAIN(
      sequence INTEGER PRIMARY KEY, chain BLOB NOT NULL,
      next_number INTEGER NOT NULL\(RowRule.constraints(placeRules)))
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_FRAME(
      sequence INTEGER PRIMARY KEY, first_number INTEGER NOT NULL, chain BLOB NOT NULL,
      time REAL NOT NULL, frame BLOB NOT NULL\(RowRule.constraints(frameRules)))
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_KEPT(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL, value BLOB NOT NULL,
      time INTEGER NOT NULL, origin BLOB NOT NULL, sequence INTEGER NOT NULL,
      PRIMARY KEY (entity, key, property)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_ALIAS(
      identity BLOB PRIMARY KEY, entity INTEGER NOT NULL, key INTEGER NOT NULL,
      former_key INTEGER NOT NULL, row BLOB, state BLOB) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS ZDL_ALIAS_OBJECT ON ZDL_ALIAS(entity, key)",
    Parking.entryStatement, Parking.struckStatement, RememberedDeletes.statement,
  ]
}
