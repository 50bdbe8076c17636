import Driftless
import Foundation

/// Keeps references filled that the model requires: what took from an object what it must have goes back to what the zone has,
/// and a new object that is to have what another one has got is one with that.
///
/// Each step leaves fewer pending edits, deletes or new objects, so there is an end; what is empty then is so in the zone, and
/// is named (`LackedValues`).
struct RequiredReferences {
  /// An object whose reference is the owning end of a one-to-one relationship.
  private struct Owner {
    var key: ObjectKey
    var slot: Int
    /// The pending transaction that set it.
    var edit: Int64
  }

  private let applier: PageApplier
  private var transaction: WriteTransaction { applier.transaction }
  /// Who had objects for partners by pending edits, before anything was settled.
  private let owners: [ObjectKey: Owner]

  init(_ applier: PageApplier) throws {
    self.applier = applier
    owners = try Self.owners(applier) { key, slot, _ in
      try applier.transaction.knownOwnRow(key)?.values[slot] ?? .null
    }
  }

  /// The partners of pending owning ends whose other ends are required.
  ///
  /// - Parameter value: what the owning end has.
  private static func owners(
    _ applier: PageApplier,
    _ value: (ObjectKey, Int, SyncSchema.Property) throws -> PropertyValue
  ) throws -> [ObjectKey: Owner] {
    let transaction = applier.transaction
    var owners: [ObjectKey: Owner] = [:]
    guard transaction.schema.hasOneToOne else { return owners }
    for (key, object) in applier.pending.objects where object.whole != .delete {
      guard let entity = applier.schema.entity(numbered: key.entity) else { continue }
      for slot in transaction.schema.ownedEnds(numbered: key.entity).indexes {
        guard let edit = object.transaction(of: slot), let property = entity.property(at: slot),
          property.relationship?.inverseRelationship?.isOptional == false,
          case .reference(let target) = try value(key, slot, property),
          let partner = try transaction.concreteKey(root: target)
        else { continue }
        owners[partner] = Owner(key: key, slot: slot, edit: edit)
      }
    }
    return owners
  }

  /// - Returns: whether something was filled, or may be.
  func settle(_ settlement: KeySettlement) throws -> Bool {
    let empty = try applier.lacks.empty(transaction)
    guard !empty.isEmpty else { return false }
    for (key, slot) in empty {
      guard let entity = applier.schema.entity(numbered: key.entity),
        entity.description.layout.slots[slot].relationship != nil,
        applier.keptKeys.values[key]?[slot] == nil
      else { continue }
      let isFilled =
        try entity.property(at: slot).map { try fill(key, $0, settlement) }
        ?? follow(key, slot, settlement)
      // It may have been another one's as well.
      if isFilled { return true }
    }
    return false
  }

  // MARK: Owning ends, and others that cross

  private func fill(
    _ key: ObjectKey, _ property: SyncSchema.Property, _ settlement: KeySettlement
  ) throws -> Bool {
    let object = applier.pending[key]
    if let object, object.transaction(of: property.slot) != nil {
      guard object.whole == .none,
        case .reference(let target) = try applier.zoneValue(of: key, property),
        try applier.isThere(target, orBackFor: key)
      else { return false }
      try settlement.takeBack(
        key, property.slot, against: key, because: "\(property.name) is required")
      return true
    }
    // What the zone has it refer to was deleted here alone.
    let source = DanglingReferences.Source(key: key, property: property.name)
    for target in try applier.dangling.targets(of: source) {
      guard try transaction.concreteKey(root: target) == nil,
        try applier.isThere(target, orBackFor: key)
      else { continue }
      return try transaction.knownOwnRow(key)?.values[property.slot].isNull == false
    }
    return false
  }

  // MARK: Ends that follow

  private func follow(
    _ key: ObjectKey, _ slot: Int, _ settlement: KeySettlement
  ) throws -> Bool {
    let zones = try Self.owners(applier) { key, _, property in
      applier.pending[key]?.whole == PendingObject.Whole.none
        ? try applier.zoneValue(of: key, property) : .null
    }
    let identity = try transaction.identity(of: key).uuidString.lowercased()
    if let owner = zones[key] {
      try settlement.takeBack(
        owner.key, owner.slot, against: key,
        because: "object \(identity), which must have one, would be without")
      return true
    }
    if try bringBackOwner(of: key, slot) { return true }
    guard let owner = owners[key], let row = try transaction.knownOwnRow(owner.key)?.values,
      owner.key != key
    else { return false }
    if case .reference(let taken) = row[owner.slot] {
      guard let other = try transaction.concreteKey(root: taken), other != key,
        other.entity == key.entity, try settlement.isNew(key)
      else { return false }
      var unions = Unions(applier)
      try unions.readTimes(of: [other])
      try unions.unite(key, into: other, applier.keptKeys.side)
      return true
    }
    // Nobody has it: it stays as it was set here.
    guard
      let name = applier.schema.entity(numbered: owner.key.entity)?.property(at: owner.slot)?.name
    else { return false }
    let isPending = applier.pending[owner.key]?.transaction(of: owner.slot) != nil
    if !isPending {
      try BaseValues.replace(owner.key, name, with: .null, on: transaction.connection)
      applier.setPending(owner.key) { $0.set(PropertyMask([owner.slot]), by: owner.edit) }
    }
    var values = row
    values[owner.slot] = .reference(key)
    try transaction.update(
      owner.key, PropertyMask([owner.slot]), values: values, expectedVersion: nil)
    applier.report.updated += 1
    return true
  }

  /// Brings back who had an object for a partner in the zone, and was deleted here: whoever was to have it since does not.
  private func bringBackOwner(of key: ObjectKey, _ slot: Int) throws -> Bool {
    guard
      let owning = transaction.schema.entity(numbered: key.entity)?.layout.slots[slot]
        .relationship?.inverseRelationship
    else { return false }
    let deleted = applier.pending.objects.filter { $0.value.whole == .delete }.map(\.key)
      .sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
    for owner in deleted {
      guard let entity = applier.schema.entity(numbered: owner.entity),
        let place = entity.description.layout.index(named: owning.name),
        entity.description.layout.slots[place].relationship?.inverseRelationship
          === owning.inverseRelationship
      else { continue }
      let base = try BaseValues.value(of: owner, owning.name, on: transaction.connection)
      let value = try base ?? transaction.grave(of: owner)?[place]
      guard case .reference(let partner)? = value,
        try transaction.concreteKey(root: partner) == key
      else { continue }
      return try applier.isThere(owner, orBackFor: key)
    }
    return false
  }
}
