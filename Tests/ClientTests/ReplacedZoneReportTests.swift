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
    func text(_ cause: String) throws -> String {
      let json =
        #"{"kind":"taken","time":0,"place":0,"count":1,"export":"x.jsonl"\#(cause)}"#
      return try JSONDecoder().decode(Reconciliation.self, from: Data(json.utf8)).text
    }
    #expect(try text("").contains("on purpose"))
    let told = try text(#","cause":"mayOnlyRead""#)
    #expect(!told.contains("on purpose") && told.contains("may only read"))
    #expect(told.contains("x.jsonl"))
    #expect(try text(#","cause":"asked""#).contains("given up"))
  }

  @Test("What a comparison and a reconciliation print of UUIDs is in small letters")
  func smallLetters() throws {
    let id = "6F9619FF-8B86-D011-B42D-00CF4FC964FF"
    func again<Value: Codable>(_ type: Value.Type, _ json: String) throws -> String {
      String(
        decoding: try JSONEncoder().encode(JSONDecoder().decode(type, from: Data(json.utf8))),
        as: UTF8.self)
    }
    let done = try again(
      Reconciliation.self,
      #"{"kind":"offered","time":0,"place":0,"count":1,"left":["\#(id)"]}"#)
    #expect(done.contains(id.lowercased()))
    let found = try again(
      VerifyReport.Difference.self,
      #"{"kind":"missing","entity":"Item","object":"\#(id)","isRepaired":false}"#)
    #expect(found.contains(id.lowercased()))
  }
}
