package import Driftless
package import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

extension SyncEngine {
  /// Waits for the operations that were asked for before, then lets go of the store's sync lock. The
  /// next operation takes it again.
  public func close() async {
    await queue.enterAnyway()
    defer { queue.leave() }
    syncLock = nil
    (pendingCache, undoneCache) = (nil, nil)
  }

  /// Makes the sync lock's file anew where somebody removed it.
  ///
  /// - Returns: Whether this engine has the lock.
  package func keepSyncLock() -> Bool {
    if syncLock?.keep() == false {
      syncLock = nil
      // Whoever has it now settles what this engine remembers as pending.
      (pendingCache, undoneCache) = (nil, nil)
    }
    return syncLock != nil
  }

  /// Takes the store's sync lock, unless this engine has it.
  func lock() throws {
    guard !keepSyncLock() else { return try noteFile() }
    guard !store.isReadOnly else {
      throw SyncError(
        .readOnlyStore, "The store \(store.label) can only be read.",
        suggestion: "Give the process the right to write the file and its folder.")
    }
    try Self.checkLayout(of: store)
    syncLock = try queue.lock(store)
    if try store.read({ try EngineTables.needCreation($0) }) {
      try bookkeep { try EngineTables.create(in: $0) }
    }
    try noteFile()
  }

  /// Takes note of a store that turned out to be a copy: by a look of this engine's, or of whoever opened it while the engine has
  /// it.
  private func noteFile() throws {
    try store.checkFileIdentity()
    guard try store.read({ try $0.isNotedAsCopy }) else { return }
    if try bookkeep({ try Self.renewCopy($0) }) {
      log.warning(
        "The store's file was copied or put back, or a file beside it was removed (-driftless-file, -driftless-lock): it is a replica of its own from now on"
      )
    }
  }

  /// Has a store that turned out to be a copy be a replica of its own, also where no zone can be reached. Nothing is done for
  /// others.
  package func settleCopy() async throws {
    guard try store.read({ try store.isOfOtherFile($0) }) else { return }
    try await queue.enter()
    defer { queue.leave() }
    try lock()
  }

  /// A replica in a file that was copied does not answer for what the original sends, and sends nothing that the original may
  /// have sent: what is pending is put together anew.
  private static func renewCopy(_ transaction: WriteTransaction) throws -> Bool {
    guard try transaction.takeCopyNote(),
      var state = try ReplicaState.load(from: transaction.connection)
    else { return false }
    state.renewReplica()
    // It never synced: its original did.
    state.lastSync = nil
    try Outbox.clear(on: transaction.connection)
    try state.save(on: transaction.connection)
    return true
  }

  /// What an operation that succeeds tells of the store's sync.
  enum OperationNews {
    /// The store is in step with the zone, as of now.
    case inStep
    /// The zone answers: what it said of the store at the last sync holds.
    case contact
  }

  /// Runs an operation when those before it have ended, and keeps how it ended, so that status tells
  /// the truth.
  ///
  /// - Parameter news: what it tells where it succeeds.
  /// - Throws: `CancellationError` when the task was cancelled before the operation began.
  func operation<Report>(
    telling news: OperationNews = .inStep, _ body: () async throws -> Report
  ) async throws -> Report {
    try await queue.enter()
    defer { queue.leave() }
    // Another engine may have settled what this one remembers as pending.
    if !queue.begin(engine: number) { (pendingCache, undoneCache) = (nil, nil) }
    // Nothing is written about it either: it would go into the log that is not the file's.
    try store.checkLog()
    // Of a replica of another zone it says nothing that is about it.
    try checkHome()
    try expectZone()
    return try await recorded(news) {
      try await self.enrollWhenNeeded()
      return try await body()
    }
  }

  /// Tells the way which zone is meant, whatever it is called by now.
  private func expectZone() throws {
    guard let way = transport.way as? any ZoneTransport else { return }
    try Self.expectZone(of: store, by: way)
  }

  /// Tells a way which zone a store is of, whatever it is called by now.
  package static func expectZone(of store: PersistentStore, by way: any ZoneTransport) throws {
    guard let state = try store.read({ try ReplicaState.load(from: $0.connection) }) else { return }
    way.expect(zoneID: state.zoneID)
  }

  private func recorded<Report>(
    _ news: OperationNews, _ operation: () async throws -> Report
  ) async throws -> Report {
    let answers = transport.answers
    // A record that cannot be read is the operation's to tell.
    let known = try? replicaState()
    do {
      let report = try await operation()
      // Who asked the server nothing does not know that all is well.
      if transport.answers != answers {
        switch news {
        case .inStep: try record(nil, since: known)
        case .contact: try recordContact()
        }
      }
      return report
    } catch let error as StoreError where error.code == .syncLocked {
      // Another engine keeps the store in step: that is no failure of this replica's sync.
      throw error
    } catch  where Task.isCancelled {
      // Nothing failed: somebody has had enough.
      throw error
    } catch {
      // The operation's error is the one to throw: a full disk may keep this record from being
      // written too.
      try? record(error)
      throw error
    }
  }

