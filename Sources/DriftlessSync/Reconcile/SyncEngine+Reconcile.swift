public import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

/// Coming back to a server whose log is not the one that this replica knew: put back, begun anew, or another one.
extension SyncEngine {
  private static let lastSetting = "sync.reconciled"
  static let allowedSetting = "sync.reconcileAllowed"
  private static let actionSetting = "sync.onDiverged"

  /// Lets the next sync come back to a server that was put back, where it would wait for a person.
  ///
  /// What the replica holds above the last common place is offered anew; nothing is deleted.
  ///
  /// - Throws: `StoreError`.
  public static func allowReconciliation(of store: PersistentStore) throws {
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    _ = try store.write(info) { try $0.setSetting(allowedSetting, .integer(1)) }
  }

  /// What every program does with the store when the server's log is not the one that it knew; engines whose options say
  /// `.ask` ask in any case.
  ///
  /// ```swift
  /// try SyncEngine.setOnDiverged(.ask, of: store)
  /// ```
  ///
  /// - Throws: `StoreError`.
  public static func setOnDiverged(_ action: DivergedAction, of store: PersistentStore) throws {
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    _ = try store.write(info) { transaction in
      try transaction.setSetting(actionSetting, action == .ask ? .text(action.rawValue) : nil)
    }
  }

  /// What every program does with the store when the server's log is not the one that it knew.
  ///
  /// - Throws: `StoreError`.
  public static func onDiverged(of store: PersistentStore) throws -> DivergedAction {
    try store.read { try onDiverged($0) }
  }

  private static func onDiverged(_ transaction: ReadTransaction) throws -> DivergedAction {
    guard case .text(let name)? = try transaction.setting(actionSetting) else { return .automatic }
    return DivergedAction(rawValue: name) ?? .automatic
  }

  /// How the store came back to its zone last; nil when it never had to.
  static func lastReconciliation(_ transaction: ReadTransaction) throws -> Reconciliation? {
    guard case .text(let text)? = try transaction.setting(lastSetting) else { return nil }
    return try? JSONDecoder().decode(Reconciliation.self, from: Data(text.utf8))
  }

  /// Does a step that the zone may answer with *diverged* or another generation; then it comes back
  /// and does the step again.
  func reconciling(
    _ report: inout SyncReport, _ step: (inout SyncReport) async throws -> Void
  ) async throws {
    try await learnReplacements()
    try await takeZoneOfReader(&report)
    for _ in 0..<SyncTuning.reconcileRoundsMax {
      do {
        return try await step(&report)
      } catch let error as ProtocolError where Self.isOfAnotherLog(error) {
        if try !letGoOfStaged() { try await reconcile(&report) }
      } catch let error as UnknownZoneValue {
        log.notice("\(error)")
        try await readAgain(&report)
      }
    }
    try await step(&report)
  }

  /// A store that was enrolled by a program which kept no replacements asks for them once, while its generation is the
  /// zone's: later nobody could say which of them it has slept through.
  private func learnReplacements() async throws {
    guard try store.read({ try KnownReplacements.areUnknown($0) }) else { return }
    try lock()
    _ = try replicaState()
    let info = try await transport.zoneInfo()
    try bookkeep { transaction in
      let state = try Self.state(on: transaction.connection, of: store)
      guard state.zoneID == info.zoneID, state.generation == info.generation else { return }
      try KnownReplacements.learn(info, transaction)
    }
  }

  private static func isOfAnotherLog(_ error: ProtocolError) -> Bool {
    error.code == .diverged || error.code == .generationChanged
  }

