import Driftless
import DriftlessProtocol

/// What a push relies on beside what it sets: when another replica sets one of these in between, the push is stale.
///
/// A move in a tree relies on the parent of each ancestor of the new parent, so that no ring comes into the log. An edit of
/// a property that had another name relies on that name: a program of before may set the property under it, which the server
/// takes for another one. Where programs say a relationship from its other end, an edit of it relies on that end of the objects
/// that it puts in or takes out.
struct Reliances {
  struct Reliance {
    var entity: String
    var property: String
    var objects: Set<ObjectKey>
  }

  private(set) var all: [Reliance] = []
  private let transaction: ReadTransaction

  init(_ drafts: [ChangeDraft], _ transaction: ReadTransaction) throws {
    self.transaction = transaction
    var found: [[String]: Set<ObjectKey>] = [:]
    let areSaidOtherwise = try transaction.setting(OtherEnd.setting) != nil
    for draft in drafts {
      for column in draft.columns {
        guard case .toOne(let relationship) = column.property.kind, relationship.isTree else {
          continue
        }
        for parent in column.targets { try addAncestors(parent, relationship, to: &found) }
      }
      for column in draft.columns {
        guard let end = column.property.relationship?.inverseRelationship,
          areSaidOtherwise || end.mayBeSaidOtherwise, let entity = end.entity
        else { continue }
        if case .place = column.property.kind { continue }
        for name in end.names {
          found[[entity.name, name], default: []].formUnion(column.targets)
        }
      }
      guard draft.kind == .update else { continue }
      for former in draft.columns.flatMap(\.property.formerNames) {
        found[[draft.entity.name, former], default: []].formUnion(draft.keys)
      }
    }
    all = found.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
      Reliance(entity: $0.key[0], property: $0.key[1], objects: $0.value)
    }
  }

  private func addAncestors(
    _ parent: ObjectKey, _ relationship: RelationshipDescription,
    to found: inout [[String]: Set<ObjectKey>]
  ) throws {
    var next: ObjectKey? = parent
    while let root = next, let row = try transaction.knownRow(root),
      let entity = transaction.schema.entity(numbered: row.key.entity),
      let slot = entity.layout.index(named: relationship.name)
    {
      // What is there already has its ancestors there, too.
      guard found[[entity.name, relationship.name], default: []].insert(row.key).inserted else {
        return
      }
      next = nil
      if case .reference(let above) = row.values[slot] { next = above }
    }
  }
}

extension RelationshipDescription {
  /// Whether a name of it that decides which end says the fact was another one.
  fileprivate var mayBeSaidOtherwise: Bool {
    let inverse = inverseRelationship
    return [self, inverse].contains { $0?.formerNames.isEmpty == false }
      || [entity, inverse?.entity].contains { $0?.formerNames.isEmpty == false }
  }
}
