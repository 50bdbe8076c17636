import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Files of the zone's snapshot on their way into a replica, a piece at a time: a download that breaks off goes on where
/// it was. Owns `ZDL_SEGMENT`, which is empty once the replica has what the files say.
enum SegmentPieces {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [.text("name"), .natural("first"), .bytes("bytes")]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_SEGMENT(
      name TEXT NOT NULL, first INTEGER NOT NULL, bytes BLOB NOT NULL,
      PRIMARY KEY (name, first)\(RowRule.constraints(rules)))
    """

  /// How much of a file is there. Bytes.
  static func size(of name: String, on connection: SQLiteConnection) throws -> Int {
    Int(
      clamping: try connection.number(
        "SELECT coalesce(sum(length(bytes)), 0) FROM ZDL_SEGMENT WHERE name = ?", [.text(name)]))
  }

  static func add(
    _ piece: Data, at first: Int, of name: String, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_SEGMENT VALUES (?, ?, ?)",
      [.text(name), .integer(Int64(first)), .blob(piece)])
  }

  /// A file's bytes, as far as they are there.
  static func bytes(of name: String, on connection: SQLiteConnection) throws -> Data {
    var bytes = Data()
    try connection.forEachRow(
      "SELECT bytes FROM ZDL_SEGMENT WHERE name = ? ORDER BY first", [.text(name)]
    ) { bytes.append($0.data(0)) }
    return bytes
  }

  /// Whether there is anything.
  static func exist(on connection: SQLiteConnection) throws -> Bool {
    try connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_SEGMENT)") != 0
  }

  /// Lets go of files of other snapshots.
  static func drop(but names: Set<String>, on connection: SQLiteConnection) throws {
    var others: [String] = []
    try connection.forEachRow("SELECT DISTINCT name FROM ZDL_SEGMENT") { row in
      if !names.contains(row.string(0)) { others.append(row.string(0)) }
    }
    for name in others {
      try connection.perform("DELETE FROM ZDL_SEGMENT WHERE name = ?", [.text(name)])
    }
  }

  static func dropAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_SEGMENT")
  }
}
