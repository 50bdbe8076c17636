import Driftless
import DriftlessProtocol
import Foundation

/// Who is new, and who made it.
extension ChangeSetBuilder {
  /// The makers of a run of new objects, empty where their inserts tell them all.
  private func makers(of keys: ArraySlice<ObjectKey>) -> [UInt64] {
    guard !makers.isEmpty else { return [] }
    let names = keys.map { makers[$0] ?? 0 }
    return names.contains { $0 != 0 } ? names : []
  }

  /// The identities of an insert group's objects: ranges where they follow each other, else lists.
  mutating func addNewObjects(_ draft: ChangeDraft, entity: Int) throws {
    var listed: [UUID] = []
    var range: (first: UUID, count: Int)?
    var isGiven = false
    var rest = draft.keys[...]
    var runs: [ChangeSetIndex.NewObjects] = []
    func flush() {
      func add(_ identities: ChangeSetIndex.Identities) {
        runs.append(
          .init(
            entity: entity, identities: identities, isGiven: isGiven,
            makers: makers(of: rest.prefix(identities.count))))
        rest.removeFirst(identities.count)
      }
      if let run = range { add(.range(first: run.first, count: run.count)) }
      if !listed.isEmpty { add(.listed(listed)) }
      range = nil
      listed = []
    }
    var last: (key: Int64, identity: UUID)?
    for key in draft.keys {
      let identity: UUID
      if let given = try directory.identity(root: draft.entity.rootNumber, key: key.key) {
        identity = given
      } else if let last, directory.isMinted(root: draft.entity.rootNumber, last.key, key.key) {
        identity = last.identity.advanced(by: UInt64(key.key &- last.key))
      } else {
        identity = try transaction.identity(of: key)
      }
      last = (key.key, identity)
      if identity.isMinted == isGiven {
        flush()
        isGiven = !identity.isMinted
      }
      if let run = range, run.first.advanced(by: UInt64(run.count)) == identity {
        range = (run.first, run.count + 1)
        continue
      }
      if let last = listed.last, last.advanced(by: 1) == identity {
        listed.removeLast()
        let first = last
        flush()
        range = (first, 2)
        continue
      }
      if range != nil { flush() }
      listed.append(identity)
    }
    flush()
    index.newObjects += runs
  }
}
