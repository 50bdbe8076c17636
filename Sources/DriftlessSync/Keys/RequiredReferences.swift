import Driftless
import Foundation

/// Keeps references filled that the model requires: what took from an object what it must have goes back to what the zone has,
/// and a new object that is to have what another new one has got is one with that.
///
/// Each step leaves fewer pending edits, deletes or new objects, so there is an end; what is empty then is so in the zone, and
/// is named (`LackedValues`).
struct RequiredReferences {
  /// The end that follows of a one-to-one relationship, of an object that must have a partner there.
  private struct End: Hashable {
    var key: ObjectKey
    var slot: Int
  }

  /// An object whose reference is the owning end.
  private struct Owner {
    var key: ObjectKey
    var slot: Int
    /// The pending transaction that set it.
    var edit: Int64
  }

  /// Whom the zone has as owners of ends that are empty here, found when the first end asks: nothing of it changes by what is
  /// filled with it.
  private struct Round {
    var edited: [End: Owner]?
    var deleted: [End: ObjectKey]?
    /// What was changed in this round: what becomes of that is for the next one.
    var changed: Set<ObjectKey> = []
  }

  private let applier: PageApplier
  private var transaction: WriteTransaction { applier.transaction }
  /// Who had objects for partners by pending edits, before anything was settled.
  private let owners: [End: Owner]

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
  ) throws -> [End: Owner] {
    let schema = applier.transaction.schema
    var owners: [End: Owner] = [:]
    guard schema.hasRequiredFollowers else { return owners }
    let owning = applier.pending.objects.keys
      .filter { !schema.ownedEnds(numbered: $0.entity).isEmpty }
      .sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
    for key in owning {
      guard let object = applier.pending[key], object.whole != .delete,
        let entity = applier.schema.entity(numbered: key.entity)
      else { continue }
      for slot in schema.ownedEnds(numbered: key.entity).indexes {
        guard let edit = object.transaction(of: slot), let property = entity.property(at: slot),
          let inverse = property.relationship?.inverseRelationship, !inverse.isOptional,
          let end = try end(of: value(key, slot, property), inverse, applier)
        else { continue }
        owners[end] = Owner(key: key, slot: slot, edit: edit)
      }
    }
    return owners
  }

  private static func end(
    of value: PropertyValue?, _ inverse: RelationshipDescription, _ applier: PageApplier
  ) throws -> End? {
    guard case .reference(let target)? = value,
      let partner = try applier.transaction.concreteKey(root: target),
      let slot = applier.transaction.schema.entity(numbered: partner.entity)?.layout
        .index(named: inverse.name)
    else { return nil }
    return End(key: partner, slot: slot)
  }

  /// - Returns: whether something was filled, or may be.
  func settle(_ settlement: KeySettlement) throws -> Bool {
    var round = Round()
    for (key, slot) in try applier.lacks.emptyReferences(transaction) {
      guard let entity = applier.schema.entity(numbered: key.entity),
        applier.keptKeys.values[key]?[slot] == nil, !round.changed.contains(key),
        // An earlier one may have brought back what it refers to.
        try transaction.knownOwnRow(key)?.values[slot].isNull == true
      else { continue }
      let isFilled =
        try entity.property(at: slot).map { try fill(key, $0, settlement) }
        ?? follow(End(key: key, slot: slot), settlement, &round)
      if isFilled { round.changed.insert(key) }
    }
    return !round.changed.isEmpty
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
    _ end: End, _ settlement: KeySettlement, _ round: inout Round
  ) throws -> Bool {
    if let owner = try zoneOwner(of: end, &round),
      applier.pending[owner.key]?.transaction(of: owner.slot) != nil,
      try !refers(owner, to: end)
    {
      guard round.changed.insert(owner.key).inserted else { return true }
      let identity = try transaction.identity(of: end.key).uuidString.lowercased()
      try settlement.takeBack(
        owner.key, owner.slot, against: end.key,
        because: "object \(identity), which must have one, would be without")
      return true
    }
    if let owner = try deletedOwner(of: end, &round),
      try applier.isThere(owner, orBackFor: end.key)
    {
      return true
    }
    guard let owner = owners[end], owner.key != end.key, !round.changed.contains(owner.key),
      let row = try transaction.knownOwnRow(owner.key)?.values
    else { return false }
    if case .reference(let taken) = row[owner.slot] {
      guard let other = try transaction.concreteKey(root: taken), other != end.key,
        other.entity == end.key.entity, !round.changed.contains(other),
        try settlement.areBothNew(end.key, other)
      else { return false }
      var unions = Unions(applier)
      try unions.readTimes(of: [other])
      try unions.unite(end.key, into: other, applier.keptKeys.side, .partner)
      round.changed.formUnion([owner.key, other])
      return true
    }
    try stand(owner, end, row)
    round.changed.insert(owner.key)
    return true
  }

  /// Whether it has the object again, which is to follow.
  private func refers(_ owner: Owner, to end: End) throws -> Bool {
    guard case .reference(let target)? = try transaction.knownOwnRow(owner.key)?.values[owner.slot]
    else { return false }
    return try transaction.concreteKey(root: target) == end.key
  }

  /// CONFLICT: what was set here lost to a later word that gives the object no partner, and no other has it.
  /// RESOLUTION: it stays as it was set here, and the journal has the other's word.
  private func stand(_ owner: Owner, _ end: End, _ row: [PropertyValue]) throws {
    guard let entity = applier.schema.entity(numbered: owner.key.entity),
      let property = entity.property(at: owner.slot)
    else { return }
    if applier.pending[owner.key]?.transaction(of: owner.slot) == nil {
      try BaseValues.replace(
        owner.key, property.name, with: .null, on: transaction.connection)
      applier.setPending(owner.key) { $0.set(PropertyMask([owner.slot]), by: owner.edit) }
    }
    var values = row
    values[owner.slot] = .reference(end.key)
    try transaction.update(
      owner.key, PropertyMask([owner.slot]), values: values, expectedVersion: nil)
    applier.report.updated += 1
    let side = applier.partnerWords[owner.key]?[owner.slot] ?? applier.keptKeys.side
    let conflict = PropertyConflict(
      policy: property.policy, base: nil, local: .reference(end.key), remote: .null,
      localTime: try transaction.editTime(owner.edit), remoteTime: side.time,
      localReplica: applier.replica, remoteReplica: side.origin)
    let identity = try transaction.identity(of: end.key).uuidString.lowercased()
    try applier.journal.add(
      conflict,
      Verdict(
        .local, rule: "what is required",
        note: "Object \(identity), which must have one, would be without."),
      entity: entity, property: property, key: owner.key, sequence: side.sequence)
    applier.report.conflicts += 1
  }

  /// Who has an end's object for a partner in the zone, and another one by a pending edit.
  private func zoneOwner(of end: End, _ round: inout Round) throws -> Owner? {
    if let edited = round.edited { return edited[end] }
    let edited = try Self.owners(applier) { key, _, property in
      applier.pending[key]?.whole == PendingObject.Whole.none
        ? try applier.zoneValue(of: key, property) : .null
    }
    round.edited = edited
    return edited[end]
  }

  /// Who had an end's object for a partner in the zone, and was deleted here: whoever was to have it since does not.
  private func deletedOwner(of end: End, _ round: inout Round) throws -> ObjectKey? {
    if let deleted = round.deleted { return deleted[end] }
    let schema = transaction.schema
    var deleted: [End: ObjectKey] = [:]
    let owners = applier.pending.objects.keys
      .filter {
        applier.pending[$0]?.whole == .delete && !schema.ownedEnds(numbered: $0.entity).isEmpty
      }
      .sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
    for owner in owners {
      guard let layout = schema.entity(numbered: owner.entity)?.layout else { continue }
      for slot in schema.ownedEnds(numbered: owner.entity).indexes {
        guard let inverse = layout.slots[slot].relationship?.inverseRelationship,
          !inverse.isOptional
        else { continue }
        let base = try BaseValues.value(
          of: owner, layout.slots[slot].name, on: transaction.connection)
        let value = try base ?? transaction.grave(of: owner)?[slot]
        guard let end = try Self.end(of: value, inverse, applier), deleted[end] == nil else {
          continue
        }
        deleted[end] = owner
      }
    }
    round.deleted = deleted
    return deleted[end]
  }
}
