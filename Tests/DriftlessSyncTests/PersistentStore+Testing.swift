import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import Testing

extension PersistentStore {
  /// As in a store that was restored from an old copy: the rows are there, the cursor is at the
  /// log's beginning.
  func forgetCursor() throws {
    _ = try write(TransactionInfo(kind: .imported)) { transaction in
      let generation = try #require(try SyncEngine.status(of: self).generation)
      try transaction.connection.run(
        "UPDATE ZDL_REPLICA SET cursor = 0, chain = ?, replica = randomblob(16)",
        .blob(LogChain.start(generation: generation).bytes))
    }
  }

  /// As in a store whose model lacked `unknown` when the entry came.
  func park(_ entry: PullPage.Entry, unknown: String) throws {
    _ = try write(TransactionInfo(kind: .imported)) { transaction in
      try transaction.connection.run(
        """
        INSERT INTO ZDL_PARKED VALUES (?, ?, NULL, 'unknown-names', '', NULL, 0, 1, ?, ?)
        """, .integer(Int64(entry.sequence)), .integer(Int64(entry.firstObjectNumber)),
        .text(unknown), .blob(entry.frame))
      try transaction.connection.run(
        "UPDATE ZDL_REPLICA SET cursor = ?, chain = ?", .integer(Int64(entry.sequence)),
        .blob(entry.chain.bytes))
      let header = try ChangeSetDecoder().decodeHeader(entry.frame)
      let next = Int64(entry.firstObjectNumber) + Int64(header.newObjectCount)
      try transaction.connection.run(
        "INSERT INTO ZDL_CHAIN VALUES (?, ?, ?)", .integer(Int64(entry.sequence)),
        .blob(entry.chain.bytes), .integer(next))
    }
  }
}
