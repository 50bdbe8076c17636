import Synchronization

/// Counts refused tokens by address, so that who tries many costs one line a minute.
final class AuditRefusals: Sendable {
  private struct State {
    var counts: [String: Int] = [:]
    var isWriteDue = false
  }

  private let state = Mutex(State())
  private let storage: any ZoneStorage

  init(storage: any ZoneStorage) { self.storage = storage }

  private static let span = 60

  /// Notes that somebody showed a token that is none.
  ///
  /// - Parameter place: what it was to open.
  func note(from address: String, to place: String) {
    let key = "\(address)\n\(place)"
    let begins = state.withLock { state in
      let isKnown = state.counts[key] != nil || state.counts.count < AuditBounds.addressesMax
      state.counts[isKnown ? key : "others\n\(place)", default: 0] += 1
      defer { state.isWriteDue = true }
      return !state.isWriteDue
    }
    guard begins else { return }
    Task {
      try? await Task.sleep(for: .seconds(Self.span))
      await write()
    }
  }

  /// Writes what was counted since the last time.
  func write() async {
    let counts = state.withLock { state in
      defer { (state.counts, state.isWriteDue) = ([:], false) }
      return state.counts
    }
    guard !counts.isEmpty else { return }
    let now = Int64(clamping: await storage.time())
    await storage.audit(
      counts.map { key, count in
        let parts = key.split(separator: "\n", maxSplits: 1).map(String.init)
        return AuditEvent(
          .refused, by: parts[0], subject: parts.last, count: count, at: now)
      })
  }
}
