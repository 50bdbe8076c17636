import DriftlessSQLite

/// The engine's own tables in the store. Each is written in the transaction of what it describes.
///
/// | table | holds |
/// |---|---|
/// | `ZDL_REPLICA` | one row: who this replica is, and where it stands in the zone's log |
/// | `ZDL_OUTBOX` | the change set in flight, byte for byte |
/// | `ZDL_DANGLING` | references whose target is deleted: null here, and back when the target comes back |
/// | `ZDL_PENDING` | what an import left pending of an object, in place of the history before it |
/// | `ZDL_JOURNAL` | every settled conflict |
/// | `ZDL_QUARANTINE` | change sets that were refused for good, with the reason |
/// | `ZDL_PARKED` | change sets with parts that the model does not know, kept until it does |
enum EngineTables {
  static func create(on connection: SQLiteConnection) throws {
    for statement in statements { try connection.execute(statement) }
  }

  static func exist(on connection: SQLiteConnection) throws -> Bool {
    var isThere = false
    try connection.forEachRow("SELECT 1 FROM sqlite_master WHERE name = 'ZDL_REPLICA'") { _ in
      isThere = true
    }
    return isThere
  }

  private static let statements = [
    """
    CREATE TABLE IF NOT EXISTS ZDL_REPLICA(
      id INTEGER PRIMARY KEY CHECK (id = 1), replica BLOB NOT NULL, incarnation INTEGER NOT NULL,
      generation BLOB NOT NULL, cursor INTEGER NOT NULL, push_number INTEGER NOT NULL,
      acknowledged INTEGER NOT NULL, server TEXT NOT NULL, zone TEXT NOT NULL,
      head INTEGER NOT NULL, last_sync REAL, last_error TEXT)
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
      key INTEGER NOT NULL, property TEXT NOT NULL,
      PRIMARY KEY (target_root, target_key, entity, key, property)) WITHOUT ROWID
    """,
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
      number INTEGER PRIMARY KEY AUTOINCREMENT, push_number INTEGER NOT NULL,
      through_transaction INTEGER NOT NULL, reason TEXT NOT NULL, time REAL NOT NULL,
      frame BLOB NOT NULL)
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_PARKED(
      sequence INTEGER PRIMARY KEY, first_number INTEGER NOT NULL, unknown TEXT NOT NULL,
      frame BLOB NOT NULL)
    """,
  ]
}
