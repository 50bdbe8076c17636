import Driftless
import DriftlessSQLite

/// What was deleted here and waits to be sent, by what it referred to. It is found once, and stands for as long as nothing of it
/// changes.
final class DeletedHere {
  private let applier: PageApplier
  /// In a set order; found when something asks.
  private var deleted: [ObjectKey]?
  /// For each relationship, what referred by its inverse to each object, by root entities.
  private var members: [ObjectIdentifier: [ObjectKey: [ObjectKey]]] = [:]
  /// The same of owning ends of one-to-one relationships, as the zone knows them: the first of each.
  private var owners: [ObjectIdentifier: [ObjectKey: ObjectKey]] = [:]

  init(_ applier: PageApplier) { self.applier = applier }

  /// The objects that a relationship of an object held, by the references that they had.
  func members(
    of key: ObjectKey, _ relationship: RelationshipDescription
  ) throws -> [ObjectKey] {
    let id = ObjectIdentifier(relationship)
    let found =
      try members[id]
      ?? referrers(by: relationship.inverseRelationship, to: relationship) { member, slot, _ in
        try applier.valuesHere(of: member)?[slot]
      }
    members[id] = found
    return found[applier.schema.rooted(key)] ?? []
  }

  /// The first object that had another one for a partner by the owning end of a relationship that follows.
  func owner(of key: ObjectKey, _ relationship: RelationshipDescription) throws -> ObjectKey? {
    let id = ObjectIdentifier(relationship)
    let found =
      try owners[id]
      ?? referrers(by: relationship.inverseRelationship, to: relationship) { owner, slot, name in
        try BaseValues.value(of: owner, name, on: applier.transaction.connection)
          ?? applier.valuesHere(of: owner)?[slot]
      }.compactMapValues(\.first)
    owners[id] = found
    return found[applier.schema.rooted(key)]
  }

  /// What is deleted here, by the objects that it referred to by one end of a relationship whose other end is given.
  private func referrers(
    by end: RelationshipDescription?, to other: RelationshipDescription,
    _ value: (ObjectKey, _ slot: Int, _ name: String) throws -> PropertyValue?
  ) throws -> [ObjectKey: [ObjectKey]] {
    var referrers: [ObjectKey: [ObjectKey]] = [:]
    guard let end else { return referrers }
    for source in all() {
      guard
        let layout = applier.transaction.schema.entity(numbered: source.entity)?.layout,
        let slot = layout.index(named: end.name),
        layout.slots[slot].relationship?.inverseRelationship === other,
        case .reference(let target)? = try value(source, slot, end.name)
      else { continue }
      referrers[applier.schema.rooted(target), default: []].append(source)
    }
    return referrers
  }

  private func all() -> [ObjectKey] {
    if let deleted { return deleted }
    let found = applier.pending.objects.lazy.filter { $0.value.whole == .delete }.map(\.key)
      .sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
    deleted = found
    return found
  }
}

extension PageApplier {
  /// The object that a reference names, where it was deleted here and the zone has not heard of it.
  func deletedHere(_ reference: ObjectKey) -> ObjectKey? {
    let root = schema.root(of: reference)
    return schema.entities.lazy.filter { $0.rootNumber == root }
      .map { ObjectKey(entity: $0.number, key: reference.key) }
      .first { self.pending[$0]?.whole == .delete }
  }

  /// The row of an object, or what it was when it was deleted here.
  func valuesHere(of key: ObjectKey) throws -> [PropertyValue]? {
    if try transaction.concreteKey(root: key) == key {
      return try transaction.knownRow(key)?.values
    }
    guard let entity = schema.entity(numbered: key.entity) else { return nil }
    return try buried(entity, key)
  }
}
