import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

extension SyncEngine {
  /// The pending set, brought up to date inside a transaction.
  func pendingSet(
    _ transaction: ReadTransaction, state: ReplicaState
  ) throws -> PendingSet {
    if var cached = pendingCache, cached.generation == state.generation,
      cached.acknowledged == state.acknowledged
    {
      try PendingLoader.extend(&cached.set, transaction, schema: schema)
      pendingCache = cached
      return cached.set
    }
    let set = try PendingLoader.load(
      transaction, schema: schema, acknowledged: state.acknowledged)
    pendingCache = PendingCache(
      generation: state.generation, acknowledged: state.acknowledged, set: set)
    return set
  }

  /// What became of a part of what is pending.
  enum BuiltOutbox {
    /// Nothing is left that could be sent.
    case nothing
    /// A change set with these objects is in the outbox.
    case outbox(WindowObjects)
    /// These objects make no change set.
    case unbuildable(WindowObjects, SyncError)
  }

  /// The objects that a change set is about.
  struct WindowObjects {
    var count: Int
    /// The object, when it is one.
    var single: ObjectKey?
    /// The objects, when they are of one save, and something waits for room.
    var save: Set<ObjectKey> = []
  }

  /// Takes note of the zone's clock, as answers said it. A server's clock that seems to have been set back is not believed,
  /// unless it refuses what this replica takes for the time: what is saved until it is right again would lose to older edits.
  func learnClock() throws {
    guard let reading = transport.takeClockReading() else { return }
    let known = try store.learntClock()
    let offset = reading.offset(expected: known.offset - (known.step ?? 0))
    defer { believesZoneClock = false }
    guard believesZoneClock || !Self.isSetBack(offset, since: known) else {
      return log.warnOfLasting(
        "The server's clock was set back by \((known.offset - offset) / 1000) s: it is not followed"
      )
    }
    try store.setClockOffset(milliseconds: offset)
    try note(clockWas: known.isKnown ? known.offset : offset, is: offset)
  }

  /// Whether the server's clock was set back, and not this host's set forward. Of the two times the one that this host's
  /// clock is closer to is right: so a server that was ahead and is right again is believed.
  private static func isSetBack(
    _ offset: Int64, since known: PersistentStore.LearntClock
  ) -> Bool {
    known.step == 0 && offset < known.offset - Int64(SyncTuning.clockSlackMilliseconds)
      && offset.magnitude > known.offset.magnitude
  }

  /// Moves edits that the zone never acknowledged, and that lie ahead of its clock, back to it.
  private func restamp() throws {
    try learnClock()
    let offset = try store.clockOffsetMilliseconds
    let ceiling = HybridTime(store.now.addingTimeInterval(Double(offset) / 1000))
    let (isAhead, acknowledged, last) = try store.read { transaction in
      let newest = try transaction.maximumTransactionNumber()
      let slack = ceiling.rawValue &+ SyncTuning.clockSlackMilliseconds << 16
      let state = try Self.state(on: transaction.connection, of: store)
      let last = try newest > 0 ? transaction.hybridTime(of: newest) : HybridTime(rawValue: 0)
      return (last.rawValue > slack, state.acknowledged, last)
    }
    guard isAhead else { return }
    try bookkeep { transaction in
      let state = try Self.state(on: transaction.connection, of: store)
      // What they refer to that is deleted is kept by their times.
      let dangling = try DanglingReferences(transaction.connection)
      let cut = try dangling.edits(
        pendingSet(transaction, state: state), transaction, schema: schema)
      let count = try transaction.restamp(after: acknowledged, ceiling: ceiling)
      let lead = last.date.timeIntervalSince(ceiling.date) * 1000
      try note(moved: count, lead: Int64(lead), offset: offset, transaction)
      for (source, edit) in cut { try dangling.move(source, to: transaction.editTime(edit)) }
    }
  }

