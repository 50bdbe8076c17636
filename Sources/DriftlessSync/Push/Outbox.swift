import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The change set in flight: saved before it is sent, sent byte for byte until the zone has
/// answered.
struct Outbox: Sendable {
  /// Keys that follow each other and are new to the zone, in the order of the change set's object
  /// table.
  struct Run: Hashable, Sendable {
    var entity: Int32
    var first: Int64
    var count: Int64
  }

  var pushNumber: UInt64
  /// History up to here is in it.
  var throughTransaction: Int64
  var objects: Int
  var properties: Int
  var runs: [Run]
  var frame: Data

  func isSame(as other: Outbox) -> Bool {
    pushNumber == other.pushNumber && frame == other.frame
  }

  /// An answer says which frame it is about.
  func isAnswered(by reply: PushReply) -> Bool {
    reply.pushNumber == pushNumber && reply.digest == ChangeSetHeader.storedDigest(of: frame)
  }

  static func load(from connection: SQLiteConnection) throws -> Outbox? {
    var outbox: Outbox?
    try connection.forEachRow(
      """
      SELECT push_number, through_transaction, objects, properties, runs, frame
      FROM ZDL_OUTBOX ORDER BY push_number LIMIT 1
      """
    ) { row in
      outbox = Outbox(
        pushNumber: UInt64(bitPattern: row.int64(0)), throughTransaction: row.int64(1),
        objects: Int(truncatingIfNeeded: row.int64(2)),
        properties: Int(truncatingIfNeeded: row.int64(3)), runs: try decode(row.data(4)),
        frame: row.data(5))
    }
    return outbox
  }

  func save(on connection: SQLiteConnection) throws {
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_OUTBOX VALUES (?, ?, ?, ?, ?, ?)",
      [
        .unsigned(pushNumber), .integer(throughTransaction), .integer(Int64(objects)),
        .integer(Int64(properties)), .blob(Self.encode(runs)), .blob(frame),
      ])
  }

  static func clear(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_OUTBOX")
    try connection.perform("DELETE FROM ZDL_OMITTED")
  }

  /// Each run as entity, first key, count: three little-endian 64-bit numbers.
  private static func encode(_ runs: [Run]) -> Data {
    var data = Data(capacity: runs.count * 24)
    for run in runs {
      for number in [Int64(run.entity), run.first, run.count] {
        withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
      }
    }
    return data
  }

  private static func decode(_ data: Data) throws -> [Run] {
    guard data.count % 24 == 0 else { throw SyncError.damaged("the change set in flight") }
    let numbers = data.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count, by: 8).map {
        Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: Int64.self))
      }
    }
    return stride(from: 0, to: numbers.count, by: 3).map {
      Run(
        entity: Int32(truncatingIfNeeded: numbers[$0]), first: numbers[$0 + 1],
        count: numbers[$0 + 2])
    }
  }
}
