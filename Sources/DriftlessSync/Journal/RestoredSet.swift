import Driftless
import Foundation

/// A set that an object has again, as the journal tells it, as an edit made here and now.
struct RestoredSet {
  let key: ObjectKey
  let relationship: RelationshipDescription
  let transaction: WriteTransaction
  let schema: SyncSchema

  /// What the set held and is deleted stays so.
  func give(_ names: [UUID]) throws {
    let former = try transaction.toManyKeys(of: key, relationship)
    let wanted = try names.compactMap { try transaction.key(of: $0) }
      .compactMap { try transaction.concreteKey(root: $0) }
      .filter { schema.admits($0, isAlive: true, in: relationship) }
    let change = ElementChange(relationship, from: former, to: wanted)
    try transaction.removePairs(relationship, key, change.removes)
    try transaction.addPairs(relationship, key, change.adds)
    if relationship.isOrdered { try transaction.setOrder(relationship, key, wanted) }
    try record(relationship, of: key)
    guard let inverse = relationship.inverseRelationship else { return }
    for element in change.adds + change.removes { try record(inverse, of: element) }
  }

  private func record(_ relationship: RelationshipDescription, of key: ObjectKey) throws {
    guard
      let slot = transaction.schema.entity(numbered: key.entity)?.layout.index(
        named: relationship.name)
    else { return }
    try transaction.recordUpdate(key, PropertyMask([slot]))
  }
}
