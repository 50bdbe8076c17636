import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Large values that somebody asked for and that have not come yet: whichever engine has the store's sync lock goes on with them.
/// Owns `ZDL_WANTED`.
enum WantedValues {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [.bytes("digest", count: LargeValue.digestSize)]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_WANTED(
      digest BLOB PRIMARY KEY\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  /// There while something keeps what is wanted from coming: what, as JSON.
  static let failureSetting = "sync.values.failure"

  /// - Returns: those that nobody asked for before.
  @discardableResult
  static func add(
    _ values: some Sequence<LargeValue>, on connection: SQLiteConnection
  ) throws -> [LargeValue] {
    let known = try digests(on: connection)
    let new = values.filter { !known.contains($0.digest) }
    for value in new {
      try connection.perform("INSERT OR IGNORE INTO ZDL_WANTED VALUES (?)", [.blob(value.digest)])
    }
    return new
  }

  static func remove(_ values: some Sequence<LargeValue>, on connection: SQLiteConnection) throws {
    for value in values {
      try connection.perform("DELETE FROM ZDL_WANTED WHERE digest = ?", [.blob(value.digest)])
    }
  }

  static func remove(_ digest: Data, on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_WANTED WHERE digest = ?", [.blob(digest)])
  }

  static func digests(on connection: SQLiteConnection) throws -> Set<Data> {
    guard try EngineTables.has("ZDL_WANTED", on: connection) else { return [] }
    var digests: Set<Data> = []
    try connection.forEachRow("SELECT digest FROM ZDL_WANTED") { digests.insert($0.data(0)) }
    return digests
  }

  /// What other processes have noted for the one that syncs the store.
  struct Notes: Equatable {
    private var wanted: Set<Data> = []
    private var letGo: SQLiteValue?

    init() {}

    init(_ transaction: ReadTransaction) throws {
      wanted = try WantedValues.digests(on: transaction.connection)
      letGo = try transaction.setting(LetGoRequest.setting)
    }

    func asksForMore(than other: Notes) -> Bool {
      !wanted.subtracting(other.wanted).isEmpty || letGo != nil && letGo != other.letGo
    }
  }

  static func forgetAll(on connection: SQLiteConnection) throws {
    guard try EngineTables.has("ZDL_WANTED", on: connection) else { return }
    try connection.perform("DELETE FROM ZDL_WANTED")
  }
}
