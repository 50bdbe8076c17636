import Driftless
import DriftlessSync
import Foundation
import Testing

@testable import SyncControl

struct ParkedTextTests {
  private let shop: Shop

  init() throws { shop = try Shop() }

  private func entry(
    _ sequence: UInt64, since: Double, names: [String] = [], code: String = "unknown-names"
  ) throws -> ParkedEntry {
    let json: [String: Any] = [
      "sequence": sequence, "sender": "6F9619FF-8B86-4011-B42D-00C04FC964FF",
      "code": code, "reason": "This model is older.", "names": names, "since": since,
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

  @Test("What shares a number with others is named by its part, also in what ends it")
  func parts() throws {
    var entry = try entry(42, since: 0)
    entry.part = 2
    let text = ParkedText.lines(entry, ObjectLabels(shop.store)).joined(separator: "\n")
    #expect(text.hasPrefix("42.2  unknown-names"), "\(text)")
    #expect(text.contains("syncctl parked retry --store \(shop.url.path) 42.2 "), "\(text)")
    let named = try #require(ParkedNumber(argument: "42.2"))
    #expect(named.means(entry) && ParkedNumber(argument: "42")?.means(entry) == true)
    #expect(ParkedNumber(argument: "42.1")?.means(entry) == false && "\(named)" == "42.2")
    for wrong in ["42.", "42.0", "x", "42.1.1", "-1", ""] {
      #expect(ParkedNumber(argument: wrong) == nil, "\(wrong)")
    }
  }

  @Test("The status names how many are parked, and since when")
  func summary() throws {
    #expect(ParkedText.summary([]) == nil)
    #expect(
      ParkedText.summary([try entry(2, since: 60), try entry(3, since: 0)])
        == "2 not taken in from the zone, since 2001-01-01T00:00:00.000Z (syncctl parked)")
  }

  @Test("A large value that the zone lacks is no entry that could not be taken in, and nobody's")
  func missing() throws {
    var missing = try entry(4, since: 0, code: "missing-value")
    missing.sender = nil
    #expect(ParkedText.needs([missing]) == ["1 large value is missing (syncctl parked)"])
    #expect(
      ParkedText.summary([missing, missing])
        == "2 large values are missing, since 2001-01-01T00:00:00.000Z (syncctl parked)")
    let lines = ParkedText.lines(missing, ObjectLabels(shop.store))
    #expect(!lines.contains { $0.contains("sent by") }, "\(lines)")
  }

  @Test("What is required and empty is no entry of the zone that could not be taken in")
  func empty() throws {
    let empty = try entry(4, since: 0, code: "required-empty")
    #expect(ParkedText.needs([]) == [])
    #expect(ParkedText.needs([empty]) == ["1 required property is empty (syncctl parked)"])
    #expect(
      ParkedText.summary([empty])
        == "1 required and empty, since 2001-01-01T00:00:00.000Z (syncctl parked)")
    let entries = [empty, empty, try entry(5, since: 60)]
    #expect(
      ParkedText.needs(entries) == [
        "1 entry of the zone could not be taken in (syncctl parked)",
        "2 required properties are empty (syncctl parked)",
      ])
    #expect(
      ParkedText.summary(entries)
        == "1 not taken in from the zone, 2 required and empty, since 2001-01-01T00:00:00.000Z (syncctl parked)"
    )
  }

  @Test(
    "Deletes that wait for a person are listed by entry, with who sent them, the objects' names and the way out"
  )
  func deletes() throws {
    let sender = "6F9619FF-8B86-4011-B42D-00C04FC964FF"
    var identities: [UUID] = []
    try shop.read { context in
      for number in 0..<25 {
        let item = try context.insert(entityNamed: "Item")
        try item.setValue("screw \(number)", forKey: "name")
        identities.append(try item.identity)
      }
      try context.save()
    }
    let deletes = try identities.enumerated().map { number, identity in
      let json: [String: Any] = [
        "object": identity.uuidString, "entity": "Item", "sequence": number < 2 ? 40 : 41,
        "sender": sender, "time": 0,
      ]
      return try JSONDecoder().decode(
        DeleteSetAside.self, from: try JSONSerialization.data(withJSONObject: json))
    }
    let labels = ObjectLabels(shop.store)
    let lines = ParkedText.lines(of: deletes, labels)
    #expect(lines.first == "40  mass-delete, 2 deletes set aside")
    let first = identities[0].uuidString.lowercased()
    #expect(lines.contains("    sent by replica \(sender.lowercased())"))
    #expect(
      lines.contains("    Item/\(first) \"screw 0\", deleted 2001-01-01T00:00:00.000Z"),
      "\(lines)")
    #expect(lines.contains("41  mass-delete, 23 deletes set aside"))
    #expect(lines.contains("    and 3 more (syncctl parked show --store \(shop.url.path) 41)"))
    #expect(
      lines.last?.contains("syncctl sync --keep-mass-deleted --store \(shop.url.path)") == true)
    #expect(ParkedText.lines(of: deletes, labels, all: true).contains { $0.contains("screw 24") })
    #expect(ParkedText.lines(of: [], labels).isEmpty)
  }
}
