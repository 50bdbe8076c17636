import DriftlessSync

/// What operators do to hosts, and what people of hosts answer.
extension Simulation {
  func admit(_ host: Host, _ isAdmitted: Bool) {
    host.network.isRevoked = !isAdmitted
    tell("\(host.name)'s token is \(isAdmitted ? "taken again" : "refused")")
  }

  func comeBack(_ host: Host) throws {
    guard try host.isEnrolled else { return }
    try SyncEngine.allowReconciliation(of: host.store)
    tell("\(host.name) may come back to another log")
  }
}
