import Driftless
import DriftlessSync
import Foundation
import ProgramStart
import SyncDaemon

/// What `status` prints. The names in JSON are an interface: they stay, and a value that is not
/// known is null.
struct StatusReport: Encodable {
  var status: SyncStatus
  var path: String
  var daemon: Daemon?
  /// Acknowledged saves that the store has not any more.
  var lost: LostCommits?
  /// The folder of large values, where it is not beside the store and should be.
  var lostFolder: URL?
  /// Large values whose files are gone or cut off, of those that were looked at: some thousands.
  var lostValues = 0
  /// Large values that wait to be sent, and whose files are gone: the zone does not have them.
  var lostUnsent = 0
  /// What could not be taken in from the zone.
  var parked: [ParkedEntry]
  /// How far the zone's clock is ahead of this host's.
  var clockOffsetMilliseconds: Int64
  /// Why this user cannot write the store.
  var obstacle: StoreError?
  /// Objects that wait because of those that the server refuses.
  var held = 0
  /// Large values that somebody asked for and that have not come, and what kept them from it in the last sync.
  var asked = 0
  var askedFailure: SyncStatus.Failure?
  /// When it was looked at.
  var now: Date

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
    let look = try store.lookForLostValues()
    (lostFolder, lostValues) = (look.folder, look.count)
    if lostValues > 0 { lostUnsent = try SyncEngine.unsentLostValues(of: store) }
    parked = try SyncEngine.parked(of: store).filter { !$0.isAccepted }
    clockOffsetMilliseconds = try store.clockOffsetMilliseconds
    now = store.now
    if status.quarantined > 0 { held = try SyncEngine.heldByQuarantine(of: store).count }
    if status.isEnrolled { asked = try SyncEngine.wantedValues(of: store) }
    if asked > 0 { askedFailure = try SyncEngine.wantedFailure(of: store) }
  }

  var state: StatusVerdict {
    if !status.isEnrolled { return .notEnrolled }
    switch failure?.kind {
    case .refused: return .refused
    case .waiting: return .waiting
    case .offline: return .offline
    case nil: break
    }
    if !needs.isEmpty { return .waiting }
    if !status.pending.isEmpty { return .pending }
    return status.zoneWasReplaced || status.lastSync == nil || status.cursor < status.head
      || asked > 0 || status.valuesWithoutRoom > 0 || !status.toComeAgain.isEmpty
      ? .behind : .inStep
  }

  enum Key: String, CodingKey, CaseIterable {
    case state
    case store, server, zone, replica, name, generation, cursor, head, pending, conflicts
    case waiting, quarantined, parked, withoutKey, lastSync, lastError, syncing, daemon
    case failure, parkedSince, reconciled, zoneReplaced, lostCommits, clockOffsetMilliseconds
    case valuesInZone, bytesInZone, valuesWithoutRoom, valuesAskedFor, isCopy, lostFolder
    case valuesLost, valuesLostUnsent, toComeAgain
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(state, forKey: .state)
    try container.encode(path, forKey: .store)
    try container.encode(status.server?.absoluteString, forKey: .server)
    try container.encode(status.zone, forKey: .zone)
    try container.encode(status.replica?.uuidString.lowercased(), forKey: .replica)
    try container.encode(status.name, forKey: .name)
    try container.encode(status.generation?.uuidString.lowercased(), forKey: .generation)
    try container.encode(status.cursor, forKey: .cursor)
    try container.encode(status.head, forKey: .head)
    try container.encode(status.pending, forKey: .pending)
    try container.encode(status.conflicts, forKey: .conflicts)
    try container.encode(status.waiting, forKey: .waiting)
    try container.encode(status.quarantined, forKey: .quarantined)
    try container.encode(parked.count, forKey: .parked)
    try container.encode(status.withoutKey, forKey: .withoutKey)
    try container.encode(status.lastSync, forKey: .lastSync)
    try container.encode(lastError, forKey: .lastError)
    try container.encode(failure, forKey: .failure)
    try container.encode(isSyncing, forKey: .syncing)
    try container.encode(daemon, forKey: .daemon)
    try container.encode(parked.map(\.since).min(), forKey: .parkedSince)
    try container.encode(status.reconciled, forKey: .reconciled)
    try container.encode(status.zoneWasReplaced, forKey: .zoneReplaced)
    try container.encode(lost, forKey: .lostCommits)
    try container.encode(clockOffsetMilliseconds, forKey: .clockOffsetMilliseconds)
    try container.encode(status.valuesInZone, forKey: .valuesInZone)
    try container.encode(status.bytesInZone, forKey: .bytesInZone)
    try container.encode(status.valuesWithoutRoom, forKey: .valuesWithoutRoom)
    try container.encode(asked, forKey: .valuesAskedFor)
    try container.encode(status.isCopy, forKey: .isCopy)
    try container.encode(lostFolder?.path, forKey: .lostFolder)
    try container.encode(lostValues, forKey: .valuesLost)
    try container.encode(lostUnsent, forKey: .valuesLostUnsent)
    try container.encode(status.toComeAgain, forKey: .toComeAgain)
  }

  /// The daemon may know more than the store: an error before the store could be written.
  private var lastError: String? {
    unwritable?.message ?? status.lastError ?? daemon?.state?.lastError
  }

  private var failure: SyncStatus.Failure? {
    unwritable ?? status.failure ?? daemon?.state?.failure
  }

  /// A store that can only be read is as the last sync left it, and no sync could say more, unless another process keeps it.
  private var unwritable: SyncStatus.Failure? {
    guard let obstacle, status.isEnrolled, daemon == nil, !status.syncing else { return nil }
    return SyncStatus.Failure(
      kind: obstacle.code == .diskFull ? .offline : .refused, code: obstacle.code.dashed,
      message: obstacle.message, suggestion: obstacle.suggestion, since: now)
  }

  /// A daemon holds the sync lock all the time: whether it syncs now is its own word.
  private var isSyncing: Bool {
    if daemon?.isSilent == true { return false }
    return daemon?.state.map { $0.activity == .syncing } ?? status.syncing
  }

  /// Lines for a person.
  var lines: [String] {
    var rows: [(String, String)] = [("state", stateText), ("store", path)]
    if let server = status.server, let zone = status.zone {
      rows.append(("zone", "\(zone) at \(server.absoluteString)"))
      let replica = status.replica?.uuidString.lowercased() ?? "unknown"
      rows.append(("replica", status.name.map { "\($0) (\(replica))" } ?? replica))
      rows.append(("cursor", "\(status.cursor) of \(status.head)"))
      rows.append(("pending", pendingText))
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
      if status.withoutKey > 0 { rows.append(("no key", withoutKey)) }
      if status.valuesInZone > 0 {
        rows.append(
          (
            "in the zone",
            Self.count(status.valuesInZone, "large value", "large values")
              + " of \(status.bytesInZone) bytes, \(waysOfValues)"
          ))
      }
      if let parked = ParkedText.summary(parked) { rows.append(("parked", parked)) }
      if let done = status.reconciled {
        rows.append(("came back", "\(moment(done.time)): \(done.text)"))
      }
      rows.append(
        ("last sync", status.lastSync.map(moment) ?? (status.isCopy ? Self.copyText : "never")))
    } else {
      rows.append(("zone", "not enrolled"))
    }
    if let lost { rows.append(("lost", lost.text)) }
    if let lostFolder {
      rows.append(("no folder", "\(lostFolder.path), which has the large values"))
    } else if lostValues > 0 {
      rows.append(
        (
          "lost values",
          "\(lostValues) at least, whose files are gone or cut off (syncctl store give-up-lost \(path.shellWord) names them)"
        ))
    }
    if let clock = ClockText.line(offsetMilliseconds: clockOffsetMilliseconds) {
      rows.append(("clock", clock))
    }
    if let lastError { rows.append(("last error", lastError)) }
    rows.append(("daemon", daemonText))
    if isSyncing { rows.append(("syncing", "now")) }
    return rows.map { "\($0.0):".padded(to: 13) + advising($0.1) }
  }

  /// A text with the store in the commands that it advises.
  private func advising(_ text: String) -> String { AdvisedCommand.naming(store: path, in: text) }

  /// The lines, of which the first says in its colour where the store stands.
  var colouredLines: [ColouredLine] {
    lines.enumerated().map { number, line in
      number == 0 ? ColouredLine(line, stateText, state.colour) : ColouredLine(line)
    }
  }

  static let replacedText =
    "the zone was replaced on purpose: the next sync keeps what the store holds in a file beside it, "
    + "and takes the zone's state"

  private static let copyText =
    "none of its own: the store is a copy, or files beside it were removed, and it has not synced since"

  private var pendingText: String {
    let pending = status.pending
    guard !pending.isEmpty else { return "nothing" }
    let counted =
      Self.count(pending.objects, "object", "objects") + ", "
      + Self.count(pending.properties, "property", "properties") + ", "
      + Self.count(pending.transactions, "transaction", "transactions")
    return pending.hasMore ? "\(counted), and more that were not counted" : counted
  }

  private var withoutKey: String {
    Self.count(status.withoutKey, "object", "objects")
      + " with encrypted edits that wait for a key (syncctl key use --store STORE FILE)"
  }

  private static func count(_ count: Int, _ one: String, _ many: String) -> String {
    "\(count) \(count == 1 ? one : many)"
  }

  private func moment(_ date: Date) -> String {
    "\(Moment.text(date)) (\(Age.text(date, now: now)))"
  }

  /// What a person has to look at although the sync goes on.
  private var needs: [String] {
    var needs: [String] = []
    if let lost {
      needs.append(
        Self.count(Int(clamping: lost.count), "acknowledged save is", "acknowledged saves are")
          + " lost (syncctl doctor)")
    }
    if lostFolder != nil {
      needs.append(
        "the folder of its large values is not beside it (copy it there, or: syncctl store give-up-lost FILE)"
      )
    } else if lostValues > 0 {
      needs.append(
        Self.count(lostValues, "large value has its file", "large values have their files")
          + " gone or cut off (syncctl verify --repair, or: syncctl store give-up-lost FILE)")
    }
    if lostUnsent > 0 {
      needs.append(
        Self.count(lostUnsent, "large value was", "large values were")
          + " never sent and cannot be: put the files back, or: syncctl store give-up-lost FILE")
    }
    if status.waiting > 0 {
      needs.append(
        Self.count(status.waiting, "conflict", "conflicts")
          + " to decide (syncctl conflicts --waiting)")
    }
    if status.quarantined > 0 {
      needs.append(
        Self.count(status.quarantined, "object", "objects")
          + " that the server refuses (syncctl quarantine list)")
    }
    if status.withoutKey > 0 { needs.append(withoutKey) }
    needs += ParkedText.needs(parked)
    return needs.map(advising)
  }

  /// Why the store is not in step, in a few words; nil where its state says it all.
  var reason: String? {
    let parts = [failure.map(\.message)].compactMap(\.self) + needs
    let text = parts.map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
      .joined(separator: "; ")
    return text.isEmpty ? nil : text
  }

  private var stateText: String { advising(plainStateText) }

  private var plainStateText: String {
    switch state {
    case .notEnrolled: return "not enrolled: nothing of it is sent anywhere"
    case .refused: return failing("refused")
    case .waiting:
      if failure != nil { return failing("waiting for a person") }
      return "waiting for a person: \(needs.joined(separator: ", ")); otherwise \(distance)"
    case .offline:
      return failing(Self.contactCodes.contains(failure?.code ?? "") ? "offline" : "failing")
    case .pending, .behind, .inStep: return distance
    }
  }

  /// Failures that no usable answer of the server came. Of others, a full disk say, "offline" would not be true.
  private static let contactCodes: Set<String> = [
    "unreachable", "timed-out", "not-driftless", "damaged-body",
  ]

  /// What the last failure was, with what waits meanwhile.
  private func failing(_ word: String) -> String {
    guard let failure else { return word }
    var parts: [String]
    if unwritable != nil {
      parts = ["\(word): \(failure.message)", "what is known: \(distance)"]
    } else {
      parts = ["\(word) since \(moment(failure.since)): \(failure.message)"]
      if let unsent { parts.append(unsent) }
    }
    return (parts + needs).map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
      .joined(separator: "; ")
  }

  private var unsent: String? {
    // What the server refuses, and what waits because of it, is told apart.
    let count = status.pending.objects - status.quarantined - status.withoutKey - held
    guard !status.pending.hasMore else {
      return "more than \(max(0, count)) objects wait to be sent"
    }
    return count <= 0 ? nil : "\(count) object\(count == 1 ? " waits" : "s wait") to be sent"
  }

  /// How the large values come that the zone alone has.
  private var waysOfValues: String {
    let waiting = status.valuesWithoutRoom
    // A store that fetches all has none but those in the zone.
    guard waiting < status.valuesInZone else {
      return "wait\(waiting == 1 ? "s" : "") for room on this host's disk (syncctl values)"
    }
    return "fetched when asked for (syncctl values)"
      + (waiting == 0
        ? "" : "; \(waiting) of them wait\(waiting == 1 ? "s" : "") for room on this host's disk")
  }

  /// How far the store and the zone are from each other, as far as is known.
  private var distance: String {
    var parts = unsent.map { [$0] } ?? []
    let count = status.head - status.cursor
    if status.zoneWasReplaced {
      parts.append(Self.replacedText)
    } else if count > 0 {
      parts.append(
        "\(Self.count(Int(clamping: count), "change set", "change sets")) behind the zone")
    } else if status.lastSync == nil {
      parts.append(
        status.isCopy ? "a copy that has not synced so far" : "nothing was pulled so far")
    }
    if !status.toComeAgain.isEmpty { parts.append(toComeAgain) }
    if asked > 0 {
      let values = Self.count(
        asked, "large value that was asked for has", "large values that were asked for have")
      parts.append(
        "\(values) not come\(askedFailure.map { ": \($0.message)" } ?? " so far") (syncctl values)")
    }
    if asked == 0, status.valuesWithoutRoom > 0 {
      let values = Self.count(
        status.valuesWithoutRoom, "large value waits", "large values wait")
      let come = status.valuesWithoutRoom == 1 ? "comes" : "come"
      parts.append("\(values) for room on this host's disk, and \(come) once there is some")
    }
    guard parts.isEmpty else { return parts.joined(separator: "; ") }
    return "in step with the zone, as of \(status.lastSync.map(moment) ?? "now")"
  }

  /// What a model that was gone back to, say, has of the zone's and the store has not.
  private var toComeAgain: String {
    let names = status.toComeAgain
    let shown = names.prefix(Self.namesMax).joined(separator: ", ")
    let rest = names.count - Self.namesMax
    return
      "to come again from the zone, for the model of now: \(shown)\(rest > 0 ? " and \(rest) more" : "") (syncctl sync)"
  }

  /// Names that a line shows.
  private static let namesMax = 8

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