  /// Builds the next change set and saves it in the outbox.
  func buildOutbox(
    _ portion: Pusher.Portion, _ allowsMassDelete: Bool, tryingAgain again: Set<ObjectKey> = [],
    isCut: Bool = false
  ) throws -> BuiltOutbox {
    try restamp()
    if try store.read({ try $0.setting(LeftZone.setting) != nil }) {
      let hasMore = try bookkeep { try LeftZone.noteDeletes($0, schema: schema) }
      if hasMore { pendingCache = nil }
    }
    var last: PushSelection?
    while true {
      let (selection, built, error, unreadable) = try store.read { transaction in
        try transaction.connection.withCache(kibibytes: SyncTuning.walkCacheKibibytes) {
          try build(portion, allowsMassDelete, tryingAgain: again, transaction)
        }
      }
      trimMemory(after: built?.bytes ?? 0)
      if !unreadable.objects.isEmpty { try quarantine(unreadable) }
      try noteWithoutKey(selection.withoutKey)
      let window = selection.window
      var objects = WindowObjects(
        count: window.count, single: window.count == 1 ? window.keys.first { _ in true } : nil)
      if isCut, portion.objectsMax == 1 || WaitingSaves.areOne(window) {
        objects.save = Set(window.keys)
      }
      if let error { return .unbuildable(objects, error) }
      if let built {
        try bookkeep { transaction in
          var state = try Self.state(on: transaction.connection, of: store)
          assert(
            built.last.pushNumber == state.pushNumber &+ 1, "pushes are numbered without gaps")
          state.pushNumber = built.last.pushNumber
          try state.save(on: transaction.connection)
          try UnsentSince.note(selection.since, transaction)
          try built.save(on: transaction.connection)
          try selection.omitted.save(on: transaction.connection, schema: schema)
        }
        trimMemory(after: built.bytes)
        return .outbox(objects)
      }
      // Nothing that the zone needs to hear: history up to here is as good as acknowledged.
      let isDone = try settle(
        through: selection.through, omitted: selection.omitted, sent: nil)
      if selection.isEmpty || isDone {
        if try store.read({ try UnsentSince.exists($0) }) { try bookkeep(UnsentSince.forget) }
        return .nothing
      }
      // What is settled is pending no more. Should a defect keep it so, that is told, and not done again for ever.
      guard last.map({ !$0.isOfSame(as: selection) }) ?? true else {
        throw SyncError(
          .damagedState,
          "What is pending of \(window.count) object\(window.count == 1 ? "" : "s") can neither be sent nor settled.",
          suggestion: "Report this with a copy of the store; to go on, run syncctl enroll --anew.")
      }
      last = selection
    }
  }

  /// Notes how many objects have edits that wait for a key, for who looks at the store.
  private func noteWithoutKey(_ count: Int) throws {
    let known = try store.read { try $0.setting(KeylessEdits.setting) }
    let now: SQLiteValue? = count > 0 ? .integer(Int64(count)) : nil
    guard known != now else { return }
    if count > 0 {
      log.warning(
        "Edits of encrypted properties wait for a key, in \(count) object\(count == 1 ? "" : "s"): syncctl key use"
      )
    }
    try bookkeep { try $0.setSetting(KeylessEdits.setting, now) }
  }

  /// Saves the zone's answer to a change set: numbers, bases, what is acknowledged; one transaction.
  ///
  /// - Parameter outbox: the change set that was sent; an answer says nothing about any other.
  func acknowledge(_ reply: PushReply, for outbox: Outbox) throws {
    let omitted = try store.read {
      try OmittedParts.load(from: $0.connection, schema: schema)
    }
    try settle(through: outbox.throughTransaction, omitted: omitted, sent: (outbox, reply))
    trimMemory(after: outbox.bytes)
  }

  /// What a change set took goes back to the system, where it was a large one.
  func trimMemory(after bytes: Int) {
    if bytes >= SyncTuning.trimBytesMin { options.trimsMemory() }
  }

