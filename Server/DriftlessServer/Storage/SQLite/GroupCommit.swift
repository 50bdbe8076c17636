import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging
import Synchronization

/// One writer for all pushes. While the disk syncs one group, the next gathers; so the more push at
/// once, the fewer syncs each costs. A push is answered when its group is on disk. Zones take turns (`ZoneTurns`).
///
/// Within a group each push has a savepoint: one that is refused leaves no trace and harms no
/// other.
final class GroupCommit: Sendable {
  private typealias Pending = PushQueue.Pending

  private let queue = Mutex(PushQueue(isShared: true))
  private let database: Database
  private let checkpointer: Checkpointer
  private let limits: LiveLimits
  private let metrics: ServerMetrics
  private let news: ZoneNews
  private let logger: Logger
  private let clock: ServerClock
  private let reserve: DiskReserve

  init(
    database: Database, checkpointer: Checkpointer, limits: LiveLimits, metrics: ServerMetrics,
    news: ZoneNews, logger: Logger, clock: ServerClock, reserve: DiskReserve
  ) {
    self.reserve = reserve
    self.clock = clock
    self.database = database
    self.checkpointer = checkpointer
    self.limits = limits
    self.metrics = metrics
    self.news = news
    self.logger = logger
  }

  func append(_ push: Push, to zone: ZoneRecord) async throws -> Appended {
    try await withCheckedThrowingContinuation { answer in
      let action: Action = queue.withLock { queue in
        guard !queue.isFull(for: zone, limits.current) else { return .refuse }
        return queue.add(Pending(push: push, zone: zone, answer: answer)) ? .drain : .none
      }
      switch action {
      case .none: break
      case .drain: database.later { self.drain() }
      case .refuse: answer.resume(throwing: ServerError.busy("too many pushes wait for the disk"))
      }
    }
  }

  /// How many wait.
  var waiting: Int { queue.withLock { $0.count } }

  /// Runs `body` on the writer's thread, for what is written beside the pushes. It may be much as well: room is made for it, and what
  /// the write-ahead log has got is copied after it.
  ///
  /// - Parameter bytes: how much is written, about; 0 for what takes no room.
  /// - Throws: `ServerError`
  func write<Result: Sendable>(
    bytes: Int, _ body: @escaping @Sendable (SQLiteConnection) throws -> Result
  ) async throws -> Result {
    try await later { [self] in
      makeRoom(for: bytes)
      return try database.run { connection in
        guard !connection.isMoved else { throw ServerError.databaseIsGone }
        if bytes > 0 { try reserve.requireRoom(bytes, connection) }
        return try body(connection)
      }
    }
  }

  /// The same for what lets go of something: on a full disk it has the room of the reserve.
  func letGo<Result: Sendable>(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Result
  ) async throws -> Result {
    try await later { [self] in
      makeRoom(for: 0)
      return try reserve.withRoom {
        try database.run { connection in
          guard !connection.isMoved else { throw ServerError.databaseIsGone }
          return try body(connection)
        }
      }
    }
  }

