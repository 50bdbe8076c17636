import DriftlessSync
import Foundation
import SyncDaemon

/// A line of `watch`. The names in JSON are an interface: they stay, and a value that is not known is null.
struct WatchLine: Encodable {
  /// What a line is printed for when it changes.
  struct Content: Hashable {
    var state: StatusVerdict?
    var pending: SyncStatus.Pending?
    var parked: Int?
    var quarantined: Int?
    var conflicts: Int?
    /// Why the store cannot be looked at.
    var error: Failure?
  }

  var time: Date
  var store: String
  var content: Content
  /// Whether lines of other stores stand between those of this one.
  var isOneOfSeveral = false

  private enum Key: String, CodingKey {
    case time, store, state, pending, parked, quarantined, conflicts, error
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(time, forKey: .time)
    try container.encode(store, forKey: .store)
    try container.encode(content.state, forKey: .state)
    try container.encode(content.pending, forKey: .pending)
    try container.encode(content.parked, forKey: .parked)
    try container.encode(content.quarantined, forKey: .quarantined)
    try container.encode(content.conflicts, forKey: .conflicts)
    try container.encode(content.error, forKey: .error)
  }

  /// The line for a person.
  var text: String {
    let state = (content.state?.rawValue ?? "unreadable").padded(to: 12)
    let place = isOneOfSeveral ? "  \(store)" : ""
    return "\(Moment.text(time))  \(state)  \(content.text)\(place)"
  }
}

extension WatchLine.Content {
  init(_ report: StatusReport) {
    state = report.state
    pending = report.status.pending
    parked = report.parked.count
    quarantined = report.status.quarantined
    conflicts = report.status.conflicts
  }

  init(_ failure: Failure) { error = failure }

  fileprivate var text: String {
    if let error { return error.message }
    let more = pending?.hasMore == true ? "+" : ""
    return "pending \(pending?.objects ?? 0)\(more), parked \(parked ?? 0), quarantined "
      + "\(quarantined ?? 0), conflicts \(conflicts ?? 0)"
  }
}
