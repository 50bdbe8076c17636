import Driftless

/// Deletes that the brake set aside, and a person says were not meant.
extension PageApplier {
  /// What the brake set aside lives on by a person's word: what the zone has deleted is pushed whole, and what it never had is
  /// offered as ever. What referred to it until the deletes cut that, and refers to nothing since, does so again.
  func keepBraked(upTo place: UInt64) throws {
    var kept: [ObjectKey: RemoteSide] = [:]
    var cut: [(target: ObjectKey, mark: ZoneStates.Mark)] = []
    for key in zone.keys.sorted(by: { ($0.entity, $0.key) < ($1.entity, $1.key) }) {
      let object = try zone.object(key)
      guard let mark = object.mark, mark.life.isBraked, mark.side.sequence <= place,
        let entity = schema.entity(numbered: key.entity),
        try transaction.concreteKey(root: key) == key
      else { continue }
      guard !mark.isBuried else {
        try zone.removeMark(key)
        continue
      }
      kept[rooted(key)] = mark.side
      cut.append((key, mark))
      try revive(
        entity, key, object,
        cause: EditStamp.number(HybridTime(rawValue: mark.side.time.rawValue &+ 1)),
        because: "Deleted by another replica with a large part of the store, which was not meant: "
          + "the object stays.")
    }
    guard let last = kept.values.map(\.time.rawValue).max() else { return }
    try CutReferences(self, of: kept).restore(
      to: Set(kept.keys), by: EditStamp.number(HybridTime(rawValue: last &+ 1)))
    // What a snapshot took no entry tells.
    try restoreCuts(cut)
  }
}
