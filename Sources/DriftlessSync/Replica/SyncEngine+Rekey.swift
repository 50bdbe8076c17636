public import Driftless
import DriftlessSQLite

extension SyncEngine {
  /// Makes a copied store a store of its own: it gets a new identifier, and it is no replica until it is enrolled again.
  ///
  /// Two files with one replica would answer for each other's pushes, so that edits of one are lost. Objects keep their
  /// identities, and what was pending stays to be offered: enrolled with the same zone, the store merges with it.
  /// - Parameters:
  ///   - store: the copy.
  ///   - leavingValues: whether large values that the zone has and the copy has not may stay behind. Their objects say that they are
  ///     missing, until the copy is enrolled with the zone itself.
  /// - Returns: The new identifier; the store shows it when it is opened again.
  /// - Throws: `StoreError`, with `syncLocked` while a process syncs the store; `SyncError` (`valuesInZone`) while there are such values.
  public static func rekey(store: PersistentStore, leavingValues: Bool = false) throws -> String {
    let lock = try store.acquireSyncLock()
    defer { withExtendedLifetime(lock) {} }
    let schema = SyncSchema(store.schema)
    return try store.rekey { transaction in
      guard try EngineTables.exist(on: transaction.connection) else { return }
      if !leavingValues {
        try requireNoValuesInZone(
          transaction, schema, of: store,
          suggestion:
            "Fetch them in the store that this is a copy of (syncctl values download), and copy that. "
            + "To leave them there: syncctl store rekey --leave-values \(store.label.shellWord)")
      }
      try EngineTables.create(in: transaction)
      try LeftZone.keep(in: transaction, schema: schema) {
        try EngineTables.leaveZone(in: transaction)
      }
      try noteValuesLeft(transaction, of: store)
    }
  }
}
