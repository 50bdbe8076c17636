public import Driftless
public import DriftlessProtocol
import DriftlessSQLite
public import Foundation
import Logging

extension SyncEngine {
  /// Makes a store a replica of a zone. What the store holds is pending from then on, and the first
  /// sync merges it with what the zone holds.
  ///
  /// Enrolling again with the same zone and generation changes only the server's address, and the zone's name where it was
  /// renamed. With a
  /// new generation, or with another zone under the name, the store starts over: nothing here is
  /// deleted, and everything is offered to the zone. Where the zone was replaced on purpose, the next
  /// sync keeps an export of what the store holds beside it and takes the zone's state (`SyncStatus.zoneWasReplaced`).
  ///
  /// A store whose record of its zone is damaged, as `check(_:)` tells, begins anew with `anew`: that record is forgotten, and
  /// its rows and its history are offered as those of a new replica. Counts that were pending are offered as the counter's
  /// value. The journal of conflicts stays. Where the token may only read, nothing can be offered: the next sync keeps an export of what
  /// the store holds beside it, and takes the zone's state.
  ///
  /// - Parameters:
  ///   - store: the store that becomes a replica.
  ///   - server: the server's address, which the store keeps.
  ///   - zone: the zone's name.
  ///   - info: the zone's answer.
  ///   - answered: when it came, by this host's clock: the first edits have the zone's time already.
  ///     Nil for now.
  ///   - anew: whether what the store knows of its zone is forgotten first.
  /// - Throws: `SyncError` when the store is enrolled with another zone, `logPurged` when the zone's log was purged and the store
  ///   would offer what it holds anew, where nothing is changed; `StoreError`, with `anew` also `syncLocked` while a
  ///   process syncs the store.
  public static func enroll(
    store: PersistentStore, server: URL, zone: String, info: ZoneInfo, answered: Date? = nil,
    anew: Bool = false
  ) throws {
    let answered = answered ?? store.now
    let lock = anew ? try store.acquireSyncLock() : nil
    defer { withExtendedLifetime(lock) {} }
    try makeReplica(store, server: server, zone: zone, info: info, anew: anew)
    // A server that says no time leaves the clock as it is.
    let time = Double(info.serverTimeMilliseconds) - answered.timeIntervalSince1970 * 1000
    if info.serverTimeMilliseconds > 0, let offset = Int64(exactly: time.rounded()) {
      try store.setClockOffset(milliseconds: offset)
    }
  }

  /// Makes the store a replica of the engine's zone by a code of the server's operator.
  ///
  /// The transport's token is one that the caller made (`ReplicaToken.make()`) and **keeps already**, where its tokens are kept:
  /// when this throws, or the process ends, the code may be used up, and that token is the one that it stands for. Called again
  /// with the same token, also after a lost answer, it comes to the same.
  ///
  /// ```swift
  /// let token = ReplicaToken.make()
  /// try keep(token.text)
  /// let way = try CurlTransport(server: url, zone: "shop", token: token.text)
  /// try await SyncEngine(store: store, enrollingThrough: way).enroll(code: code)
  /// ```
  ///
  /// - Parameter code: As the operator gave it; in either case, with or without strokes.
  /// - Throws: `ProtocolError`: `.codeUsed` where another token was made for the code, `.unauthorized` for one that is wrong,
  ///   revoked or past its end; `SyncError` where the store is enrolled with another zone, or the engine's way leads to none.
  public func enroll(code: String) async throws {
    guard let way = transport.way as? any ZoneTransport else { throw ProtocolError.knowsNoCodes }
    try checkHome()
    try Self.checkIsWritable(store)
    try await way.enroll(code: code)
    try await operation(telling: .contact) {}
  }

