import Driftless
import DriftlessProtocol

/// The saves whose changes of sets are in what a change set says of those sets, beside the one that it tells: a copy of this
/// store that has such a save, and has not sent it, knows by its name that it was seen.
struct CoveredSets {
  private let slots: [ObjectKey: PropertyMask]
  private let last: Int64

  /// - Parameter drafts: what the change set says. What is offered has no saves any more.
  init(_ drafts: [ChangeDraft], _ selection: PushSelection) {
    var slots: [ObjectKey: PropertyMask] = [:]
    for draft in drafts where draft.kind != .delete && !selection.isOffer {
      let sets = draft.columns.map(\.property).filter(\.isSet)
      for key in sets.isEmpty ? [] : draft.keys {
        guard let object = selection.window[key] else { continue }
        for property in sets {
          // What an object was made with is told by who made it.
          guard let edit = object.transaction(of: property.slot), edit > 0,
            object.whole == .none || edit != object.wholeTransaction
          else { continue }
          slots[key, default: PropertyMask()].insert(property.slot)
        }
      }
    }
    self.slots = slots
    last = selection.through
  }

  /// Their names, in the order of the saves.
  func names(_ transaction: ReadTransaction) throws -> [UInt64] {
    guard !slots.isEmpty, let state = try ReplicaState.load(from: transaction.connection) else {
      return []
    }
    var names: [UInt64] = []
    try transaction.forEachChange(
      after: state.acknowledged, through: last, passingOver: .imported
    ) { header, type, key, mask in
      guard type == .update, let slots = slots[key], mask?.intersects(slots) == true,
        names.last != header.name
      else { return }
      names.append(header.name)
    }
    return names
  }
}
