import Driftless
import DriftlessProtocol
import Foundation

/// What a replica offers to a zone that began anew: it is settled by the times of the edits alone, whatever their policies
/// are, since the zone that was settled them once. What the zone never acknowledged is pending on it, by its policies.
///
/// Of a counter an offer is a total, and what is pending are differences. So the total goes first, in a change set of
/// its own, and a change set says which of its values are offers by their transactions, whose names are their times. A
/// replica with a later total lifts what the zone has to it, by one more offer; what was counted in the zone since then
/// stays counted.
extension PageApplier {
  /// Settles a value of the zone against one that is offered here; nil where the rules for edits say more.
  ///
  /// - Returns: the value to write, which is the present one where it stands.
  func settleOffer(
    _ entity: SyncSchema.Entity, _ property: SyncSchema.Property, of key: ObjectKey,
    local: PropertyValue, _ remote: ZoneStates.Value
  ) throws -> PropertyValue? {
    let slot = property.slot
    guard let object = pending[key], let number = object.offer(of: slot),
      let time = EditStamp.time(number)
    else { return nil }
    if property.policy == .counter, case .attribute = property.kind {
      return try settleTotal(property, of: key, local: local, time, remote)
    }
    guard object.transaction(of: slot) == number else {
      // An edit that the zone never acknowledged stands on the offer.
      let edit = object.transaction(of: slot)
      setPending(key) { $0.withdrawOffer(of: slot) }
      guard remote.side.time <= time else { return nil }
      // CONFLICT: an edit of this, and what another replica offers of it, which is what the edit was made on, or older than that.
      // RESOLUTION: nobody changed what the edit was made on: it stands whatever its policy is, and there is nothing to journal.
      if remote.offered != remote.side.time, remote.side.value != local {
        // But an edit that the zone of before never had would not have stood there either, and nobody knows of it: it is named.
        try journalOffer(
          entity, property, of: key, local: local, edit.map(transaction.editTime) ?? time, remote)
      }
      try replaceBase(of: key, property, with: remote.side.value)
      return local
    }
    let isLater = remote.side.isEarlier(than: time, of: replica)
    if remote.side.value != local {
      // CONFLICT: the zone was offered two values. RESOLUTION: the later one stands, the other goes to the journal.
      try journalOffer(entity, property, of: key, local: local, time, remote)
      if isLater {
        touched.insert(key)
        try replaceBase(of: key, property, with: remote.side.value)
        return local
      }
    }
    setPending(key) { $0.clear(PropertyMask([slot])) }
    try dropBase(of: key, property)
    return remote.side.value
  }

  /// Time settles it, and nobody decides on it.
  private func journalOffer(
    _ entity: SyncSchema.Entity, _ property: SyncSchema.Property, of key: ObjectKey,
    local: PropertyValue, _ time: HybridTime, _ remote: ZoneStates.Value
  ) throws {
    var conflict = PropertyConflict(
      policy: property.policy == .manual ? .lastWriterWins : property.policy, base: nil,
      local: local, remote: remote.side.value,
      localTime: time, remoteTime: remote.side.time, localReplica: replica,
      remoteReplica: remote.side.origin)
    conflict.isOfTwoCreations = true
    try journal.add(
      conflict, LastWriterWins.settle(conflict, since: "since the zone began anew"),
      entity: entity, property: property, key: key, sequence: remote.side.sequence)
    report.conflicts += 1
  }

  private func settleTotal(
    _ property: SyncSchema.Property, of key: ObjectKey, local: PropertyValue, _ time: HybridTime,
    _ remote: ZoneStates.Value
  ) throws -> PropertyValue? {
    let connection = transaction.connection
    let slot = property.slot
    let own = try transaction.deltas(of: key, property.name)
    if let offered = remote.offered, offered < time,
      let total = CounterDelta.sum(local, remote.counted)
    {
      // CONFLICT: the zone was offered an earlier total. RESOLUTION: this one stands, with what was counted there since.
      if remote.isCountedInPart {
        try journalTotal(total, property, of: key, local: local, time, remote.side)
      } else {
        try journalOfFormerLog(property, of: key, own, local: local, time, remote, .combined(total))
      }
      touched.insert(key)
      try BaseValues.replace(key, property.name, with: remote.side.value, on: connection)
      return total
    }
    // CONFLICT: the zone was offered a later total, or has one that is no offer. RESOLUTION: that one stands, with what was
    // counted here and never acknowledged.
    try journalOfFormerLog(property, of: key, own, local: local, time, remote, .remote)
    let isPending = object(key, isEditedAfterOffer: slot)
    let counted = own.reduce(PropertyValue.null) { CounterDelta.sum($0, $1.value) ?? $0 }
    setPending(key) {
      $0.withdrawOffer(of: slot)
      if !isPending { $0.clear(PropertyMask([slot])) }
    }
    guard isPending else {
      try BaseValues.drop(key, property.name, on: connection)
      return remote.side.value
    }
    try BaseValues.replace(key, property.name, with: remote.side.value, on: connection)
    return CounterDelta.sum(remote.side.value, counted) ?? remote.side.value
  }

