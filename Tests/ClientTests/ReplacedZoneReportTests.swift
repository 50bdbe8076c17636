import DriftlessProtocol
import DriftlessSync
import Foundation
import SyncDaemon
import Testing

@testable import SyncControl

/// What a person hears of a zone that was replaced on purpose, when they enroll a store with it again.
struct ReplacedZoneReportTests {
  private let zone = UUID()

  private func info(_ generation: UUID, replaced: Bool) -> ZoneInfo {
    ZoneInfo(
      zone: "shop", zoneID: zone, generation: generation, intent: replaced ? .replace : .offer,
      replacements: replaced ? [generation] : [], head: 0, chain: .start(generation: generation),
      serverTimeMilliseconds: 0)
  }

  private func enroll(_ shop: Shop, _ info: ZoneInfo) throws -> StatusReport {
    let server = try #require(URL(string: "http://127.0.0.1:1"))
    try SyncEngine.enroll(store: shop.store, server: server, zone: "shop", info: info)
    return try StatusReport(of: shop.store, at: shop.url, daemon: nil)
  }

  @Test("To enroll again into a zone that was replaced says what the next sync does")
  func enrolledAgain() throws {
    let shop = try Shop()
    let first = UUID()
    #expect(try !enroll(shop, info(first, replaced: false)).status.zoneWasReplaced)
    let report = try enroll(shop, info(UUID(), replaced: true))
    #expect(report.state == .behind && !report.status.isCurrent)
    #expect(report.lines.joined(separator: "\n").contains("the zone was replaced on purpose"))
    let json = String(decoding: try JSONEncoder().encode(report), as: UTF8.self)
    #expect(json.contains("\"zoneReplaced\":true"))
    // Put back to before that, the zone is the store's again.
    let again = try enroll(shop, info(first, replaced: false))
    #expect(!again.status.zoneWasReplaced)
    #expect(!again.lines.joined().contains("replaced"))
  }

  @Test("Who may only read, and meets another log, is not told that somebody replaced the zone")
  func readOnly() throws {
    func text(_ isForReading: String) throws -> String {
      let json =
        #"{"kind":"taken","time":0,"place":0,"count":1,"export":"x.jsonl"\#(isForReading)}"#
      return try JSONDecoder().decode(Reconciliation.self, from: Data(json.utf8)).text
    }
    #expect(try text("").contains("on purpose"))
    let told = try text(#","isForReading":true"#)
    #expect(!told.contains("on purpose") && told.contains("may only read"))
    #expect(told.contains("x.jsonl"))
  }
}
