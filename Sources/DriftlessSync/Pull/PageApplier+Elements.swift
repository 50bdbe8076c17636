import Driftless
import DriftlessProtocol

extension PageApplier {
  /// Reads one row of an element column. Elements that are deleted are remembered, not added.
  ///
  /// - Parameter isWhole: the row says the whole set: what was there and what was remembered before goes, but for what later
  ///   entries name.
  func elementChange(
    _ reader: PropertyReader, row: Int, of key: ObjectKey, isWhole: Bool = false,
    _ frame: inout FrameContext
  ) throws -> ElementChange {
    guard case .elements(let relationship) = reader.property.kind else {
      throw SyncError.brokenLog("\(reader.property.name) is no to-many relationship.")
    }
    let source = DanglingReferences.Source(key: key, property: reader.property.name)
    let (adds, removes) = reader.elements(row)
    let isWhole = isWhole || reader.saysWhole
    let sequence = try sequence(
      adding: adds, removing: removes, to: source, relationship, isWhole: isWhole, &frame)
    if isWhole { try forgetDangling(of: source, reader) }
    var change = ElementChange(relationship: relationship, adds: [], removes: [])
    for index in removes {
      guard let entry = try life(of: index, in: &frame) else { continue }
      try dangling.remove(source, root: schema.root(of: entry.key), target: entry.key.key)
      if entry.life == .alive { change.removes.append(entry.key) }
    }
    for index in adds {
      let value = try value(ofReference: index, from: source, reader.property, in: &frame)
      if case .reference(let element) = value { change.adds.append(element) }
    }
    if isWhole {
      let adds = Set(change.adds)
      change.removes = try transaction.toManyKeys(of: key, relationship)
        .filter { try !adds.contains($0) && !isNamedLater($0, reader) }
    }
    if let sequence { try note(sequence, of: source) }
    return change
  }

  private func forgetDangling(
    of source: DanglingReferences.Source, _ reader: PropertyReader
  ) throws {
    guard !reader.laterElements.isEmpty else { return try dangling.removeAll(of: source) }
    for target in try dangling.targets(of: source) where try !isNamedLater(target, reader) {
      try dangling.remove(source, root: target.entity, target: target.key)
    }
  }

  /// Applies a change of elements that are not pending here.
  func apply(_ change: ElementChange, to key: ObjectKey) throws {
    guard !change.adds.isEmpty || !change.removes.isEmpty else { return }
    try changePairs(change, of: key)
    guard let entity = schema.entity(numbered: key.entity),
      let property = entity.property(named: change.relationship.name)
    else { return }
    try rebase(change, property, of: key)
  }

  /// Writes pairs. History names both ends of each: contexts refresh by it.
  ///
  /// - Parameter isPlacedLater: The caller says where they stand, once all are there.
  func changePairs(
    _ change: ElementChange, of key: ObjectKey, isPlacedLater: Bool = false
  ) throws {
    guard !change.adds.isEmpty || !change.removes.isEmpty else { return }
    try transaction.removePairs(change.relationship, key, change.removes)
    try transaction.addPairs(
      change.relationship, key, change.adds, isPlacedLater: isPlacedLater)
    try record(change.relationship, of: key)
    guard let inverse = change.relationship.inverseRelationship else { return }
    for element in change.adds + change.removes { try record(inverse, of: element) }
  }

  func record(_ relationship: RelationshipDescription, of key: ObjectKey) throws {
    guard let layout = transaction.schema.entity(numbered: key.entity)?.layout,
      let slot = layout.index(named: relationship.name)
    else { return }
    try transaction.recordUpdate(key, PropertyMask([slot]))
  }

  /// A set that is kept as base while it is not pending itself (an element of it is deleted here)
  /// follows the log.
  private func rebase(
    _ change: ElementChange, _ property: SyncSchema.Property, of key: ObjectKey
  ) throws {
    guard pending[key]?.transaction(of: property.slot) == nil,
      var base = try BaseValues.keys(of: key, property.name, on: transaction.connection)
    else { return }
    if change.relationship.isOrdered {
      base = ElementSequence.after(base, adding: change.adds, removing: change.removes)
    } else {
      base = base.without(change.removes).united(with: change.adds)
    }
    try BaseValues.replace(key, property.name, with: base, on: transaction.connection)
  }

