import Driftless
import DriftlessSQLite
import Foundation

/// Settles who holds a unique key that two objects here claim: the zone's object does.
///
/// Reverts come first: a pending edit that meets a holder goes back to what the zone has. Then unions: a pending new
/// object becomes one with the zone's. Each of them leaves fewer pending edits or fewer objects, so there is an end.
struct KeySettlement {
  /// Two objects that claim one key.
  private struct Clash {
    /// The one whose value waits.
    var waiting: ObjectKey
    /// The one that has it.
    var holder: ObjectKey
    /// The properties that the key is made of.
    var slots: [Int]
    /// Whether it is the partner of a one-to-one relationship: it makes no two objects one.
    var isPartner = false
  }

  /// Whose an object's claim is.
  private enum Standing {
    /// The zone's log says it.
    case zone
    /// A pending edit of an object that the zone knows.
    case edited
    /// A pending new object, or one that comes back against a delete.
    case made
  }

  private let applier: PageApplier
  private var transaction: WriteTransaction { applier.transaction }

  /// Partners that pending edits passed on before anything was settled.
  private let transfers: [OneToOneEnds.Transfer]
  private let required: RequiredReferences

  init(_ applier: PageApplier) throws {
    self.applier = applier
    required = try RequiredReferences(applier)
    transfers = try OneToOneEnds(applier).transfers()
  }

  /// Whether there may be something to settle.
  static func isDue(_ pending: PendingSet, _ transaction: ReadTransaction) throws -> Bool {
    try OneToOneEnds.mayClash(pending, transaction.schema)
      || KeptKeys.mayClash(pending, transaction)
  }

  func run() throws {
    // Each round leaves less that is pending. Should one not, the sync goes on all the same: what is empty then is named.
    var rounds = 3 * applier.pending.objects.keys.count(where: { _ in true }) + 100
    repeat {
      try applier.finishKeys()
      rounds -= 1
      assert(rounds > 0, "settling comes to an end")
    } while try rounds > 0
      && (settleRound() || restoreHalves() || OwnInverses(applier).settle(self)
        || required.settle(self))
  }

  /// Takes back that objects gave their partners up, where those that were to have them did not get them.
  private func restoreHalves() throws -> Bool {
    let ends = OneToOneEnds(applier)
    var isRestored = false
    for transfer in transfers where try ends.isHalf(transfer) {
      try revert(
        transfer.freed,
        Clash(
          waiting: transfer.freed, holder: transfer.taker, slots: [transfer.slot], isPartner: true),
        because: "it was given up for another object, which did not get it")
      isRestored = true
    }
    return isRestored
  }

  /// Settles the clashes that there are now, of the first kind that there is; what becomes of that is for the next round.
  /// Each object is settled once in a round, and a clash that an earlier one did away with is none.
  ///
  /// - Returns: false when nothing is left to settle: what still waits meets another object of the log.
  private func settleRound() throws -> Bool {
    let clashes = try clashes()
    guard !clashes.isEmpty else { return false }
    var settled: Set<ObjectKey> = []
    func isOpen(_ clash: Clash) throws -> Bool {
      guard !settled.contains(clash.waiting), !settled.contains(clash.holder) else { return false }
      return try settled.isEmpty || stands(clash)
    }
    for clash in clashes {
      guard let edited = try edited(clash), try isOpen(clash) else { continue }
      try revert(edited, clash)
      settled.insert(edited)
    }
    guard settled.isEmpty else { return true }
    var unions = Unions(applier)
    let pairs = try clashes.compactMap { clash in
      try union(of: clash).map { (clash: clash, lost: $0.lost, stayed: $0.stayed) }
    }
    if !pairs.isEmpty { try unions.readTimes(of: pairs.map(\.stayed)) }
    for pair in try unions.inOrder(pairs, lost: \.lost) where try isOpen(pair.clash) {
      try unions.unite(
        pair.lost, into: pair.stayed, side(of: pair.clash),
        pair.clash.isPartner ? .partner : .key)
      settled.formUnion([pair.lost, pair.stayed])
    }
    guard settled.isEmpty else { return true }
    for clash in clashes {
      guard let made = try made(clash), try isOpen(clash) else { continue }
      try giveUp(made, clash)
      settled.insert(made)
    }
    return !settled.isEmpty
  }

