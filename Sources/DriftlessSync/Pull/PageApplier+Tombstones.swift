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
        }
        continue
      }
      let side = RemoteSide(
        value: .null, time: HybridTime(rawValue: tombstone.hybridTime), origin: frame.origin,
        sequence: frame.sequence)
      try zone.set(frame.isBraked ? .buriedBraked : .buried, of: living, side)
    }
  }

  /// How many objects that live here a change set's tombstones name.
  func tombstoneCount(_ frame: FrameContext) throws -> Int {
    var count = 0
    for tombstone in frame.changeSet.index.tombstones {
      guard let key = try transaction.key(ofOwn: tombstone.identity),
        try transaction.concreteKey(root: key) != nil
      else { continue }
      count += 1
    }
    return count
  }

  /// Whether an insert makes the object that is deleted here, and not another one under its identity.
  ///
  /// What was made and deleted here was never sent. A copy of this store that has it sends it: it goes by the name of
  /// the save that made it, and its delete is pending from now on.
  func isDeletedHere(_ key: ObjectKey, _ frame: FrameContext) throws -> Bool {
    if let object = pending[key] {
      guard object.whole == .delete else { return false }
      if object.isOfZone { return true }
    } else {
      guard try transaction.identity(of: key).isMinted else { return false }
    }
    guard let made = try madeAndDeleted()[key], made.maker != 0,
      frame.names.contains(made.maker)
    else { return false }
    if pending[key] == nil {
      setPending(key) { object in
        object.whole = .delete
        object.wholeTransaction = EditStamp.number(made.deleted)
      }
    }
    return true
  }

  /// The key of an object that was made under this identity and deleted here, and never sent.
  func keyOfDeleted(_ identity: UUID, _ frame: FrameContext) throws -> ObjectKey? {
    guard let root = try transaction.mintedKey(of: identity),
      let key = try madeAndDeleted().keys.first(where: {
        $0.key == root.key && schema.root(of: $0) == root.entity
      })
    else { return nil }
    return try isDeletedHere(key, frame) ? key : nil
  }

  private func madeAndDeleted() throws -> [ObjectKey: MadeAndDeleted] {
    if let known = ownDeletes { return known }
    var makers: [ObjectKey: UInt64] = [:]
    var known: [ObjectKey: MadeAndDeleted] = [:]
    try transaction.forEachChange(after: 0) { header, type, key, _ in
      guard header.kind != .imported else { return }
      switch type {
      case .insert: makers[key] = header.name
      case .update: break
      case .delete:
        guard let maker = makers[key] else { return }
        known[key] = MadeAndDeleted(maker: maker, deleted: header.hybridTime)
      }
    }
    ownDeletes = known
    return known
  }
}

/// An object that was made and deleted here, as history knows it.
struct MadeAndDeleted {
  /// The name of the save that made it.
  var maker: UInt64
  var deleted: HybridTime
}

extension PendingObject {
  /// Of a delete: the zone had the object once. One that was made and deleted here has the edits of its making, which
  /// were never offered.
  var isOfZone: Bool { edits.isEmpty || edits.contains { EditStamp.time($0.transaction) != nil } }
}
