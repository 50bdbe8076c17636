import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension SyncEngine {
  /// Applies the entries of a page, one after the other, each with the cursor behind it: rows,
  /// history, what is kept beside pending edits and cursor in one transaction. Small entries share
  /// one.
  func apply(
    _ entries: [PullPage.Entry], cursor: Cursor, head: UInt64, allowsMassDelete: Bool
  ) throws -> PullReport {
    var report = PullReport()
    var rest = entries[...]
    while !rest.isEmpty {
      let batch = rest.prefix(Self.batch(rest))
      rest = rest.dropFirst(batch.count)
      report.add(
        try apply(batch, generation: cursor.generation, head: head, allowsMassDelete))
    }
    return report
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

  private func apply(
    _ entries: ArraySlice<PullPage.Entry>, generation: UUID, head: UInt64,
    _ allowsMassDelete: Bool
  ) throws -> PullReport {
    // What this replica is sent as a header is its own and acknowledged: the cursor walks past it.
    let remote = entries.filter { !$0.isOwnHeaderOnly }
    // Bytes are read before the store is locked for writing.
    let changeSets = try remote.map { try ChangeSetDecoder().decode($0.frame) }
    var report = try settling(after: changeSets.newestTime) { applier, state in
      guard let first = entries.first, let last = entries.last, state.generation == generation,
        state.cursor &+ 1 == first.sequence
      else { throw SyncError.brokenLog("The replica's cursor moved while a page was fetched.") }
      for (entry, changeSet) in zip(remote, changeSets) {
        let unknown = try applier.apply(
          changeSet, sequence: entry.sequence, firstNumber: entry.firstObjectNumber)
        if !unknown.isEmpty { try Parking.park(entry, unknown, on: applier.transaction.connection) }
      }
      if !allowsMassDelete { try brake(applier.deleted, applier.transaction) }
      let connection = applier.transaction.connection
      try ImportTimes.purge(connection)
      for entry in entries {
        try LogPlaces.note(entry, on: connection)
        try KeptFrames.keep(entry, at: store.now, on: connection)
      }
      state.move(to: last.mark)
      state.head = max(state.head, head)
      return applier.report
    }
    report.ownChangeSets += entries.count - remote.count
    report.bytes += entries.reduce(0) { $0 + $1.frame.count }
    return report
  }

  /// Work of an applier in one transaction, with what it leaves pending, its journal and the
  /// replica's state.
  private func settling<Value>(
    after newest: HybridTime? = nil, _ body: (PageApplier, inout ReplicaState) throws -> Value
  ) throws -> Value {
    var left: PendingCache?
    defer { pendingCache = left }
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
    try PageApplier(
      transaction: transaction, schema: schema, replica: state.replica,
      pending: try pendingSet(transaction, state: state), options: options)
  }

  /// Writes what the merge left: pending states and the journal.
  private func finish(_ applier: PageApplier, state: inout ReplicaState) throws {
    let transaction = applier.transaction
    let connection = transaction.connection
    // History up to here is in the pending set; the import itself makes nothing pending.
    let through = applier.pending.through
    if applier.pending.isEmpty {
      if try connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_PENDING)") != 0 {
        try connection.perform("DELETE FROM ZDL_PENDING")
      }
      state.acknowledged = max(state.acknowledged, through)
    } else {
      for key in applier.touched.sorted(by: { ($0.entity, $0.key) < ($1.entity, $1.key) }) {
        guard let entity = schema.entity(numbered: key.entity) else { continue }
        try PendingState.save(
          applier.pending[key] ?? PendingObject(), of: key, entity: entity, through: through,
          on: connection)
      }
    }
    try applier.journal.write(transaction: transaction.number)
  }

  /// The pull has reached its head: what was pulled meets what is pending.
  func finishPull(head: UInt64, allowsMassDelete: Bool) throws -> PullReport {
    try releaseBrake()
    let report = try settle(allowsMassDelete: allowsMassDelete)
    try bookkeep { transaction in
      try LogPlaces.thin(on: transaction.connection)
      try KeptFrames.trim(options, now: store.now, on: transaction.connection)
    }
    let state = try replicaState()
    if head > state.head { try writeState { $0.head = max($0.head, head) } }
    return report
  }

  /// Settles what the zone says of what is pending here.
  private func settle(allowsMassDelete: Bool) throws -> PullReport {
    let isDue = try store.read { transaction in
      let state = try Self.state(on: transaction.connection, of: store)
      return try !ZoneStates.isSettled(on: transaction.connection)
        || pendingSet(transaction, state: state).objects.values.contains { $0.whole == .delete }
    }
    guard isDue else { return PullReport() }
    return try settling { applier, _ in
      try applier.settle(allowsMassDelete: allowsMassDelete)
      return applier.report
    }
  }

  /// Whether a push may be built: what was pulled is settled.
  func isSettled() throws -> Bool {
    try store.read { try ZoneStates.isSettled(on: $0.connection) }
  }

  /// Applies the parts of parked change sets that the model knows by now.
  func replayParked() throws {
    let isWaiting = try store.read { transaction in
      try Parking.entries(on: transaction.connection).contains {
        !$0.unknown.filter(isKnown).isEmpty
      }
    }
    guard isWaiting else { return }
    try settling { applier, _ in
      let connection = applier.transaction.connection
      for parked in try Parking.entries(on: connection) {
        let known = parked.unknown.filter(isKnown)
        guard !known.isEmpty else { continue }
        let changeSet = try ChangeSetDecoder().decode(parked.frame)
        try applier.replay(
          changeSet, sequence: parked.sequence, firstNumber: parked.firstNumber, only: known)
        try Parking.forget(known, of: parked, on: connection)
      }
    }
  }

  /// Whether the model has an entity ("Entity") or a property ("Entity.property") of this name.
  private func isKnown(_ name: String) -> Bool {
    guard let dot = name.firstIndex(of: ".") else { return schema.entity(named: name) != nil }
    let entity = schema.entity(named: String(name[..<dot]))
    return entity?.property(named: String(name[name.index(after: dot)...])) != nil
  }
}

extension [ChangeSet] {
  /// The time of the newest change in them.
  fileprivate var newestTime: HybridTime? {
    lazy.flatMap(\.index.transactions).map(\.hybridTime).max().map { HybridTime(rawValue: $0) }
  }
}
