import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Canonical JSON lines.
struct ExportTests {
  @Test("Values have one spelling")
  func spelling() async throws {
    let world = try await World(1)
    let identity = try #require(UUID(uuidString: "0190ABCD-0000-7000-8000-000000000001"))
    try world[0].insert(
      "Item",
      [
        "title": .string("a\"\\\n\u{1}é"), "weight": .double(0.1), "high": .integer(-3),
        "price": .decimal(try #require(Decimal(string: "10.50"))),
        "made": .date(Date(timeIntervalSince1970: 951_782_399.5)),
        "blob": .data(Data([1, 2, 3])), "isOpen": .bool(true),
        "code": .uuid(identity),
      ], identity: identity)
    #expect(
      try world[0].export == """
        {"entity":"Item","id":"0190abcd-0000-7000-8000-000000000001","op":"insert","set":\
        {"blob":"AQID","code":"0190abcd-0000-7000-8000-000000000001","high":-3,"isOpen":true,\
        "made":"2000-02-28T23:59:59.500000Z","price":"10.5","title":"a\\"\\\\\\n\\u0001é",\
        "weight":0.1}}

        """)
  }

  @Test(
    "Dates are spelled in UTC with microseconds, before and after 2001",
    arguments: [
      (0.0, "2001-01-01T00:00:00.000000Z"), (-0.000001, "2000-12-31T23:59:59.999999Z"),
      (-978_307_200, "1970-01-01T00:00:00.000000Z"),
      (-63_113_904_000, "0001-01-01T00:00:00.000000Z"),
      (5_270_400, "2001-03-03T00:00:00.000000Z"), (8_208_000, "2001-04-06T00:00:00.000000Z"),
      (99_705_600, "2004-02-29T00:00:00.000000Z"),
    ])
  func dates(seconds: Double, text: String) async throws {
    let world = try await World(1)
    try world[0].insert("Item", ["made": .date(Date(timeIntervalSinceReferenceDate: seconds))])
    #expect(try world[0].export.contains("\"made\":\"\(text)\""))
  }

  @Test("What JSON has no number for is text")
  func notNumbers() async throws {
    let world = try await World(1)
    try world[0].insert("Item", ["weight": .double(.nan)])
    try world[0].insert("Item", ["weight": .double(-.infinity)])
    let export = try world[0].export
    #expect(export.contains("\"weight\":\"NaN\""))
    #expect(export.contains("\"weight\":\"-Infinity\""))
  }

  @Test("Each line is JSON, lines are sorted by entity and identity, and the digest counts objects")
  func sortedAndCounted() async throws {
    let world = try await World(1)
    for index in 0..<50 {
      try world[0].insert("Item", ["title": .string("\(index)")], identity: UUID())
      try world[0].insert("Label", ["name": .string("\(index)")])
    }
    let lines = try world[0].export.split(separator: "\n")
    #expect(lines.count == 100)
    var places: [String] = []
    for line in lines {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      let entity = try #require(object?["entity"] as? String)
      places.append("\(entity) \(try #require(object?["id"] as? String))")
    }
    #expect(places == places.sorted())
    let (digest, objects) = try ReplicaExport.digest(of: world[0].store)
    #expect(objects == 100)
    #expect(digest.count == 64)
    #expect(throws: SyncError.self) {
      try ReplicaExport.write(world[0].store, entity: "Nothing") { _ in }
    }
  }
}