  /// Makes the store a replica of the zone that the engine was made for, where it is none: the first operation that the
  /// server answers does. One that was enrolled already is left as it is, in whatever state its zone has come to.
  ///
  /// - Throws: `SyncError` (`alreadyEnrolled`) when the store is enrolled with another zone.
  func enrollWhenNeeded() async throws {
    guard let home, try !isEnrolled(at: home) else { return }
    // No other process enrols or syncs it meanwhile; what was under way here before has ended.
    try lock()
    guard try !isEnrolled(at: home) else { return }
    let info = try await transport.zoneInfo()
    let unprepared = try Self.unpreparedObjects(of: store)
    if unprepared > 0 {
      log.warning(
        """
        \(store.label) brings \(unprepared) object\(unprepared == 1 ? "" : "s") without unique keys as its own: Core Data \
        wrote the file, and an earlier version opened it first. The same file on other hosts brings them once more. Prepare it \
        once, before it is copied (adopt())
        """)
    }
    try Self.enroll(store: store, server: home.server, zone: home.zone, info: info)
    log.notice("\(store.label) is enrolled with zone \(home.zone) at \(home.server)")
  }

  /// Throws what keeps the engine from ever working for its zone, without asking the server.
  func checkHome() throws {
    if let home { _ = try isEnrolled(at: home) }
  }

  private func isEnrolled(at home: ZoneHome) throws -> Bool {
    guard let state = try store.read({ try ReplicaState.load(from: $0.connection) }) else {
      return false
    }
    guard state.zone == home.zone else {
      throw SyncError.alreadyEnrolled(store.label, zone: state.zone)
    }
    return true
  }

  /// There while a store that may only read has forgotten what it knew of its zone, and has not taken the zone's state.
  static let takesZoneSetting = "sync.takesZone"

  /// There while the zone is known to have been replaced, and the store has not taken its state.
  static let replacedSetting = "sync.zoneReplaced"

  /// Whether a store is a replica of a zone that is not this one, whatever both are called.
  package static func isOfAnotherZone(
    _ store: PersistentStore, than info: ZoneInfo
  ) throws -> Bool {
    let state = try store.read { try ReplicaState.load(from: $0.connection) }
    return state.map { $0.zoneID != info.zoneID } ?? false
  }

  private static func makeReplica(
    _ store: PersistentStore, server: URL, zone: String, info: ZoneInfo, anew: Bool
  ) throws {
    try checkIsWritable(store)
    try checkLayout(of: store)
    let schema = SyncSchema(store.schema)
    let findings = anew ? try check(store).findings : []
    _ = try store.write(
      TransactionInfo(author: importAuthor, contextName: nil, kind: .imported, hybridTime: nil)
    ) { transaction in
      // It passes over every row.
      try transaction.connection.withCache(kibibytes: SyncTuning.writeCacheKibibytes) {
        try makeReplica(
          in: transaction, of: store, schema, server: server, zone: zone, info: info, anew: anew,
          findings)
      }
    }
  }

