import Driftless
import DriftlessProtocol
import Foundation

/// What another copy of this store has sent already. Transactions are known again by their names, so what is pending here of
/// one that a change set tells, or covers, is acknowledged, whoever sent it.
extension PageApplier {
  /// Whether the insert of an object that is pending here is the very one that a change set tells.
  func isSameInsert(_ key: ObjectKey, _ frame: FrameContext) throws -> Bool {
    guard let object = pending[key], object.whole == .insert, object.wholeTransaction > 0 else {
      return false
    }
    return try frame.tells(transaction.transactionName(object.wholeTransaction))
  }

  /// Takes off the pending side what a row tells of a property that is pending here.
  ///
  /// What is offered has the time of an edit and no name of the save that made that: where its change set covers a save, the
  /// offer may be of before it. Then that edit was never sent, and stays pending.
  ///
  /// What is offered whole is the zone's own object, also where the zone says its making first: what was edited on it here may
  /// be told further on in the same log. Of another object of its identity nothing is told by these names. A reference may have
  /// been left out of the save that is told, since the zone lacked its end: it stays offered.
  ///
  /// - Parameter offer: the time of the edit that the row offers; nil for one that is no offer.
  func acknowledge(
    _ property: SyncSchema.Property, of key: ObjectKey, offer: HybridTime? = nil,
    _ frame: FrameContext
  ) throws {
    guard let object = pending[key], let last = object.transaction(of: property.slot),
      try object.whole == .none || object.isOffered && !property.isReferenceOrPlace
        || property.policy == .counter && zone.object(key).mark?.isOneAgain == true
    else { return }
    let deltas = property.keepsDeltas ? try transaction.deltas(of: key, property.name) : []
    // Who offers a total without the names of what is in it knew the lost log up to the last of its counts.
    let isOfLost = deltas.contains { $0.transaction < 0 && EditStamp.time($0.transaction) == offer }
    func tells(_ delta: TransactionDelta) throws -> Bool {
      if frame.tells(delta.name) {
        guard let offer, frame.namesAsMaker(delta.name) else { return true }
        return try transaction.editTime(delta.transaction) <= offer
      }
      guard isOfLost, property.policy == .counter, let offer, delta.transaction < 0,
        let time = EditStamp.time(delta.transaction)
      else { return false }
      return time <= offer
    }
    // What the zone lost of others' counts may not be in what tells this replica's own.
    let isAll = try deltas.allSatisfy { try $0.transaction > 0 || tells($0) }
    if last > 0, isAll, try isTold(last, of: property, offer, frame) {
      if try leaveOffer(of: property, of: key, object, beside: deltas, told: offer) { return }
      try journalUnderLater(property, of: key, last, offer)
      setPending(key) { $0.clear(PropertyMask([property.slot])) }
      try BaseValues.drop(key, property.name, on: transaction.connection)
      return try transaction.dropDeltas(of: key, property.name)
    }
    guard property.keepsDeltas else { return }
    var told: [TransactionDelta] = []
    var rest: [TransactionDelta] = []
    for delta in deltas {
      if try tells(delta) {
        told.append(delta)
      } else {
        rest.append(delta)
      }
    }
    guard let newest = told.last else { return }
    let connection = transaction.connection
    if let base = try base(of: key, property, told: told, rest: rest, left: newest.value) {
      try BaseValues.replace(key, property.name, with: base, on: connection)
    } else if property.policy == .counter {
      // A part is acknowledged, and how much that is nobody can tell: the later total stands.
      try BaseValues.drop(key, property.name, on: connection)
    }
    for delta in told {
      try transaction.dropDelta(of: key, property.name, transaction: delta.transaction)
    }
    if offer == nil, property.policy == .counter, object.offer(of: property.slot) != nil {
      try countWithOffer(told, property, of: key)
    }
  }

  /// What was pending on an offer is told, and the offer is not: who told it may have known less of what was there before. A
  /// total or a set is offered with what was added to it then, and so is another value that is later than what the zone is
  /// offered.
  ///
  /// - Parameters:
  ///   - deltas: what was added to it here, all of which is told.
  ///   - told: the time of the edit that the row offers; nil for one that is no offer.
  /// - Returns: false where nothing is to be offered.
  private func leaveOffer(
    of property: SyncSchema.Property, of key: ObjectKey, _ object: PendingObject,
    beside deltas: [TransactionDelta], told: HybridTime?
  ) throws -> Bool {
    let slot = property.slot
    guard let offer = object.offer(of: slot), offer != object.transaction(of: slot) else {
      return false
    }
    var isLater = false
    if let told, let time = EditStamp.time(offer) { isLater = told < time }
    guard property.isOfferedBelowEdits || isLater else { return false }
    setPending(key) { $0.set(PropertyMask([slot]), by: offer) }
    try transaction.dropDeltas(of: key, property.name)
    if told == nil, property.policy == .counter { try countWithOffer(deltas, property, of: key) }
    return true
  }

