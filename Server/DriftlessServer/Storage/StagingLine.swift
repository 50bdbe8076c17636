import Synchronization

/// Parts of pushes, and pieces of large values, that are looked at beside the log, a few at a time, in turns of zones. A fleet that offers all it has at once
/// brings hundreds of them: who pushes something small waits for one of them then, and not for all that came before it.
final class StagingLine: Sendable {
  private typealias Waiter = CheckedContinuation<Void, any Error>

  private struct State {
    /// How many are looked at now.
    var busy = 0
    var turns = ZoneTurns<Waiter>(credit: PushQueue.turnCost)
  }

  private let state = Mutex(State())
  private let width: Int

  /// - Parameter width: how many are looked at at one time.
  init(width: Int = 1) { self.width = max(1, width) }

  /// How many wait.
  var waiting: Int { state.withLock { $0.turns.count } }

  /// Does something when it is its turn.
  ///
  /// - Parameters:
  ///   - zone: whose turn it is.
  ///   - cost: in bytes.
  ///   - most: so many may wait; a zone that has none waiting is heard whatever the others sent.
  /// - Throws: `ServerError` (`.busy`) where too many wait.
  func run<Result: Sendable>(
    of zone: Int64, cost: Int, most: Int, _ body: () async throws -> Result
  ) async throws -> Result {
    try await enter(zone, cost, most)
    defer { leave() }
    return try await body()
  }

  private func enter(_ zone: Int64, _ cost: Int, _ most: Int) async throws {
    try await withCheckedThrowingContinuation { (waiter: Waiter) in
      let answer = state.withLock { state -> Swift.Result<Void, any Error>? in
        guard state.busy >= width else {
          state.busy += 1
          return .success(())
        }
        guard state.turns.count < most || !state.turns.isWaiting(for: zone) else {
          return .failure(
            ServerError.busy(
              "too many parts of large pushes, pieces of large values, or refills wait for the disk"
            ))
        }
        state.turns.add(waiter, of: zone, cost: cost)
        return nil
      }
      if let answer { waiter.resume(with: answer) }
    }
  }

  private func leave() {
    let next = state.withLock { state -> Waiter? in
      let next = state.turns.next(most: (1, .max)) { _ in true }.first
      if next == nil { state.busy -= 1 }
      return next
    }
    next?.resume()
  }
}
