import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The entries of the log that this replica applied or sent, byte for byte, for as long as an
/// operator keeps backups: owns `ZDL_FRAME`. A server that was put back gets from here what it lost.
enum KeptFrames {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .place("sequence"), .place("first_number"), .bytes("chain", count: LogChain.size),
    .seconds("time"), .bytes("frame"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_FRAME(
      sequence INTEGER PRIMARY KEY, first_number INTEGER NOT NULL, chain BLOB NOT NULL,
      time REAL NOT NULL, frame BLOB NOT NULL\(RowRule.constraints(rules)))
    """

  static func keep(
    _ entry: PullPage.Entry, _ transaction: WriteTransaction
  ) throws {
    guard !entry.isOwnHeaderOnly else { return }
    try transaction.connection.run(
      "INSERT OR REPLACE INTO ZDL_FRAME VALUES (?, ?, ?, ?, ?)",
      [
        .unsigned(entry.sequence), .unsigned(entry.firstObjectNumber), .blob(entry.chain.bytes),
        .real(try SeenTime.seconds(transaction)),
      ], lending: entry.frame)
  }

  /// The entries that follow a place without a gap.
  ///
  /// - Parameter bytesMax: one comes even when it is larger.
  static func entries(
    after sequence: UInt64, bytesMax: Int, on connection: SQLiteConnection
  ) throws -> [PullPage.Entry] {
    var entries: [PullPage.Entry] = []
    var bytes = 0
    while bytes < bytesMax,
      let entry = try entry(at: sequence &+ UInt64(entries.count) &+ 1, on: connection)
    {
      bytes += entry.frame.count
      if bytes > bytesMax, !entries.isEmpty { break }
      entries.append(entry)
    }
    return entries
  }

  /// Hands over every entry above a place, in order, one at a time.
  static func forEach(
    after sequence: UInt64, on connection: SQLiteConnection,
    _ body: (PullPage.Entry) throws -> Void
  ) throws {
    var last = sequence
    while true {
      let next = try connection.number(
        "SELECT coalesce(min(sequence), 0) FROM ZDL_FRAME WHERE sequence > ?", [.unsigned(last)])
      guard next > 0, let entry = try entry(at: UInt64(next), on: connection) else { return }
      try body(entry)
      last = entry.sequence
    }
  }

  /// Hands over the entries up to a place, the last one first, until `body` has what it looks for.
  static func forEach(
    downFrom sequence: UInt64, on connection: SQLiteConnection,
    _ body: (PullPage.Entry) throws -> Bool
  ) throws {
    var last = sequence
    while true {
      let next = try connection.number(
        "SELECT coalesce(max(sequence), 0) FROM ZDL_FRAME WHERE sequence <= ?", [.unsigned(last)])
      guard next > 0, let entry = try entry(at: UInt64(next), on: connection),
        try body(entry)
      else { return }
      last = entry.sequence &- 1
    }
  }

  /// Whether every entry above a place and up to another is here.
  static func cover(
    after first: UInt64, through last: UInt64, on connection: SQLiteConnection
  ) throws -> Bool {
    let count = try connection.number(
      "SELECT count(*) FROM ZDL_FRAME WHERE sequence > ? AND sequence <= ?",
      [.unsigned(first), .unsigned(last)])
    return UInt64(count) == last &- first
  }

  /// The first entry that is kept; nil for none.
  static func oldest(on connection: SQLiteConnection) throws -> UInt64? {
    let oldest = try connection.number("SELECT coalesce(min(sequence), 0) FROM ZDL_FRAME")
    return oldest > 0 ? UInt64(oldest) : nil
  }

  private static func entry(
    at sequence: UInt64, on connection: SQLiteConnection
  ) throws -> PullPage.Entry? {
    var entry: PullPage.Entry?
    try connection.forEachRow(
      "SELECT first_number, chain, frame FROM ZDL_FRAME WHERE sequence = ?", [.unsigned(sequence)]
    ) { row in
      guard let chain = LogChain(bytes: row.data(1)) else { return }
      entry = PullPage.Entry(
        sequence: sequence, firstObjectNumber: row.unsigned(0), chain: chain,
        isOwnHeaderOnly: false, frame: row.data(2))
    }
    return entry
  }

  static func drop(above sequence: UInt64, on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_FRAME WHERE sequence > ?", [.unsigned(sequence)])
  }

  static func dropAll(on connection: SQLiteConnection) throws {
    try connection.leavingPages { try connection.perform("DELETE FROM ZDL_FRAME") }
  }

  /// Lets go of entries that are older than backups are, and of the oldest beyond the bound.
  static func trim(
    _ options: SyncOptions, _ dates: SeenTime.Dates, on connection: SQLiteConnection
  ) throws {
    try connection.leavingPages {
      try dates.trim("ZDL_FRAME", by: "time", after: options.keptFrameSeconds, on: connection)
      try trim(to: options.keptFrameBytesMax, on: connection)
    }
  }

  /// What they take.
  static func bytes(on connection: SQLiteConnection) throws -> Int {
    Int(
      clamping: try connection.number("SELECT coalesce(sum(length(frame)), 0) FROM ZDL_FRAME"))
  }

  /// Lets go of the oldest beyond so many bytes.
  static func trim(to bytesMax: Int, on connection: SQLiteConnection) throws {
    var bytes = Int64(try Self.bytes(on: connection))
    while bytes > Int64(bytesMax) {
      let oldest = try connection.number("SELECT min(sequence) FROM ZDL_FRAME")
      bytes -= try connection.number(
        "SELECT length(frame) FROM ZDL_FRAME WHERE sequence = ?", [.integer(oldest)])
      try connection.perform("DELETE FROM ZDL_FRAME WHERE sequence = ?", [.integer(oldest)])
    }
  }
}
