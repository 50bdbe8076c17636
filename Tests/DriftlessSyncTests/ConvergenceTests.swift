import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What two and three replicas become when they edit apart and sync.
struct ConvergenceTests {
  @Test("F77 Everything that one replica saved is on the other after a sync, bit for bit")
  func everyType() async throws {
    let world = try await World(2)
    let shelf = try world[0].insert("Shelf", ["name": .string("upper")])
    let shelfKey = try world[0].store.read { try $0.key(of: shelf) }
    let id = try world[0].insert(
      "Item",
      [
        "title": .string("Ünï\u{0}code 👩🏽‍🚒\n\"quoted\""), "high": .integer(.max),
        "low": .integer(.min),
        "price": .decimal(try #require(Decimal(string: "12345678901234567890.01"))),
        "weight": .double(-0.0), "made": .date(Date(timeIntervalSinceReferenceDate: 0.1)),
        "blob": .data(Data([0, 255, 1])), "code": .uuid(UUID()),
        "page": .uri(try #require(URL(string: "https://example.org/a?b=c"))), "isOpen": .bool(true),
        "shelf": .reference(try #require(shelfKey)),
      ])
    let nan = try world[0].insert("Item", ["weight": .double(.nan)])
    let empty = try world[0].insert(
      "Item",
      ["title": .string(""), "blob": .data(Data()), "weight": .double(.leastNonzeroMagnitude)])

    try await world.settle()

    for (object, properties) in [
      (id, ["title", "high", "low", "price", "weight", "made", "blob", "code", "page", "isOpen"]),
      (nan, ["weight", "title"]), (empty, ["title", "blob", "weight"]),
    ] {
      for property in properties {
        #expect(
          try world[1].value(object, property) == world[0].value(object, property), "\(property)")
      }
    }
    #expect(try world[1].reference(id, "shelf") == shelf)
  }

  @Test("F37 Different properties of one object are both kept, without a conflict")
  func differentProperties() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a"), "note": .string("b")])
    try await world.settle()
    try world[0].set(id, ["title": .string("A")])
    try world[1].set(id, ["note": .string("B")])
    try await world.settle()
    #expect(try world[0].value(id, "title") == .string("A"))
    #expect(try world[0].value(id, "note") == .string("B"))
    for replica in world.replicas { #expect(try replica.conflicts.isEmpty) }
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var property: String
    var base: PropertyValue
    var first: PropertyValue
    var second: PropertyValue
    var expected: PropertyValue
    var testDescription: String { property }
  }

  /// The first to sync is replica 0; replica 1 edits later.
  static let cases = [
    Case(
      property: "title", base: .string("x"), first: .string("a"), second: .string("b"),
      expected: .string("b")),
    Case(
      property: "note", base: .string("x"), first: .string("a"), second: .string("b"),
      expected: .string("a")),
    Case(
      property: "tag", base: .string("x"), first: .string("a"), second: .string("b"),
      expected: .string("b")),
    Case(
      property: "high", base: .integer(1), first: .integer(9), second: .integer(5),
      expected: .integer(9)),
    Case(
      property: "high", base: .integer(1), first: .integer(5), second: .integer(9),
      expected: .integer(9)),
    Case(
      property: "low", base: .integer(8), first: .integer(3), second: .integer(5),
      expected: .integer(3)),
    Case(
      property: "low", base: .integer(8), first: .integer(5), second: .null,
      expected: .integer(5)),
    Case(
      property: "stock", base: .integer(10), first: .integer(7), second: .integer(14),
      expected: .integer(11)),
    Case(
      property: "stock", base: .integer(10), first: .integer(11), second: .integer(11),
      expected: .integer(12)),
    Case(
      property: "text", base: .string("one two three"), first: .string("ONE two three"),
      second: .string("one two THREE"), expected: .string("ONE two THREE")),
    Case(
      property: "pick", base: .string("x"), first: .string("longest"), second: .string("short"),
      expected: .string("longest")),
    Case(
      property: "held", base: .string("x"), first: .string("a"), second: .string("b"),
      expected: .string("a")),
  ]

  @Test(
    "F36 Each policy settles two edits of one property alike on both replicas", arguments: cases)
  func policies(_ test: Case) async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", [test.property: test.base])
    try await world.settle()
    try world[0].set(id, [test.property: test.first])
    try world[1].set(id, [test.property: test.second])
    try await world.settle()
    #expect(try world[0].value(id, test.property) == test.expected)
    #expect(try world[1].value(id, test.property) == test.expected)
    let journal = try world.replicas.flatMap { try $0.conflicts }
    #expect(journal.count == 1)
    #expect(journal.first?.property == test.property)
    #expect(journal.first?.object == id)
  }

  @Test("F51 Of equal times the replica's identity decides, the same on both")
  func equalTimes() async throws {
    let world = try await World(3)
    let id = try world[0].insert("Item")
    try await world.settle()
    let time = HybridTime(rawValue: world.clock.hybridTime.rawValue &+ (1 << 40))
    world.clock.advance(milliseconds: 1 << 24)
    for (index, replica) in world.replicas.enumerated() {
      _ = try replica.store.write(TransactionInfo(author: nil, hybridTime: time)) { transaction in
        let key = try #require(try transaction.key(of: id))
        let layout = try #require(replica.store.schema.entity(numbered: key.entity)).layout
        let slot = try #require(layout.index(named: "title"))
        var row = try #require(try transaction.row(key)).values
        row[slot] = .string("from \(index)")
        try transaction.update(key, PropertyMask([slot]), values: row, expectedVersion: nil)
      }
    }
    try await world.settle()
    let identities = try world.replicas.map { try $0.status.replica?.uuidString ?? "" }
    let index = try #require(identities.firstIndex(of: identities.max() ?? ""))
    #expect(try world[0].value(id, "title") == .string("from \(index)"))
  }

  @Test(
    "F50 S3 Equal edits are no conflict; the later one's time reaches the zone, and that is all")
  func equalEdits() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    let head = world.zone.head
    try world[0].set(id, ["title": .string("same")])
    try world[1].set(id, ["title": .string("same")])
    try await world.settle()
    #expect(world.zone.head == head + 2)
    for replica in world.replicas { #expect(try replica.conflicts.isEmpty) }
  }

  @Test("F36 The value that lost is in the journal, with both times and the origin")
  func journalKeepsTheLoser() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("x")])
    try await world.settle()
    try world[1].set(id, ["title": .string("early")])
    try world[0].set(id, ["title": .string("late")])
    try await world[0].sync()
    try await world[1].sync()
    let entry = try #require(try world[1].conflicts.first)
    #expect(entry.local == "\"early\"")
    #expect(entry.remote == "\"late\"")
    #expect(entry.kept == "\"late\"")
    #expect(entry.outcome == .remote)
    #expect(entry.localTime < entry.remoteTime)
    #expect(try entry.origin == world[0].status.replica)
    let why = try SyncEngine.why(of: world[1].store, object: id, property: "title")
    #expect(why.value == "\"late\"")
    #expect(why.conflicts == [entry])
    try await world.settle()
  }
}
