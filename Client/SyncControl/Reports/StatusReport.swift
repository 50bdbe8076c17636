import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

/// What `status` prints. The names in JSON are an interface: they stay, and a value that is not
/// known is null.
struct StatusReport: Encodable {
  var status: SyncStatus
  var path: String
  var daemon: Daemon?
  /// Acknowledged saves that the store has not any more.
  var lost: LostCommits?
  /// What could not be taken in from the zone.
  var parked: [ParkedEntry]
  /// How far the zone's clock is ahead of this host's.
  var clockOffsetMilliseconds: Int64

  struct Daemon: Encodable {
    var pid: Int32
    var socket: String
    var state: DaemonStoreState?
    /// Whether it does not answer.
    var isSilent = false
  }

  init(of store: PersistentStore, at url: URL, daemon: Daemon?) throws {
    status = try SyncEngine.status(of: store)
    path = url.path
    self.daemon = daemon
    lost = try store.lostCommits()
    parked = try SyncEngine.parked(of: store)
    clockOffsetMilliseconds = try store.clockOffsetMilliseconds
  }

  /// Where the store stands, in one word.
  enum State: String, Encodable {
    case notEnrolled = "not-enrolled"
    /// The last sync failed.
    case failing
    /// Something waits to be sent.
    case pending
    /// The zone has more than is here.
    case behind
    case inStep = "in-step"
  }

  var state: State {
    if !status.isEnrolled { return .notEnrolled }
    if lastError != nil { return .failing }
    if status.pending.objects > 0 { return .pending }
    return status.zoneWasReplaced || status.lastSync == nil || status.cursor < status.head
      ? .behind : .inStep
  }

  private enum Key: String, CodingKey {
    case state
    case store, server, zone, replica, generation, cursor, head, pending, conflicts
    case waiting, quarantined, parked, lastSync, lastError, syncing, daemon
    case parkedSince, reconciled, zoneReplaced, lostCommits, clockOffsetMilliseconds
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(state, forKey: .state)
    try container.encode(path, forKey: .store)
    try container.encode(status.server?.absoluteString, forKey: .server)
    try container.encode(status.zone, forKey: .zone)
    try container.encode(status.replica?.uuidString.lowercased(), forKey: .replica)
    try container.encode(status.generation?.uuidString.lowercased(), forKey: .generation)
    try container.encode(status.cursor, forKey: .cursor)
    try container.encode(status.head, forKey: .head)
    try container.encode(status.pending, forKey: .pending)
    try container.encode(status.conflicts, forKey: .conflicts)
    try container.encode(status.waiting, forKey: .waiting)
    try container.encode(status.quarantined, forKey: .quarantined)
    try container.encode(parked.count, forKey: .parked)
    try container.encode(status.lastSync, forKey: .lastSync)
    try container.encode(lastError, forKey: .lastError)
    try container.encode(isSyncing, forKey: .syncing)
    try container.encode(daemon, forKey: .daemon)
    try container.encode(parked.map(\.since).min(), forKey: .parkedSince)
    try container.encode(status.reconciled, forKey: .reconciled)
    try container.encode(status.zoneWasReplaced, forKey: .zoneReplaced)
    try container.encode(lost, forKey: .lostCommits)
    try container.encode(clockOffsetMilliseconds, forKey: .clockOffsetMilliseconds)
  }

  /// The daemon may know more than the store: an error before the store could be written.
  private var lastError: String? { status.lastError ?? daemon?.state?.lastError }

  /// A daemon holds the sync lock all the time: whether it syncs now is its own word.
  private var isSyncing: Bool {
    if daemon?.isSilent == true { return false }
    return daemon?.state.map { $0.activity == .syncing } ?? status.syncing
  }

  /// Lines for a person.
  var lines: [String] {
    var rows: [(String, String)] = [("store", path), ("state", stateText)]
    if let server = status.server, let zone = status.zone {
      rows.append(("zone", "\(zone) at \(server.absoluteString)"))
      rows.append(("replica", status.replica?.uuidString.lowercased() ?? "unknown"))
      rows.append(("cursor", "\(status.cursor) of \(status.head)"))
      let pending = status.pending
      rows.append(
        (
          "pending",
          pending.objects == 0
            ? "nothing"
            : Self.count(pending.objects, "object", "objects") + ", "
              + Self.count(pending.properties, "property", "properties") + ", "
              + Self.count(pending.transactions, "transaction", "transactions")
        ))
      rows.append(("conflicts", status.conflicts == 0 ? "none" : "\(status.conflicts) settled"))
      if status.waiting > 0 {
        rows.append(("waiting", "\(status.waiting) to decide (syncctl conflicts --waiting)"))
      }
      if status.quarantined > 0 {
        rows.append(
          (
            "quarantined",
            Self.count(status.quarantined, "object", "objects")
              + " that the server refuses (syncctl quarantine list)"
          ))
      }
      if let parked = ParkedText.summary(parked) { rows.append(("parked", parked)) }
      if let done = status.reconciled {
        rows.append(("came back", "\(Moment.text(done.time)): \(done.text)"))
      }
      rows.append(("last sync", status.lastSync.map(Moment.text) ?? "never"))
    } else {
      rows.append(("zone", "not enrolled"))
    }
    if let lost { rows.append(("lost", lost.text)) }
    if let clock = ClockText.line(offsetMilliseconds: clockOffsetMilliseconds) {
      rows.append(("clock", clock))
    }
    if let lastError { rows.append(("last error", lastError)) }
    rows.append(("daemon", daemonText))
    if isSyncing { rows.append(("syncing", "now")) }
    return rows.map { "\($0.0):".padded(to: 13) + $0.1 }
  }

  static let replacedText =
    "the zone was replaced on purpose: the next sync keeps what the store holds in a file beside it, "
    + "and takes the zone's state"

  private static func count(_ count: Int, _ one: String, _ many: String) -> String {
    "\(count) \(count == 1 ? one : many)"
  }

  private var stateText: String {
    switch state {
    case .notEnrolled: return "not enrolled: nothing of it is sent anywhere"
    case .failing: return "the last sync failed; edits are kept and will be sent"
    case .pending:
      let count = status.pending.objects
      return "\(count) object\(count == 1 ? " waits" : "s wait") to be sent"
    case .behind where status.zoneWasReplaced: return Self.replacedText
    case .behind:
      let count = status.head - status.cursor
      return count == 0
        ? "nothing was pulled so far"
        : "\(count) change set\(count == 1 ? "" : "s") behind the zone"
    case .inStep:
      let time = "as of \(status.lastSync.map(Moment.text) ?? "now")"
      guard status.parked > 0 else { return "in step with the zone, \(time)" }
      return
        "\(status.parked) \(status.parked == 1 ? "entry" : "entries") of the zone could not be taken in "
        + "(syncctl parked), in step with the rest, \(time)"
    }
  }

  private var daemonText: String {
    guard let daemon else { return "none" }
    var text = "pid \(daemon.pid)"
    if daemon.isSilent { text += ", does not answer: it was stopped, or hangs" }
    if let state = daemon.state { text += ", \(state.activity.rawValue)" }
    if let next = daemon.state?.nextAttempt { text += ", next attempt \(Moment.text(next))" }
    return text
  }
}

extension String {
  /// The text, filled up with spaces to `width` characters.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
