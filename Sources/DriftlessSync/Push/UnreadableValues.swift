import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Logging

/// Objects of a window have edits whose values cannot be read in this store: what is shown in their place is nobody's edit, and no
/// other replica may get it.
struct UnreadableValues: Error {
  var objects: [ObjectKey: PropertyMask]
}

extension SyncEngine {
  /// Sets objects aside whose values cannot be read: the rest goes on, and each goes out when it was changed.
  func quarantine(_ found: UnreadableValues) throws {
    try bookkeep { transaction in
      let state = try Self.state(on: transaction.connection, of: store)
      let pending = try pendingSet(transaction, state: state)
      for key in found.objects.keys.sorted(by: { ($0.entity, $0.key) < ($1.entity, $1.key) }) {
        let broken = try transaction.rowWithBreaches(key)?.broken ?? []
        guard let object = pending[key],
          let first = broken.first(where: { found.objects[key]?.contains($0.slot) == true })
        else { continue }
        let reason = try first.sentence(transaction)
        try Quarantine.add(
          Quarantine.Row(
            key: key,
            entry: QuarantineEntry(
              object: try transaction.identity(of: key),
              entity: schema.entity(numbered: key.entity)?.name ?? "unknown",
              code: SyncError.Code.unreadableValue.rawValue, reason: reason,
              suggestion: BrokenValue.advice, bytes: 0, time: store.now),
            lastEdit: try transaction.editTime(object.lastTransaction)),
          on: transaction.connection)
        log.warning("Not sent, and the rest goes on without it: \(reason)")
      }
    }
  }
}