  private static func makeReplica(
    in transaction: WriteTransaction, of store: PersistentStore, _ schema: SyncSchema, server: URL,
    zone: String, info: ZoneInfo, anew: Bool, _ findings: [StoreCheck.Finding]
  ) throws {
    let connection = transaction.connection
    try EngineTables.create(in: transaction)
    // What it left behind in this zone may be had again.
    if try LeftZone.kept(transaction)?.isOf(info) == true {
      try MissedValues.forget(.left, on: transaction.connection)
    }
    if anew {
      try checkMayBeginAnew(info, store, schema, transaction)
      // The record is damaged: of counts there is but the counters' values.
      try LeftZone.keep(in: transaction, schema: schema, keepsCounts: false) {
        try EngineTables.forgetZone(on: connection)
      }
      try EngineTables.forgetDamagedNotes(findings, in: transaction)
      // A person's word was about the log of before.
      for setting in [
        replacedSetting, allowedSetting, oldCountsSetting, oldCountsAskedSetting,
      ] {
        try transaction.setSetting(setting, nil)
      }
      // Who may not push can offer nothing: the next sync takes the zone's state.
      if !info.mayWrite { try transaction.setSetting(takesZoneSetting, .integer(1)) }
      try transaction.renewMintPrefix()
    }
    if var state = try ReplicaState.load(from: connection) {
      // A zone that was renamed is the same one.
      guard state.zone == zone || state.zoneID == info.zoneID else {
        throw SyncError.alreadyEnrolled(store.label, zone: state.zone)
      }
      state.zone = zone
      state.server = server.absoluteString
      // The zone has answered.
      if try lastFailure(transaction, state, now: store.now)?.isAboutContact == true {
        state.lastError = nil
      }
      try transaction.setSetting(replacedSetting, nil)
      if state.zoneID != info.zoneID {
        try noteValuesLeft(transaction, of: store)
        try KnownReplacements.forget(transaction)
        try GivenUpEdits.keepDeletes(
          of: PendingLoader.load(transaction, schema: schema, acknowledged: state.acknowledged),
          transaction, schema: schema)
        try startOver(&state, info: info, transaction, schema: schema)
        try checkMayJoin(info, state, store, schema, transaction)
      } else if state.generation != info.generation {
        guard try !KnownReplacements.misses(info, transaction) else {
          // The next sync keeps an export of what the store holds, and takes the zone's state.
          try transaction.setSetting(replacedSetting, .integer(1))
          return try state.save(in: transaction)
        }
        try startOver(&state, info: info, transaction, schema: schema)
        try checkMayJoin(info, state, store, schema, transaction)
      }
      try KnownReplacements.learn(info, transaction)
      return try state.save(in: transaction)
    }
    try checkNames(of: store)
    try join(
      in: transaction, of: store, schema, server: server, zone: zone, info: info, anew: anew)
  }

  /// Makes a store that is no replica one.
  private static func join(
    in transaction: WriteTransaction, of store: PersistentStore, _ schema: SyncSchema, server: URL,
    zone: String, info: ZoneInfo, anew: Bool
  ) throws {
    var state = ReplicaState(
      replica: UUID(), zoneID: info.zoneID, generation: info.generation, cursor: 0,
      chain: .start(generation: info.generation), mark: nil, pushNumber: 0, acknowledged: 0,
      server: server.absoluteString, zone: zone,
      head: info.head, lastSync: nil, lastError: nil)
    let left = anew ? nil : try LeftZone.kept(transaction)
    // Another zone is offered what the zone had that it left, as one is offered that it goes to at once (`startOver`).
    let former = left.flatMap { $0.isOf(info) ? nil : $0.acknowledged }
    if let former { state.acknowledged = former }
    try state.save(in: transaction)
    if try anew || transaction.setting(LeftZone.setting) != nil {
      try ReturnedEdits.straighten(transaction, schema: schema)
    }
    try LeftZone.come(to: info, transaction, schema: schema)
    try KnownReplacements.learn(info, transaction)
    try transaction.setSyncing(true)
    if let former {
      try offerRows(ofFormerZone: former, transaction, schema: schema)
    } else {
      try offerRowsWithoutHistory(transaction, schema: schema)
    }
    try checkMayJoin(info, state, store, schema, transaction)
  }

  /// Refuses to enrol a store that is enrolled with another zone than the one that answered.
  ///
  /// - Throws: `SyncError` (`alreadyEnrolled`); `StoreError`. A record that cannot be read is no zone.
  package static func checkZone(
    of store: PersistentStore, named zone: String, _ info: ZoneInfo
  ) throws {
    let state = try store.read { try? ReplicaState.load(from: $0.connection) }
    guard let state, state.zone != zone, state.zoneID != info.zoneID else { return }
    throw SyncError.alreadyEnrolled(store.label, zone: state.zone)
  }

  /// Refuses a model of which nobody can tell what a log speaks of that has a former name.
  private static func checkNames(of store: PersistentStore) throws {
    guard let shared = store.model.sharedFormerNames.first else { return }
    throw SyncError(
      .sharedName,
      "\(shared.first) and \(shared.second) of the model in \(store.label) both say that they were called "
        + "\(shared.name) before: what a zone has under that name would be taken for either.",
      suggestion: "Take the name away from one of them (renamingIdentifier, "
        + "\(PropertyDescription.formerNamesKey)), and migrate the store to that model.")
  }

