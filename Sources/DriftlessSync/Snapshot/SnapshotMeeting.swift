import Driftless
import DriftlessProtocol

/// What a snapshot has anew and was made here as well: one identity that two people imported, one value of a unique key, one
/// partner. It is settled when the pull has reached its head, by the rules by which entries of a log are: the zone has its object,
/// and what is pending here meets that.
///
/// So it is where a log was purged. Where it can be read, it tells more.
extension PageApplier {
  /// An object that is new in the zone is here already.
  ///
  /// - Parameter deletion: it was deleted in the zone as well.
  /// - Throws: `UnfitSnapshot` where the log alone can settle it.
  func meet(
    _ root: ObjectKey, _ entity: SyncSchema.Entity, _ deletion: RemoteSide?,
    _ news: inout SnapshotNews
  ) throws {
    let living = try transaction.concreteKey(root: root)
    guard !hasLog, !news.deleted.contains(rooted(root)) else { throw Self.isHereAlready }
    // Objects of two hierarchies may have one key.
    let rootedKey = rooted(root)
    if living == nil,
      remembered.haveCome(root: rootedKey, schema)
    {
      return
    }
    let own = living ?? ObjectKey(entity: entity.number, key: root.key)
    guard let object = pending[own] else { throw Self.isHereAlready }
    switch object.whole {
    case .insert where living != nil, .revive where living != nil && !object.isDeadInZone:
      // Made by two. The rows of the snapshot say that it is, and what of it; a delete says so here.
      if let deletion {
        try zone.set(.dead, of: own, deletion)
      } else {
        news.metCount += 1
      }
    case .delete where living == nil && !object.isOfZone:
      // Made and deleted here before the zone heard of it: the other replica's object is another one.
      if deletion != nil { setPending(own) { $0 = PendingObject() } }
    default: throw Self.isHereAlready
    }
  }

  private static let isHereAlready = UnfitSnapshot(
    reason: "an object that is new in the zone is here already")

  /// What was made and deleted here before it was sent has an identity that the zone has.
  ///
  /// - Throws: `UnfitSnapshot` where it is not known whether it is the very object.
  func meetDeleted(
    _ run: ChangeSetIndex.NewObjects, isAlive: Bool, _ news: SnapshotNews
  ) throws {
    guard !hasLog, try remembered.meet(run, isAlive: isAlive, hasCome: news.hasCome) else {
      throw UnfitSnapshot(reason: "an object that was made and deleted here is in the zone")
    }
  }

  /// Whether each value that waits for its key, or its holder, is an edit of here: then the zone's object has the key.
  func clashesArePending() throws -> Bool {
    func isEdit(_ key: ObjectKey, _ slots: [Int]) -> Bool {
      guard let object = pending[key] else { return false }
      switch object.whole {
      case .insert, .revive: return true
      case .delete: return false
      case .none: return slots.contains { object.transaction(of: $0) != nil }
      }
    }
    return try keptKeys.keys.allSatisfy { key in
      try keptKeys.holders(of: key).allSatisfy {
        isEdit(key, $0.slots) || isEdit($0.holder, $0.slots)
      }
    }
  }
}
