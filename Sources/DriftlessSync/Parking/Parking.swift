import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Change sets with parts that this model does not know (`ZDL_PARKED`): kept until a newer model
/// does.
struct Parking {
  struct Entry {
    var sequence: UInt64
    var firstNumber: UInt64
    /// Names of entities ("Entity") and properties ("Entity.property").
    var unknown: Set<String>
    var frame: Data
  }

  static func park(
    _ entry: PullPage.Entry, _ unknown: Set<String>, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_PARKED VALUES (?, ?, ?, ?)",
      [
        .unsigned(entry.sequence), .unsigned(entry.firstObjectNumber), .text(text(unknown)),
        .blob(entry.frame),
      ])
  }

  /// What is parked, in the order of the log. Few models are behind: the list is short, and empty
  /// as a rule.
  static func entries(on connection: SQLiteConnection) throws -> [Entry] {
    var entries: [Entry] = []
    try connection.forEachRow(
      "SELECT sequence, first_number, unknown, frame FROM ZDL_PARKED ORDER BY sequence"
    ) { row in
      entries.append(
        Entry(
          sequence: UInt64(bitPattern: row.int64(0)), firstNumber: UInt64(bitPattern: row.int64(1)),
          unknown: Set(row.string(2).split(separator: "\n").map(String.init)), frame: row.data(3)))
    }
    return entries
  }

  /// Names that are known by now are parked no more.
  static func forget(
    _ names: Set<String>, of entry: Entry, on connection: SQLiteConnection
  ) throws {
    let rest = entry.unknown.subtracting(names)
    if rest.isEmpty {
      try connection.perform(
        "DELETE FROM ZDL_PARKED WHERE sequence = ?", [.unsigned(entry.sequence)])
    } else {
      try connection.perform(
        "UPDATE ZDL_PARKED SET unknown = ? WHERE sequence = ?",
        [.text(text(rest)), .unsigned(entry.sequence)])
    }
  }

  static func count(on connection: SQLiteConnection) throws -> Int {
    Int(truncatingIfNeeded: try connection.number("SELECT count(*) FROM ZDL_PARKED"))
  }

  private static func text(_ names: Set<String>) -> String {
    names.sorted().joined(separator: "\n")
  }
}
