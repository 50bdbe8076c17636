import Driftless
import Foundation

/// Keeps one-to-one relationships in pairs that are their own inverse: of a pair each refers to the other, and says so for itself.
///
/// The zone has two values of one fact. Where they do not agree, nobody is the partner: whoever is named by one that it does
/// not name is shown alone, and what names it waits beside its row (`KeptKeys`) until both say the same. That is a function of
/// the zone's values, whatever the order in which they came, so every replica shows the same pairs.
struct OwnInverses {
  private let applier: PageApplier
  private var transaction: WriteTransaction { applier.transaction }

  init(_ applier: PageApplier) { self.applier = applier }

  // MARK: What is shown

  /// Shows who is whose partner after a row was written.
  func follow(_ key: ObjectKey) throws {
    for slot in transaction.schema.ownInverses(numbered: key.entity).indexes {
      guard let relationship = relationship(slot, of: key.entity) else { continue }
      var looked = try claimants(of: key, relationship)
      if let target = try claimed(key, relationship) { looked.append(target) }
      for one in [key] + looked { try show(one, relationship) }
    }
  }

  private func show(_ key: ObjectKey, _ relationship: RelationshipDescription) throws {
    guard let slot = slot(of: relationship, key), !isPending(key, slot),
      var row = try transaction.knownOwnRow(key)?.values
    else { return }
    let kept = applier.keptKeys.values[key]?[slot]
    let value = kept?.value ?? row[slot]
    guard case .reference = value else { return }
    let partner = try claimed(key, relationship)
    let isMutual = try partner.map { try claimed($0, relationship) == key } ?? false
    guard isMutual == row[slot].isNull else { return }
    if let partner, isMutual { row[slot] = .reference(partner) } else { row[slot] = .null }
    try transaction.update(key, PropertyMask([slot]), values: row, expectedVersion: nil)
    if !isMutual { try applier.keptKeys.keep(key, slot, value) }
  }

  /// The living object that an object says is its partner.
  private func claimed(
    _ key: ObjectKey, _ relationship: RelationshipDescription
  ) throws -> ObjectKey? {
    guard let slot = slot(of: relationship, key),
      let row = try transaction.knownOwnRow(key)?.values
    else { return nil }
    let value = applier.keptKeys.values[key]?[slot]?.value ?? row[slot]
    guard case .reference(let target) = value else { return nil }
    return try transaction.concreteKey(root: target)
  }

  /// The living objects that say that an object is their partner.
  private func claimants(
    of key: ObjectKey, _ relationship: RelationshipDescription
  ) throws -> [ObjectKey] {
    var found = try transaction.keys(referring: relationship, to: key)
    for keeper in applier.keptKeys.halves(with: key) where !found.contains(keeper) {
      if try claimed(keeper, relationship) == key { found.append(keeper) }
    }
    return found
  }

  // MARK: Settling

  /// Takes back pending pairs of which one half is not to be: the zone's pairs stand.
  ///
  /// - Returns: whether anything was taken back. Each time fewer edits are pending.
  func settle(_ settlement: KeySettlement) throws -> Bool {
    guard transaction.schema.hasOwnInverses else { return false }
    var isChanged = false
    let keys = applier.pending.objects.keys
      .filter { !transaction.schema.ownInverses(numbered: $0.entity).isEmpty }
      .sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
    for key in keys {
      for slot in transaction.schema.ownInverses(numbered: key.entity).indexes
      where isPending(key, slot) {
        guard let relationship = relationship(slot, of: key.entity),
          let other = try opponent(of: key, slot, relationship)
        else { continue }
        let why =
          other.key == key.key
          ? "its partner has another one"
          : "object \(try transaction.identity(of: other).uuidString.lowercased()) has this partner"
        try settlement.takeBack(key, slot, against: other, because: why)
        isChanged = true
      }
    }
    return isChanged
  }

  /// Whoever does not let an object's pending partner be; itself where it is that partner alone.
  private func opponent(
    of key: ObjectKey, _ slot: Int, _ relationship: RelationshipDescription
  ) throws -> ObjectKey? {
    guard try transaction.concreteKey(root: key) == key else { return nil }
    let partner = try claimed(key, relationship)
    if let partner {
      let theirs = try claimed(partner, relationship)
      if theirs != key { return theirs ?? key }
    }
    guard applier.pending[key]?.whole == PendingObject.Whole.none,
      let property = applier.schema.entity(numbered: key.entity)?.property(at: slot)
    else { return nil }
    for claimant in try claimants(of: key, relationship) where claimant != partner {
      guard let place = self.slot(of: relationship, claimant), !isPending(claimant, place),
        case .reference(let zones) = try applier.zoneValue(of: key, property),
        try transaction.concreteKey(root: zones) == claimant
      else { continue }
      // The zone has the two as a pair, and only one of them was to leave it.
      return claimant
    }
    return nil
  }

  // MARK: Ends

  private func relationship(_ slot: Int, of entity: Int32) -> RelationshipDescription? {
    transaction.schema.entity(numbered: entity)?.layout.slots[slot].relationship
  }

  private func slot(of relationship: RelationshipDescription, _ key: ObjectKey) -> Int? {
    transaction.schema.entity(numbered: key.entity)?.layout.index(named: relationship.name)
  }

  private func isPending(_ key: ObjectKey, _ slot: Int) -> Bool {
    applier.pending[key]?.transaction(of: slot) != nil
  }
}