  /// What was counted there since is in this total in part: what stands may hold it twice.
  private func journalTotal(
    _ total: PropertyValue, _ property: SyncSchema.Property, of key: ObjectKey,
    local: PropertyValue, _ time: HybridTime, _ side: RemoteSide
  ) throws {
    guard let entity = schema.entity(numbered: key.entity) else { return }
    let conflict = PropertyConflict(
      policy: property.policy, base: nil, local: local, remote: side.value, localTime: time,
      remoteTime: side.time, localReplica: replica, remoteReplica: side.origin)
    try journal.add(
      conflict,
      Verdict(
        .combined(total),
        note: "A part of what the other replica counted was in this one's total: it may "
          + "count twice."),
      entity: entity, property: property, key: key, sequence: side.sequence)
    report.conflicts += 1
  }

  /// Of two totals without the entries between them nobody can tell which has the other's counts: where they differ, both are
  /// named.
  private func journalOfFormerLog(
    _ property: SyncSchema.Property, of key: ObjectKey, _ own: [TransactionDelta],
    local: PropertyValue, _ time: HybridTime, _ remote: ZoneStates.Value, _ settlement: Settlement
  ) throws {
    // The store comes back to the log that it left, and has counted nothing since: the zone has all of its total.
    if own.isEmpty, left?.keepsCounts == true { return }
    let offered = own.reduce(local) { CounterDelta.difference($0, $1.value) ?? $0 }
    let zone = CounterDelta.difference(remote.side.value, remote.counted) ?? remote.side.value
    // A zone that was offered none is another one than that in which this was counted.
    guard readsFormerLog || remote.offered == nil, offered != zone,
      let entity = schema.entity(numbered: key.entity)
    else {
      return
    }
    let conflict = PropertyConflict(
      policy: property.policy, base: nil, local: local, remote: remote.side.value, localTime: time,
      remoteTime: remote.side.time, localReplica: replica, remoteReplica: remote.side.origin)
    try journal.add(
      conflict,
      Verdict(
        settlement,
        note: "Of two totals without the entries between them, the later one stands."),
      entity: entity, property: property, key: key, sequence: remote.side.sequence)
    report.conflicts += 1
  }

  private func object(_ key: ObjectKey, isEditedAfterOffer slot: Int) -> Bool {
    (pending[key]?.transaction(of: slot) ?? 0) > 0
  }

  /// How many of the saves that a row counted are in the total that is offered here: they were in a log that is over.
  enum KnownCount { case none, part, all }

  func knownCount(
    _ group: ChangeSetIndex.Group, row: Int, _ frame: FrameContext
  ) throws -> KnownCount {
    let known = try unansweredSaves()
    guard !known.isEmpty, let place = frame.transaction(group, row: row) else { return .none }
    let covered = frame.changeSet.index.covered.count
    let isKnown = known.contains(frame.changeSet.index.transactions[place].name)
    let count = try knownCovered(frame) + (isKnown ? 1 : 0)
    return count == 0 ? .none : count == covered + 1 ? .all : .part
  }