  /// Whether a clash is one still.
  private func stands(_ clash: Clash) throws -> Bool {
    if clash.isPartner {
      return try OneToOneEnds(applier).stands(
        OneToOneEnds.Clash(pending: clash.waiting, holder: clash.holder, slot: clash.slots[0]))
    }
    return try applier.keptKeys.holders(of: clash.waiting).contains {
      $0.holder == clash.holder && $0.slots == clash.slots
    }
  }

  /// The one of the two whose claim is a pending edit.
  private func edited(_ clash: Clash) throws -> ObjectKey? {
    try [clash.holder, clash.waiting].first { try standing($0, clash.slots) == .edited }
  }

  /// The one of the two that is pending as new.
  private func made(_ clash: Clash) throws -> ObjectKey? {
    try [clash.waiting, clash.holder].first { try standing($0, clash.slots) == .made }
  }

  /// The two of a clash that are one object: a new one here, and the zone's. Nil where they are none. Two new ones that must
  /// have one partner are one as two with one key are: neither can be without.
  private func union(of clash: Clash) throws -> (lost: ObjectKey, stayed: ObjectKey)? {
    guard clash.waiting.entity == clash.holder.entity,
      !clash.isPartner || !isOptional(clash.slots[0], clash.waiting)
    else { return nil }
    switch try (standing(clash.waiting, clash.slots), standing(clash.holder, clash.slots)) {
    case (.zone, .made) where try mayBeOne(clash.holder, clash.waiting, clash):
      return (clash.holder, clash.waiting)
    case (.made, .zone) where try mayBeOne(clash.waiting, clash.holder, clash):
      return (clash.waiting, clash.holder)
    default: return nil
    }
  }

  private func mayBeOne(_ lost: ObjectKey, _ stayed: ObjectKey, _ clash: Clash) throws -> Bool {
    try clash.isPartner ? areBothNew(lost, stayed) : isNew(lost)
  }

  /// Whether an object was made here, and another one elsewhere, by people who did not know of the other's: they meant one.
  /// Who moved to a partner was there before, and is somebody else.
  func areBothNew(_ lost: ObjectKey, _ stayed: ObjectKey) throws -> Bool {
    guard let object = applier.pending[lost], object.whole == .insert,
      EditStamp.time(object.wholeTransaction) == nil, try isNew(lost)
    else { return false }
    // Keys ascend in a store: what came later has a greater one.
    return stayed.key > lost.key
  }

  /// Whether the zone does not have an object. One that it has stays one of its own: others refer to it.
  private func isNew(_ key: ObjectKey) throws -> Bool {
    if applier.pending[key]?.isDeadInZone == true { return true }
    return try applier.directory.number(root: applier.schema.root(of: key), key: key.key) == nil
  }

  private func isOptional(_ slot: Int, _ key: ObjectKey) -> Bool {
    applier.schema.entity(numbered: key.entity)?.description.layout.slots[slot].isOptional ?? true
  }

  private func clashes() throws -> [Clash] {
    let partners = try OneToOneEnds(applier).clashes().map {
      Clash(waiting: $0.pending, holder: $0.holder, slots: [$0.slot], isPartner: true)
    }
    return try partners
      + applier.keptKeys.keys.flatMap { key in
        try applier.keptKeys.holders(of: key).map {
          Clash(waiting: key, holder: $0.holder, slots: $0.slots)
        }
      }
  }

  private func standing(_ key: ObjectKey, _ slots: [Int]) throws -> Standing {
    guard let object = applier.pending[key] else { return .zone }
    switch object.whole {
    case .insert, .revive: return .made
    case .delete: return .zone
    case .none:
      return try slots.contains { try isEdited(key, $0, object) } ? .edited : .zone
    }
  }

  /// Whether what a key is made of is pending: to move an object within its list is no edit of its key.
  private func isEdited(_ key: ObjectKey, _ slot: Int, _ object: PendingObject) throws -> Bool {
    guard object.transaction(of: slot) != nil else { return false }
    guard let property = applier.schema.entity(numbered: key.entity)?.property(at: slot),
      case .toOne = property.kind, let row = try transaction.knownOwnRow(key)?.values
    else { return true }
    let shown = applier.keptKeys.claimed(key, row)[slot]
    return try !applier.isPlaceAlone(property, of: key, shown)
  }

  /// The zone's change that brought the clash about.
  private func side(of clash: Clash) -> RemoteSide {
    let kept = applier.keptKeys.values[clash.waiting] ?? [:]
    return clash.slots.lazy.compactMap { kept[$0]?.side }.first ?? applier.keptKeys.side
  }

