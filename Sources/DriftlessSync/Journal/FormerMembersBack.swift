import Driftless
import Foundation

/// Gives an object that is back the members that it had, beside those that it has by now. What belongs to another object since stays there.
struct FormerMembersBack {
  let key: ObjectKey
  let transaction: WriteTransaction
  let schema: SyncSchema

  /// - Returns: a sentence for each relationship of which not all members are back.
  func give(_ sets: [FormerMembers]) throws -> [String] {
    var sentences: [String] = []
    for set in sets {
      let restored = RestoredSet(
        key: key, relationship: set.relationship, transaction: transaction, schema: schema)
      var living: [ObjectKey] = []
      var (gone, elsewhere): ([UUID], [UUID]) = ([], [])
      for identity in set.identities {
        guard let member = try restored.living(identity) else {
          gone.append(identity)
          continue
        }
        if try isFree(member, set.relationship) {
          living.append(member)
        } else {
          elsewhere.append(identity)
        }
      }
      if set.relationship.usesJoinTable {
        try restored.add(living)
      } else {
        try point(living, set.relationship)
      }
      for (identities, reason) in [
        (gone, "deleted by now"), (elsewhere, "another object's by now"),
      ] where !identities.isEmpty {
        let names = identities.map { $0.uuidString.lowercased() }.joined(separator: ", ")
        sentences.append("Not back in \(set.slot.name), since \(reason): \(names).")
      }
    }
    return sentences
  }

  /// Whether an object can be a member without being taken from another one.
  private func isFree(
    _ member: ObjectKey, _ relationship: RelationshipDescription
  ) throws -> Bool {
    if relationship.usesJoinTable {
      guard transaction.schema.joinTable(for: relationship)?.held != nil else { return true }
      return try transaction.sources(holding: member, in: relationship)
        .allSatisfy { $0.key == key.key }
    }
    guard let slot = slot(of: member, relationship),
      let value = try transaction.knownRow(member)?.values[slot]
    else { return false }
    if case .reference(let owner) = value { return owner.key == key.key }
    guard let parent = relationship.inverseRelationship, parent.isTree else { return true }
    return try !transaction.isAbove(member, key, parent.name)
  }

  /// The place of the reference that says of a member whose it is.
  private func slot(of member: ObjectKey, _ relationship: RelationshipDescription) -> Int? {
    guard let inverse = relationship.inverseRelationship else { return nil }
    return transaction.schema.entity(numbered: member.entity)?.layout.index(named: inverse.name)
  }

  private func point(
    _ members: [ObjectKey], _ relationship: RelationshipDescription
  ) throws {
    let former = try transaction.toManyKeys(of: key, relationship)
    let added = members.without(former)
    for member in added {
      guard let slot = slot(of: member, relationship),
        var values = try transaction.knownOwnRow(member)?.values
      else { continue }
      values[slot] = .reference(key)
      try transaction.update(member, PropertyMask([slot]), values: values, expectedVersion: nil)
    }
    guard relationship.isOrdered, !added.isEmpty else { return }
    try transaction.setOrder(
      relationship, key, members + former.without(members), added: Set(added.map(\.key)))
  }
}

extension ReadTransaction {
  /// Whether an object is over another one, or is it, in a tree.
  func isAbove(_ key: ObjectKey, _ target: ObjectKey, _ property: String) throws -> Bool {
    var seen: Set<ObjectKey> = []
    var next = try concreteKey(root: target)
    while let one = next, seen.insert(one).inserted {
      if one == key { return true }
      guard let slot = schema.entity(numbered: one.entity)?.layout.index(named: property),
        case .reference(let above)? = try knownRow(one)?.values[slot]
      else { return false }
      next = try concreteKey(root: above)
    }
    return false
  }
}