  /// Marks history as acknowledged.
  ///
  /// - Returns: whether nothing is pending any more.
  @discardableResult
  private func settle(
    through: Int64, omitted: OmittedParts, sent: (outbox: Outbox, reply: PushReply)?
  ) throws -> Bool {
    defer { pendingCache = nil }
    return try bookkeep { transaction in
      var state = try Self.state(on: transaction.connection, of: store)
      var pending = try pendingSet(transaction, state: state)
      if let (outbox, reply) = sent {
        guard try outbox.isStored(on: transaction.connection) else {
          throw SyncError(
            .superseded, "The store was enrolled or put back while its change set was under way.",
            suggestion: "Sync again.")
        }
        guard reply.generation == state.generation else {
          throw SyncError(
            .generationChanged, "The zone's answer is of another generation.",
            suggestion: "Enroll the store with the zone again.")
        }
        let before = try note(outbox, reply, transaction)
        state.head = max(state.head, reply.sequence)
        if reply.sequence > state.mark?.sequence ?? 0 { state.mark = reply.mark }
        // Nothing lies between the cursor and this change set: it need not be pulled.
        if state.cursor == before { state.move(to: reply.mark) }
      }
      try endDecided(pending, transaction)
      try RememberedDeletes.noteUnsent(
        pending, after: state.acknowledged, transaction, schema: schema)
      let hasDeletes = pending.objects.containsState { $0.whole == .delete }
      let named = try NamedCells(transaction.connection)
      let deleted = hasDeletes ? named.deleted(pending) : []
      try LackedValues.settle(
        pending.taken(through: through, omitting: omitted), transaction, schema, by: state,
        at: store.now)
      let kept = omitted.keys.union(pending.heldBack(by: through))
      pending.acknowledge(through: through, omitting: omitted)
      var parked = try ParkedValues(transaction.connection)
      for key in kept {
        guard let object = pending[key] else { continue }
        try parked.strikeEdited(object, of: key, through: through, schema)
        pending.objects[key] = try object.stamped(through: through, transaction)
      }
      try Unions.confirm(pending, on: transaction.connection)
      if let (outbox, reply) = sent {
        let revived = try settle(outbox, reply, pending, transaction)
        // What the log has pointing at a revived object points at it again, here as elsewhere.
        if !revived.isEmpty {
          let applier = try PageApplier(
            transaction: transaction, schema: schema, replica: state.replica,
            zoneID: state.zoneID, pending: pending, acknowledged: state.acknowledged,
            options: options, now: store.now)
          for key in revived { try applier.restoreReferences(to: key) }
          try OneToOneEnds(applier).follow()
          try applier.lacks.save(transaction, at: applier.now)
        }
      }
      // The rows of deleted objects are kept until the zone knows of the delete.
      try Graves.drop(through: through, but: omitted.objects, on: transaction.connection)
      if hasDeletes {
        try ParkedValues.strikeGone(pending, transaction)
        try named.strikeGone(deleted, pending, transaction)
        try KeptKeys.dropGone(transaction)
      }
      state.acknowledged = max(state.acknowledged, through)
      try dropDeltas(pending, sent: sent?.outbox, transaction)
      if sent != nil {
        try Outbox.clear(on: transaction.connection)
        try trimPieces(transaction)
      }
      try acknowledgeStates(
        acknowledged: state.acknowledged, kept, pending, transaction)
      try state.save(in: transaction)
      return pending.isEmpty
    }
  }

  /// Lets go of what transactions did to properties that are not pending any more, and to those that a change set told.
  private func dropDeltas(
    _ pending: PendingSet, sent outbox: Outbox?, _ transaction: WriteTransaction
  ) throws {
    let kept = try transaction.propertiesWithDeltas()
    guard !kept.isEmpty else { return }
    var told: [ObjectKey: Set<String>] = [:]
    try outbox?.forEachPart(on: transaction.connection) { part, madeBefore in
      var frame = SentFrame(part, after: madeBefore, transaction, schema: schema)
      for (key, names) in try frame.properties(pending) where kept[key] != nil {
        told[key, default: []].formUnion(names)
      }
    }
    for (key, names) in kept {
      let object = pending[key]
      for name in names {
        let slot = schema.entity(numbered: key.entity)?.property(named: name)?.slot
        let isPending = slot.flatMap { object?.transaction(of: $0) } != nil
        if told[key]?.contains(name) == true, isPending || object?.whole == .delete {
          try transaction.dropDeltas(of: key, name, through: outbox?.throughTransaction ?? 0)
        } else if !isPending, object?.whole != .delete {
          // An object that is deleted here may come back with what is pending of it.
          try transaction.dropDeltas(of: key, name)
        }
      }
    }
  }