  /// Merges the zone's set into one that is pending: element by element, add wins.
  func settle(
    _ property: SyncSchema.Property, _ relationship: RelationshipDescription, of key: ObjectKey,
    _ remote: ZoneStates.Value
  ) throws {
    guard let localTransaction = pending[key]?.transaction(of: property.slot) else { return }
    let connection = transaction.connection
    if let offer = pending[key]?.offer(of: property.slot) {
      return try settleOffer(
        property, relationship, of: key, remote, offer: offer, edit: localTransaction)
    }
    let source = DanglingReferences.Source(key: key, property: property.name)
    let ours = try transaction.toManyKeys(of: key, relationship)
    let current = Set(ours)
    let sequence = try remote.elements.compactMap { try transaction.concreteKey(root: $0) }
    let theirs = Set(sequence)
    let localTime = try transaction.editTime(localTransaction)
    let isLater = remote.side.isEarlier(than: localTime, of: replica)
    let former = try BaseValues.set(of: key, property.name, on: connection)
    let base = Set(former?.elements ?? [])
    let zone = theirs.union(try deletedHere(base.subtracting(current), in: remote))
    // What is offered was the zone's: who took it out by name since knew it in the set. What was held back nobody knew.
    let isOffer =
      EditStamp.time(localTransaction) != nil
      && pending[key]?.heldBack.contains(property.slot) != true
    let merge = SetMerge(
      base: base, local: current, asserted: Set(former?.asserted ?? []), remote: zone,
      told: theirs.filter { remote.told[rooted($0)].map { localTime < $0 } ?? false },
      taken: current.filter {
        isOffer && remote.taken[rooted($0)].map { localTime < $0 } ?? false
      },
      isLocalLater: isLater)
    let order =
      relationship.isOrdered
      ? ElementOrder(
        base: former?.elements ?? [], local: ours, remote: sequence, isLocalLater: isLater) : nil
    let settled = order?.sequence(of: merge.merged)
    let gone = base.union(former?.asserted ?? []).subtracting(current)
    let isUntold =
      remote.isUntold && !isLater
      && !gone.isDisjoint(with: theirs.subtracting(merge.merged))
    let named: NamedElements =
      if !gone.isDisjoint(with: merge.merged) {
        .putIn
      } else if isUntold {
        .untold
      } else if !current.subtracting(base.subtracting(former?.asserted ?? []))
        .isSubset(of: merge.merged)
      {
        .takenOut
      } else {
        .none
      }
    try journal(
      property, of: key, ours, sequence,
      kept: settled ?? merge.merged.sorted { $0.key < $1.key }, localTime, remote.side, named,
      isOrder: order?.isConflict == true)
    try noteDead(among: remote.elements, of: source, relationship)
    let added = merge.merged.subtracting(current).sorted { $0.key < $1.key }
    let removed = current.subtracting(merge.merged).sorted { $0.key < $1.key }
    try apply(
      ElementChange(relationship: relationship, adds: added, removes: removed), to: key)
    // What is deleted here, and leaves the set with that, is no more to come back into it.
    for element in zone.subtracting(merge.merged).subtracting(theirs) {
      try dangling.remove(source, root: schema.root(of: element), target: element.key)
    }
    if let settled { try transaction.setOrder(relationship, key, settled) }
    if merge.isPending || settled.map({ $0 != sequence }) == true {
      touched.insert(key)
      let rest = zone.subtracting(theirs).sorted { $0.key < $1.key }
      try BaseValues.replace(
        key, property.name, with: (sequence + rest).inSequence(remote.elements, by: rooted),
        asserting: merge.asserted.sorted { $0.key < $1.key }, on: connection)
    } else {
      setPending(key) { $0.clear(PropertyMask([property.slot])) }
      try BaseValues.drop(key, property.name, on: connection)
    }
  }

  /// What another replica said later, by name, of elements that were changed here.
  private enum NamedElements { case none, putIn, takenOut, untold }

  /// CONFLICT: taken out here, and put in by name elsewhere, later; or put in here, and taken out by name elsewhere, later.
  /// RESOLUTION: the later one stands.
  /// CONFLICT: taken out here, and the zone, whose log was purged, has them in a set that was changed later: whether somebody put
  /// them in again it does not tell. RESOLUTION: they are out, and the journal says so.
  /// CONFLICT: put into different orders here and elsewhere. RESOLUTION: see `ElementOrder`.
  private func journal(
    _ property: SyncSchema.Property, of key: ObjectKey, _ ours: [ObjectKey], _ theirs: [ObjectKey],
    kept: [ObjectKey], _ localTime: HybridTime, _ side: RemoteSide, _ named: NamedElements,
    isOrder: Bool
  ) throws {
    guard named != .none || isOrder, let entity = schema.entity(numbered: key.entity) else {
      return
    }
    let isTheirs = isOrder ? kept == theirs : Set(kept) == Set(theirs)
    let outcome: JournalEntry.Outcome = isTheirs ? .remote : kept == ours ? .local : .combined
    let what =
      switch named {
      case .putIn: "lost elements here that were put in elsewhere, later: they stay."
      case .takenOut: "has elements here that were taken out elsewhere, later: they go."
      case .untold:
        "lost elements here that the zone has, which was changed later: whether somebody put them in again since, its purged log "
          + "does not tell. They are out."
      case .none: "was put into another order at another replica: the later order stands."
      }
    try journal.addSets(
      entity: entity, property: property, key: key, local: ours, remote: theirs, kept: kept,
      outcome: outcome, localTime: localTime, side: side,
      explanation: "\(property.name) \(what)")
    report.conflicts += 1
  }

  /// Elements that left a set with a delete that is pending here, and that the zone has in it: should one come back, its
  /// removal is still to be pushed.
  func deletedHere(
    _ removed: Set<ObjectKey>, in remote: ZoneStates.Value
  ) throws -> Set<ObjectKey> {
    let theirs = Set(remote.elements.map { ObjectKey(entity: schema.root(of: $0), key: $0.key) })
    return try removed.filter { element in
      try pending[element]?.whole == .delete && transaction.concreteKey(root: element) == nil
        && theirs.contains(ObjectKey(entity: schema.root(of: element), key: element.key))
    }
  }
}
