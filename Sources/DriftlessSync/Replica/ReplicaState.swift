import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Who this replica is and where it stands: owns `ZDL_REPLICA`, and is its row.
struct ReplicaState: Hashable, Sendable {
  /// What the row keeps by itself.
  static let rules: [RowRule] = [
    RowRule("id = 1", "its id is not 1"), .identity("replica"), .identity("zone_id"),
    .identity("generation"), .natural("cursor"), .bytes("chain", count: LogChain.size),
    .natural("mark", orNull: true), .bytes("mark_chain", count: LogChain.size, orNull: true),
    RowRule("(mark IS NULL) = (mark_chain IS NULL)", "its mark has no chain"),
    .natural("push_number"), .text("server"), .text("zone"), .natural("head"),
    .seconds("last_sync", orNull: true), .text("last_error", orNull: true),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_REPLICA(
      id INTEGER PRIMARY KEY, replica BLOB NOT NULL, zone_id BLOB NOT NULL,
      generation BLOB NOT NULL, cursor INTEGER NOT NULL, chain BLOB NOT NULL, mark INTEGER, mark_chain BLOB,
      push_number INTEGER NOT NULL, acknowledged INTEGER NOT NULL, server TEXT NOT NULL,
      zone TEXT NOT NULL, head INTEGER NOT NULL, last_sync REAL,
      last_error TEXT\(RowRule.constraints(rules)))
    """

  /// Whether the store was ever enrolled.
  static func hasTable(on connection: SQLiteConnection) throws -> Bool {
    try EngineTables.has("ZDL_REPLICA", on: connection)
  }

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
    guard try hasTable(on: connection) else { return nil }
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

  /// The server and the zone of a store, whatever else of its record is damaged.
  static func home(from connection: SQLiteConnection) throws -> (server: String, zone: String)? {
    guard try hasTable(on: connection) else { return nil }
    var home: (server: String, zone: String)?
    try connection.forEachRow("SELECT server, zone FROM ZDL_REPLICA WHERE id = 1") {
      home = ($0.string(0), $0.string(1))
    }
    return home.flatMap { $0.server.isEmpty || $0.zone.isEmpty ? nil : $0 }
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

  /// The store is no replica until it is enrolled again.
  static func remove(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_REPLICA")
  }

  /// Saves the state with what history must keep for it: everything after the acknowledged
  /// transaction.
  func save(in transaction: WriteTransaction) throws {
    // A replica to which nothing happens writes nothing.
    if try Self.load(from: transaction.connection) != self {
      try save(on: transaction.connection)
    }
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

  /// Whether a frame may be anywhere that was sent under this ID.
  var mayHaveSent: Bool { pushNumber > 0 }

  /// A name that no other copy of the store has: its pushes are its own from here on.
  mutating func renewReplica() {
    replica = UUID()
    pushNumber = 0
  }
}
