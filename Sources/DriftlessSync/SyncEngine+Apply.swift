import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

extension SyncEngine {
  /// Applies the entries of a page, one after the other, each with the cursor behind it: rows,
  /// history, what is kept beside pending edits and cursor in one transaction. Small entries share
  /// one.
  func apply(
    _ entries: [PullPage.Entry], cursor: Cursor, head: UInt64, allowsMassDelete: Bool
  ) throws -> PullReport {
    var report = PullReport()
    var rest = entries[...]
    // After a batch that cannot be applied its entries go one by one, to find the one that cannot.
    var single = 0
    while let first = rest.first {
      do {
        let batch = try decode(rest.prefix(single > 0 ? 1 : Self.batch(rest)))
        let bytes = try bytesToApply(batch)
        if bytes > 0 {
          do {
            try requireRoomToApply(bytes)
          } catch let error as StoreError {
            // All else takes less without them.
            guard try letGoForRoom(batch) else { throw error }
            try requireRoomToApply(bytesToApply(batch))
          }
        }
        do {
          report.add(
            try apply(batch, generation: cursor.generation, head: head, allowsMassDelete))
        } catch let error where Self.isOfEntry(error) {
          guard batch.count == 1 else {
            single = batch.count
            continue
          }
          try park(first, .notApplicable, reason: "\(error)", cursor.generation, head: head)
        }
        rest = rest.dropFirst(batch.count)
        single = max(0, single - 1)
      } catch let error as ProtocolError {
        if ChangeSetHeader.isWhole(first.frame) {
          try park(first, .unreadable, reason: "\(error)", cursor.generation, head: head)
        } else {
          guard try cameTwice(first) else { throw error }
          try park(first, .damaged, reason: Self.damagedThere, cursor.generation, head: head)
        }
        rest = rest.dropFirst()
        single = max(0, single - 1)
      }
    }
    return report
  }

  /// An entry with what its bytes say; nothing for one of this replica's own.
  typealias Decoded = (entry: PullPage.Entry, changeSet: ChangeSet?)

  /// Reads entries up to one that cannot be read, which is thrown when it is the first.
  private func decode(_ entries: ArraySlice<PullPage.Entry>) throws -> [Decoded] {
    var decoded: [Decoded] = []
    for entry in entries {
      do {
        decoded.append(
          (entry, try entry.isOwnHeaderOnly ? nil : ChangeSetDecoder().decode(entry.frame)))
      } catch {
        if decoded.isEmpty { throw error }
        break
      }
    }
    return decoded
  }

  /// How many entries go into one transaction: at least one.
  private static func batch(_ entries: ArraySlice<PullPage.Entry>) -> Int {
    var bytes = 0
    let count = entries.prefix { entry in
      bytes += entry.frame.count
      return bytes <= SyncTuning.applyBytesMax
    }.count
    return max(1, count)
  }

  /// Whether an error lies in what an entry says, and comes again whenever it is applied.
  static func isOfEntry(_ error: any Error) -> Bool {
    switch error {
    case let error as StoreError:
      error.code == .constraint || error.code == .conflict || error.code == .invalidArgument
    case is ProtocolError: true
    default: false
    }
  }

  private func apply(
    _ batch: [Decoded], generation: UUID, head: UInt64, _ allowsMassDelete: Bool
  ) throws -> PullReport {
    var report = try settling(after: batch.compactMap { $0.changeSet }.newestTime) {
      applier, state in
      try advance(
        &state, over: batch.map(\.entry), generation, head: head,
        applier.transaction)
      for (entry, changeSet) in batch {
        guard let changeSet else { continue }
        applier.allowsMassDelete = allowsMassDelete
        try applier.apply(changeSet, entry)
      }
      if state.cursor >= head { try applier.brake.end() }
      try noteUnsettled(applier)
      try ImportTimes.purge(applier.transaction.connection)
      return applier.report
    }
    // What this replica is sent as a header is its own and acknowledged: the cursor walks past it.
    report.ownChangeSets += batch.count { $0.changeSet == nil }
    report.bytes += batch.reduce(0) { $0 + $1.entry.frame.count }
    return report
  }