  /// What was pending here beside an offered total is in that total once the zone tells it, and no count beside it any more.
  private func countWithOffer(
    _ told: [TransactionDelta], _ property: SyncSchema.Property, of key: ObjectKey
  ) throws {
    guard var value = try zone.object(key).values[property.name] else { return }
    // Those are in the total since the log before: what the zone counted was noted without them.
    let known = try unansweredSaves()
    for delta in told where !known.contains(delta.name) {
      guard let rest = CounterDelta.difference(value.counted, delta.value) else {
        value.isCountedInPart = true
        continue
      }
      value.counted = rest
    }
    try zone.set(value, of: key, property.name)
  }

  /// Whether a row tells of the save that set a property last here.
  private func isTold(
    _ last: Int64, of property: SyncSchema.Property, _ offer: HybridTime?, _ frame: FrameContext
  ) throws -> Bool {
    let name = try transaction.transactionName(last)
    guard frame.tells(name), let offer else { return frame.tells(name) }
    // The totals of what adds up are offered beside the names of the saves that are not in them.
    guard !property.keepsDeltas || frame.namesAsMaker(name) else { return true }
    return try transaction.editTime(last) <= offer
  }

  /// Where an offer is later than the edit of a save that its change set covers, nobody can tell whether its maker had heard of
  /// that edit. The offer stands by its time, and the journal has the edit.
  private func journalUnderLater(
    _ property: SyncSchema.Property, of key: ObjectKey, _ last: Int64, _ offer: HybridTime?
  ) throws {
    guard let offer, try transaction.editTime(last) < offer, property.policy != .counter,
      let entity = schema.entity(numbered: key.entity),
      let remote = try zone.object(key).values[property.name]?.side
    else { return }
    switch property.kind {
    case .attribute, .toOne: break
    case .place, .elements: return
    }
    let local = try currentValues(of: key)[property.slot]
    var said = remote.value
    if case .reference(let target) = said, let living = try transaction.concreteKey(root: target) {
      said = .reference(living)
    }
    guard local != said else { return }
    let conflict = PropertyConflict(
      policy: .lastWriterWins, local: local, remote: said,
      localTime: try transaction.editTime(last), remoteTime: remote.time, localReplica: replica,
      remoteReplica: remote.origin)
    try journal.add(
      conflict, Verdict(.remote), entity: entity, property: property, key: key,
      sequence: remote.sequence)
    report.conflicts += 1
  }

  /// The value on which the rest is pending, once a part of what is pending is acknowledged; nil where that is not known.
  private func base(
    of key: ObjectKey, _ property: SyncSchema.Property,
    told: [TransactionDelta],
    rest: [TransactionDelta], left: PropertyValue
  ) throws -> PropertyValue? {
    guard property.policy == .counter else { return left.isNull ? nil : left }
    // What a save added may be in what another one did: then both must be told, or neither.
    if rest.contains(where: { $0.value.isNull })
      || told.contains(where: { $0.value.isNull }) && rest.contains(where: { $0.transaction < 0 })
    {
      return nil
    }
    let local = try currentValues(of: key)[property.slot]
    let former = Self.value(local, before: rest)
    // What was pending before must be all that the transactions did: else something is not known by them.
    if let base = try baseValue(of: key, property), let former,
      Self.value(former, before: told)?.isClose(to: base) != true
    {
      return nil
    }
    return former
  }

  /// A counter's value before what some transactions added.
  private static func value(
    _ value: PropertyValue, before deltas: [TransactionDelta]
  ) -> PropertyValue? {
    deltas.reduce(value) { value, delta in
      value.flatMap { CounterDelta.difference($0, delta.value) }
    }
  }

  /// Whether a row tells of a save that both copies have, and what is pending of the property was edited after it: then
  /// that is an edit of the row's value, and no conflict with it.
  ///
  /// A place goes with the reference beside it.
  func isKnownBelow(
    _ entity: SyncSchema.Entity, _ property: SyncSchema.Property, _ object: PendingObject?,
    _ group: ChangeSetIndex.Group, row: Int, _ frame: FrameContext
  ) throws -> Bool {
    if case .elements = property.kind { return false }
    // What a rule of an app's own made of two sides is told under the save's name, and is not what the save left.
    if case .custom? = entity.property(at: property.slot)?.policy { return false }
    return try !property.keepsDeltas && isEditedSince(property, object, group, row: row, frame)
  }

  /// The same of an insert that does not name a property: what adds up there began after it, where the change set tells no
  /// save of it. A count has no base: it is settled by its saves.
  private func isBegunSince(
    _ entity: SyncSchema.Entity, _ property: SyncSchema.Property, of key: ObjectKey,
    _ group: ChangeSetIndex.Group, row: Int, _ frame: FrameContext
  ) throws -> Bool {
    guard !frame.isOffer(group, row: row), property.policy != .counter else { return false }
    guard property.keepsDeltas else {
      return try isKnownBelow(entity, property, pending[key], group, row: row, frame)
    }
    return try isEditedSince(property, pending[key], group, row: row, frame)
      && transaction.deltas(of: key, property.name).allSatisfy { !frame.tells($0.name) }
  }

