import Driftless
import DriftlessProtocol

/// Saves that changed sets of a change set which a later save changed again. A change set names them as it does saves that
/// add up: a copy of this store for which such a save is the last one of the set has nothing of it to say any more.
struct SupersededSets {
  /// The last edit of each set that is told.
  private var edits: [ObjectKey: [Int: Int64]] = [:]

  /// - Parameter window: what the change set carries.
  init(_ drafts: [ChangeDraft], _ window: PendingObjects) {
    for draft in drafts where draft.kind != .delete {
      let sets = draft.columns.map(\.property).filter {
        if case .elements = $0.kind { true } else { false }
      }
      guard !sets.isEmpty else { continue }
      for key in draft.keys {
        guard let object = window[key] else { continue }
        for set in sets {
          guard let edit = object.transaction(of: set.slot), edit > object.wholeTransaction else {
            continue
          }
          edits[key, default: [:]][set.slot] = edit
        }
      }
    }
  }

  /// The numbers of the saves, of local history after a transaction.
  func saves(after since: Int64, _ transaction: ReadTransaction) throws -> Set<Int64> {
    var saves: Set<Int64> = []
    let last = edits.values.lazy.flatMap(\.values).max() ?? 0
    guard last > 0, last - 1 > since else { return saves }
    try transaction.forEachChange(
      after: since, through: last - 1, passingOver: .imported
    ) { header, type, key, mask in
      guard type == .update, let mask, let own = edits[key],
        own.contains(where: { slot, edit in header.number < edit && mask.contains(slot) })
      else { return }
      saves.insert(header.number)
    }
    return saves
  }
}
