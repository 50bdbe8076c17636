import Driftless
import DriftlessSQLite

/// The references of one side to what the other deletes.
extension DeleteFates {
  /// The references of the other side to an object that one side deletes.
  func references(to target: ObjectKey) throws -> [Reference] {
    guard let candidate = candidates[target],
      let entity = applier.schema.entity(numbered: target.entity)
    else { return [] }
    return candidate.side == .zone
      ? try localReferences(to: target, entity) : try zoneReferences(to: target, entity)
  }

  private func localReferences(
    to target: ObjectKey, _ entity: SyncSchema.Entity
  ) throws -> [Reference] {
    let transaction = applier.transaction
    var references: [Reference] = []
    func add(_ source: ObjectKey, _ referrer: SyncSchema.Referrer) {
      guard source != target, taken[source] == nil else { return }
      // What the zone deleted as well refers to nothing, unless it is kept.
      let own = kept[source]
      guard candidates[source]?.side != .zone || own != nil else { return }
      guard
        let cause = applier.pending[source]?.transaction(of: referrer.property.slot) ?? own?.cause
      else { return }
      references.append(
        Reference(
          source: source, referrer: referrer, cause: cause,
          rule: ReferenceRule(referrer.relationship)))
    }
    for referrer in applier.schema.referrers(of: entity) {
      for source in try transaction.keys(referring: referrer.relationship, to: target) {
        add(source, referrer)
      }
    }
    for holder in applier.schema.holders(of: entity) {
      for source in try transaction.sources(holding: target, in: holder.relationship) {
        let base = try BaseValues.set(
          of: source, holder.property.name, on: transaction.connection)
        if base?.elements.contains(target) != true || base?.asserted.contains(target) == true {
          add(source, holder)
        }
      }
    }
    let row = try transaction.knownRow(target)?.values ?? []
    for slot in transaction.schema.ownedEnds(numbered: target.entity).indexes {
      guard let edit = applier.pending[target]?.transaction(of: slot), row.indices.contains(slot)
      else { continue }
      references += try follower(row[slot], slot, of: target, entity, cause: edit)
    }
    return references
  }

  private func zoneReferences(
    to target: ObjectKey, _ entity: SyncSchema.Entity
  ) throws -> [Reference] {
    let found = try news(of: target).filter { reference in
      guard taken[reference.source] == nil,
        try applier.transaction.concreteKey(root: reference.source) != nil
      else { return false }
      return candidates[reference.source]?.side != .zone || kept[reference.source] != nil
    }
    let cause = applier.pending[target]?.wholeTransaction ?? 0
    var followers: [Reference] = []
    for slot in applier.transaction.schema.ownedEnds(numbered: target.entity).indexes {
      guard let name = entity.property(at: slot)?.name,
        let value = candidates[target]?.object.values[name], !value.isKnown
      else { continue }
      followers += try follower(value.side.value, slot, of: target, entity, cause: cause)
    }
    return try found + followers + returningReferences(to: target, cause)
  }

  /// The references of the zone to an object that is deleted here, of what is deleted here as well: they decide nothing,
  /// and whoever deleted both never saw them.
  func unseenReferences(to target: ObjectKey) throws -> [Reference] {
    try news(of: target).filter {
      applier.pending[$0.source]?.whole == .delete && kept[$0.source] == nil
    }
  }

  private func news(of target: ObjectKey) throws -> [Reference] {
    let cause = applier.pending[target]?.wholeTransaction ?? 0
    return try applier.dangling.sources(
      root: applier.schema.root(of: target), target: target.key
    ).compactMap { source in
      guard let owner = applier.schema.entity(numbered: source.key.entity),
        let property = owner.property(named: source.property),
        let relationship = property.relationship
      else { return nil }
      return Reference(
        source: source.key,
        referrer: SyncSchema.Referrer(
          property: property, relationship: relationship, owner: owner.description),
        cause: cause, rule: ReferenceRule(relationship))
    }
  }

  /// The references of what was deleted here as well, and comes back with the zone's values.
  private func returningReferences(to target: ObjectKey, _ cause: Int64) throws -> [Reference] {
    try returning[rooted(target), default: []].compactMap { source, property in
      guard taken[source] == nil, let relationship = property.relationship,
        let owner = applier.schema.entity(numbered: source.entity),
        try applier.transaction.concreteKey(root: source) == nil
      else { return nil }
      return Reference(
        source: source,
        referrer: SyncSchema.Referrer(
          property: property, relationship: relationship, owner: owner.description),
        cause: cause, rule: ReferenceRule(relationship))
    }
  }

  /// What follows the owning end of a one-to-one relationship which one side set of an object that the other deletes. Its own
  /// end crosses no wire, and is a reference to that object all the same: its rule holds, unless it may be missing.
  private func follower(
    _ value: PropertyValue, _ slot: Int, of target: ObjectKey, _ entity: SyncSchema.Entity,
    cause: Int64
  ) throws -> [Reference] {
    guard case .reference(let partner) = value,
      let source = try applier.transaction.concreteKey(root: partner),
      source != target, taken[source] == nil,
      candidates[source]?.side != .zone || kept[source] != nil,
      let inverse = entity.description.layout.slots[slot].relationship?.inverseRelationship,
      let owner = applier.schema.entity(numbered: source.entity),
      let place = owner.description.layout.index(named: inverse.name)
    else { return [] }
    let rule = ReferenceRule(inverse)
    guard rule != .nullify else { return [] }
    let property = SyncSchema.Property(
      slot: place, name: inverse.name, kind: .toOne(inverse),
      policy: owner.description.layout.slots[place].policy)
    return [
      Reference(
        source: source,
        referrer: SyncSchema.Referrer(
          property: property, relationship: inverse, owner: owner.description),
        cause: cause, rule: rule)
    ]
  }
}
