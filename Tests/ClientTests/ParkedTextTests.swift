import DriftlessSync
import Foundation
import Testing

@testable import SyncControl

struct ParkedTextTests {
  private let shop: Shop

  init() throws { shop = try Shop() }

  private func entry(_ sequence: UInt64, since: Double, names: [String] = []) throws -> ParkedEntry
  {
    let json: [String: Any] = [
      "sequence": sequence, "sender": "6F9619FF-8B86-4011-B42D-00C04FC964FF",
      "code": "unknown-names", "reason": "This model is older.", "names": names, "since": since,
      "bytes": 12, "isAccepted": false,
    ]
    return try JSONDecoder().decode(
      ParkedEntry.self, from: try JSONSerialization.data(withJSONObject: json))
  }

  @Test("A parked entry tells its place, its sender, its age, its reason and what is unknown")
  func lines() throws {
    let names = (1...7).map { "Item.new\($0)" }
    let entry = try entry(42, since: 0, names: names)
    let labels = ObjectLabels(shop.store)
    let text = ParkedText.lines(entry, labels).joined(separator: "\n")
    for part in [
      "42  unknown-names, since 2001-01-01T00:00:00.000Z, 12 bytes",
      "sent by replica 6f9619ff-8b86-4011-b42d-00c04fc964ff", "Item.new5 and 2 more",
      "This model is older.",
    ] {
      #expect(text.contains(part), "\(text)")
    }
    #expect(
      ParkedText.lines(entry, labels, all: true).joined().contains("Item.new7"))
  }

  @Test("The status names how many are parked, and since when")
  func summary() throws {
    #expect(ParkedText.summary([]) == nil)
    #expect(
      ParkedText.summary([try entry(2, since: 60), try entry(3, since: 0)])
        == "2 not taken in from the zone, since 2001-01-01T00:00:00.000Z (syncctl parked)")
  }
}
