import Driftless
import DriftlessProtocol
import DriftlessSync
import Foundation
import SyncDaemon
import Testing

@testable import SyncControl

/// How `status` says where a store stands, of what is known of it.
struct StatusVerdictTextTests {
  private static let now = Date(timeIntervalSince1970: 1_800_000_000)

  private func report() throws -> StatusReport {
    let shop = try Shop()
    try shop.enroll()
    var report = try StatusReport(of: shop.store, at: shop.url, daemon: nil)
    report.now = Self.now
    report.status.lastSync = Self.now - 3 * 3_600
    return report
  }

  private func failure(_ kind: SyncStatus.Failure.Kind, _ code: String) -> SyncStatus.Failure {
    SyncStatus.Failure(
      kind: kind, code: code, message: "It went wrong.", suggestion: "Look.",
      since: Self.now - 600)
  }

  @Test("The first line has the word, and ages of times")
  func ages() throws {
    let report = try report()
    #expect(report.lines[0].hasPrefix("state:       in step with the zone, as of "))
    #expect(report.lines[0].hasSuffix(" (3 h ago)"))
    #expect(report.lines.contains { $0.hasPrefix("last sync:") && $0.hasSuffix("(3 h ago)") })
  }

  @Test("What a model has again and is still to come is named, and the store is behind")
  func toComeAgain() throws {
    var report = try report()
    report.status.toComeAgain = ["Comment", "Item.note"]
    #expect(report.state == .behind && report.state.exitCode == 11)
    #expect(
      report.lines[0]
        == "state:       to come again from the zone, for the model of now: Comment, Item.note (syncctl sync --store \(report.path))"
    )
  }

  @Test("Values that were never sent and are lost are named, with what is left to do")
  func lostUnsent() throws {
    var report = try report()
    (report.lostValues, report.lostUnsent) = (2, 1)
    #expect(report.state == .waiting)
    #expect(
      report.reason?.hasSuffix(
        "1 large value was never sent and cannot be: put the files back, or: syncctl store give-up-lost \(report.path)"
      )
        == true, "\(report.reason ?? "")")
  }

  @Test("While values that somebody asked for do not come, a store is behind, and says why")
  func askedFor() throws {
    var report = try report()
    report.asked = 1
    let command = "(syncctl values --store \(report.path))"
    #expect(report.state == .behind)
    #expect(
      report.lines[0]
        == "state:       1 large value that was asked for has not come so far \(command)")
    report.asked = 2
    report.askedFailure = failure(.offline, "no-value")
    #expect(
      report.lines[0]
        == "state:       2 large values that were asked for have not come: It went wrong. \(command)"
    )
    let json = try #require(
      try JSONSerialization.jsonObject(with: JSONEncoder().encode(report)) as? [String: Any])
    #expect(json["valuesAskedFor"] as? Int == 2 && json["state"] as? String == "behind")
  }

  @Test("While values wait for room here, a store is behind, and says so")
  func withoutRoom() throws {
    var report = try report()
    report.status.valuesInZone = 3
    report.status.valuesWithoutRoom = 2
    #expect(report.state == .behind && report.state.exitCode == 11)
    #expect(
      report.lines[0]
        == "state:       2 large values wait for room on this host's disk, and come once there is some"
    )
    #expect(
      report.lines.contains { $0.hasSuffix("; 2 of them wait for room on this host's disk") })
    report.status.valuesWithoutRoom = 1
    #expect(
      report.lines[0].hasSuffix(
        "1 large value waits for room on this host's disk, and comes once there is some"))
    report.status.valuesWithoutRoom = 3
    #expect(
      report.lines.contains { $0.contains("wait for room on this host's disk (syncctl values") })
    #expect(
      !report.lines.contains { $0.contains("fetched when asked for") }, "the store fetches all")
    report.asked = 1
    #expect(report.lines[0].contains("asked for has not come so far"), "\(report.lines)")
  }

  @Test("Of several things that hold, the one that is hardest to mend is the word")
  func order() throws {
    var report = try report()
    #expect(report.state == .inStep)
    report.status.head = 2
    #expect(report.state == .behind)
    report.status.pending.objects = 3
    #expect(report.state == .pending)
    #expect(report.lines[0].contains("3 objects wait to be sent; 2 change sets behind the zone"))
    report.status.pending.hasMore = true
    #expect(report.lines[0].contains("more than 3 objects wait to be sent; 2 change sets"))
    #expect(
      report.lines.contains {
        $0.hasPrefix("pending:     3 objects, ") && $0.hasSuffix("more that were not counted")
      })
    report.status.pending.hasMore = false
    report.status.waiting = 1
    #expect(report.state == .waiting)
    #expect(report.lines[0].contains("1 conflict to decide"))
    report.status.failure = failure(.offline, "unreachable")
    #expect(report.state == .offline)
    #expect(report.lines[0].contains("offline since"))
    #expect(report.lines[0].contains("(10 min ago): It went wrong; 3 objects wait to be sent"))
    #expect(report.lines[0].contains("1 conflict to decide"))
    report.status.failure = failure(.waiting, "mass-delete")
    #expect(report.state == .waiting)
    #expect(report.lines[0].contains("waiting for a person since"))
    report.status.failure = failure(.refused, "unauthorized")
    #expect(report.state == .refused)
  }

  @Test("What the daemon alone knows counts, too: it could not begin for want of a token")
  func daemon() throws {
    var report = try report()
    let state = DaemonStoreState(
      store: "a", activity: .waiting, lastError: "There is no token.",
      failure: failure(.waiting, "no-token"))
    report.daemon = StatusReport.Daemon(pid: 1, socket: "s", state: state)
    #expect(report.state == .waiting)
    #expect(report.lines[0].contains("waiting for a person since"))
  }

  @Test("A full disk is no lack of a network")
  func fullDisk() throws {
    var report = try report()
    report.status.failure = failure(.offline, "disk-full")
    #expect(report.state == .offline)
    #expect(!report.lines[0].contains("offline"))
    #expect(report.lines[0].contains("failing since"))
  }

  @Test("Exit codes are distinct, and none is one of other failures")
  func exitCodes() {
    let codes = StatusVerdict.allCases.map(\.exitCode)
    #expect(Set(codes).count == codes.count)
    #expect(codes.filter { $0 != 0 }.allSatisfy { (10..<64).contains($0) })
  }

  @Test(
    "Ages are said as people say them",
    arguments: [
      (0.0, "just now"), (-30, "just now"), (40, "40 s ago"), (300, "5 min ago"),
      (3 * 3_600, "3 h ago"), (50 * 3_600, "2 days ago"), (-7_300, "in 2 h by this host's clock"),
      (1e30, "11574074 days ago"),
    ] as [(Double, String)])
  func ageText(seconds: Double, text: String) {
    #expect(Age.text(Self.now - seconds, now: Self.now) == text)
  }

  @Test(
    "Of a store that cannot be written it says so, and what is known, unless another process keeps it"
  )
  func unwritable() throws {
    var report = try report()
    report.obstacle = StoreError(.readOnly, "It may not be written.", suggestion: "Look.")
    #expect(report.state == .refused)
    #expect(
      report.lines[0].hasPrefix(
        "state:       refused: It may not be written; what is known: in step with the zone, as of ")
    )
    report.status.pending.objects = 3
    #expect(report.lines[0].contains("; what is known: 3 objects wait to be sent"))
    report.status.syncing = true
    #expect(report.state == .pending)
    report.status.syncing = false
    report.obstacle = StoreError(.diskFull, "There is no space left.", suggestion: "Make room.")
    #expect(report.state == .offline)
    #expect(report.lines[0].contains("failing: There is no space left; what is known: "))
  }

  @Test(
    "A disk without room for the least that a sync writes is told, though the file says all is well"
  )
  func roomless() async throws {
    let shop = try Shop()
    try shop.enroll()
    func look(_ free: Int) async throws -> StatusReport {
      try await StatusLook(diskRoom: { _ in DiskRoom(free: free, reserve: 32 << 20) })
        .report(of: shop.url)
    }
    let full = try await look(4_096)
    #expect(full.state == .offline && full.state.exitCode == 12)
    #expect(full.lines[0].contains("failing: The file system of "), "\(full.lines)")
    #expect(full.lines[0].contains("has 4096 bytes free"), "\(full.lines)")
    // Below the reserve a sync can say itself what it has no room for.
    let low = try await look(1 << 20)
    #expect(low.state == .behind && low.obstacle == nil)
  }
}
