public import DriftlessProtocol
public import Foundation
public import Logging
import Synchronization

/// Looks at each entry of a log when it is first answered: a disk, or a hand, may have changed its bytes. Replicas refuse
/// such an entry, each for itself; here the operator hears of it.
///
/// One pass of SHA-256 over an entry in a server's life: 36 MB took less than 75 ms of a core.
public final class EntryCheck: Sendable {
  private struct State {
    /// Sequence numbers that need no look any more, by generation.
    var seen: [UUID: IndexSet] = [:]
    var damaged: [UUID: IndexSet] = [:]
  }

  private let state = Mutex(State())
  private let logger: Logger
  /// Generations, and gaps of one, that are remembered: above it a log is looked at anew.
  private static let remembered = 10_000

  /// - Parameter logger: hears of each damaged entry once.
  public init(logger: Logger) { self.logger = logger }

  /// How many entries were found to be damaged since the server was started.
  ///
  /// - Parameter generations: of these logs, since a zone that began anew, or is no more, has them no more; nil for all.
  public func damagedEntries(of generations: Set<UUID>? = nil) -> Int {
    state.withLock { state in
      state.damaged.filter { generations?.contains($0.key) ?? true }.values
        .reduce(0) { $0 + $1.count }
    }
  }

  /// Looks at what of a page was not looked at before.
  ///
  /// - Parameter place: the place before the page, which is the log's own.
  public func look(at page: LogPage, of zone: ZoneRecord, after place: LogMark) {
    let unseen = state.withLock { state in
      let seen = state.seen[zone.generation] ?? IndexSet()
      return page.entries.map { !$0.isHeaderOnly && !seen.contains(Int(clamping: $0.sequence)) }
    }
    guard unseen.contains(true) else { return }
    var before = place
    for (entry, isUnseen) in zip(page.entries, unseen) {
      if isUnseen { note(entry, of: zone, damage: Self.damage(of: entry, after: before)) }
      before = LogMark(sequence: entry.sequence, chain: entry.chain)
    }
  }

  private func note(_ entry: LogEntry, of zone: ZoneRecord, damage: String?) {
    let isNew = state.withLock { state in
      if state.seen.count > Self.remembered { state.seen = [:] }
      let number = Int(clamping: entry.sequence)
      state.seen[zone.generation, default: IndexSet()].insert(number)
      if state.seen[zone.generation]?.rangeView.count ?? 0 > Self.remembered {
        state.seen[zone.generation] = nil
      }
      guard damage != nil else { return false }
      return state.damaged[zone.generation, default: IndexSet()].insert(number).inserted
    }
    guard isNew, let damage else { return }
    logger.error(
      "an entry of a log is damaged: replicas refuse it",
      metadata: [
        "zone": "\(zone.name)", "sequence": "\(entry.sequence)", "damage": "\(damage)",
        "try": "driftless-server verify",
      ])
  }

  /// What is wrong with an entry that has all of its bytes; nil when it is whole.
  static func damage(of entry: LogEntry, after place: LogMark) -> String? {
    guard let digest = ChangeSetHeader.storedDigest(of: entry.bytes) else {
      return "it is cut off"
    }
    guard ChangeSetHeader.digest(of: entry.bytes) == digest else {
      return "its bytes are not those that its digest stands for"
    }
    guard entry.sequence == place.sequence + 1 else {
      return "entry \(place.sequence + 1) is missing before it"
    }
    let chain = place.chain.next(
      digest: digest, sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber)
    return chain == entry.chain ? nil : "its chain does not go on from the entry before it"
  }
}
