import Driftless
import DriftlessSync
import Foundation
import SyncDaemon
import Testing

@testable import SyncControl

struct ConflictTextTests {
  private let labels: ObjectLabels

  init() throws { labels = ObjectLabels(try Shop().store) }

  private func entry(
    property: String?, origin: String, outcome: String = "remote", remoteTime: Int = 1 << 60
  ) throws -> JournalEntry {
    let text = """
      {"number": 7, "object": "1C333D39-2F53-5275-92CB-5F7A7C7702FE", "entity": "Item",
       \(property.map { "\"property\": \"\($0)\", \"local\": \"\\\"a\\\"\"," } ?? "")
       "policy": "lastWriterWins", "outcome": "\(outcome)", "origin": "\(origin)", "localTime": 0,
       "remoteTime": \(remoteTime), "transaction": 1, "sequence": 1, "explanation": "It was cut."}
      """
    return try JSONDecoder().decode(JournalEntry.self, from: Data(text.utf8))
  }

  @Test("Values are of their kinds in JSON, as in an export; a value that is none has no key")
  func json() throws {
    for (text, json) in [
      ("null", "null"), ("17", "17"), ("9007199254740993", "9007199254740993"), ("-0.5", "-0.5"),
      ("true", "true"), (#""a \"b\"""#, #""a \"b\"""#),
      (#""2026-01-02T03:04:05.000000Z""#, #""2026-01-02T03:04:05.000000Z""#),
      ("no JSON", #""no JSON""#),
    ] {
      var entry = try entry(property: "name", origin: UUID().uuidString)
      (entry.local, entry.kept, entry.remote, entry.base) = (text, text, nil, nil)
      let line = String(
        decoding: try OutputOptions.encoder.encode(ConflictReport(entry: entry)), as: UTF8.self)
      #expect(
        line.contains(#""local":\#(json),"#) && line.contains(#""kept":\#(json),"#), "\(line)")
      #expect(!line.contains(#""remote":"#) && !line.contains(#""base":"#), "\(line)")
    }
  }

  @Test("Codes of a store's errors are spelled as all codes of the programs")
  func codes() {
    for (code, text) in [
      (StoreError.Code.syncLocked, "sync-locked"), (.notADatabase, "not-a-database"),
      (.busy, "busy"), (.historyTokenExpired, "history-token-expired"),
    ] {
      #expect(Failure(StoreError(code, "It is so.", suggestion: "Look.")).code == text)
    }
    #expect(Failure(StoreError(.diskFull, "It is full.", suggestion: "Look.")).waitsForRoom)
  }

  @Test("A conflict that a rule of the model settled names no replica that nobody has")
  func nobody() throws {
    let none = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)).uuidString
    let text = ConflictText.lines(try entry(property: "name", origin: none), labels)
      .joined(separator: "\n")
    #expect(
      text.contains("    kept:    nothing\n    here:    \"a\"\n    zone:    deleted\n"), "\(text)")
    #expect(!text.contains("by replica"), "\(text)")
    let known = ConflictText.lines(try entry(property: "name", origin: UUID().uuidString), labels)
      .joined(separator: "\n")
    #expect(known.contains("by replica"), "\(known)")
    let unknown = ConflictText.lines(
      try entry(property: "name", origin: UUID().uuidString, remoteTime: 0), labels
    ).joined(separator: "\n")
    #expect(!unknown.contains("1970"), "\(unknown)")
  }

  @Test("What a repair gave says when that was, beside when the zone's value was set")
  func repaired() throws {
    var entry = try entry(property: "name", origin: UUID().uuidString)
    func lines() -> [String] { ConflictText.lines(entry, labels) }
    entry.policy = "repair"
    entry.localTime = HybridTime(Date(timeIntervalSince1970: 1_800_000_000))
    #expect(lines().contains("    repaired at 2027-01-15T08:00:00.000Z"), "\(lines())")
    #expect(lines().contains { $0.contains("by replica") && !$0.contains("2027") })
    // One of a program of before has the zone's time in its place.
    entry.localTime = entry.remoteTime
    #expect(!lines().contains { $0.contains("repaired at") })
  }

  @Test(
    "A conflict about a whole object says what became of it, and no value",
    arguments: ["local", "remote"])
  func whole(outcome: String) throws {
    let text = ConflictText.lines(
      try entry(property: nil, origin: UUID().uuidString, outcome: outcome), labels
    ).joined(separator: "\n")
    #expect(text.contains("It was cut."))
    #expect(!text.contains("kept"), "\(text)")
  }

  @Test("The object's name stands with the object, and each value after the side that had it")
  func labelAndValues() throws {
    let shop = try Shop()
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop.store))
    let entry = try entry(property: "name", origin: UUID().uuidString)
    let item = try context.insert(entityNamed: "Item", identity: entry.object)
    item["name"] = "claw hammer"
    try context.save()
    let lines = ConflictText.lines(entry, ObjectLabels(shop.store))
    #expect(lines.first == #"7  name of Item "claw hammer"  (lastWriterWins)"#)
    #expect(lines.contains(#"    here:    "a""#), "\(lines)")
    #expect(lines.last == "    Item/1c333d39-2f53-5275-92cb-5f7a7c7702fe.name")
  }

  @Test("A long value is cut, and its length is told")
  func longValue() throws {
    var entry = try entry(property: "name", origin: UUID().uuidString)
    entry.remote = String(repeating: "x", count: 5_000)
    let lines = ConflictText.lines(entry, labels)
    let zone = lines.first { $0.contains("zone:") }
    #expect(zone?.hasSuffix("x… (5000 characters)") == true)
    #expect(lines.allSatisfy { $0.count < 300 })
  }

  @Test("A long name is cut: a picture kept in it does not fill the terminal")
  func longName() throws {
    let shop = try Shop()
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop.store))
    let identity = UUID()
    let item = try context.insert(entityNamed: "Item", identity: identity)
    item["name"] = String(repeating: "ab", count: 50_000)
    try context.save()
    let label = ObjectLabels(shop.store).label(identity)
    #expect(label == " \"" + String(repeating: "ab", count: 30) + "…\"")
  }
}
