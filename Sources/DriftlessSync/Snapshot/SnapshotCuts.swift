import Driftless
import DriftlessProtocol

/// What refers here to objects that a snapshot deletes, and which are kept until a person says whether that was meant: the
/// snapshot has those references no more, and no entry of a log tells them. So the journal does, from where they can be put back.
struct SnapshotCuts {
  private struct Cut {
    var source: ObjectKey
    var property: SyncSchema.Property
    var time: HybridTime
    /// Of a reference.
    var target: ObjectKey
    /// Of a set: all that is in it.
    var elements: [ObjectKey]?
  }

  private let applier: PageApplier
  private var cuts: [Cut] = []

  /// Before the snapshot is taken in.
  init(_ applier: PageApplier, of deletes: [SnapshotNews.Delete]) throws {
    self.applier = applier
    let transaction = applier.transaction
    let deleted = Set(deletes.map(\.key))
    var sets: Set<CutSet> = []
    for delete in deletes {
      guard let entity = applier.schema.entity(numbered: delete.key.entity) else { continue }
      for referrer in applier.schema.referrers(of: entity) {
        for source in try transaction.keys(referring: referrer.relationship, to: delete.key)
        where !deleted.contains(source) {
          cuts.append(
            Cut(
              source: source, property: referrer.property, time: delete.side.time,
              target: delete.key))
        }
      }
      for holder in applier.schema.holders(of: entity) {
        for source in try transaction.sources(holding: delete.key, in: holder.relationship)
        where !deleted.contains(source)
          && sets.insert(CutSet(source: source, property: holder.property.name)).inserted
        {
          cuts.append(
            Cut(
              source: source, property: holder.property, time: delete.side.time,
              target: delete.key,
              elements: try transaction.toManyKeys(of: source, holder.relationship)))
        }
      }
    }
  }

  private struct CutSet: Hashable {
    var source: ObjectKey
    var property: String
  }

  /// Journals what the snapshot has taken.
  func journal() throws {
    let transaction = applier.transaction
    for cut in cuts {
      guard let entity = applier.schema.entity(numbered: cut.source.entity),
        try transaction.concreteKey(root: cut.source) == cut.source,
        applier.pending[cut.source]?.transaction(of: cut.property.slot) == nil,
        let row = try transaction.knownRow(cut.source)?.values
      else { continue }
      if case .elements(let relationship) = cut.property.kind {
        let left = Set(try transaction.toManyKeys(of: cut.source, relationship))
        guard let elements = cut.elements, !left.isSuperset(of: elements) else { continue }
      } else {
        guard row[cut.property.slot].isNull else { continue }
      }
      try applier.journal.addGivenUp(
        entity: entity, property: cut.property, key: cut.source, value: .reference(cut.target),
        elements: cut.elements, time: cut.time, row: row,
        explanation:
          "What it referred to was deleted by another replica with a large part of the store, which waits for a "
          + "person's word: the zone has this reference no more.")
    }
  }
}
