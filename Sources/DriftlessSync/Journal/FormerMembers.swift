import Driftless
import Foundation

/// The members of an object's to-many relationships, as the journal keeps them with the object: by their identities, in their order, in
/// the row's slots of the relationships, which an object that lives leaves empty.
struct FormerMembers {
  let slot: PropertySlot
  let relationship: RelationshipDescription
  let identities: [UUID]

  /// Fills the slots of a row. A relationship without members leaves its slot empty, as do rows of before.
  ///
  /// - Parameter cuts: what the delete of the object took from it before it came to the object.
  static func fill(
    _ row: inout [PropertyValue], of key: ObjectKey, _ layout: EntityLayout,
    cuts: [DeleteCuts.Cut], _ transaction: ReadTransaction
  ) throws {
    let isHere = try transaction.concreteKey(root: key) != nil
    for slot in layout.slots where row.indices.contains(slot.index) && !slot.isTransient {
      guard case .toMany(let relationship) = slot.kind else { continue }
      var members = try transaction.toManyKeys(of: key, relationship)
      if !isHere, members.isEmpty {
        // Of what was deleted here the sets are kept until the zone knows of that.
        members = try BaseValues.keys(of: key, slot.name, on: transaction.connection) ?? []
      }
      members = try adding(cuts, to: members, relationship, transaction)
      guard !members.isEmpty else { continue }
      let identities: [PropertyValue] = try members.map {
        .uuid(try transaction.identity(of: $0))
      }
      row[slot.index] = .data(RowArchive.encode(identities))
    }
  }

  /// Members with those that the delete had let go of the object: at their places, where those are known.
  private static func adding(
    _ cuts: [DeleteCuts.Cut], to members: [ObjectKey], _ relationship: RelationshipDescription,
    _ transaction: ReadTransaction
  ) throws -> [ObjectKey] {
    guard let inverse = relationship.inverseRelationship else { return members }
    var known = Set(members)
    var taken: [(key: ObjectKey, place: Int64?)] = []
    for cut in cuts where cut.property == inverse.name && !cut.isUntold {
      guard let source = try transaction.concreteKey(root: cut.source),
        let owner = inverse.entity,
        transaction.schema.entity(numbered: source.entity)?.isKindOf(entity: owner) == true,
        known.insert(source).inserted
      else { continue }
      taken.append((source, inverse.isToMany ? nil : cut.place))
    }
    guard !taken.isEmpty else { return members }
    guard relationship.isOrdered, !inverse.isToMany else { return members + taken.map(\.key) }
    let all =
      try members.map { (key: $0, place: try transaction.place(of: $0, in: inverse)) } + taken
    return all.enumerated().sorted { one, other in
      (one.element.place ?? .max, one.offset) < (other.element.place ?? .max, other.offset)
    }.map(\.element.key)
  }

  /// What a row has of members. None of a row of before, which did not keep them.
  static func read(_ row: [PropertyValue], _ layout: EntityLayout) throws -> [FormerMembers] {
    try layout.slots.compactMap { slot in
      guard case .toMany(let relationship) = slot.kind, row.indices.contains(slot.index),
        !MissingValue.isOne(row[slot.index]), case .data(let data) = row[slot.index]
      else { return nil }
      let identities = try RowArchive.decodeValues(data).compactMap { value -> UUID? in
        if case .uuid(let identity) = value { return identity }
        return nil
      }
      return FormerMembers(slot: slot, relationship: relationship, identities: identities)
    }
  }
}
