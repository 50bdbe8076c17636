package import Driftless
package import DriftlessSync

/// What a sync did, as both programs print it.
package struct SyncSummary: Hashable, Sendable, Codable {
  package struct Received: Hashable, Sendable, Codable {
    package var changeSets: Int
    package var inserted: Int
    package var updated: Int
    package var deleted: Int
    package var conflicts: Int
    /// Entries of the log that were newly set aside, whole or in part; nil from an older daemon.
    package var setAside: Int?
    package var bytes: Int
  }

  package struct Sent: Hashable, Sendable, Codable {
    package var changeSets: Int
    package var objects: Int
    package var properties: Int
    package var bytes: Int
    /// Objects that the server refuses, set aside by this push.
    package var quarantined: Int?
    /// Large values that wait to be sent and cannot be, since their files are gone; nil for none.
    package var lost: Int?
  }

  package var received: Received?
  package var sent: Sent?
  /// How the store came back to a server whose log was another one; nil when it had not to.
  package var reconciled: [Reconciliation]?

  package init(_ report: SyncReport) {
    received = Received(report.pull)
    sent = Sent(report.push)
    reconciled = report.reconciliations.isEmpty ? nil : report.reconciliations
  }

  package init(_ report: PullReport) { received = Received(report) }
  package init(_ report: PushReport) { sent = Sent(report) }

  /// Says how many large values wait to be sent, and cannot be.
  package mutating func noteLost(in store: PersistentStore) throws {
    guard sent != nil else { return }
    let count = try SyncEngine.unsentLostValues(of: store)
    if count > 0 { sent?.lost = count }
  }

  /// Counts what was set aside meanwhile, as status and `syncctl parked` do: what stands in the one list and not in the other.
  package mutating func noteSetAside(_ now: [ParkedEntry], since before: [ParkedEntry]) {
    noteSetAside(Set(now.map(\.lastingNumber)), since: Set(before.map(\.lastingNumber)))
  }

  /// The same by their numbers.
  mutating func noteSetAside(_ now: Set<String>, since before: Set<String>) {
    received?.setAside = now.subtracting(before).count
  }

  /// Whether nothing was done.
  var isEmpty: Bool {
    reconciled == nil
      && (sent.map { $0.changeSets == 0 && ($0.quarantined ?? 0) == 0 && $0.lost == nil } ?? true)
      && (received.map { $0.changeSets == 0 && ($0.setAside ?? 0) == 0 } ?? true)
  }

  /// One line for a person.
  package var text: String {
    var parts = (reconciled ?? []).map(\.text)
    if let sent { parts.append(sent.text) }
    if let received { parts.append(received.text) }
    return parts.joined(separator: "; ")
  }
}

extension SyncSummary.Received {
  init(_ report: PullReport) {
    self.init(
      changeSets: report.changeSets, inserted: report.inserted, updated: report.updated,
      deleted: report.deleted, conflicts: report.conflicts, bytes: report.bytes)
  }

  var text: String {
    let aside = setAside.map { $0 > 0 ? ", set aside \($0) (syncctl parked)" : "" } ?? ""
    guard changeSets > 0 else { return "received nothing new\(aside)" }
    var text =
      "received \(inserted) inserted, \(updated) updated, \(deleted) deleted (\(bytes) bytes)"
    if conflicts > 0 { text += ", \(conflicts) conflict\(conflicts == 1 ? "" : "s") settled" }
    return text + aside
  }
}

extension SyncSummary.Sent {
  init(_ report: PushReport) {
    self.init(
      changeSets: report.changeSets, objects: report.objects, properties: report.properties,
      bytes: report.bytes, quarantined: report.quarantined)
  }

  var text: String {
    let refused = quarantined ?? 0
    var rest = refused > 0 ? ", \(refused) refused (syncctl quarantine list)" : ""
    if let lost {
      rest +=
        ", \(lost) large value\(lost == 1 ? "" : "s") cannot be sent: \(lost == 1 ? "its file is" : "their files are") lost "
        + "(syncctl status)"
    }
    guard changeSets > 0 else { return "sent nothing\(rest)" }
    return "sent \(objects) object\(objects == 1 ? "" : "s") (\(bytes) bytes)\(rest)"
  }
}

extension Reconciliation {
  /// One line for a person.
  package var text: String {
    switch kind {
    case .refilled:
      "the server had lost \(count) change set\(count == 1 ? "" : "s") after \(place), and has "
        + "\(count == 1 ? "it" : "them") back from this store"
    case .offered:
      "the server's log is another one after \(place): "
        + "\(count) object\(count == 1 ? " was" : "s were") offered anew"
    case .taken:
      "\((cause ?? .replaced).text): the zone's state was taken, what was here is in "
        + "\(export ?? "no file")"
    }
  }
}
