import Driftless
import DriftlessProtocol

/// The deletes of a push in several parts that meet something that is pending here, with all that their transactions delete: a
/// part need not be the one that cuts what referred to what another one deletes.
struct DeferredDeletes {
  /// A transaction, which several parts may tell. Of programs of before it has no name.
  private struct Save: Hashable {
    var name: UInt64
    var time: UInt64

    init(_ transaction: ChangeSetIndex.Transaction) {
      name = transaction.name
      time = transaction.hybridTime
    }
  }

  private var saves: Set<Save> = []
  /// What they delete, by root entities.
  private(set) var targets: Set<ObjectKey> = []

  var isEmpty: Bool { saves.isEmpty }

  func have(_ transaction: ChangeSetIndex.Transaction) -> Bool {
    saves.contains(Save(transaction))
  }

  /// Finds in a part the transactions whose deletes meet something here.
  mutating func noteMet(by index: ChangeSetIndex, _ applier: PageApplier) throws {
    try Self.forEachDelete(in: index, applier) { transaction, root, entity in
      guard !have(transaction) else { return }
      let living = try applier.transaction.concreteKey(root: root)
      let key = ObjectKey(entity: entity.number, key: root.key)
      if try applier.isHeld(key)
        || living == key && applier.isReferredToHere(key, entity)
      {
        saves.insert(Save(transaction))
      }
    }
  }

  /// Notes what those transactions delete in a part.
  mutating func noteTargets(of index: ChangeSetIndex, _ applier: PageApplier) throws {
    try Self.forEachDelete(in: index, applier) { transaction, root, _ in
      if have(transaction) { targets.insert(root) }
    }
  }

  private static func forEachDelete(
    in index: ChangeSetIndex, _ applier: PageApplier,
    _ body: (ChangeSetIndex.Transaction, ObjectKey, SyncSchema.Entity) throws -> Void
  ) throws {
    let made = index.newObjectCount
    for group in index.groups where group.kind == .delete {
      guard
        let entity = applier.schema.entity(namedNowOrBefore: index.entities[group.entity].name)
      else { continue }
      var objects = group.objects[...]
      for run in group.transactionRuns {
        let ofRun = objects.prefix(run.count)
        objects = objects.dropFirst(run.count)
        for object in ofRun {
          guard let key = try applier.key(of: object, in: index, made: made),
            applier.schema.root(of: key) == entity.rootNumber
          else { continue }
          try body(index.transactions[run.transaction], applier.rooted(key), entity)
        }
      }
    }
  }
}