  private func reconcile(_ report: inout SyncReport) async throws {
    let info = try await transport.zoneInfo()
    // What is noted of coming back has the zone's time.
    try learnClock()
    let state = try replicaState()
    try Self.check(info, isOfZoneOf: state)
    // Who may not push can hand over nothing and offer nothing: it keeps an export, and goes with the zone.
    guard info.mayWrite else {
      try admit("What the store holds goes into a file beside it, and it takes the zone's state.")
      try checkGivesUpNothing(state)
      return try await takeZone(info, after: state, because: .mayOnlyRead, &report)
    }
    if info.generation != state.generation {
      if try store.read({ try KnownReplacements.misses(info, $0) }) {
        _ = try isAllowed(
          "The zone was replaced on purpose since this store last saw it.",
          "What the store holds goes into a file beside it, and it takes the zone's state.")
        return try await takeZone(info, after: state, because: .replaced, &report)
      }
      try Self.checkHasLog(
        info, "the zone began anew, and what the store holds is to meet all of its log")
      try admit(Self.offering, of: info.generation)
      return try await noted(.offered, 0, info, after: state, &report) { transaction, state in
        try Self.startOver(&state, info: info, transaction, schema: schema)
      }
    }
    // Also what would be handed over byte for byte: who asked to be asked may not mean this server.
    _ = try isAllowed(Self.putBack, Self.offering)
    if try await refill(from: info, state, &report) { return }
    try admit(Self.offering)
    let marks = try store.read {
      try LogPlaces.all(of: state.generation, through: state.cursor, on: $0.connection)
    }
    let place =
      try await transport.commonPlace(of: marks, generation: state.generation)
      ?? Cursor.start(generation: state.generation).mark
    try Self.checkHasLog(
      info, after: place.sequence,
      "the server was put back, and what the store has in common with it ends at entry \(place.sequence)"
    )
    try await noted(.offered, place.sequence, info, after: state, &report) { transaction, state in
      try self.checkKeeps(above: place, info, state, transaction)
      return try self.rollBack(&state, to: place, head: info.head, transaction)
    }
  }

  static func check(_ info: ZoneInfo, isOfZoneOf state: ReplicaState) throws {
    guard info.zoneID != state.zoneID else { return }
    throw SyncError(
      .otherZone, "Under the name \(state.zone) the server has another zone now.",
      suggestion:
        "When that one is meant, enroll the store with it again: what the store holds is "
        + "offered to it. When not, correct the server's address.")
  }

  /// Begins the zone's log again from its start: what of it was taken back is below the entries that are kept here.
  private func readAgain(_ report: inout SyncReport) async throws {
    let info = try await transport.zoneInfo()
    let known = try replicaState()
    // Where the zone is another one meanwhile, the next step hears of that, and comes back by what is meant with it.
    guard info.zoneID == known.zoneID, info.generation == known.generation else { return }
    try Self.checkHasLog(
      info, "the server lost what this store knew, and the log would have to be read again")
    try await noted(.offered, 0, info, after: known, &report) { transaction, state in
      try FormerLog.note(acknowledged: state.acknowledged, transaction)
      return try Self.startOver(
        &state, in: state.generation, head: info.head, transaction, schema: schema)
    }
  }

  /// Whether a person has said that the replica may come back.
  ///
  /// - Throws: `SyncError` (`.diverged`) where it waits for a person's word.
  private func isAllowed(_ what: String, _ outcome: String) throws -> Bool {
    let (isAllowed, action) = try store.read { transaction in
      (try transaction.setting(Self.allowedSetting) != nil, try Self.onDiverged(transaction))
    }
    guard isAllowed || (options.onDiverged == .automatic && action == .automatic) else {
      throw SyncError(
        .diverged, what,
        suggestion: "When the server is the right one: syncctl sync --reconcile. \(outcome)")
    }
    return isAllowed
  }

  /// Fails where the replica may not offer to a server that was put back without a person.
  func admitPutBack() throws { try admit(Self.offering) }

  private static let putBack =
    "The server's log is not the one that this store knew: it was put back."
  private static let offering =
    "What the server lost is handed over or offered anew, and nothing is deleted."

