import Driftless
import DriftlessProtocol

/// Of two objects of the zone's log with one unique key, which programs without the constraint, or with another name for it, gave to
/// both, the one of the later entry is without it, wherever it was read in which order: a replica has its own entries before
/// what others sent before them.
extension PageApplier {
  /// Lets those give way whose word on a key came after what was refused for it.
  func letLaterHoldersGiveWay() throws {
    for (key, slot) in keptKeys.takeRefused() {
      guard let kept = keptKeys.values[key]?[slot], kept.side.sequence > 0,
        pending[key]?.transaction(of: slot) == nil
      else { continue }
      for holder in try keptKeys.holders(of: key) where holder.slots.contains(slot) {
        try giveWay(holder, to: key, since: kept.side.sequence)
      }
    }
  }

  private func giveWay(_ holder: KeyHolder, to key: ObjectKey, since sequence: UInt64) throws {
    let names = holder.slots.compactMap {
      schema.entity(numbered: key.entity)?.property(at: $0)?.name
    }
    guard let entity = schema.entity(numbered: holder.holder.entity),
      let layout = transaction.schema.entity(numbered: holder.holder.entity)?.layout,
      pending[holder.holder].map({ $0.whole == .none }) ?? true
    else { return }
    let properties = names.compactMap { entity.property(named: $0) }
    // Of a partner the later word stands.
    guard properties.count == names.count, properties.contains(where: { $0.relationship == nil }),
      properties.allSatisfy({ pending[holder.holder]?.transaction(of: $0.slot) == nil }),
      let word = try lastWord(on: properties, of: holder.holder, after: sequence),
      let slot = WriteTransaction.preferred(properties.map(\.slot), layout),
      var row = try transaction.knownOwnRow(holder.holder)?.values
    else { return }
    let side = keptKeys.side
    defer { keptKeys.side = side }
    keptKeys.side = word
    let value = row[slot]
    row[slot] = .null
    try transaction.update(
      holder.holder, PropertyMask([slot]), values: row, expectedVersion: nil)
    try keptKeys.keep(holder.holder, slot, value)
    report.updated += 1
  }

  /// The last entry that is kept here, above a place, which says one of some properties of an object.
  private func lastWord(
    on properties: [SyncSchema.Property], of key: ObjectKey, after sequence: UInt64
  ) throws -> RemoteSide? {
    guard let number = try directory.number(root: schema.root(of: key), key: key.key) else {
      return nil
    }
    var last: RemoteSide?
    try KeptFrames.forEach(after: sequence, on: transaction.connection) { entry in
      guard let (header, index) = try? ChangeSetDecoder().decodeIndex(entry.frame) else { return }
      let made = index.newObjectCount
      for group in index.groups where group.kind != .delete {
        let names = index.entities[group.entity].properties
        guard
          group.properties.contains(where: { place in
            properties.contains { $0.names.contains(names[place]) }
          })
        else { continue }
        for object in group.objects
        where
          (object < made
          ? entry.firstObjectNumber &+ UInt64(object) : index.knownNumbers[object - made]) == number
        {
          let times = group.transactionRuns.map { index.transactions[$0.transaction].hybridTime }
          last = RemoteSide(
            value: .null, time: HybridTime(rawValue: times.max() ?? 0), origin: header.replica,
            sequence: entry.sequence)
        }
      }
    }
    return last
  }
}
