import Driftless
import DriftlessSQLite

/// Keeps the two ends of one-to-one relationships in step with what an import writes at the owning ends, the only ones
/// that cross the wire: an object has one partner.
struct OneToOneEnds {
  private let applier: PageApplier
  private var transaction: WriteTransaction { applier.transaction }

  init(_ applier: PageApplier) { self.applier = applier }

  /// Brings the other ends of what was written since the last call in line, and frees former owners.
  func follow() throws {
    guard transaction.schema.hasOneToOne || transaction.schema.hasOwnInverses else { return }
    let pairs = OwnInverses(applier)
    while true {
      let written = applier.keptKeys.takeOwners()
      guard !written.isEmpty else { return }
      let order = Dictionary(
        written.enumerated().map { ($1, $0) }, uniquingKeysWith: { _, last in last })
      for key in order.keys.sorted(by: { (order[$0] ?? 0) < (order[$1] ?? 0) }) {
        try follow(key, order)
        try pairs.follow(key)
      }
    }
  }

  private func follow(_ key: ObjectKey, _ order: [ObjectKey: Int]) throws {
    for end in ends(of: key.entity) {
      let target = try target(of: key, end)
      for other in try transaction.keys(referring: end.inverse, to: key)
      where other.key != target?.key {
        // Two may have had it until now.
        try set(other, end.inverse, owners(of: other, end).first)
      }
      guard let target else { continue }
      var owner = key
      for other in try owners(of: target, end) where other != key {
        let isOpen = isPending(other, end) || isPending(key, end)
        if applier.isJoining, applier.hasLog || !isOpen {
          throw UnfitSnapshot(reason: "two objects have one partner")
        }
        // A pending end is settled when all is in view.
        if isOpen { continue }
        // CONFLICT: two objects of the log have one partner: a program without claims wrote it.
        // RESOLUTION: the one that took over later has it.
        if order[other] ?? -1 > order[key] ?? -1 { owner = other }
      }
      for other in try owners(of: target, end) where other != owner {
        if !isPending(other, end), !isPending(owner, end) { try set(other, end.owning, nil) }
      }
      try set(target, end.inverse, owner)
    }
  }

  // MARK: Clashes

  /// A pending end whose partner another object has.
  struct Clash {
    var pending: ObjectKey
    var holder: ObjectKey
    var slot: Int
  }

  func clashes() throws -> [Clash] {
    guard transaction.schema.hasOneToOne else { return [] }
    var clashes: [Clash] = []
    let ending = applier.pending.objects.keys
      .filter { !transaction.schema.ownedEnds(numbered: $0.entity).isEmpty }
      .sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
    for key in ending {
      for end in ends(of: key.entity) where isPending(key, end) {
        guard let target = try target(of: key, end) else { continue }
        for holder in try owners(of: target, end) where holder != key && !isPending(holder, end) {
          clashes.append(Clash(pending: key, holder: holder, slot: end.slot))
        }
      }
    }
    return clashes
  }

  /// Whether a clash is one still.
  func stands(_ clash: Clash) throws -> Bool {
    guard let end = ends(of: clash.pending.entity).first(where: { $0.slot == clash.slot }),
      isPending(clash.pending, end), !isPending(clash.holder, end),
      let target = try target(of: clash.pending, end)
    else { return false }
    return try owners(of: target, end).contains(clash.holder)
  }

  // MARK: Groups

  /// A partner that one object gave up so that another could take it: both are pending, and one does not go without the
  /// other.
  struct Transfer {
    var freed: ObjectKey
    var taker: ObjectKey
    var partner: ObjectKey
    var slot: Int
  }

  /// What is pending of the kind, before it is settled.
  func transfers() throws -> [Transfer] {
    guard transaction.schema.hasOneToOne else { return [] }
    var transfers: [Transfer] = []
    for key in applier.pending.objects.keys {
      for end in ends(of: key.entity) where isPending(key, end) {
        guard try transaction.knownRow(key)?.values[end.slot].isNull == true,
          case .reference(let partner)? = try BaseValues.value(
            of: key, end.owning.name, on: transaction.connection),
          let taker = try owners(of: partner, end).first, isPending(taker, end)
        else { continue }
        transfers.append(Transfer(freed: key, taker: taker, partner: partner, slot: end.slot))
      }
    }
    return transfers.sorted { ($0.freed.entity, $0.freed.key) < ($1.freed.entity, $1.freed.key) }
  }

  /// Whether a pending end may meet another owner.
  static func mayClash(_ pending: PendingSet, _ schema: StoreSchema) -> Bool {
    guard schema.hasOneToOne else { return false }
    return pending.objects.containsState { entity, object in
      schema.ownedEnds(numbered: entity).indexes.contains { object.transaction(of: $0) != nil }
    }
  }

  /// Whether the taking lost while the giving up would still be pushed: the partner is nobody's.
  func isHalf(_ transfer: Transfer) throws -> Bool {
    guard applier.pending[transfer.freed]?.whole == PendingObject.Whole.none,
      let end = ends(of: transfer.freed.entity).first(where: { $0.slot == transfer.slot }),
      isPending(transfer.freed, end),
      try transaction.knownRow(transfer.freed)?.values[end.slot].isNull == true,
      try transaction.concreteKey(root: transfer.partner) != nil
    else { return false }
    return try owners(of: transfer.partner, end).isEmpty
  }

  // MARK: Ends

  private struct End {
    var slot: Int
    var owning: RelationshipDescription
    var inverse: RelationshipDescription
  }

  private func ends(of number: Int32) -> [End] {
    guard let layout = transaction.schema.entity(numbered: number)?.layout else { return [] }
    return transaction.schema.ownedEnds(numbered: number).indexes.compactMap { slot in
      guard let owning = layout.slots[slot].relationship, let inverse = owning.inverseRelationship
      else { return nil }
      return End(slot: slot, owning: owning, inverse: inverse)
    }
  }

  private func isPending(_ key: ObjectKey, _ end: End) -> Bool {
    applier.pending[key]?.transaction(of: end.slot) != nil
  }

  private func target(of key: ObjectKey, _ end: End) throws -> ObjectKey? {
    guard case .reference(let target)? = try transaction.knownRow(key)?.values[end.slot] else {
      return nil
    }
    return try transaction.concreteKey(root: target)
  }

  private func owners(of target: ObjectKey, _ end: End) throws -> [ObjectKey] {
    try transaction.keys(referring: end.owning, to: target)
  }

  private func set(
    _ key: ObjectKey, _ relationship: RelationshipDescription, _ value: ObjectKey?
  ) throws {
    guard
      let slot = transaction.schema.entity(numbered: key.entity)?.layout.index(
        named: relationship.name), var values = try transaction.knownRow(key)?.values
    else { return }
    let new = value.map { PropertyValue.reference($0) } ?? .null
    guard values[slot] != new else { return }
    values[slot] = new
    try transaction.update(key, PropertyMask([slot]), values: values, expectedVersion: nil)
  }
}
