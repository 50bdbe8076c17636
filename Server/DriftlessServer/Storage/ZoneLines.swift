import Synchronization

/// What is done one at a time of each zone, and of all zones at once: who waits for something of one zone keeps nobody of
/// another waiting. What waits is in memory, so there is a bound for all zones together.
final class ZoneLines: Sendable {
  private typealias Waiter = CheckedContinuation<Void, Never>

  private struct State {
    /// Those that wait, of each zone of which something is done.
    var lines: [Int64: [Waiter]] = [:]
    /// Bytes of what is done, and of what waits.
    var bytes = 0
  }

  private let state = Mutex(State())

  /// Of how many zones something is done.
  var zones: Int { state.withLock { $0.lines.count } }

  /// How many wait.
  var waiting: Int { state.withLock { $0.lines.values.reduce(0) { $0 + $1.count } } }

  /// Does something when it is its turn.
  ///
  /// - Parameters:
  ///   - bytes: what it has in memory meanwhile.
  ///   - most: so many may wait of one zone, and so many bytes of all; one alone always may.
  /// - Throws: `ServerError` (`.busy`) where too many wait, and what `body` throws.
  func run<Result: Sendable>(
    of zone: Int64, bytes: Int, most: (count: Int, bytes: Int), _ body: () async throws -> Result
  ) async throws -> Result {
    guard await enter(zone, bytes, most) else {
      throw ServerError.busy(
        "too many refills, or large values, wait for zones that others write to")
    }
    defer { leave(zone, bytes) }
    return try await body()
  }

  private func enter(_ zone: Int64, _ bytes: Int, _ most: (count: Int, bytes: Int)) async -> Bool {
    var hasTurn = true
    await withCheckedContinuation { (waiter: Waiter) in
      let waits = state.withLock { state -> Bool in
        let line = state.lines[zone]
        hasTurn =
          line?.count ?? 0 < most.count && (state.bytes == 0 || state.bytes + bytes <= most.bytes)
        guard hasTurn else { return false }
        state.bytes += bytes
        state.lines[zone] = line.map { $0 + [waiter] } ?? []
        return line != nil
      }
      if !waits { waiter.resume() }
    }
    return hasTurn
  }

  private func leave(_ zone: Int64, _ bytes: Int) {
    let next = state.withLock { state -> Waiter? in
      state.bytes -= bytes
      guard let line = state.lines[zone], !line.isEmpty else {
        state.lines[zone] = nil
        return nil
      }
      return state.lines[zone]?.removeFirst()
    }
    next?.resume()
  }
}
