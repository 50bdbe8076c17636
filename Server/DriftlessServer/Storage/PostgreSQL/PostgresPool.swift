#if PostgreSQL
  import Dispatch
  import Foundation
  import Synchronization

  /// Some connections to one database, and a queue of those who wait for one. Each connection has a thread of its own while
  /// it is used: libpq blocks, and the threads that serve requests must not.
  ///
  /// A connection is made when it is needed first, and again after it broke. What a lost connection was at is done again
  /// once, on another; so is, several times, what another transaction was in the way of.
  final class PostgresPool: Sendable {
    private struct Waiter {
      let since: ContinuousClock.Instant
      let answer: CheckedContinuation<PostgresSlot, any Error>
    }

    private struct State {
      var idle: [PostgresSlot]
      var waiting: [Waiter] = []
      /// While it lasts, nobody tries to connect: each try may take seconds.
      var outage: (until: ContinuousClock.Instant, error: PostgresError)?
    }

    private let state: Mutex<State>
    private let slots: [PostgresSlot]
    private let waitersMax: Int
    private let waitsMax: Duration
    private static let outageSeconds = 1.0
    private static let triesMax = 6

    init(_ text: String, limits: ServerLimits) {
      slots = (0..<max(1, limits.databaseConnectionsMax)).map {
        PostgresSlot(text, label: "\($0)", limits: limits)
      }
      state = Mutex(State(idle: slots))
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
      while true {
        do {
          return try await once(body)
        } catch let error as PostgresError
          where error.isContention || error.kind == .lost && tries == 1
        {
          guard tries < Self.triesMax else { throw error }
          // Apart from each other, so that the same two do not meet again.
          try await Task.sleep(for: .milliseconds(Int.random(in: 1...(10 << tries))))
          tries += 1
        }
      }
    }

    private func once<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
      let slot = try await takeSlot()
      defer { giveBack(slot) }
      do {
        let result = try await slot.perform(body)
        state.withLock { $0.outage = nil }
        return result
      } catch let error as PostgresError where error.kind == .unreachable {
        state.withLock { $0.outage = (.now + .seconds(Self.outageSeconds), error) }
        throw error
      }
    }

    private func takeSlot() async throws -> PostgresSlot {
      try await withCheckedThrowingContinuation { answer in
        let outcome: Swift.Result<PostgresSlot?, any Error> = state.withLock { state in
          if let outage = state.outage, outage.until > .now { return .failure(outage.error) }
          if let slot = state.idle.popLast() { return .success(slot) }
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
      let (next, late) = state.withLock { state -> (Waiter?, [Waiter]) in
        let late = Array(state.waiting.prefix { ContinuousClock.now - $0.since > waitsMax })
        state.waiting.removeFirst(late.count)
        if state.waiting.isEmpty {
          state.idle.append(slot)
          return (nil, late)
        }
        return (state.waiting.removeFirst(), late)
      }
      next?.answer.resume(returning: slot)
      for waiter in late {
        waiter.answer.resume(
          throwing: ServerError.busy("no connection to the server's database was free in time"))
      }
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
        let open = try slot ?? PostgresConnection(serving: text, limits: limits)
        slot = open
        defer {
          if open.isBroken {
            open.close()
            slot = nil
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

    func close() {
      connection.withLock { slot in
        slot?.close()
        slot = nil
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