  /// - Parameter known: where the replica stood when the operation began.
  private func record(_ error: (any Error)?, since known: ReplicaState? = nil) throws {
    try bookkeep { transaction in
      var state = try Self.state(on: transaction.connection, of: store)
      let before = state
      // What an operation that succeeds has nothing to do with waits on: deletes that a person has to say a word about.
      if try error != nil || !deletesWait(transaction) {
        state.lastError = error.map { "\($0)" }
      }
      if let error {
        try Self.note(SyncFailure(error), before, now: store.now, transaction)
      } else {
        let passed = state.lastSync.map { store.now.timeIntervalSince($0) } ?? -1
        // Where the operation took something in, sent something or settled it, the store is as of now.
        if state != known || passed < 0 || passed >= SyncTuning.contactNotedSeconds {
          state.lastSync = store.now
        }
        // The address by which the zone was reached: its server may have moved.
        if let home { state.server = home.server.absoluteString }
        // The zone has answered as the one that the store knows: a person's word about another log was for this sync.
        try transaction.setSetting(Self.replacedSetting, nil)
        try transaction.setSetting(Self.allowedSetting, nil)
      }
      if state != before { try state.save(on: transaction.connection) }
    }
  }

  /// What a failed sync waits for besides, it goes on waiting for.
  private func recordContact() throws {
    try bookkeep { transaction in
      var state = try Self.state(on: transaction.connection, of: store)
      guard
        try Self.lastFailure(transaction, state, now: store.now)?.isAboutContact == true
      else { return }
      state.lastError = nil
      try state.save(on: transaction.connection)
    }
  }

  private func deletesWait(_ transaction: ReadTransaction) throws -> Bool {
    try WaitingDeletes.areNoted(transaction)
      || !ZoneStates.braked(on: transaction.connection).isEmpty
  }

  func replicaState() throws -> ReplicaState {
    try store.read { try Self.state(on: $0.connection, of: store) }
  }

  static func state(on connection: SQLiteConnection, of store: PersistentStore) throws
    -> ReplicaState
  {
    guard let state = try ReplicaState.load(from: connection) else {
      throw SyncError.notEnrolled(store.label)
    }
    return state
  }

  func hasOutbox() throws -> Bool {
    try store.read { transaction in
      _ = try Self.state(on: transaction.connection, of: store)
      return try Outbox.exists(on: transaction.connection)
    }
  }

  /// Changes the replica's row and nothing else.
  func writeState(_ change: (inout ReplicaState) throws -> Void) throws {
    try bookkeep { transaction in
      var state = try Self.state(on: transaction.connection, of: store)
      let before = state
      try change(&state)
      if state != before { try state.save(on: transaction.connection) }
    }
  }

  /// A write of the engine's own tables: it changes no rows, so it makes no history.
  ///
  /// - Parameter newest: the newest time that was heard of: what is saved here from now on comes
  ///   after it.
  @discardableResult
  func bookkeep<Value>(
    after newest: HybridTime? = nil, _ body: (WriteTransaction) throws -> Value
  ) throws -> Value {
    let info = TransactionInfo(
      author: SyncEngine.importAuthor, contextName: options.importContextName, kind: .imported,
      hybridTime: newest)
    return try store.write(info) { transaction in
      try transaction.connection.withCache(kibibytes: SyncTuning.writeCacheKibibytes) {
        try body(transaction)
      }
    }.0
  }

  /// The author of imports in history.
  public static let importAuthor = "sync"

  func discardOutbox() throws {
    try bookkeep { try Outbox.clear(on: $0.connection) }
  }

  /// Another copy of this store pushes under the ID that this one has. What is in flight is put together anew, and known
  /// again by the names of its saves where the zone has it. Nothing above the cursor counts as this copy's own any more.
  func becomeAnother(than replica: UUID, after cursor: Cursor) throws {
    try bookkeep { transaction in
      let state = try Self.state(on: transaction.connection, of: store)
      guard state.replica == replica, state.generation == cursor.generation else {
        throw SyncError.otherLog
      }
      try Outbox.clear(on: transaction.connection)
      try LogPlaces.drop(above: cursor.sequence, on: transaction.connection)
      try Self.renew(state, transaction)
    }
    log.warning("Another copy of this store syncs as well: this one is a new replica from now on")
  }

  private static func renew(_ state: ReplicaState, _ transaction: WriteTransaction) throws {
    var state = state
    state.renewReplica()
    try state.save(on: transaction.connection)
    // Objects that are made from here on are no other copy's.
    try transaction.renewMintPrefix()
  }

  func renewReplica() throws {
    try bookkeep { transaction in
      try Self.renew(Self.state(on: transaction.connection, of: store), transaction)
    }
    log.warning("The zone knows other pushes of this replica: it is a new one from now on")
  }
}
