import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Entries of a push in several parts that were pulled, until its last one is here: then all are applied in one transaction.
/// They follow the cursor without a gap. Owns `ZDL_STAGED`.
enum StagedEntries {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .place("sequence"), .place("first_number"), .bytes("chain", count: LogChain.size),
    .integer("is_header", 0...1), .bytes("frame"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_STAGED(
      sequence INTEGER PRIMARY KEY, first_number INTEGER NOT NULL, chain BLOB NOT NULL,
      is_header INTEGER NOT NULL, frame BLOB NOT NULL\(RowRule.constraints(rules)))
    """

  static func add(_ entry: PullPage.Entry, on connection: SQLiteConnection) throws {
    try connection.run(
      "INSERT OR REPLACE INTO ZDL_STAGED VALUES (?, ?, ?, ?, ?)",
      [
        .unsigned(entry.sequence), .unsigned(entry.firstObjectNumber), .blob(entry.chain.bytes),
        .integer(entry.isOwnHeaderOnly ? 1 : 0),
      ], lending: entry.frame)
  }

  static func exist(on connection: SQLiteConnection) throws -> Bool {
    try connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_STAGED)") != 0
  }

  /// The first and the last of them; nil where there are none.
  static func bounds(
    on connection: SQLiteConnection
  ) throws -> (first: UInt64, last: UInt64)? {
    // One by one: of both at once SQLite looks through all of them.
    let first = try connection.number("SELECT coalesce(min(sequence), 0) FROM ZDL_STAGED")
    let last = try connection.number("SELECT coalesce(max(sequence), 0) FROM ZDL_STAGED")
    guard first > 0, last >= first else { return nil }
    return (UInt64(first), UInt64(last))
  }

  /// The place of one of them.
  static func mark(at sequence: UInt64, on connection: SQLiteConnection) throws -> LogMark? {
    var mark: LogMark?
    try connection.forEachRow(
      "SELECT chain FROM ZDL_STAGED WHERE sequence = ?", [.unsigned(sequence)]
    ) { row in
      mark = LogChain(bytes: row.data(0)).map { LogMark(sequence: sequence, chain: $0) }
    }
    return mark
  }

  /// Where there are some, in their order.
  static func sequences(
    after sequence: UInt64 = 0, on connection: SQLiteConnection
  ) throws -> [UInt64] {
    var sequences: [UInt64] = []
    try connection.forEachRow(
      "SELECT sequence FROM ZDL_STAGED WHERE sequence > ? ORDER BY sequence", [.unsigned(sequence)]
    ) { sequences.append($0.unsigned(0)) }
    return sequences
  }

  static func entry(
    at sequence: UInt64, on connection: SQLiteConnection
  ) throws -> PullPage.Entry? {
    try read(at: sequence, frame: "frame", on: connection)
  }

  private static func read(
    at sequence: UInt64, frame: String, on connection: SQLiteConnection
  ) throws -> PullPage.Entry? {
    var entry: PullPage.Entry?
    try connection.forEachRow(
      "SELECT first_number, chain, is_header, \(frame) FROM ZDL_STAGED WHERE sequence = ?",
      [.unsigned(sequence)]
    ) { row in
      guard let chain = LogChain(bytes: row.data(1)) else { return }
      entry = PullPage.Entry(
        sequence: sequence, firstObjectNumber: row.unsigned(0), chain: chain,
        isOwnHeaderOnly: row.int64(2) != 0, frame: row.data(3))
    }
    return entry
  }

  /// An entry with the header alone of its frame, which says where it stands: frames are megabytes, and many may wait.
  static func entryWithHeader(
    at sequence: UInt64, on connection: SQLiteConnection
  ) throws -> PullPage.Entry? {
    try read(at: sequence, frame: "substr(frame, 1, \(ChangeSetHeader.size))", on: connection)
  }

  /// Up to where they go on from a place; nil where they do not follow it: then they are of another log, and nothing.
  static func end(after place: LogMark, on connection: SQLiteConnection) throws -> LogMark? {
    guard try exist(on: connection) else { return nil }
    var end = place
    while let entry = try entryWithHeader(at: end.sequence &+ 1, on: connection) {
      guard entry.follows(end) else { return nil }
      end = entry.mark
    }
    return try end != place && last(on: connection) == end ? end : nil
  }

  /// The place of the last of them.
  static func last(on connection: SQLiteConnection) throws -> LogMark? {
    guard let bounds = try bounds(on: connection) else { return nil }
    return try mark(at: bounds.last, on: connection)
  }

  static func remove(_ sequence: UInt64, on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_STAGED WHERE sequence = ?", [.unsigned(sequence)])
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_STAGED")
  }
}
