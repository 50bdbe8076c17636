import Driftless
import DriftlessProtocol
import Logging

/// A store that came back to the zone that it had left: before it reads the log again, it asks whether that is the log still.
extension SyncEngine {
  /// Where the server was put back while the store was away, the store offers what it held, as one that was there does: what was
  /// counted by then is in its totals.
  func followLeftLog(_ report: inout SyncReport) async throws {
    let left = try store.read { try LeftZone.kept($0) }
    guard let left, let places = left.placesToFollow else { return }
    let known = try replicaState()
    let common = try await transport.commonPlace(of: places, generation: known.generation)
    guard common != places.first else { return try bookkeep { try LeftZone.follow($0) } }
    let info = try await transport.zoneInfo()
    let place = common?.sequence ?? 0
    guard info.mayWrite, info.floor ?? 0 == 0, let acknowledged = left.acknowledged else {
      log.warning("The server was put back to entry \(place) while the store was away")
      return try bookkeep { try LeftZone.lose(after: place, $0, schema: schema) }
    }
    try admitPutBack()
    try await noted(.offered, place, info, after: known, &report) { transaction, state in
      try self.offerAnew(&state, acknowledged: acknowledged, head: info.head, transaction)
    }
  }
}
