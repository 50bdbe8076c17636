import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Who this replica is and where it stands: the row of `ZDL_REPLICA`.
struct ReplicaState: Hashable, Sendable {
  var replica: UUID
  /// The zone's own identity, which its generations share.
  var zoneID: UUID
  var generation: UUID
  /// The sequence number up to which the log is applied.
  var cursor: UInt64
  /// The log's chain at the cursor.
  var chain: LogChain
  /// The highest entry of this replica's own that the zone acknowledged.
  var mark: LogMark?
  /// The last push number that was taken: each is for one frame, sent or not.
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
      SELECT replica, zone_id, generation, cursor, chain, mark, mark_chain, push_number, acknowledged,
        server, zone, head, last_sync, last_error FROM ZDL_REPLICA WHERE id = 1
      """
    ) { row in
      guard let replica = UUID(networkBytes: row.data(0)),
        let zoneID = UUID(networkBytes: row.data(1)),
        let generation = UUID(networkBytes: row.data(2)),
        let chain = LogChain(bytes: row.data(4))
      else { throw SyncError.damaged("the replica") }
      let mark = LogChain(bytes: row.data(6)).map {
        LogMark(sequence: row.unsigned(5), chain: $0)
      }
      state = ReplicaState(
        replica: replica, zoneID: zoneID, generation: generation,
        cursor: row.unsigned(3), chain: chain, mark: mark,
        pushNumber: row.unsigned(7), acknowledged: row.int64(8),
        server: row.string(9), zone: row.string(10), head: row.unsigned(11),
        lastSync: row.isNull(12) ? nil : Date(timeIntervalSince1970: row.double(12)),
        lastError: row.isNull(13) ? nil : row.string(13))
    }
    return state
  }

  func save(on connection: SQLiteConnection) throws {
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_REPLICA VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .uuid(replica), .uuid(zoneID), .uuid(generation), .unsigned(cursor), .blob(chain.bytes),
        mark.map { .unsigned($0.sequence) } ?? .null, mark.map { .blob($0.chain.bytes) } ?? .null,
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
  static let historyReader = "driftless.sync"

  var position: Cursor { Cursor(generation: generation, sequence: cursor, chain: chain) }

  /// Moves the cursor to a place of the log.
  mutating func move(to place: LogMark) {
    cursor = place.sequence
    chain = place.chain
  }

  /// A name that no other copy of the store has: its pushes are its own from here on.
  mutating func renewReplica() {
    replica = UUID()
    pushNumber = 0
  }
}
