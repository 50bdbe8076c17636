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
    let wanted = try names.compactMap { try living($0) }
    try change(ElementChange(relationship, from: former, to: wanted), order: wanted)
  }

  /// Puts members in beside those that it has.
  func add(_ members: [ObjectKey]) throws {
    let former = try transaction.toManyKeys(of: key, relationship)
    let adds = members.without(former)
    guard !adds.isEmpty else { return }
    try change(
      ElementChange(relationship: relationship, adds: adds, removes: []),
      order: members + former.without(members))
  }

  /// An object of the set that is not deleted.
  func living(_ name: UUID) throws -> ObjectKey? {
    guard let key = try transaction.key(of: name),
      let living = try transaction.concreteKey(root: key),
      schema.admits(living, isAlive: true, in: relationship)
    else { return nil }
    return living
  }

  private func change(_ change: ElementChange, order: [ObjectKey]) throws {
    try transaction.removePairs(relationship, key, change.removes)
    try transaction.addPairs(relationship, key, change.adds, isPlacedLater: true)
    if relationship.isOrdered { try transaction.setOrder(relationship, key, order) }
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
