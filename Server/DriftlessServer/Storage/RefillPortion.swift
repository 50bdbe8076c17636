import DriftlessProtocol

/// How much of a refill is written in one transaction: others want the writer, and the zone's row, as well. A portion ends also when it
/// has taken as long as a group of pushes may.
enum RefillPortion {
  /// Entries of one, as many as pushes in one group.
  static let entriesMax = 64
  /// Bytes of those, one entry at least: what a zone's pushes may cost in one turn.
  static let bytesMax = PushQueue.turnCost

  /// Whether so many entries and bytes are a whole portion, with so many bytes to come next.
  static func isFull(_ entries: Int, _ bytes: Int, next: Int) -> Bool {
    entries >= entriesMax || entries > 0 && bytes + next > bytesMax
  }

  /// Writes entries a portion at a time.
  ///
  /// - Parameter write: writes some of a portion, the first of them at least, and says which are left of it.
  /// - Returns: what the last call of `write` said.
  /// - Throws: what `write` throws; what was written before stays.
  static func each(
    of entries: [Refill], _ write: ([Refill]) async throws -> Written
  ) async throws -> LogMark {
    var rest = entries[...]
    while true {
      var (count, bytes) = (0, 0)
      for entry in rest {
        guard !isFull(count, bytes, next: entry.push.frame.count) else { break }
        (count, bytes) = (count + 1, bytes + entry.push.frame.count)
      }
      var written = try await write(Array(rest.prefix(count)))
      while !written.left.isEmpty { written = try await write(written.left) }
      rest = rest.dropFirst(count)
      guard !rest.isEmpty else { return written.place }
    }
  }

  /// What became of a portion.
  struct Written: Sendable {
    /// Where the log ends.
    let place: LogMark
    /// Entries that it had no time for.
    let left: [Refill]
  }

  /// Takes entries until all are taken or the time is over, one at least.
  ///
  /// - Returns: those that are left.
  /// - Throws: what `take` throws.
  static func take(
    _ entries: [Refill], milliseconds: Int, _ take: (Refill) throws -> Void
  ) rethrows -> [Refill] {
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    for (place, entry) in entries.enumerated() {
      guard place == 0 || ContinuousClock.now < end else { return Array(entries[place...]) }
      try take(entry)
    }
    return []
  }
}
