import Foundation

/// How long ago something was, for people.
enum Age {
  /// `just now`, `40 s ago`, `5 min ago`, `3 h ago`, `2 days ago`.
  static func text(_ date: Date, now: Date) -> String {
    let seconds = now.timeIntervalSince(date)
    // A clock that was set back, or a file of another host.
    if seconds < -60 { return "in \(span(-seconds)) by this host's clock" }
    return seconds < 5 ? "just now" : "\(span(seconds)) ago"
  }

  /// `40 s`, `5 min`, `3 h`, `2 days`.
  static func span(_ seconds: Double) -> String {
    // A time that was damaged may be any number.
    let seconds = Int(min(seconds, 1e12))
    switch seconds {
    case ..<120: return "\(seconds) s"
    case ..<7_200: return "\(seconds / 60) min"
    case ..<172_800: return "\(seconds / 3_600) h"
    default: return "\(seconds / 86_400) days"
    }
  }
}
