import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Deletes of objects that the zone does not know: a server that was put back lost them, and a replica
/// deleted them before the others offer them again.
extension PageApplier {
  /// Notes what tombstones delete here. They are settled at the head, as other deletes are.
  func applyTombstones(_ frame: inout FrameContext) throws {
    let index = frame.changeSet.index
    for tombstone in index.tombstones {
      guard let entity = frame.entity(tombstone.entity),
        let key = try transaction.key(ofOwn: tombstone.identity),
        schema.root(of: key) == entity.rootNumber,
        try directory.number(root: entity.rootNumber, key: key.key) == nil
      else { continue }
      guard let living = try transaction.concreteKey(root: key) else {
        // Deleted on both sides.
        for (own, object) in pending.objects
        where own.key == key.key && object.whole == .delete && object.isOfZone
          && schema.root(of: own) == entity.rootNumber
        {
          setPending(own) { $0 = PendingObject() }
          try parkedValues.strike(own)
        }
        continue
      }
      let side = RemoteSide(
        value: .null, time: HybridTime(rawValue: tombstone.hybridTime), origin: frame.origin,
        sequence: frame.sequence)
      let isOneAgain = try isSameInsert(living, frame)
      try zone.set(
        frame.isBraked ? .buriedBraked : .buried, of: living, side, isOneAgain: isOneAgain)
    }
  }

  /// Whether an insert makes the object that the zone had and that is deleted here. What was made and deleted here is not
  /// meant: that is remembered (`RememberedDeletes`).
  func isDeletedHere(_ key: ObjectKey) -> Bool {
    guard let object = pending[key] else { return false }
    return object.whole == .delete && object.isOfZone
  }
}

extension PendingObject {
  /// Of a delete: the zone had the object once. One that was made and deleted here has the edits of its making, which
  /// were never offered.
  var isOfZone: Bool { edits.isEmpty || wasInZone || !offers.isEmpty }
}