  /// What a row of the log says of a counter, with what it says of how the value came to be.
  ///
  /// - Parameter count: How much of what it counted is in the total that is offered here.
  func noteCount(
    _ value: inout ZoneStates.Value, of key: ObjectKey, _ property: SyncSchema.Property,
    after before: ZoneStates.Value?, isOffer: Bool, count: @autoclosure () throws -> KnownCount
  ) throws {
    value.counted = before?.counted ?? .null
    value.offered = before?.offered
    value.isCountedInPart = before?.isCountedInPart ?? false
    if isOffer {
      value.offered = max(value.side.time, before?.offered ?? value.side.time)
      return
    }
    let former = try before?.side.value ?? baseValue(of: key, property)
    let known = try count()
    value.isCountedInPart = value.isCountedInPart || known == .part
    guard let former, let added = CounterDelta.difference(value.side.value, former) else { return }
    if known != .all { value.counted = CounterDelta.sum(value.counted, added) ?? value.counted }
    // Offered before: it was lifted or taken when that was settled.
    if before == nil { value.offered = HybridTime(rawValue: 0) }
  }
}

extension PendingObject {
  /// What was never acknowledged, on what the zone had of the object. Where an edit changes what was there, a total or a
  /// set, that is offered beside it; of another value it is known when the edit that it was made on was made, and that is
  /// not sent. What was to be offered to a generation of the zone that is over is offered still.
  func offered(as known: PendingObject, _ entity: SyncSchema.Entity) -> PendingObject {
    if whole == .insert, wholeTransaction > 0 { return self }
    var object = known
    if whole == .insert {
      object.wholeTransaction = wholeTransaction
      if maker != 0 { object.maker = maker }
    }
    for property in entity.properties {
      let slot = property.slot
      guard let edit = transaction(of: slot) else { continue }
      object.set(PropertyMask([slot]), by: edit)
      if heldBack.contains(slot) { object.heldBack.insert(slot) }
      if offer(of: slot) == edit || edit > 0 && property.isKnownBelowEdits,
        let former = offer(of: slot) ?? known.transaction(of: slot)
      {
        object.setOffer(of: slot, by: former)
      } else {
        object.withdrawOffer(of: slot)
      }
    }
    return object
  }

  /// The time (`EditStamp`) of what is offered of a property; nil for one that is not.
  func offer(of slot: Int) -> Int64? {
    offers.first { $0.properties.contains(slot) }?.transaction
  }

  /// Whether the object as a whole is offered, which the zone had before.
  var isOffered: Bool { whole == .insert && EditStamp.time(wholeTransaction) != nil }

  /// Whether only some of what an object of the entity has is offered; of what stands in for other values, nothing is.
  func isOfferedInPart(_ entity: SyncSchema.Entity) -> Bool {
    (!offers.isEmpty || isOffered && edits.isEmpty) && properties != entity.all
  }

  /// Whether nothing is pending but what is offered.
  var isOfferAlone: Bool {
    !offers.isEmpty && heldBack.isEmpty
      && edits.allSatisfy { EditStamp.time($0.transaction) != nil }
  }

  /// A property is offered with the time of another edit.
  mutating func setOffer(of slot: Int, by stamp: Int64) {
    withdrawOffer(of: slot)
    if let index = offers.firstIndex(where: { $0.transaction == stamp }) {
      return offers[index].properties.formUnion(PropertyMask([slot]))
    }
    let index = offers.firstIndex { $0.transaction > stamp } ?? offers.count
    offers.insert(Edit(transaction: stamp, properties: PropertyMask([slot])), at: index)
  }

  /// A property is offered no more; edits of it stay pending.
  mutating func withdrawOffer(of slot: Int) {
    for index in offers.indices { offers[index].properties.subtract(PropertyMask([slot])) }
    offers.removeAll { $0.properties.isEmpty }
  }
}

extension FrameContext {
  /// Whether a row tells an offer: its transaction is named by its time.
  func isOffer(_ group: ChangeSetIndex.Group, row: Int) -> Bool {
    guard let place = transaction(group, row: row),
      changeSet.index.transactions.indices.contains(place)
    else { return false }
    let transaction = changeSet.index.transactions[place]
    return transaction.name == transaction.hybridTime
  }
}

extension SyncSchema.Property {
  /// Whether an edit of it says what it adds to what was there, or takes away.
  var isOfferedBelowEdits: Bool {
    switch kind {
    case .attribute: policy == .counter
    case .elements: true
    case .toOne, .place: false
    }
  }

  /// Whether it is kept when that was made which an edit was made on: the same, or older, from another replica is no conflict.
  fileprivate var isKnownBelowEdits: Bool {
    if case .place = kind { return false }
    return true
  }
}