  /// Whether a row is of a save that both copies have, and what is pending of a property was edited after it, here alone.
  private func isEditedSince(
    _ property: SyncSchema.Property, _ object: PendingObject?, _ group: ChangeSetIndex.Group,
    row: Int, _ frame: FrameContext
  ) throws -> Bool {
    let transactions = frame.changeSet.index.transactions
    guard let object, object.whole == .none, object.offer(of: property.slot) == nil,
      let last = object.transaction(of: property.slot), last > 0,
      let place = frame.transaction(group, row: row),
      transactions.indices.contains(place),
      let number = try transaction.transactionNumber(named: transactions[place].name)
    else { return false }
    return try number < last && !frame.tells(transaction.transactionName(last))
  }

  /// Elements that another copy of this store has sent, of a save that both copies have: this one knew them. What it has not
  /// any more it has removed since, and what it has again it has added again.
  func noteSharedElements(
    _ reader: PropertyReader, _ group: ChangeSetIndex.Group, row: Int, of key: ObjectKey,
    _ frame: inout FrameContext
  ) throws {
    let transactions = frame.changeSet.index.transactions
    guard pending[key]?.transaction(of: reader.property.slot) != nil,
      let place = frame.transaction(group, row: row), transactions.indices.contains(place),
      try transaction.transactionNumber(named: transactions[place].name) != nil
    else { return }
    let (added, removed) = reader.elements(row)
    let former = try BaseValues.set(of: key, reader.property.name, on: transaction.connection)
    let gone = try Set(removed.compactMap { try life(of: $0, in: &frame).map { rooted($0.key) } })
    var base = (former?.elements ?? []).filter { !gone.contains(rooted($0)) }
    var known = Set(base.map(rooted))
    for index in added {
      guard let element = try life(of: index, in: &frame), element.life == .alive,
        known.insert(rooted(element.key)).inserted
      else { continue }
      base.append(element.key)
    }
    try BaseValues.replace(
      key, reader.property.name, with: base, asserting: former?.asserted ?? [],
      on: transaction.connection)
  }

  /// The zone has the object whose insert is pending here from another copy of this store: what was done to it since the
  /// copies parted is pending as edits of it.
  func applySameInsert(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ readers: [PropertyReader],
    _ group: ChangeSetIndex.Group, row: Int, _ frame: inout FrameContext
  ) throws {
    setPending(key) {
      $0.whole = .none
      $0.wholeTransaction = 0
    }
    // A tombstone may have come before it.
    try zone.removeMark(key)
    // What the insert does not name is null, or has the default of the model here: its program did not know it. What was set here
    // since is an edit of that, as it is of a value that is named.
    let named = Set(readers.map(\.property.name))
    let values = try currentValues(of: key)
    for property in entity.properties where !named.contains(property.name) {
      if case .place = property.kind { continue }
      if try keepLeftOut(property, of: key, frame) { continue }
      // What an offer does not name its sender had not whole: that is no word on it.
      if case .attribute = property.kind, property.policy != .counter,
        pending[key]?.transaction(of: property.slot) != nil, frame.isOffer(group, row: row)
      {
        try replaceBase(of: key, property, with: property.standIn?.value ?? .null)
        continue
      }
      if try isBegunSince(entity, property, of: key, group, row: row, frame) {
        try replaceBase(of: key, property, with: property.standIn?.value ?? .null)
        continue
      }
      var side = frame.side(group, row: row)
      if let standIn = property.standIn { side.value = standIn.value }
      if case .attribute = property.kind, side.value == values[property.slot] {
        try acknowledge(property, of: key, frame)
        if pending[key]?.transaction(of: property.slot) == nil { continue }
      }
      try zone.set(ZoneStates.Value(side: side), of: key, property.name)
      try acknowledge(property, of: key, frame)
    }
    // What both copies have alike needs no word: nothing of it is written.
    let others = try readers.filter { reader in
      guard try isAsHere(reader, row: row, of: key, values, &frame) else { return true }
      try acknowledge(reader.property, of: key, frame)
      return pending[key]?.transaction(of: reader.property.slot) != nil
    }
    try applyHeld(entity, key, others, group, row: row, isWhole: true, &frame)
  }

  /// Whether a row says of a property what the object has of it here.
  private func isAsHere(
    _ reader: PropertyReader, row: Int, of key: ObjectKey, _ values: [PropertyValue],
    _ frame: inout FrameContext
  ) throws -> Bool {
    let here = values[reader.property.slot]
    switch reader.property.kind {
    case .attribute: return present(reader.value(row), beside: here) == here
    case .toOne:
      let source = DanglingReferences.Source(key: key, property: reader.property.name)
      guard let index = reader.reference(row) else {
        return try here.isNull && dangling.targets(of: source).isEmpty
      }
      guard case .reference(let target) = here, let entry = try life(of: index, in: &frame),
        entry.life == .alive
      else { return false }
      return rooted(entry.key) == rooted(target)
    // A place waits with the reference that it is of.
    case .place, .elements: return false
    }
  }
}

extension SyncSchema.Property {
  /// What waits where the object that it names does.
  fileprivate var isReferenceOrPlace: Bool {
    switch kind {
    case .toOne, .place: true
    case .attribute, .elements: false
    }
  }
}