  /// The parts of a push stand in the log one after the other: each object gets its number, and each entry is kept.
  ///
  /// - Returns: the place before the first part.
  private func note(
    _ outbox: Outbox, _ reply: PushReply, _ transaction: WriteTransaction
  ) throws -> UInt64 {
    let connection = transaction.connection
    let parts = UInt64(outbox.earlierParts) + 1
    guard reply.sequence >= parts, outbox.earlierParts == 0 || reply.chainBefore != nil else {
      throw SyncError.otherAnswer
    }
    guard var number = try outbox.firstNumber(byLast: reply.firstObjectNumber, on: connection)
    else { throw SyncError.otherAnswer }
    var sequence = reply.sequence - parts
    var chain = reply.chainBefore
    try outbox.forEachPart(on: connection) { part, _ in
      sequence += 1
      if sequence == reply.sequence, outbox.earlierParts == 0 { chain = reply.chain }
      if outbox.earlierParts > 0, let digest = ChangeSetHeader.storedDigest(of: part.frame) {
        chain = chain?.next(digest: digest, sequence: sequence, firstObjectNumber: number)
      }
      guard let chain else { throw SyncError.otherAnswer }
      try assignNumbers(part.runs, first: number, transaction)
      let entry = PullPage.Entry(
        sequence: sequence, firstObjectNumber: number, chain: chain, isOwnHeaderOnly: false,
        frame: part.frame)
      try LogPlaces.note(entry, on: connection)
      try KeptFrames.keep(entry, transaction)
      number &+= UInt64(clamping: part.runs.reduce(0) { $0 + $1.count })
    }
    guard chain == reply.chain else { throw SyncError.otherAnswer }
    return reply.sequence - parts
  }

  /// What the parts of a push said becomes what the zone is known to hold.
  ///
  /// - Returns: the objects that they revived.
  private func settle(
    _ outbox: Outbox, _ reply: PushReply, _ pending: PendingSet, _ transaction: WriteTransaction
  ) throws -> [ObjectKey] {
    let connection = transaction.connection
    var sequence = reply.sequence - UInt64(outbox.earlierParts)
    var number = try outbox.firstNumber(byLast: reply.firstObjectNumber, on: connection) ?? 0
    var revived: [ObjectKey] = []
    try outbox.forEachPart(on: connection) { part, madeBefore in
      var frame = SentFrame(part, after: madeBefore, transaction, schema: schema)
      try frame.settleBases(pending)
      try frame.settleDangling()
      try frame.strikeParked(sequence: sequence, firstNumber: number)
      if try KeptKeys.exist(on: connection) {
        try KeptKeys.drop(frame.properties(pending), before: sequence, on: connection)
      }
      revived += try frame.revived()
      sequence += 1
      number &+= UInt64(clamping: part.runs.reduce(0) { $0 + $1.count })
    }
    return revived
  }

  private func assignNumbers(
    _ runs: [KeyRun], first: UInt64, _ transaction: WriteTransaction
  ) throws {
    var number = first
    for run in runs {
      try transaction.assignNumbers(
        root: schema.root(of: ObjectKey(entity: run.entity, key: run.first)), firstKey: run.first,
        count: run.count, firstNumber: number)
      number &+= UInt64(max(0, run.count))
    }
  }

  /// Brings the states of pending objects in line: what is left of the states that imports wrote, and what the
  /// change set left out.
  private func acknowledgeStates(
    acknowledged: Int64, _ kept: Set<ObjectKey>, _ pending: PendingSet,
    _ transaction: WriteTransaction
  ) throws {
    let connection = transaction.connection
    var rest = kept.filter { pending[$0] != nil }
    var done: [ObjectKey] = []
    try PendingState.forEach(on: connection) { key, through, _ in
      // History up to the acknowledged transaction is not read again: it needs nothing in its place.
      if pending[key] == nil, through <= acknowledged {
        done.append(key)
      } else {
        rest.insert(key)
      }
    }
    for key in done { try PendingState.remove(key, on: connection) }
    if !done.isEmpty { try StampOrigins.trim(on: connection) }
    for key in rest {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      try PendingState.save(
        pending[key] ?? PendingObject(), of: key, entity: entity, through: pending.through,
        on: connection)
    }
  }
}