  private func later<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { answer in
      database.later { [self] in
        answer.resume(
          with: Swift.Result {
            do {
              return try body()
            } catch {
              makeRoom(after: error)
              throw ServerError(refusal: error) ?? ServerError(storage: error)
            }
          })
        checkpointer.checkpointIfDue(database, logger: logger)
      }
    }
  }

  /// - Returns: whether there is room now.
  @discardableResult private func makeRoom(for bytes: Int) -> Bool {
    // Where it cannot be asked, what is written says why.
    let hasRoom = try? database.run { reserve.hasRoom(for: bytes, $0) }
    if hasRoom == false { checkpointer.makeRoom(database, logger: logger) }
    return hasRoom == true
  }

  /// What the log holds of what was written before may be the room that the next wants.
  private func makeRoom(after error: any Error) {
    if (error as? SQLiteError)?.isFull == true { checkpointer.makeRoom(database, logger: logger) }
  }

  /// Takes back what was lent to an operator, where there is room for it by now.
  func takeBackRoom() {
    guard checkpointer.canMakeRoom else { return }
    database.later { self.checkpointer.makeRoom(self.database, logger: self.logger) }
  }

  /// Copies the write-ahead log where it is too long: commands write to it as well, also while nobody pushes.
  func copyLog() {
    database.later { self.checkpointer.checkpointIfDue(self.database, logger: self.logger) }
  }

  private enum Action { case none, drain, refuse }

  /// Commits one group, and goes on behind what else came to the writer meanwhile: however many push, nobody waits for more than a
  /// group. Runs on the writer's thread.
  private func drain() {
    guard let group = queue.withLock({ $0.nextGroup(limits.current) }) else { return }
    commit(group)
    checkpointer.checkpointIfDue(database, logger: logger)
    database.later { self.drain() }
  }

  private func commit(_ group: [Pending]) {
    let hasRoom = makeRoom(for: Self.bytes(of: group))
    do {
      let start = ContinuousClock.now
      let outcomes = try database.run {
        try self.apply(group, hasRoom: hasRoom, on: $0)
      }
      metrics.countCommit(pushes: outcomes.count, duration: ContinuousClock.now - start)
      if outcomes.count < group.count {
        queue.withLock {
          $0.putBack(Array(group[outcomes.count...]), after: group[outcomes.count - 1])
        }
      }
      for (pending, outcome) in zip(group, outcomes) {
        if case .success(let appended) = outcome, !appended.isRepeat {
          news.publish(pending.push.cursor.generation, head: appended.sequence)
        }
        pending.answer.resume(with: outcome)
      }
    } catch  where group.count > 1 && (error as? SQLiteError)?.isBusy != true {
      // The transaction as a whole failed, say because the disk is full: one that is too large for
      // it must not take the others with it. Where another has the database, each would wait for it in turn.
      for pending in group { commit([pending]) }
    } catch {
      makeRoom(after: error)
      logger.error("a push could not be stored", metadata: ["error": "\(error)"])
      for pending in group { pending.answer.resume(throwing: ServerError(storage: error)) }
    }
  }

  private static func bytes(of group: [Pending]) -> Int {
    group.reduce(0) { $0 + $1.push.frame.count }
  }

  /// All pushes of a group in one transaction.
  ///
  /// - Parameter hasRoom: it was looked for, and found.
  private func apply(
    _ group: [Pending], hasRoom: Bool, on connection: SQLiteConnection
  ) throws -> [Result<Appended, any Error>] {
    // What went into a file without a name nobody finds again.
    guard !connection.isMoved else { throw ServerError.databaseIsGone }
    if !hasRoom { try reserve.requireRoom(Self.bytes(of: group), connection) }
    let tables = SQLiteZoneTables(connection)
    var due: Int64?
    do {
      let outcomes = try connection.transaction(.immediate) {
        let append = LogAppend(tables: tables, limits: limits.current, nowMilliseconds: clock.now())
        let end = ContinuousClock.now + .milliseconds(limits.groupMillisecondsMax)
        var outcomes: [Result<Appended, any Error>] = []
        for pending in group where outcomes.isEmpty || ContinuousClock.now < end {
          outcomes.append(try write(pending, append, tables, connection))
        }
        due = clock.dueToKeep()
        if let due { try GivenTimes.keep(due, on: connection) }
        return outcomes
      }
      if let due { clock.didKeep(due) }
      return outcomes
    } catch {
      if due != nil { clock.didNotKeep() }
      throw error
    }
  }

  /// One push within the group's transaction.
  private func write(
    _ pending: Pending, _ append: LogAppend<SQLiteZoneTables>, _ tables: SQLiteZoneTables,
    _ connection: SQLiteConnection
  ) throws -> Result<Appended, any Error> {
    do {
      let start = ContinuousClock.now
      let appended = try connection.savepoint {
        try append.append(pending.push, to: pending.zone)
      }
      if let part = pending.push.part {
        // So long all others wait.
        let time = (ContinuousClock.now - start) / .milliseconds(1)
        logger.info(
          "published", metadata: ["parts": "\(part.parts)", "milliseconds": "\(Int(time))"])
      }
      return .success(appended)
    } catch {
      guard let refusal = ServerError(refusal: error) else { throw error }
      tables.forget()
      return .failure(refusal)
    }
  }
}

