import Driftless
import DriftlessSync
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
    return "\(distance(offset)) the zone's; edits carry the zone's time"
  }

  /// What a person shall know of the clock: how far it is off now, what was set right before, and what becomes of saves that were
  /// stamped wrongly. Nil when there is nothing to say.
  static func report(_ clock: ClockState) -> String? {
    var parts: [String] = []
    if let line = line(offsetMilliseconds: clock.offset) {
      parts.append("\(line); set this host's clock")
    }
    if let done = clock.correction { parts += Self.parts(done, now: clock.offset) }
    if clock.ahead > 0 {
      parts.append(
        "\(saves(clock.ahead)) not sent \(clock.ahead == 1 ? "carries a time" : "carry times") up to \(amount(clock.lead)) "
          + "ahead of the zone's: the next sync moves \(clock.ahead == 1 ? "it" : "them") back to it, in order"
      )
    }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  private static func parts(_ done: ClockCorrection, now offset: Int64) -> [String] {
    var parts: [String] = []
    let isRight = done.after.magnitude < leastMilliseconds.magnitude
    if isRight, done.before.magnitude >= leastMilliseconds.magnitude {
      parts.append(
        "it was \(distance(done.before)) the zone's, and right again as of "
          + "\(Moment.text(done.found)): edits of meanwhile carry the zone's time")
    }
    if done.moved > 0 {
      parts.append(
        "\(saves(done.moved)) that a wrong clock had stamped up to \(amount(done.lead)) ahead "
          + "\(done.moved == 1 ? "was" : "were") moved back to the zone's time, in order, before "
          + "\(done.moved == 1 ? "it was" : "they were") sent (\(Moment.text(done.found)))")
    }
    return parts
  }

  private static func saves(_ count: Int) -> String { "\(count) save\(count == 1 ? "" : "s")" }

  private static func distance(_ offset: Int64) -> String {
    "\(amount(Int64(clamping: offset.magnitude))) \(offset > 0 ? "behind" : "ahead of")"
  }

  private static func amount(_ milliseconds: Int64) -> String {
    let seconds = Double(milliseconds) / 1_000
    if seconds < 120 { return "\(Int(seconds.rounded())) s" }
    return seconds < 7_200 ? "\(Int(seconds / 60)) min" : "\(Int(seconds / 3_600)) h"
  }
}