  // MARK: Reverts

  /// Takes a pending reference back to what the zone has; that of a new object is none.
  ///
  /// - Parameter other: the object for which it goes.
  func takeBack(
    _ key: ObjectKey, _ slot: Int, against other: ObjectKey, because reason: String
  ) throws {
    let clash = Clash(waiting: key, holder: other, slots: [slot], isPartner: true)
    if applier.pending[key]?.whole == PendingObject.Whole.none {
      try revert(key, clash, because: reason)
    } else {
      try giveUp(key, clash, because: reason)
    }
  }

  /// Takes the pending edits of a key back to what the zone has; each value that goes is in the journal.
  private func revert(
    _ key: ObjectKey, _ clash: Clash, because reason: String? = nil
  ) throws {
    guard let entity = applier.schema.entity(numbered: key.entity),
      let object = applier.pending[key]
    else { return }
    var values = try applier.currentValues(of: key)
    var mask = PropertyMask()
    for slot in clash.slots {
      guard try isEdited(key, slot, object), let number = object.transaction(of: slot),
        let property = entity.property(at: slot)
      else { continue }
      let zones = try applier.zoneValue(of: key, property)
      if case .reference(let target) = zones, property.isReference, !isOptional(slot, key) {
        _ = try applier.isThere(target, orBackFor: key)
      }
      let base = try applier.living(zones, property, of: key)
      try journalLoss(entity, property, key, values[slot], base, number, clash, reason: reason)
      try BaseValues.drop(key, property.name, on: transaction.connection)
      try applier.parkedValues.strike(key, property.name)
      values[slot] = try applier.held(base, property, of: key, side(of: clash))
      try applier.takeBackPlace(beside: property, of: key)
      mask.insert(slot)
    }
    applier.setPending(key) { $0.clear(mask) }
    try transaction.update(key, mask, values: values, expectedVersion: nil)
    applier.report.updated += 1
  }

  // MARK: Keys that nothing can be made of

  /// A pending object goes on without a value: objects of different entities never become one, nor does one that the
  /// zone has.
  private func giveUp(
    _ key: ObjectKey, _ clash: Clash, because reason: String? = nil
  ) throws {
    guard let entity = applier.schema.entity(numbered: key.entity),
      let object = applier.pending[key]
    else { return }
    let waiting = applier.keptKeys.values[clash.waiting] ?? [:]
    var values = try applier.currentValues(of: key)
    var mask = PropertyMask()
    for slot in clash.slots where clash.isPartner || waiting[slot] != nil {
      guard let property = entity.property(at: slot) else { continue }
      let number = object.transaction(of: slot) ?? object.wholeTransaction
      try journalLoss(
        entity, property, key, values[slot], .null, number, clash, isRevert: false, reason: reason)
      if !isOptional(slot, key) {
        applier.lacks.note(key, slot, had: values[slot], side(of: clash))
      }
      values[slot] = .null
      mask.insert(slot)
    }
    applier.touched.insert(key)
    try transaction.update(key, mask, values: values, expectedVersion: nil)
    applier.report.updated += 1
  }

  private func journalLoss(
    _ entity: SyncSchema.Entity, _ property: SyncSchema.Property, _ key: ObjectKey,
    _ value: PropertyValue, _ kept: PropertyValue, _ number: Int64, _ clash: Clash,
    isRevert: Bool = true, reason: String? = nil
  ) throws {
    let side = side(of: clash)
    let conflict = PropertyConflict(
      policy: property.policy, base: kept, local: value, remote: kept,
      localTime: try transaction.editTime(number), remoteTime: side.time,
      localReplica: applier.replica, remoteReplica: side.origin)
    let names = clash.slots.compactMap { entity.property(at: $0)?.name }.joined(separator: ", ")
    let other = try transaction.identity(
      of: key == clash.holder ? clash.waiting : clash.holder
    ).uuidString.lowercased()
    let outcome =
      property.policy == .manual
      ? "the zone's value stands until a person decides."
      : isRevert ? "the zone's value stands." : "this one goes on without it."
    let why =
      reason
      ?? (clash.isPartner
        ? "the partner is object \(other)'s"
        : "\(names) is unique, and object \(other) has this value")
    try applier.journal.addKeyConflict(
      conflict, entity: entity, property: property, key: key, sequence: side.sequence,
      explanation: "\(property.name) was changed here, but \(why): \(outcome)")
    applier.report.conflicts += 1
  }
}