extension ServerError {
  /// The file of the database was removed, or moved, while the server has it open.
  static let databaseIsGone = ServerError(
    .storage, "the server's database was moved away or removed while it serves",
    suggestion: "Tell the operator: stop the server, put the data folder or a backup back "
      + "(driftless-server restore), and start it again. Nothing is lost here.")

  /// The file of the database has fewer bytes than before.
  static let databaseIsCut = ServerError(
    .storage, "the server's database was emptied, cut off or replaced while it serves",
    suggestion: "Tell the operator: stop the server, put a backup back (driftless-server restore), "
      + "and start it again. Nothing is lost here.")

  /// What a client is told of an error of the database.
  init(storage error: any Error) {
    switch error {
    case let error as ServerError: self = error
    case let error as SQLiteError where error.isFull:
      self.init(
        .diskFull,
        error.isFullDisk
          ? "the server's disk is full; nothing of the push was stored"
          : "the server's database has as many bytes as it may have (databaseBytesMax), or its disk "
            + "is full; nothing of the push was stored",
        suggestion: "Nothing is lost here: tell the operator, and push again when there is room.")
    case let error as SQLiteError where error.isBusy:
      self = .busy("the server's database is busy")
    default:
      #if PostgreSQL
        if let error = error as? PostgresError {
          self.init(error)
          return
        }
      #endif
      self.init(
        .storage, "the server could not store or read its data",
        suggestion: "Try again later; the operator finds the reason in the server's log.")
      reason = "\(error)"
      isDamage = (error as? SQLiteError).map { $0.isCorrupt || $0.isNotADatabase } ?? false
    }
  }

  /// What an operator's command says of an error of the data folder; nil for one that is none of these.
  package init?(command error: any Error) {
    guard let error = error as? SQLiteError else { return nil }
    let file = error.file ?? "the data folder"
    if error.isFull {
      self.init(
        .diskFull, "there is no space left on the file system of \(file); nothing was changed",
        suggestion: "Make room there, then say the command again.")
    } else if error.isBusy {
      self.init(
        .locked, "\(file) is in use by another command",
        suggestion: "Say the command again when that has ended.")
    } else if error.isReadOnly {
      self.init(
        .folder, "\(file) may not be written", suggestion: "Run the command as the folder's owner.")
    } else if error.isCorrupt || error.isNotADatabase {
      self.init(
        .damagedDatabase, "\(file): \(error.words)",
        suggestion: "Keep a copy of it, and put a backup in its place: driftless-server restore.")
    } else {
      self.init(.storage, "\(file): \(error.words)", suggestion: error.suggestion)
    }
  }

  /// Opens a database file, and refuses one that is damaged with its name.
  static func opening<Opened>(
    _ file: String, isBackup: Bool = false, _ open: () throws -> Opened
  ) throws -> Opened {
    do {
      return try open()
    } catch let error as SQLiteError where error.isCorrupt || error.isNotADatabase {
      throw ServerError(
        .damagedDatabase,
        error.isNotADatabase
          ? "\(file) is no database" : "\(file) is damaged: its pages do not fit together",
        suggestion: isBackup
          ? "Nothing was changed. Name another file that a backup made (driftless-server backup FILE)."
          : "Keep a copy of the data folder and put a backup in its place: replicas bring back what it lacks."
      )
    }
  }
}