  /// Moves the cursor over entries, which are kept for a server that loses them.
  ///
  /// - Parameter isKept: False for what is damaged: it is nothing to hand over.
  func advance(
    _ state: inout ReplicaState, over entries: [PullPage.Entry], _ generation: UUID, head: UInt64,
    isKept: Bool = true, _ transaction: WriteTransaction
  ) throws {
    guard let first = entries.first, let last = entries.last else { return }
    guard state.generation == generation, state.cursor &+ 1 == first.sequence else {
      throw SyncError.otherLog
    }
    assert(
      zip(entries, entries.dropFirst()).allSatisfy { $0.sequence &+ 1 == $1.sequence },
      "the cursor walks over the log without gaps")
    for entry in entries {
      try LogPlaces.note(entry, on: transaction.connection)
      guard isKept else { continue }
      try KeptFrames.keep(entry, transaction)
    }
    state.move(to: last.mark)
    state.head = max(state.head, head)
  }

  /// Sets an entry aside whole, and moves the cursor over it.
  private func park(
    _ entry: PullPage.Entry, _ code: Parking.Code, reason: String, _ generation: UUID, head: UInt64
  ) throws {
    let contents = try? ChangeSetDecoder().decodeIndex(entry.frame)
    try settling { applier, state -> Void in
      try advance(
        &state, over: [entry], generation, head: head, isKept: code != .damaged,
        applier.transaction)
      if let contents {
        try applier.noteObjects(contents.index, header: contents.header, entry)
      }
      try Parking.park(
        entry, code, reason: reason, at: applier.now, on: applier.transaction.connection)
    }
    log.warning("Entry \(entry.sequence) of the zone's log is set aside: \(reason)")
  }

  /// Work of an applier in one transaction, with what it leaves pending, its journal and the
  /// replica's state.
  @discardableResult
  func settling<Value>(
    after newest: HybridTime? = nil, carriesEnds: Bool = true,
    _ body: (PageApplier, inout ReplicaState) throws -> Value
  ) throws -> Value {
    // What is pending under the names of before would count as acknowledged.
    if carriesEnds { try carryEnds() }
    var left: PendingCache?
    // What comes back in a merge may wait again for what an undo went back to.
    defer { (pendingCache, undoneCache) = (left, nil) }
    let value = try bookkeep(after: newest) { transaction -> Value in
      var state = try Self.state(on: transaction.connection, of: store)
      let applier = try makeApplier(transaction, state)
      let value = try body(applier, &state)
      try finish(applier, state: &state)
      try state.save(in: transaction)
      left = PendingCache(
        generation: state.generation, acknowledged: state.acknowledged, set: applier.pending)
      return value
    }
    return value
  }

  private func makeApplier(
    _ transaction: WriteTransaction, _ state: ReplicaState
  ) throws -> PageApplier {
    if try LeftZone.noteDeletes(transaction, schema: schema) { pendingCache = nil }
    let pending = try pendingSet(transaction, state: state)
    try endDecided(pending, transaction)
    try brake(transaction).noteMade()
    try RememberedDeletes.noteUnsent(
      pending, after: state.acknowledged, transaction, schema: schema)
    let applier = try PageApplier(
      transaction: transaction, schema: schema, replica: state.replica, zoneID: state.zoneID,
      pending: pending, acknowledged: state.acknowledged, options: options, now: store.now)
    applier.namedInPage = namedInPage
    applier.namedByStaged = staged.values
    return applier
  }

