import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// A part of the push in flight that others follow. Owns `ZDL_OUTBOX_PART`, and is a row of it.
struct OutboxPart: Sendable {
  /// Whether the server has it.
  enum Standing: Int64, Sendable {
    /// It was not sent.
    case here = 0
    /// The server said that it keeps it.
    case staged = 1
    /// The server may have its bytes, of a push that was stale: its header asks for that.
    case asked = 2
  }

  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .place("part"), .integer("standing", 0...2), .bytes("runs"), .bytes("frame"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_OUTBOX_PART(
      part INTEGER PRIMARY KEY, standing INTEGER NOT NULL, runs BLOB NOT NULL,
      frame BLOB NOT NULL\(RowRule.constraints(rules)))
    """

  var number: UInt16
  var standing: Standing
  var runs: [KeyRun]
  var frame: Data

  func save(on connection: SQLiteConnection) throws {
    try connection.run(
      "INSERT OR REPLACE INTO ZDL_OUTBOX_PART VALUES (?, ?, ?, ?)",
      [.integer(Int64(number)), .integer(standing.rawValue), .blob(runs.bytes)], lending: frame)
  }

  static func load(_ number: UInt16, from connection: SQLiteConnection) throws -> OutboxPart {
    var part: OutboxPart?
    try connection.forEachRow(
      "SELECT standing, runs, frame FROM ZDL_OUTBOX_PART WHERE part = ?", [.integer(Int64(number))]
    ) { row in
      part = OutboxPart(
        number: number, standing: Standing(rawValue: row.int64(0)) ?? .here,
        runs: try runs(row.data(1)), frame: row.data(2))
    }
    guard let part else { throw SyncError.damaged("the change set in flight") }
    return part
  }

  /// The new objects of a part, without its frame.
  static func runs(_ number: UInt16, from connection: SQLiteConnection) throws -> [KeyRun] {
    var found: [KeyRun]?
    try connection.forEachRow(
      "SELECT runs FROM ZDL_OUTBOX_PART WHERE part = ?", [.integer(Int64(number))]
    ) { found = try runs($0.data(0)) }
    guard let found else { throw SyncError.damaged("the change set in flight") }
    return found
  }

  private static func runs(_ bytes: Data) throws -> [KeyRun] {
    guard let runs = [KeyRun](bytes: bytes), runs.areWithin(Outbox.newObjectsMax) else {
      throw SyncError.damaged("the change set in flight")
    }
    return runs
  }

  static func set(
    _ standing: Standing, of number: UInt16, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "UPDATE ZDL_OUTBOX_PART SET standing = ? WHERE part = ?",
      [.integer(standing.rawValue), .integer(Int64(number))])
  }

  /// The server does not have all that it was sent.
  static func askForAll(on connection: SQLiteConnection) throws {
    try connection.perform(
      "UPDATE ZDL_OUTBOX_PART SET standing = ?", [.integer(Standing.asked.rawValue)])
  }

  static func standing(
    of number: UInt16, on connection: SQLiteConnection
  ) throws -> Standing {
    Standing(
      rawValue: try connection.number(
        "SELECT coalesce(max(standing), 0) FROM ZDL_OUTBOX_PART WHERE part = ?",
        [.integer(Int64(number))])) ?? .here
  }

  /// How many there are, and their bytes.
  static func extent(on connection: SQLiteConnection) throws -> (UInt16, bytes: Int) {
    (
      UInt16(clamping: try connection.number("SELECT count(*) FROM ZDL_OUTBOX_PART")),
      Int(
        clamping: try connection.number(
          "SELECT coalesce(sum(length(frame)), 0) FROM ZDL_OUTBOX_PART"))
    )
  }

  /// Of the largest one.
  static func bytesMax(on connection: SQLiteConnection) throws -> Int {
    Int(
      clamping: try connection.number(
        "SELECT coalesce(max(length(frame)), 0) FROM ZDL_OUTBOX_PART"))
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.leavingPages { try connection.perform("DELETE FROM ZDL_OUTBOX_PART") }
  }
}

extension Outbox {
  /// Hands over every part of the push as a change set in flight of its own, in order, the last one too, with the objects that
  /// the parts before it make. One is in memory at a time.
  func forEachPart(
    on connection: SQLiteConnection, _ body: (Outbox, _ madeBefore: [KeyRun]) throws -> Void
  ) throws {
    var made: [KeyRun] = []
    for number in 0..<earlierParts {
      let part = try OutboxPart.load(number + 1, from: connection)
      let outbox = Outbox(
        pushNumber: pushNumber, throughTransaction: throughTransaction, objects: 0, properties: 0,
        runs: part.runs, frame: part.frame)
      guard outbox.namesItsObjects else { throw SyncError.damaged("the change set in flight") }
      try body(outbox, made)
      made += part.runs
    }
    try body(self, made)
  }

  /// The number of the push's first new object, by that of the last part's.
  func firstNumber(
    byLast number: UInt64, on connection: SQLiteConnection
  ) throws -> UInt64? {
    guard earlierParts > 0 else { return number }
    var made: UInt64 = 0
    for part in 1...earlierParts {
      for run in try OutboxPart.runs(part, from: connection) {
        made += UInt64(clamping: run.count)
      }
    }
    return number > made ? number - made : nil
  }

  /// The objects that are new to the zone, of all parts.
  func allRuns(on connection: SQLiteConnection) throws -> [KeyRun] {
    var all: [KeyRun] = []
    try forEachPart(on: connection) { part, _ in all += part.runs }
    return all
  }
}
