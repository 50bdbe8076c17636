import Driftless
import DriftlessProtocol
import DriftlessSync
import Foundation
import ProgramStart
import SyncDaemon
import Testing

@testable import SyncControl

/// What is counted is said as people say it: one object is no "1 objects".
struct CountWordTests {
  private func reconciliation(_ kind: String, _ count: Int) throws -> String {
    let json = #"{"kind":"\#(kind)","time":0,"place":7,"count":\#(count)}"#
    return try JSONDecoder().decode(Reconciliation.self, from: Data(json.utf8)).text
  }

  @Test("How a store came back counts one as one")
  func reconciliations() throws {
    #expect(
      try reconciliation("refilled", 1)
        == "the server had lost 1 change set after 7, and has it back from this store")
    #expect(
      try reconciliation("refilled", 2)
        == "the server had lost 2 change sets after 7, and has them back from this store")
    #expect(
      try reconciliation("offered", 1)
        == "the server's log is another one after 7: 1 object was offered anew")
    #expect(
      try reconciliation("offered", 0)
        == "the server's log is another one after 7: 0 objects were offered anew")
  }

  @Test("A store that lost saves waits for a person, and says why in the line of all stores")
  func lost() throws {
    let shop = try Shop()
    var report = try StatusReport(of: shop.store, at: shop.url, daemon: nil)
    #expect(report.reason == nil)
    let json = #"{"count": 1, "found": 800000000}"#
    report.lost = try JSONDecoder().decode(LostCommits.self, from: Data(json.utf8))
    #expect(
      report.reason == "1 acknowledged save is lost (syncctl doctor --store \(shop.url.path))")
    report.status.zone = "shop"
    report.status.replica = UUID()
    report.status.server = URL(string: "http://127.0.0.1:1")
    #expect(report.status.isEnrolled && report.state == .waiting && report.state.exitCode == 13)
  }

  @Test("The status counts one as one")
  func status() throws {
    let shop = try Shop()
    try shop.enroll()
    var report = try StatusReport(of: shop.store, at: shop.url, daemon: nil)
    report.status.pending = .init(objects: 1, properties: 1, transactions: 1)
    report.status.quarantined = 1
    let one = report.lines.joined(separator: "\n")
    #expect(one.contains("1 object, 1 property, 1 transaction\n"), "\(one)")
    #expect(one.contains("1 object that the server refuses"), "\(one)")
    report.status.pending = .init(objects: 2, properties: 3, transactions: 4)
    let many = report.lines.joined(separator: "\n")
    #expect(many.contains("2 objects, 3 properties, 4 transactions\n"), "\(many)")
  }

  @Test("What is counted in reports is one, or several")
  func texts() {
    #expect(CountText.of(1, "object") == "1 object")
    #expect(CountText.of(0, "object") == "0 objects" && CountText.of(2, "byte") == "2 bytes")
    #expect(CountText.of(1, "entry", "entries") == "1 entry")
    #expect(CountText.of(3, "entry", "entries") == "3 entries")
  }
}
