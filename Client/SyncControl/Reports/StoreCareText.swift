import Driftless
import Foundation

extension LostCommits {
  /// The same for a store that may have synced since: what the zone had is here again, and nobody can tell what else there was.
  func text(lastSync: Date?) -> String {
    guard let lastSync, lastSync > found else { return "not all is here: \(text)" }
    return
      "\(count) acknowledged transaction\(count == 1 ? " was" : "s were") gone \(Moment.text(found)), and the store has synced "
      + "since: what the zone had is here again (syncctl doctor --forget-lost takes note)"
  }

  /// What is gone, for a person, and what to do about it.
  var text: String {
    "\(count) acknowledged transaction\(count == 1 ? "" : "s") gone, found \(Moment.text(found)): the "
      + "log beside the store was deleted, or an older file was put back (syncctl doctor)"
  }
}

/// How far this host's clock is from the zone's.
enum ClockText {
  /// Milliseconds that nobody minds.
  private static let leastMilliseconds: Int64 = 2_000

  /// Nil when the clocks agree.
  static func line(offsetMilliseconds offset: Int64) -> String? {
    guard offset.magnitude >= leastMilliseconds.magnitude else { return nil }
    let seconds = Double(offset.magnitude) / 1_000
    let amount =
      seconds < 120
      ? "\(Int(seconds.rounded())) s"
      : seconds < 7_200 ? "\(Int(seconds / 60)) min" : "\(Int(seconds / 3_600)) h"
    return "\(amount) \(offset > 0 ? "behind" : "ahead of") the zone's; edits carry the zone's time"
  }
}
