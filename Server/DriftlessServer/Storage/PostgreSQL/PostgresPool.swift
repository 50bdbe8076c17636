#if PostgreSQL
  import Dispatch
  import Foundation
  import Synchronization

  /// Some connections to one database, and a queue of those who wait for one. Each connection has a thread of its own while
  /// it is used: libpq blocks, and the threads that serve requests must not.
  ///
  /// A connection is made when it is needed first, and again after it broke. Where it cannot be made, whoever wanted it waits
  /// for one that is open: a database that lets nobody in any more goes on with those who are. What a lost connection was at
  /// is done again once, on a new one; so is, several times, what another transaction was in the way of.
  final class PostgresPool: Sendable {
    private struct Waiter {
      let since: ContinuousClock.Instant
      let answer: CheckedContinuation<PostgresSlot, any Error>
    }

    private struct State {
      /// Those that are open, and are used first; and those that are not.
      var idle: [PostgresSlot] = []
      var closed: [PostgresSlot]
      var waiting: [Waiter] = []
      /// While it lasts, nobody tries to connect: each try may take seconds.
      var outage: (until: ContinuousClock.Instant, error: PostgresError)?

      var outageError: PostgresError? { outage.flatMap { $0.until > .now ? $0.error : nil } }

      mutating func take(anew isAnew: Bool) -> PostgresSlot? {
        let isOutage = outageError != nil
        if isAnew, !isOutage, let slot = closed.popLast() { return slot }
        while let slot = idle.popLast() {
          if slot.isStillOpen() { return slot }
          closed.append(slot)
        }
        return isOutage ? nil : closed.popLast()
      }
    }

    private let state: Mutex<State>
    private let slots: [PostgresSlot]
    private let served: PostgresServed?
    private let waitersMax: Int
    private let waitsMax: Duration
    private static let outageSeconds = 1.0
    private static let triesMax = 6

    /// - Parameter served: knows whether the database is one that this program serves.
    init(_ text: String, limits: ServerLimits, served: PostgresServed? = nil) {
      self.served = served
      slots = (0..<max(1, limits.databaseConnectionsMax)).map {
        PostgresSlot(text, label: "\($0)", limits: limits)
      }
      state = Mutex(State(closed: slots))
      waitersMax = limits.databaseWaitersMax
      waitsMax = .seconds(limits.databaseSeconds)
    }

    /// Runs `body` with a connection, on that connection's thread. It may run more than once.
    ///
    /// - Throws: `ServerError` (`.busy` when too many wait), `PostgresError`, and what `body` throws.
    func perform<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
      var tries = 1
      var isAnew = false
      while true {
        try served?.check()
        do {
          return try await once(body, anew: isAnew)
        } catch let error as PostgresError
          where error.isContention || error.kind == .lost && !isAnew
        {
          guard tries < Self.triesMax else { throw error }
          // What took one connection may have taken all that were open.
          isAnew = error.kind == .lost
          // Apart from each other, so that the same two do not meet again.
          try await Task.sleep(for: .milliseconds(Int.random(in: 1...(10 << tries))))
          tries += 1
        }
      }
    }

    /// - Parameter isAnew: whether a new connection is made, where that can be.
    private func once<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresConnection) throws -> Result, anew isAnew: Bool
    ) async throws -> Result {
      var tries = 1
      while true {
        let slot = try await takeSlot(anew: isAnew && tries == 1)
        defer { giveBack(slot) }
        do {
          return try await slot.perform(body)
        } catch let error as PostgresError where error.kind == .unreachable {
          state.withLock { $0.outage = (.now + .seconds(Self.outageSeconds), error) }
          guard hasOpen, tries < Self.triesMax else { throw error }
          tries += 1
        }
      }
    }

    /// Whether a connection is open, whoever uses it.
    var hasOpen: Bool { slots.contains(where: \.isOpen) }

    private func takeSlot(anew isAnew: Bool) async throws -> PostgresSlot {
      try await withCheckedThrowingContinuation { answer in
        let outcome: Swift.Result<PostgresSlot?, any Error> = state.withLock { state in
          if let slot = state.take(anew: isAnew) { return .success(slot) }
          if let error = state.outageError, !hasOpen { return .failure(error) }
          guard state.waiting.count < waitersMax else {
            return .failure(ServerError.busy("too many wait for the server's database"))
          }
          state.waiting.append(Waiter(since: .now, answer: answer))
          return .success(nil)
        }
        switch outcome {
        case .success(let slot?): answer.resume(returning: slot)
        case .success(nil): break
        case .failure(let error): answer.resume(throwing: error)
        }
      }
    }

    private func giveBack(_ slot: PostgresSlot) {
      let answers = state.withLock { state -> [@Sendable () -> Void] in
        let late = state.waiting.prefix { ContinuousClock.now - $0.since > waitsMax }
        state.waiting.removeFirst(late.count)
        let tooLate = ServerError.busy("no connection to the server's database was free in time")
        var answers: [@Sendable () -> Void] = late.map { waiter in
          { waiter.answer.resume(throwing: tooLate) }
        }
        let error = state.outageError
        if error == nil || slot.isOpen, !state.waiting.isEmpty {
          let next = state.waiting.removeFirst()
          return answers + [{ next.answer.resume(returning: slot) }]
        }
        if slot.isOpen { state.idle.append(slot) } else { state.closed.append(slot) }
        // Nobody is left who would give one back.
        if let error, !hasOpen {
          for waiter in state.waiting {
            answers.append { waiter.answer.resume(throwing: error) }
          }
          state.waiting = []
        }
        return answers
      }
      for answer in answers { answer() }
    }

    /// Closes the connections, each when what it is at has ended.
    func close() { for slot in slots { slot.close() } }
  }

  /// The place of one connection, with its thread.
  final class PostgresSlot: Sendable {
    private let text: String
    private let limits: ServerLimits
    private let queue: DispatchQueue
    private let connection = Mutex<PostgresConnection?>(nil)
    private let hasConnection = Atomic(false)
    /// Whether it was closed, for good.
    private let isClosed = Atomic(false)

    /// Whether it has a connection that did not break so far.
    var isOpen: Bool { hasConnection.load(ordering: .relaxed) }

    /// Looks whether the database has closed its connection since it was used last.
    func isStillOpen() -> Bool {
      connection.withLock { slot in
        guard let open = slot else { return false }
        guard !open.isOpen() else { return true }
        open.close()
        slot = nil
        hasConnection.store(false, ordering: .relaxed)
        return false
      }
    }

    init(_ text: String, label: String, limits: ServerLimits) {
      self.text = text
      self.limits = limits
      queue = DispatchQueue(label: "driftless.postgres.\(label)")
    }

    func perform<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
      try await withCheckedThrowingContinuation { continuation in
        queue.async {
          continuation.resume(with: Swift.Result { try self.run(body) })
        }
      }
    }

    /// Runs `body` on the calling thread.
    func run<Result: Sendable>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
      try connection.withLock { slot in
        guard !isClosed.load(ordering: .relaxed) else { throw ServerError.hasEnded }
        let open = try slot ?? PostgresConnection(serving: text, limits: limits)
        slot = open
        hasConnection.store(true, ordering: .relaxed)
        defer {
          if open.isBroken {
            open.close()
            slot = nil
            hasConnection.store(false, ordering: .relaxed)
          }
        }
        return try body(open)
      }
    }

    /// Runs `body` on the calling thread, and again where the database is away for a moment: it is begun anew, or another takes
    /// its place.
    func patiently<Result: Sendable>(
      _ body: (PostgresConnection) throws -> Result
    ) throws -> Result {
      var tries = 1
      while true {
        do {
          return try run(body)
        } catch let error as PostgresError where error.isAway && tries < Self.triesMax {
          Self.pause(after: tries)
          tries += 1
        }
      }
    }

    private static let triesMax = 7

    /// Waits on the calling thread, which is that of folding or of a command: a quarter of a second, and twice as long with each try, up to four seconds.
    static func pause(after tries: Int) {
      Thread.sleep(forTimeInterval: min(4, 0.25 * Double(1 << min(tries - 1, 4))))
    }

    /// Ends what the connection is at, and all that comes later is refused.
    func close() {
      connection.withLock { slot in
        isClosed.store(true, ordering: .relaxed)
        slot?.close()
        slot = nil
        hasConnection.store(false, ordering: .relaxed)
      }
    }
  }

  extension PostgresConnection {
    /// Connects, and sets up what the server relies on.
    convenience init(serving text: String, limits: ServerLimits) throws {
      try self.init(
        text, connectSeconds: limits.databaseConnectSeconds, seconds: limits.databaseSeconds)
      // The database ends what this end has given up, so that no lock outlives it.
      let milliseconds = max(1, limits.databaseSeconds - 1) * 1000
      try execute("SET statement_timeout = \(milliseconds)")
      try execute("SET idle_in_transaction_session_timeout = \(milliseconds)")
      // What is acknowledged is on a disk, whatever the database is set to.
      let commit = try run("SELECT current_setting('synchronous_commit')")
      if commit.text(0, 0) == "off" { try execute("SET synchronous_commit = on") }
    }
  }
#endif