  private static func checkIsWritable(_ store: PersistentStore) throws {
    guard store.isReadOnly else { return }
    throw SyncError(
      .readOnlyStore, "The store \(store.label) can only be read.",
      suggestion: "Give the process the right to write the file and its folder.")
  }

  /// Refuses a store that a code must not be used up for: one that can only be read, or is enrolled with a zone of another name.
  /// Whether that is the same zone, only the server knows, and it tells those who have a token.
  ///
  /// - Throws: `SyncError` (`readOnlyStore`, `alreadyEnrolled`); `StoreError`.
  package static func checkTakesCode(_ store: PersistentStore, zone: String) throws {
    try checkIsWritable(store)
    let state = try store.read { try? ReplicaState.load(from: $0.connection) }
    guard let state else { return try checkNames(of: store) }
    guard state.zone != zone else { return }
    throw SyncError.alreadyEnrolled(store.label, zone: state.zone)
  }

  /// Refuses a file in which one object holds another alone: two replicas may decide apart who does, and what is pulled may
  /// hold an object before that is there.
  package static func checkLayout(of store: PersistentStore) throws {
    guard let held = store.schema.heldRelationships.first else { return }
    throw SyncError(
      .unsuitableLayout,
      "\(held) has no inverse, and the store \(store.label) keeps it in a column, as Core Data does.",
      suggestion:
        "Close it everywhere and run: syncctl migrate \(store.label.shellWord) --to-many pairs. Nothing is lost by it."
    )
  }

  /// Rows that history does not know, because it was purged or came with a Core Data file, are
  /// pending as inserts.
  private static func offerRowsWithoutHistory(
    _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    let pending = try PendingLoader.load(transaction, schema: schema, acknowledged: 0)
    let states = OfferedStates([:], through: pending.through, on: transaction.connection)
    _ = try offerRows(
      transaction, schema: schema, states, EditHistory(), PendingSet()
    ) { pending[$0] == nil }
  }

  /// Rows of a store that left a zone are offered to another one by the times and the names of their edits: stores that come there
  /// from one zone know by these which objects they share.
  ///
  /// - Parameter acknowledged: the last transaction that the zone had acknowledged.
  private static func offerRows(
    ofFormerZone acknowledged: Int64, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    let pending = try PendingLoader.load(transaction, schema: schema, acknowledged: acknowledged)
    let history = try EditHistory(transaction, schema: schema, acknowledged: acknowledged)
    let states = OfferedStates(
      history.origins, through: pending.through, on: transaction.connection)
    _ = try offerRows(
      transaction, schema: schema, states, history, pending,
      without: try OfferedStandIns([:], transaction, schema: schema)
    ) { _ in true }
  }

  static func offerRows(
    _ transaction: WriteTransaction, schema: SyncSchema, _ states: OfferedStates,
    _ history: EditHistory, _ pending: PendingSet, ofZone isOfZone: Bool = false,
    without standIns: OfferedStandIns? = nil, where isOffered: (ObjectKey) -> Bool
  ) throws -> Int {
    var count = 0
    for entity in schema.entities {
      var keys: [ObjectKey] = []
      try transaction.forEachKey(of: entity.description) { key in
        if isOffered(key) { keys.append(key) }
      }
      for key in keys {
        let known = history.offer(key, entity)
        var object = pending[key]?.offered(as: known, entity) ?? known
        // Deleted before it is offered, it is told to be deleted: others offer it too.
        object.wasInZone = isOfZone && object.isOffered
        try standIns?.leaveOut(of: &object, key, entity)
        try OfferedSets.begin(object, after: pending[key], of: key, entity, transaction)
        try states.save(object, of: key, entity: entity)
      }
      count += keys.count
    }
    return count
  }
}
