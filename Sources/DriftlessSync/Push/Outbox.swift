import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The change set in flight: saved before it is sent, sent byte for byte until the zone has
/// answered. Owns `ZDL_OUTBOX`, and is its row. Of a push in several parts it is the last one; the others are in
/// `ZDL_OUTBOX_PART` (`OutboxPart`).
struct Outbox: Sendable {
  /// What the row keeps by itself.
  static let rules: [RowRule] = [
    .place("push_number"), .natural("objects"), .natural("properties"), .bytes("runs"),
    .bytes("frame"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_OUTBOX(
      push_number INTEGER PRIMARY KEY, through_transaction INTEGER NOT NULL,
      objects INTEGER NOT NULL, properties INTEGER NOT NULL, runs BLOB NOT NULL,
      frame BLOB NOT NULL\(RowRule.constraints(rules)))
    """

  var pushNumber: UInt64
  /// History up to here is in it.
  var throughTransaction: Int64
  var objects: Int
  var properties: Int
  /// The objects that are new to the zone, in the order of the change set's object table.
  var runs: [KeyRun]
  var frame: Data
  /// Parts of the push that go before it.
  var earlierParts: UInt16 = 0
  /// Bytes of all parts.
  var bytes = 0

  /// Whether it is still what the store has in flight.
  func isStored(on connection: SQLiteConnection) throws -> Bool {
    // The digest stands in the header, and is of all that follows: the frame need not be read again.
    try connection.number(
      """
      SELECT EXISTS (SELECT 1 FROM ZDL_OUTBOX WHERE push_number = ? AND length(frame) = ?
      AND substr(frame, 1, ?) = ?)
      """,
      [
        .unsigned(pushNumber), .integer(Int64(frame.count)), .integer(Int64(ChangeSetHeader.size)),
        .blob(frame.prefix(ChangeSetHeader.size)),
      ]) != 0
  }

  static func exists(on connection: SQLiteConnection) throws -> Bool {
    try connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_OUTBOX)") != 0
  }

  /// An answer says which frame it is about.
  func isAnswered(by reply: PushReply) -> Bool {
    // Places and object numbers count from 1, and are kept in 64 bits with a sign.
    let numbers = 1...UInt64(Int64.max)
    return numbers.contains(reply.sequence) && numbers.contains(reply.firstObjectNumber)
      && reply.pushNumber == pushNumber
      && reply.digest == ChangeSetHeader.storedDigest(of: frame)
  }

  /// Nil also where it is damaged: no server took that, and it goes with the log.
  static func loadUndamaged(from connection: SQLiteConnection) throws -> Outbox? {
    do { return try load(from: connection) } catch let error as SyncError
      where error.code == .damagedState
    {
      return nil
    }
  }

  static func load(from connection: SQLiteConnection) throws -> Outbox? {
    var outbox: Outbox?
    try connection.forEachRow(
      """
      SELECT push_number, through_transaction, objects, properties, runs, frame
      FROM ZDL_OUTBOX ORDER BY push_number LIMIT 1
      """
    ) { row in
      // Whoever reads the runs goes through their keys one by one.
      guard let runs = [KeyRun](bytes: row.data(4)), runs.areWithin(Self.newObjectsMax) else {
        throw SyncError.damaged("the change set in flight")
      }
      outbox = Outbox(
        pushNumber: row.unsigned(0), throughTransaction: row.int64(1), objects: row.count(2),
        properties: row.count(3), runs: runs, frame: row.data(5))
    }
    guard var outbox else { return nil }
    let (count, bytes) = try OutboxPart.extent(on: connection)
    outbox.earlierParts = count
    outbox.bytes = bytes + outbox.frame.count
    // A frame that is damaged itself is found where it is read.
    let parts = (try? ChangeSetDecoder().decodeHeader(outbox.frame))?.parts ?? count + 1
    guard outbox.namesItsObjects, parts == count + 1 else {
      throw SyncError.damaged("the change set in flight")
    }
    return outbox
  }

  /// Whether the runs have as many objects as the frame: with others, its edits would be taken for those of its neighbours.
  ///
  /// A frame that is damaged itself is found where it is read.
  var namesItsObjects: Bool {
    guard let header = try? ChangeSetDecoder().decodeHeader(frame) else { return true }
    return runs.reduce(0) { $0 + $1.count } == Int64(header.newObjectCount)
  }

  func save(on connection: SQLiteConnection) throws {
    try connection.run(
      "INSERT OR REPLACE INTO ZDL_OUTBOX VALUES (?, ?, ?, ?, ?, ?)",
      [
        .unsigned(pushNumber), .integer(throughTransaction), .integer(Int64(objects)),
        .integer(Int64(properties)), .blob(runs.bytes),
      ], lending: frame)
  }

  /// As many as a change set can have.
  static let newObjectsMax = Int64(ChangeSetLimits().objectsMax)

  /// Forgets it, and what it left out.
  static func clear(on connection: SQLiteConnection) throws {
    try connection.leavingPages { try connection.perform("DELETE FROM ZDL_OUTBOX") }
    try OutboxPart.removeAll(on: connection)
    try OmittedParts.removeAll(on: connection)
  }
}