  /// Fails where the replica may not come back to another log without a person.
  ///
  /// - Parameters:
  ///   - outcome: what coming back does.
  ///   - generation: a generation that the zone was given since: when it is one that the replica never left, the
  ///     zone was renewed on purpose, however often. Two servers at one address lead back to one that it left.
  private func admit(_ outcome: String, of generation: UUID? = nil) throws {
    guard try !isAllowed(Self.putBack, outcome) else { return }
    guard let last = try store.read({ try Self.lastReconciliation($0) }), last.kind == .offered,
      case let passed = try zoneTime().timeIntervalSince(last.time),
      // A clock that was ahead then, and is right by now, makes nobody wait for it.
      passed >= 0, passed < SyncTuning.reconcileEverySeconds
    else { return }
    if let generation, last.left?.contains(generation) == false { return }
    throw SyncError(
      .divergedAgain,
      "The server's log is another one again, less than a day after the store came back to it.",
      suggestion: "Look whether two servers answer at one address; when all is well: syncctl sync "
        + "--reconcile")
  }

  // MARK: Refill

  /// Hands over what the server lost, where its log ends at a place of this replica's own.
  ///
  /// - Returns: whether the server took something.
  private func refill(
    from info: ZoneInfo, _ state: ReplicaState, _ report: inout SyncReport
  ) async throws -> Bool {
    var place = LogMark(sequence: info.head, chain: info.chain)
    let isOwn = try store.read { transaction in
      try place == Cursor.start(generation: state.generation).mark
        || LogPlaces.has(place, on: transaction.connection)
    }
    guard isOwn else { return false }
    var head = info.head
    while true {
      let entries = try store.read {
        try KeptFrames.entries(
          after: place.sequence, bytesMax: options.pullBytesMax, on: $0.connection)
      }
      guard let last = entries.last else { break }
      let reply: RefillReply
      do {
        reply = try await transport.refill(entries)
      } catch let error as ProtocolError
        where [.diverged, .notStaged, .unsupported, .tooLarge, .clockAhead].contains(error.code)
      {
        // Somebody else was faster with something else, the server let go of a part, does not take what they name, or their times by
        // its clock, or has no room for parts of that size any more: what is here is offered. A zone that is full has room again
        // later, and the refill waits.
        break
      }
      head = max(head, reply.head)
      place = last.mark
      // A push in several parts is taken when the last one is there.
      let header = try? ChangeSetDecoder().decodeHeader(last.frame)
      guard reply.head >= place.sequence || header?.isFollowedByParts == true else { break }
    }
    // A push whose last part is kept here no more does not come into the log.
    guard head > info.head else { return false }
    let count = Int(clamping: head - info.head)
    try await noted(.refilled, info.head, info, after: state, &report) { _, _ in count }
    log.warning(
      "The server had lost \(count) change set\(count == 1 ? ", and has it" : "s, and has them") back from this store"
    )
    return true
  }

  // MARK: Offer

  /// Who does not have the entries above the common place begins the log again from its start.
  private func checkKeeps(
    above place: LogMark, _ info: ZoneInfo, _ state: ReplicaState, _ transaction: WriteTransaction
  ) throws {
    guard info.floor ?? 0 > 0 else { return }
    let connection = transaction.connection
    guard try LogPlaces.nextNumber(after: place.sequence, on: connection) != nil,
      try KeptFrames.cover(after: place.sequence, through: state.cursor, on: connection)
    else {
      throw SyncError.logPurged(
        "the server was put back, and the store does not keep what the server lost entry by entry")
    }
  }

  /// Begins the generation's log again from its start, and offers what the store holds, without the entries that were lost.
  ///
  /// - Parameter acknowledged: the last transaction that the log had acknowledged.
  func offerAnew(
    _ state: inout ReplicaState, acknowledged: Int64, head: UInt64, _ transaction: WriteTransaction
  ) throws -> Int {
    state.acknowledged = acknowledged
    try FormerLog.note(acknowledged: acknowledged, transaction)
    return try Self.startOver(
      &state, in: state.generation, head: head, transaction, schema: schema)
  }

