import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Who this replica is and where it stands: the row of `ZDL_REPLICA`.
struct ReplicaState: Hashable, Sendable {
  var replica: UUID
  var incarnation: UInt32
  var generation: UUID
  /// The sequence number up to which the log is applied.
  var cursor: UInt64
  /// The number of the last push that the zone acknowledged.
  var pushNumber: UInt64
  /// The history transaction up to which everything is acknowledged.
  var acknowledged: Int64
  var server: String
  var zone: String
  var head: UInt64
  var lastSync: Date?
  var lastError: String?

  /// The state, or nil when the store is not enrolled.
  static func load(from connection: SQLiteConnection) throws -> ReplicaState? {
    guard try EngineTables.exist(on: connection) else { return nil }
    var state: ReplicaState?
    try connection.forEachRow(
      """
      SELECT replica, incarnation, generation, cursor, push_number, acknowledged, server, zone,
        head, last_sync, last_error FROM ZDL_REPLICA WHERE id = 1
      """
    ) { row in
      guard let replica = UUID(networkBytes: row.data(0)),
        let generation = UUID(networkBytes: row.data(2))
      else { throw SyncError.damaged("the replica") }
      state = ReplicaState(
        replica: replica, incarnation: UInt32(truncatingIfNeeded: row.int64(1)),
        generation: generation, cursor: UInt64(bitPattern: row.int64(3)),
        pushNumber: UInt64(bitPattern: row.int64(4)), acknowledged: row.int64(5),
        server: row.string(6), zone: row.string(7), head: UInt64(bitPattern: row.int64(8)),
        lastSync: row.isNull(9) ? nil : Date(timeIntervalSince1970: row.double(9)),
        lastError: row.isNull(10) ? nil : row.string(10))
    }
    return state
  }

  func save(on connection: SQLiteConnection) throws {
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_REPLICA VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .uuid(replica), .integer(Int64(incarnation)), .uuid(generation), .unsigned(cursor),
        .unsigned(pushNumber), .integer(acknowledged), .text(server), .text(zone), .unsigned(head),
        lastSync.map { .real($0.timeIntervalSince1970) } ?? .null, .optional(lastError),
      ])
  }

  /// Saves the state with what history must keep for it: everything after the acknowledged
  /// transaction.
  func save(in transaction: WriteTransaction) throws {
    try save(on: transaction.connection)
    try transaction.registerHistoryReader(Self.historyReader, through: acknowledged)
  }

  /// The engine's name among the readers of history.
  private static let historyReader = "driftless.sync"

  var position: Cursor { Cursor(generation: generation, sequence: cursor) }
}
