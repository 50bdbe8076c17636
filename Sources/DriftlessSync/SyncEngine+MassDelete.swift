import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The brake: deletes of a large part of the replica wait for a person's word.
extension SyncEngine {
  /// Deletes that pulls applied since the replica was last current: they come in pages, and count
  /// together.
  private static let deletedSetting = "sync.deleted"

  /// Stops a page that, with those before it, deletes too much. The page's transaction is rolled
  /// back.
  func brake(_ deleted: [String: Int], _ transaction: WriteTransaction) throws {
    let now = deleted.values.reduce(0, +)
    guard now > 0 else { return }
    var before = 0
    if case .integer(let count)? = try transaction.setting(Self.deletedSetting) {
      before = Int(truncatingIfNeeded: count)
    }
    let total = before &+ now
    try transaction.setSetting(Self.deletedSetting, .integer(Int64(total)))
    guard total > min(options.massDelete.floor, options.massDelete.count) else { return }
    let objects = try objectCount(transaction) + total
    guard options.massDelete.isPassed(by: total, of: objects) else { return }
    throw SyncError(
      .massDelete,
      "The zone's log deletes \(total) of \(objects) objects here (\(Self.text(deleted))). "
        + "Nothing of it is applied",
      suggestion: "When that is meant: syncctl sync --allow-mass-delete. When not, the zone was "
        + "emptied by mistake: export this store before anything else.")
  }

  /// Stops a push that deletes too much at the zone.
  func brake(_ pending: PendingSet, _ transaction: ReadTransaction) throws {
    let limit = min(options.massDelete.floor, options.massDelete.count)
    let keys = pending.objects.lazy.filter { $0.value.whole == .delete }.map(\.key)
    guard keys.count > limit else { return }
    var directory = ObjectDirectory(transaction.connection)
    var deleted: [String: Int] = [:]
    for key in keys
    where try directory.number(root: schema.root(of: key), key: key.key) != nil {
      deleted[schema.entity(numbered: key.entity)?.name ?? "unknown", default: 0] += 1
    }
    let total = deleted.values.reduce(0, +)
    let objects = try objectCount(transaction) + total
    guard options.massDelete.isPassed(by: total, of: objects) else { return }
    throw SyncError(
      .massDelete,
      "\(total) of \(objects) objects were deleted here (\(Self.text(deleted))), and the zone "
        + "would lose them. Nothing is sent",
      suggestion: "When that is meant: syncctl sync --allow-mass-delete. When not, open a copy of "
        + "the zone in a new store: init and enroll.")
  }

  /// The replica is current: what was deleted so far counts no more.
  func releaseBrake() throws {
    guard try store.read({ try $0.setting(Self.deletedSetting) }) != nil else { return }
    try bookkeep { try $0.setSetting(Self.deletedSetting, nil) }
  }

  private func objectCount(_ transaction: ReadTransaction) throws -> Int {
    var count: Int64 = 0
    for root in Set(schema.entities.map(\.rootNumber)) {
      guard let entity = transaction.schema.entity(numbered: root) else { continue }
      count += try transaction.connection.number(
        "SELECT count(*) FROM \"\(transaction.schema.table(for: entity).name)\"")
    }
    return Int(truncatingIfNeeded: count)
  }

  private static func text(_ counts: [String: Int]) -> String {
    counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
  }
}
