public import Driftless
import DriftlessSQLite

extension SyncEngine {
  /// Makes a copied store a store of its own: it gets a new identifier, and it is no replica until it is enrolled again.
  ///
  /// Two files with one replica would answer for each other's pushes, so that edits of one are lost. Objects keep their
  /// identities, and what was pending stays to be offered: enrolled with the same zone, the store merges with it.
  /// - Returns: The new identifier; the store shows it when it is opened again.
  /// - Throws: `StoreError`, with `syncLocked` while a process syncs the store.
  public static func rekey(store: PersistentStore) throws -> String {
    let lock = try store.acquireSyncLock()
    defer { withExtendedLifetime(lock) {} }
    let schema = SyncSchema(store.schema)
    return try store.rekey { transaction in
      guard try EngineTables.exist(on: transaction.connection) else { return }
      try EngineTables.create(in: transaction)
      try LeftZone.keep(in: transaction, schema: schema) {
        try EngineTables.leaveZone(in: transaction)
      }
      try noteLeftValues(transaction, at: store.now)
    }
  }
}
