import Driftless
import DriftlessSQLite

/// What deletes of here took beside their objects: an edit of another replica may bring one back before the zone has heard
/// of its delete (`bringBack`). What others deleted is in `DeleteCuts`.
extension PageApplier {
  /// Gives an object that is back what its delete here had cut: that followed from a delete which is not to be. What somebody
  /// took out or set anew by itself, before or after, stays so.
  ///
  /// - Parameter deletion: the transaction of the delete; nil where nothing is known of it.
  func restoreOwnCuts(
    to target: ObjectKey, _ entity: SyncSchema.Entity, deletion: Int64?
  ) throws {
    guard let deletion else { return }
    for referrer in schema.referrers(of: entity) {
      try restoreOwnCuts(to: target, as: referrer, deletion: deletion)
    }
    for holder in schema.holders(of: entity) {
      try restoreOwnCuts(to: target, in: holder, deletion: deletion)
    }
  }

  /// Points what referred to it at it again. It stays pending, since the zone may know other references by now.
  private func restoreOwnCuts(
    to target: ObjectKey, as referrer: SyncSchema.Referrer, deletion: Int64
  ) throws {
    let slot = referrer.property.slot
    for source in try baseHolders.owners(named: referrer.property.name, of: target) {
      guard let owner = schema.entity(numbered: source.entity),
        owner.description.isKindOf(entity: referrer.owner),
        pending[source]?.transaction(of: slot) == deletion,
        var values = try transaction.knownRow(source)?.values, values[slot].isNull
      else { continue }
      values[slot] = .reference(target)
      try transaction.update(source, PropertyMask([slot]), values: values, expectedVersion: nil)
      try BaseValues.drop(source, referrer.property.name, on: transaction.connection)
      report.updated += 1
    }
  }

  /// Puts it into the sets again that the zone has it in. They stay pending: what else was changed of them is still to be sent.
  private func restoreOwnCuts(
    to target: ObjectKey, in holder: SyncSchema.Referrer, deletion: Int64
  ) throws {
    let (property, relationship) = (holder.property, holder.relationship)
    let known = try baseHolders.owners(named: property.name, of: target)
    // Or will have it in, by what was sent before.
    let owners =
      known + (try unansweredSets.get().owners(named: property.name, of: target).without(known))
    guard !owners.isEmpty else { return }
    let here = Set(try transaction.sources(holding: target, in: relationship))
    for source in owners where !here.contains(source) {
      guard let owner = schema.entity(numbered: source.entity),
        owner.description.isKindOf(entity: holder.owner),
        let edit = pending[source]?.transaction(of: property.slot),
        try transaction.concreteKey(root: source) != nil,
        try edit == deletion || isChanged(property.slot, of: source, by: deletion, before: edit)
      else { continue }
      try putBack(
        target, into: .init(key: source, property: property.name), property, relationship,
        isInZone: false)
      report.updated += 1
    }
  }

  /// Whether the save that deleted an object changed a set, which a later one changed again: then the delete took it out.
  /// Where somebody had taken it out before, the delete changed nothing of the set.
  private func isChanged(
    _ slot: Int, of source: ObjectKey, by deletion: Int64, before edit: Int64
  ) throws -> Bool {
    guard EditStamp.time(deletion) == nil, EditStamp.time(edit) == nil, deletion < edit else {
      return false
    }
    return try changes(of: deletion)[source]?.contains(slot) == true
  }

  /// What a save changed of objects that were there before and after it. That of the last one is kept: it may have deleted many.
  private func changes(of save: Int64) throws -> [ObjectKey: PropertyMask] {
    if let changesOfDelete, changesOfDelete.save == save { return changesOfDelete.changed }
    var changed: [ObjectKey: PropertyMask] = [:]
    try transaction.forEachChange(after: save - 1, through: save) { _, type, key, mask in
      if type == .update, let mask { changed[key, default: PropertyMask()].formUnion(mask) }
    }
    changesOfDelete = (save, changed)
    return changed
  }
}
