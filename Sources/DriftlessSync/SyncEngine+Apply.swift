import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension SyncEngine {
  /// Applies a page and moves the cursor: rows, history, journal, pending state and cursor in one
  /// transaction.
  func apply(
    _ entries: [PullPage.Entry], cursor: Cursor, head: UInt64, allowsMassDelete: Bool
  ) throws -> PullReport {
    // What this replica is sent as a header is its own and acknowledged: the cursor walks past it.
    let remote = entries.filter { !$0.isOwnHeaderOnly }
    // Bytes are read before the store is locked for writing.
    let changeSets = try remote.map { try ChangeSetDecoder().decode($0.frame) }
    defer { pendingCache = nil }
    var report = try bookkeep(after: changeSets.newestTime) { transaction -> PullReport in
      var state = try Self.state(on: transaction.connection, of: store)
      guard state.generation == cursor.generation, state.cursor < cursor.sequence else {
        throw SyncError.brokenLog("The replica's cursor moved while a page was fetched.")
      }
      let applier = try makeApplier(transaction, state)
      for (entry, changeSet) in zip(remote, changeSets) {
        let unknown = try applier.apply(
          changeSet, sequence: entry.sequence, firstNumber: entry.firstObjectNumber)
        if !unknown.isEmpty { try Parking.park(entry, unknown, on: transaction.connection) }
      }
      if !allowsMassDelete { try brake(applier.deleted, transaction) }
      try finish(applier, state: &state)
      try ImportTimes.purge(transaction.connection)
      state.cursor = cursor.sequence
      state.head = max(state.head, head)
      try state.save(in: transaction)
      return applier.report
    }
    report.ownChangeSets += entries.count - remote.count
    report.bytes += entries.reduce(0) { $0 + $1.frame.count }
    return report
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

  func finishPull(head: UInt64) throws {
    try releaseBrake()
    let state = try replicaState()
    guard head > state.head else { return }
    try writeState { $0.head = max($0.head, head) }
  }

  /// Applies the parts of parked change sets that the model knows by now.
  func replayParked() throws {
    let isWaiting = try store.read { transaction in
      try Parking.entries(on: transaction.connection).contains {
        !$0.unknown.filter(isKnown).isEmpty
      }
    }
    guard isWaiting else { return }
    defer { pendingCache = nil }
    try bookkeep { transaction in
      var state = try Self.state(on: transaction.connection, of: store)
      let applier = try makeApplier(transaction, state)
      for parked in try Parking.entries(on: transaction.connection) {
        let known = parked.unknown.filter(isKnown)
        guard !known.isEmpty else { continue }
        let changeSet = try ChangeSetDecoder().decode(parked.frame)
        try applier.replay(
          changeSet, sequence: parked.sequence, firstNumber: parked.firstNumber, only: known)
        try Parking.forget(known, of: parked, on: transaction.connection)
      }
      try finish(applier, state: &state)
      try state.save(in: transaction)
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
