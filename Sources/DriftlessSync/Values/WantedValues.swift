import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Large values that somebody asked for and that have not come yet: whichever engine has the store's sync lock goes on with them.
/// Owns `ZDL_WANTED`.
enum WantedValues {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .bytes("digest", count: LargeValue.digestSize), .natural("others"),
    .integer("again", 0...1),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_WANTED(
      digest BLOB PRIMARY KEY, others INTEGER NOT NULL DEFAULT 0,
      again INTEGER NOT NULL DEFAULT 1\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  /// There while something keeps what is wanted from coming: what, as JSON.
  static let failureSetting = "sync.values.failure"
  /// How often somebody asked for large values.
  static let askedSetting = "sync.values.asked"

  /// Adds the columns that a table of an earlier version lacks.
  static func complete(on connection: SQLiteConnection) throws {
    for (column, usual) in [("others", 0), ("again", 1)]
    where try !EngineTables.has(column: column, of: "ZDL_WANTED", on: connection) {
      try connection.execute(
        "ALTER TABLE ZDL_WANTED ADD COLUMN \(column) INTEGER NOT NULL DEFAULT \(usual)")
    }
  }

  /// Somebody asks for values: what was asked for in vain is tried again. How many do is counted.
  static func ask(
    _ values: some Sequence<LargeValue>, in transaction: WriteTransaction
  ) throws {
    for value in values {
      try transaction.connection.perform(
        """
        INSERT INTO ZDL_WANTED (digest) VALUES (?)
        ON CONFLICT (digest) DO UPDATE SET others = min(others, 9223372036854775806) + 1, again = 1
        """, [.blob(value.digest)])
    }
    try noteAsked(transaction)
  }

  /// Who asked for values asks for them still, whatever has become of the note.
  static func askStill(_ values: [LargeValue], in transaction: WriteTransaction) throws {
    for value in values {
      try transaction.connection.perform(
        "INSERT OR IGNORE INTO ZDL_WANTED (digest) VALUES (?)", [.blob(value.digest)])
    }
    try noteAsked(transaction)
  }

  /// Who syncs the store hears of it.
  private static func noteAsked(_ transaction: WriteTransaction) throws {
    var count: Int64 = 0
    if case .integer(let before)? = try transaction.setting(askedSetting) { count = before }
    try transaction.setSetting(askedSetting, .integer(count < .max ? max(0, count) + 1 : 1))
  }

  /// One who asked for values asks no more: what others ask for is wanted still.
  static func takeBack(_ values: [LargeValue], on connection: SQLiteConnection) throws {
    for value in values {
      try connection.perform(
        "DELETE FROM ZDL_WANTED WHERE digest = ? AND others = 0", [.blob(value.digest)])
      try connection.perform(
        "UPDATE ZDL_WANTED SET others = others - 1 WHERE digest = ? AND others > 0",
        [.blob(value.digest)])
    }
  }

  /// They were tried since somebody asked for them.
  static func noteTried(_ values: [LargeValue], on connection: SQLiteConnection) throws {
    for value in values {
      try connection.perform(
        "UPDATE ZDL_WANTED SET again = 0 WHERE digest = ?", [.blob(value.digest)])
    }
  }

  static func remove(_ values: some Sequence<LargeValue>, on connection: SQLiteConnection) throws {
    for value in values { try remove(value.digest, on: connection) }
  }

  static func remove(_ digest: Data, on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_WANTED WHERE digest = ?", [.blob(digest)])
  }

  static func contains(_ digest: Data, on connection: SQLiteConnection) throws -> Bool {
    guard try EngineTables.has("ZDL_WANTED", on: connection) else { return false }
    return try connection.number(
      "SELECT EXISTS (SELECT 1 FROM ZDL_WANTED WHERE digest = ?)", [.blob(digest)]) != 0
  }

  /// Whether somebody asked for a value since it was tried last.
  static func isAskedAgain(_ digest: Data, on connection: SQLiteConnection) throws -> Bool {
    try connection.number(
      "SELECT EXISTS (SELECT 1 FROM ZDL_WANTED WHERE digest = ? AND again = 1)", [.blob(digest)])
      != 0
  }

  static func count(on connection: SQLiteConnection) throws -> Int {
    Int(clamping: try connection.number("SELECT count(*) FROM ZDL_WANTED"))
  }

  static func digests(on connection: SQLiteConnection) throws -> Set<Data> {
    guard try EngineTables.has("ZDL_WANTED", on: connection) else { return [] }
    var digests: Set<Data> = []
    try connection.forEachRow("SELECT digest FROM ZDL_WANTED") { digests.insert($0.data(0)) }
    return digests
  }

  /// What other processes have noted for the one that syncs the store.
  struct Notes: Equatable {
    private var asked: SQLiteValue?
    private var letGo: SQLiteValue?

    init() {}

    init(_ transaction: ReadTransaction) throws {
      asked = try transaction.setting(WantedValues.askedSetting)
      letGo = try transaction.setting(LetGoRequest.setting)
    }

    func asksForMore(than other: Notes) -> Bool {
      asked != nil && asked != other.asked || letGo != nil && letGo != other.letGo
    }
  }

  static func forgetAll(on connection: SQLiteConnection) throws {
    guard try EngineTables.has("ZDL_WANTED", on: connection) else { return }
    try connection.perform("DELETE FROM ZDL_WANTED")
  }
}
