import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The places of the zone's log that this replica can show: owns `ZDL_CHAIN`.
///
/// Recent entries are there one by one, older ones at distances that double, so that the last common
/// place with a server that was put back is found closely when it is near, and at all when it is far.
enum LogPlaces {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .place("sequence"), .bytes("chain", count: LogChain.size), .place("next_number"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_CHAIN(
      sequence INTEGER PRIMARY KEY, chain BLOB NOT NULL,
      next_number INTEGER NOT NULL\(RowRule.constraints(rules)))
    """

  /// Notes an entry of the log; one that cannot be read here is no place to go back to.
  static func note(_ entry: PullPage.Entry, on connection: SQLiteConnection) throws {
    guard let header = try? ChangeSetDecoder().decodeHeader(entry.frame) else { return }
    let next = entry.firstObjectNumber &+ UInt64(header.newObjectCount)
    try note(entry.mark, nextNumber: next, on: connection)
  }

  /// Notes a place of the log by itself.
  ///
  /// - Parameter nextNumber: what the first new object after it gets.
  static func note(
    _ place: LogMark, nextNumber: UInt64, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_CHAIN VALUES (?, ?, ?)",
      [.unsigned(place.sequence), .blob(place.chain.bytes), .unsigned(nextNumber)])
  }

  /// Every place up to a sequence number, the beginning of the log too.
  static func all(
    of generation: UUID, through sequence: UInt64, on connection: SQLiteConnection
  ) throws -> [LogMark] {
    var places = [Cursor.start(generation: generation).mark]
    try connection.forEachRow(
      "SELECT sequence, chain FROM ZDL_CHAIN WHERE sequence <= ? ORDER BY sequence",
      [.unsigned(sequence)]
    ) { row in
      guard let chain = LogChain(bytes: row.data(1)) else { return }
      places.append(LogMark(sequence: row.unsigned(0), chain: chain))
    }
    return places
  }

  /// Whether a place is this replica's own.
  static func has(_ place: LogMark, on connection: SQLiteConnection) throws -> Bool {
    try connection.number(
      "SELECT count(*) FROM ZDL_CHAIN WHERE sequence = ? AND chain = ?",
      [.unsigned(place.sequence), .blob(place.chain.bytes)]) != 0
  }

  /// The zone object number that the first new object after a place gets; nil when that is not known.
  static func nextNumber(
    after sequence: UInt64, on connection: SQLiteConnection
  ) throws -> UInt64? {
    guard sequence > 0 else { return 1 }
    var number: UInt64?
    try connection.forEachRow(
      "SELECT next_number FROM ZDL_CHAIN WHERE sequence = ?", [.unsigned(sequence)]
    ) { number = $0.unsigned(0) }
    return number
  }

  static func sequences(
    above sequence: UInt64, on connection: SQLiteConnection
  ) throws -> Set<UInt64> {
    var sequences: Set<UInt64> = []
    try connection.forEachRow(
      "SELECT sequence FROM ZDL_CHAIN WHERE sequence > ?", [.unsigned(sequence)]
    ) { sequences.insert($0.unsigned(0)) }
    return sequences
  }

  static func drop(above sequence: UInt64, on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_CHAIN WHERE sequence > ?", [.unsigned(sequence)])
  }

  static func dropAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_CHAIN")
  }

  /// Lets older places go, so that the table grows with the logarithm of the log.
  static func thin(on connection: SQLiteConnection) throws {
    let count = try connection.number("SELECT count(*) FROM ZDL_CHAIN")
    guard count > 4 * Int64(SyncTuning.densePlaces) else { return }
    let newest = try connection.number("SELECT max(sequence) FROM ZDL_CHAIN")
    var dropped: [Int64] = []
    try connection.forEachRow("SELECT sequence FROM ZDL_CHAIN") { row in
      let sequence = row.int64(0)
      if !isKept(sequence, newest: newest) { dropped.append(sequence) }
    }
    for sequence in dropped {
      try connection.perform("DELETE FROM ZDL_CHAIN WHERE sequence = ?", [.integer(sequence)])
    }
  }

  /// Of those that are 2^k times the dense stretch behind, every 2^k-th stays.
  static func isKept(_ sequence: Int64, newest: Int64) -> Bool {
    let stretches = (newest &- sequence) / Int64(SyncTuning.densePlaces)
    guard stretches > 0 else { return true }
    let step = Int64(1) << Int64(63 - stretches.leadingZeroBitCount)
    return sequence % (step * 2) == 0
  }
}
