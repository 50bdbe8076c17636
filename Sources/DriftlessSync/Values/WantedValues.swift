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

  static func add(_ values: some Sequence<LargeValue>, on connection: SQLiteConnection) throws {
    for value in values {
      try connection.perform("INSERT OR IGNORE INTO ZDL_WANTED VALUES (?)", [.blob(value.digest)])
    }
  }

  static func remove(_ values: some Sequence<LargeValue>, on connection: SQLiteConnection) throws {
    for value in values {
      try connection.perform("DELETE FROM ZDL_WANTED WHERE digest = ?", [.blob(value.digest)])
    }
  }

  static func digests(on connection: SQLiteConnection) throws -> Set<Data> {
    guard try EngineTables.has("ZDL_WANTED", on: connection) else { return [] }
    var digests: Set<Data> = []
    try connection.forEachRow("SELECT digest FROM ZDL_WANTED") { digests.insert($0.data(0)) }
    return digests
  }

  static func forgetAll(on connection: SQLiteConnection) throws {
    guard try EngineTables.has("ZDL_WANTED", on: connection) else { return }
    try connection.perform("DELETE FROM ZDL_WANTED")
  }
}