  /// Writes what the merge left: pending states and the journal.
  private func finish(_ applier: PageApplier, state: inout ReplicaState) throws {
    let transaction = applier.transaction
    let connection = transaction.connection
    try Unions.confirm(applier.pending, on: connection)
    try applier.lacks.save(transaction, at: applier.now)
    // History up to here is in the pending set; the import itself makes nothing pending.
    let through = applier.pending.through
    if applier.pending.isEmpty {
      if try PendingState.exist(on: connection) {
        try PendingState.removeAll(on: connection)
        try StampOrigins.removeAll(on: connection)
      }
      try TransactionDeltas.dropAll(on: connection)
      state.acknowledged = max(state.acknowledged, through)
    } else {
      for key in applier.touched.sorted(by: { ($0.entity, $0.key) < ($1.entity, $1.key) }) {
        guard let entity = schema.entity(numbered: key.entity) else { continue }
        try PendingState.save(
          applier.pending[key] ?? PendingObject(), of: key, entity: entity, through: through,
          on: connection)
      }
    }
    try applier.journal.write()
    try applier.brake.noteCame()
  }

  private func brake(_ transaction: WriteTransaction) -> MassDeleteBrake {
    MassDeleteBrake(transaction, schema: schema, limit: options.massDelete)
  }

  /// The pull has reached its head: what was pulled meets what is pending.
  func finishPull(head: UInt64, allowsMassDelete: Bool) throws -> PullReport {
    try releaseBrake()
    let report = try settle(allowsMassDelete: allowsMassDelete)
    let now = try zoneTime()
    try bookkeep { transaction in
      try LogPlaces.thin(on: transaction.connection)
      let dates = try SeenTime.count(until: now, transaction)
      try KeptFrames.trim(options, dates, on: transaction.connection)
      try RememberedDeletes.trim(dates, on: transaction.connection)
      try LeftZone.forget(transaction)
      try trimPieces(transaction)
      // The log was there: it has told what became of counts.
      try Self.endOldCounts(transaction)
    }
    let state = try replicaState()
    if head > state.head { try writeState { $0.head = max($0.head, head) } }
    return report
  }

  /// What was taken in while something is pending waits to be settled.
  func noteUnsettled(_ applier: PageApplier) throws {
    guard !applier.pending.isEmpty || !applier.zone.keys.isEmpty || applier.remembered.haveCome
    else { return }
    try applier.transaction.setSetting(Self.unsettledSetting, .integer(1))
  }

  /// Settles what the zone says of what is pending here.
  func settle(allowsMassDelete: Bool) throws -> PullReport {
    let isDue = try store.read { transaction in
      if try transaction.setting(Self.unsettledSetting) != nil
        || (allowsMassDelete || MassDeleteBrake.kept(transaction) != nil)
          && !ZoneStates.braked(on: transaction.connection).isEmpty
      {
        return true
      }
      let state = try Self.state(on: transaction.connection, of: store)
      return try KeySettlement.isDue(pendingSet(transaction, state: state), transaction)
    }
    guard isDue else { return PullReport() }
    return try settling { applier, _ in
      let kept = try allowsMassDelete ? nil : MassDeleteBrake.kept(applier.transaction)
      try applier.settle(allowsMassDelete: allowsMassDelete, keepingDeletedUpTo: kept)
      try applier.transaction.setSetting(Self.unsettledSetting, nil)
      try applier.transaction.setSetting(MassDeleteBrake.keptSetting, nil)
      if allowsMassDelete || kept != nil {
        try applier.transaction.setSetting(MassDeleteBrake.beforeSetting, nil)
      }
      return applier.report
    }
  }

  /// Whether a push may be built: what was pulled is settled.
  func isSettled() throws -> Bool {
    try store.read { try $0.setting(Self.unsettledSetting) == nil }
  }

  /// There when something was pulled while something was pending, until that is settled.
  private static let unsettledSetting = "sync.unsettled"
}

extension [ChangeSet] {
  /// The time of the newest change in them.
  fileprivate var newestTime: HybridTime? {
    lazy.flatMap(\.index.transactions).map(\.hybridTime).max().map { HybridTime(rawValue: $0) }
  }
}
