import DriftlessSync
import DriftlessTesting
import Foundation

/// Which zone a store is enrolled with, under which name.
extension Simulation {
  func renameZone() throws {
    try server.rename()
    tell("the zone is called \(server.zoneName) from now on")
  }

  /// A person has the store in its own zone, under the name that this has by now.
  func enroll(_ host: Host) async throws {
    guard try host.home?.server !== server || isRenamed(host) || !host.isEnrolled else { return }
    try await enroll(host, with: server)
    guard let left = host.leftAfter else { return }
    host.leftAfter = nil
    host.abroad.formUnion(given.named(host.image).things.keys)
    // What was deleted from another zone is no delete for this one.
    ledger.excuse(deletesBy: host.number, after: left)
  }

  /// A person has the store in another zone of that name: what it holds is offered to that one.
  func visit(_ host: Host) async throws {
    guard host.home?.server === server, try !host.isEnrolled || !isRenamed(host) else { return }
    host.leftAfter = try host.newestTransaction
    ledger.orders.join(host.number)
    // What was deleted at home is no delete for the other zone: it comes back from there, and goes home with the store.
    try host.look()
    ledger.excuse(lives: host.abroad.subtracting(given.named(host.image).things.keys))
    try await enroll(host, with: other.get())
  }

  /// A person takes the store out of the zone that it is in.
  func unenroll(_ host: Host) async throws {
    guard try host.isEnrolled else { return }
    try readJournals()
    tell("\(host.name) leaves its zone")
    try await host.unenroll()
  }

  /// A person has the store begin anew in its own zone.
  func beginAnew(_ host: Host) async throws {
    guard try host.isEnrolled, host.home?.server === server, !isRenamed(host) else { return }
    try readJournals()
    tell("\(host.name) begins anew in its zone")
    try await host.beginAnew(server)
    try host.look()
  }

  private func enroll(_ host: Host, with server: SimulatedServer) async throws {
    try await host.enroll(server)
    let place = server === self.server ? "its own zone" : "another zone"
    tell("\(host.name) is enrolled with \(place), \(server.zoneName)")
    if !host.isAtWork { await host.follow() }
    try host.look()
  }

  /// What a person or the operator does while an engine of the host is at work.
  func move(_ host: Host, _ dice: UInt64) async throws {
    if scenario.hasZoneRenames, dice % 3 == 0 { return try renameZone() }
    if scenario.hasVisits, host.leftAfter == nil { return try await visit(host) }
    try await enroll(host)
  }

  func isRenamed(_ host: Host) -> Bool { host.home.map { $0.server.zoneName != $0.zone } ?? false }

  /// What an engine says that was at work for the zone of before.
  static let otherwise: Set<SyncError.Code> = [.superseded, .otherZone]
}
