import Driftless
import DriftlessSQLite
import Foundation

/// How much time a store has seen pass, by its zone's clock: what is kept for a term is dated and aged by it.
///
/// A step of a clock says nothing of time that passed, and what is let go of on the strength of one comes never back. So of
/// what the zone's time moved between two pulls that reached the head a day counts at most, and likewise back: a clock that
/// was ahead for a while and is right again leaves nothing. A store that was away for long keeps for longer, which costs room
/// that has bounds of its own.
struct SeenTime: Equatable {
  static let setting = "sync.seenTime"

  /// Seconds. It begins with the zone's time, since 1970, and falls behind where the store is away.
  var seconds: Double
  /// The zone's time when that was counted, in seconds since 1970.
  var zone: Double

  init(_ zone: Date) {
    self.zone = zone.timeIntervalSince1970
    seconds = self.zone
  }

  var text: String { "\(seconds) \(zone)" }

  init?(text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 2, let seconds = Double(parts[0]), let zone = Double(parts[1]),
      seconds.isFinite, zone.isFinite
    else { return nil }
    self.seconds = seconds
    self.zone = zone
  }

  mutating func look(at zone: Date) {
    let step = zone.timeIntervalSince1970 - self.zone
    seconds += min(max(step, -SyncTuning.seenSecondsMax), SyncTuning.seenSecondsMax)
    self.zone = zone.timeIntervalSince1970
  }

  private static func load(_ transaction: ReadTransaction) throws -> SeenTime? {
    guard case .text(let text)? = try transaction.setting(setting) else { return nil }
    return SeenTime(text: text)
  }

  /// The date of what is kept now; 0 before anything was counted.
  static func seconds(_ transaction: ReadTransaction) throws -> Double {
    try load(transaction)?.seconds ?? 0
  }

  /// Counts what passed until now.
  ///
  /// - Parameter zone: the zone's time.
  /// - Returns: which dates are of what is kept.
  static func count(until zone: Date, _ transaction: WriteTransaction) throws -> Dates {
    let known = try load(transaction)
    var seen = known ?? SeenTime(zone)
    seen.look(at: zone)
    if known.map({ abs(seen.zone - $0.zone) >= SyncTuning.seenSecondsMin }) ?? true {
      try transaction.setSetting(setting, .text(seen.text))
    }
    return Dates(now: seen.seconds, areTold: known != nil)
  }

  /// The dates in a table of what is kept for a term.
  struct Dates {
    let now: Double
    /// Whether the time was counted before. Where it was not, a date is by a clock that nobody knows.
    let areTold: Bool

    /// Lets go of what is older than a term. What is dated ahead of now, or by a clock that nobody knows, begins its term.
    ///
    /// - Parameter column: the dates, in seconds.
    func trim(
      _ table: String, by column: String, after term: Double, on connection: SQLiteConnection
    ) throws {
      let oldest = now - term
      try connection.perform(
        "UPDATE \(table) SET \(column) = ? WHERE \(column) > ?\(areTold ? "" : " OR \(column) < ?")",
        [.real(now), .real(now)] + (areTold ? [] : [.real(oldest)]))
      try connection.perform("DELETE FROM \(table) WHERE \(column) < ?", [.real(oldest)])
    }
  }
}

extension SyncEngine {
  /// The zone's time, as it is known here: what the host's time of day was set by since does not count.
  func zoneTime() throws -> Date {
    let learnt = try store.learntClock()
    let offset = learnt.offset &- (learnt.step ?? 0)
    return store.now.addingTimeInterval(Double(offset) / 1000)
  }
}
