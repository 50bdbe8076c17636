import Foundation

/// What the database was asked for the page, for a second: however many look, and however often, it is asked once.
actor StatusCache {
  private struct Entry {
    let since: ContinuousClock.Instant
    let look: Task<StorageLook, any Error>
  }

  private var entries: [String: Entry] = [:]
  private static let span = Duration.seconds(1)
  private static let entriesMax = 16

  func look(
    _ key: String, now: ContinuousClock.Instant = .now,
    _ ask: @escaping @Sendable () async throws -> StorageLook
  ) async throws -> StorageLook {
    if let entry = entries[key], now - entry.since < Self.span { return try await entry.look.value }
    entries = entries.filter { now - $0.value.since < Self.span }
    if entries.count >= Self.entriesMax,
      let oldest = entries.min(by: { $0.value.since < $1.value.since })
    {
      entries[oldest.key] = nil
    }
    let look = Task { try await ask() }
    entries[key] = Entry(since: now, look: look)
    return try await look.value
  }
}