  /// Goes back to the last common place of both logs: what was edited above it is offered anew, with
  /// the times of the edits. What was never acknowledged stays pending as it is.
  private func rollBack(
    _ state: inout ReplicaState, to place: LogMark, head: UInt64, _ transaction: WriteTransaction
  ) throws -> Int {
    let connection = transaction.connection
    try FormerParking.keep(above: place.sequence, transaction)
    // A store that left the zone, and reads the log again, knew more of it than it has read.
    if let left = try LeftZone.kept(transaction), left.place > place.sequence,
      let acknowledged = left.acknowledged
    {
      return try offerAnew(&state, acknowledged: acknowledged, head: head, transaction)
    }
    guard let next = try LogPlaces.nextNumber(after: place.sequence, on: connection),
      try KeptFrames.cover(after: place.sequence, through: state.cursor, on: connection)
    else {
      return try offerAnew(
        &state, acknowledged: state.acknowledged, head: head, transaction)
    }
    let pending = try PendingLoader.load(
      transaction, schema: schema, acknowledged: state.acknowledged)
    try Self.rebaseUnanswered(pending, transaction, schema: schema)
    let lost = try LostEdits(after: place.sequence, transaction, schema: schema)
    try MeantDeletes.keep(of: lost, beside: pending, transaction)
    let states = OfferedStates(lost.origins, through: pending.through, on: connection)
    let count = try lost.offer(beside: pending, states)
    try OfferedDeletes.keep(of: pending, from: next, transaction, schema: schema, states) {
      key, object, _ in lost.edits(below: object, of: key)
    }
    try IdentityRuns.forgetNumbers(from: next, on: connection)
    try Parking.forget(above: place.sequence, on: connection)
    try AcceptedParking.forgetPlaces(above: place.sequence, transaction)
    try ZoneStates.remove(above: place.sequence, on: connection)
    try KeptKeys.redate(above: place.sequence, on: connection)
    try LackedValues.redate(above: place.sequence, on: connection)
    try Outbox.clear(on: connection)
    try LogPlaces.drop(above: place.sequence, on: connection)
    try KeptFrames.drop(above: place.sequence, on: connection)
    state.move(to: place)
    state.mark = nil
    state.head = head
    return count
  }

  /// Does one step of coming back in one transaction, and notes it for status and report.
  ///
  /// - Parameters:
  ///   - known: where the replica stood when the server was asked.
  ///   - body: does it, and says how much that was and where an export lies.
  func noted(
    _ kind: Reconciliation.Kind, _ place: UInt64, _ info: ZoneInfo, after known: ReplicaState,
    because cause: Reconciliation.Cause? = nil, _ report: inout SyncReport,
    exporting body: (WriteTransaction, inout ReplicaState) throws -> (count: Int, export: URL?)
  ) async throws {
    (pendingCache, undoneCache) = (nil, nil)
    let done = try bookkeep { transaction in
      var state = try Self.state(on: transaction.connection, of: store)
      guard state.zoneID == known.zoneID, state.generation == known.generation else {
        throw SyncError(
          .superseded, "The store was enrolled anew while it came back to its zone.",
          suggestion: "Sync again.")
      }
      let (count, export) = try body(transaction, &state)
      try state.save(in: transaction)
      try KnownReplacements.learn(info, transaction)
      var left = try Self.lastReconciliation(transaction)?.left ?? []
      if info.generation != known.generation { left.insert(known.generation, at: 0) }
      let done = Reconciliation(
        kind: kind, time: try zoneTime(), place: place, count: count, export: export?.path,
        cause: cause,
        left: Array(left.prefix(SyncTuning.leftGenerationsMax)))
      let text = String(decoding: try JSONEncoder().encode(done), as: UTF8.self)
      try transaction.setSetting(Self.lastSetting, .text(text))
      if kind != .refilled {
        try transaction.setSetting(Self.allowedSetting, nil)
        try transaction.setSetting(MassDeleteBrake.keptSetting, nil)
      }
      return done
    }
    report.reconciliations.append(done)
    if kind == .offered {
      log.warning(
        "The server's log is another one above \(place): \(done.count) object\(done.count == 1 ? " is" : "s are") offered anew"
      )
    }
  }

  func noted(
    _ kind: Reconciliation.Kind, _ place: UInt64, _ info: ZoneInfo, after known: ReplicaState,
    _ report: inout SyncReport, _ body: (WriteTransaction, inout ReplicaState) throws -> Int
  ) async throws {
    try await noted(kind, place, info, after: known, &report) { transaction, state in
      (try body(transaction, &state), nil)
    }
  }
}
