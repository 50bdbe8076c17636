import Synchronization

/// What is done one at a time of each zone, and of all zones at once: who waits for something of one zone keeps nobody of
/// another waiting.
final class ZoneLines: Sendable {
  private typealias Waiter = CheckedContinuation<Void, Never>

  /// Those that wait, of each zone of which something is done.
  private let lines = Mutex<[Int64: [Waiter]]>([:])

  /// Does something when it is its turn.
  ///
  /// - Parameter most: so many may wait of one zone.
  /// - Throws: `ServerError` (`.busy`) where too many wait, and what `body` throws.
  func run<Result: Sendable>(
    of zone: Int64, most: Int, _ body: () async throws -> Result
  ) async throws -> Result {
    guard await enter(zone, most) else {
      throw ServerError.busy("too many large values wait for the zone, which another writes to")
    }
    defer { leave(zone) }
    return try await body()
  }

  private func enter(_ zone: Int64, _ most: Int) async -> Bool {
    var hasTurn = true
    await withCheckedContinuation { (waiter: Waiter) in
      let waits = lines.withLock { lines -> Bool in
        guard let line = lines[zone] else {
          lines[zone] = []
          return false
        }
        hasTurn = line.count < most
        if hasTurn { lines[zone] = line + [waiter] }
        return hasTurn
      }
      if !waits { waiter.resume() }
    }
    return hasTurn
  }

  private func leave(_ zone: Int64) {
    let next = lines.withLock { lines -> Waiter? in
      guard let line = lines[zone], !line.isEmpty else {
        lines[zone] = nil
        return nil
      }
      return lines[zone]?.removeFirst()
    }
    next?.resume()
  }
}
