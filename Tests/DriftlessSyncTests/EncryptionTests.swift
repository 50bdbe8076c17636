import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Encrypted properties: nobody but who has the key reads them, and the rest is as it was.
struct EncryptionTests {
  private static let values: [String: PropertyValue] = [
    "title": .string("needle-title é書\u{0}"), "note": .string(""), "tag": .string("needle-tag"),
    "high": .integer(.max), "low": .integer(.min), "stock": .integer(-7), "small": .integer(3),
    "text": .string("needle-text"), "held": .string("needle-held"),
    "words": .string("needle-word"), "marks": .data(Data("needle-marks".utf8)),
    "price": .decimal(Decimal(string: "12345678901234567890.0125") ?? 0),
    "weight": .double(-0.0), "made": .date(Date(timeIntervalSinceReferenceDate: 700_000_000.1)),
    "blob": .data(Data("needle-blob".utf8)), "code": .uuid(UUID()),
    "isOpen": .bool(true),
    "page": URL(string: "https://needle.example/page").map { .uri($0) } ?? .null,
  ]

  @Test("Values of every type cross as they were, and none of their bytes is in the log")
  func everyType() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    try await world.add(ring)
    let id = try world[0].insert("Item", Self.values)
    let bare = try world[0].insert("Item")
    let other = try world[0].insert("Item", ["title": .string("needle-second")])
    try await world[0].sync()
    try world[0].set(id, ["title": .string("needle-later"), "stock": .integer(8)])
    try await world.world.settle()
    for (name, value) in Self.values where name != "title" && name != "stock" {
      #expect(try world[1].value(id, name) == value, "\(name)")
    }
    guard case .double(let weight)? = try world[1].value(id, "weight") else {
      Issue.record("no weight")
      return
    }
    #expect(weight.sign == .minus)
    #expect(try world[1].value(id, "title") == .string("needle-later"))
    #expect(try world[1].value(id, "stock") == .integer(8))
    #expect(try world[1].value(bare, "title") == .null)
    #expect(try world[1].value(other, "title") == .string("needle-second"))
    let wire = try world.wire
    for needle in ["needle", "12345678901234567890"] {
      #expect(wire.range(of: Data(needle.utf8)) == nil)
    }
    // The same world in the clear has them: what is looked for would be found.
    var open = try await SealedWorld()
    try await open.add(nil, model: shopModel())
    try open[0].insert("Item", Self.values)
    try await open[0].sync()
    #expect(try open.wire.range(of: Data("needle-title".utf8)) != nil)
  }

  @Test(
    "A snapshot has cells alone, and who joins with the key reads them, without it syncs the rest")
  func snapshot() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    let shelf = try world[0].insert("Shelf", ["name": .string("in the clear")])
    var items: [UUID] = []
    for number in 0..<30 {
      items.append(try world[0].insert("Item", ["title": .string("needle \(number)")]))
      if number % 7 == 0 { try await world[0].sync() }
    }
    try world[0].set(items[3], ["title": .string("needle later"), "stock": .integer(4)])
    try world[0].set(items[4], ["title": .null])
    try await world[0].sync()
    let folded = try FoldedZone(world.zone)
    var reader = try SnapshotReader(try folded.fold()) { try folded.bytes(of: $0) }
    var columns = 0
    try reader.forEachPart { part in
      for number in 0..<part.count {
        let changeSet = try part.changeSet(number)
        columns += changeSet.columns.count { if case .sealed = $0.values { true } else { false } }
        let bytes = try ChangeSetEncoder(compressionLevel: 0).encode(changeSet)
        #expect(bytes.range(of: Data("needle".utf8)) == nil)
      }
    }
    #expect(columns > 0)
    let joined = try await world.add(ring, transport: folded)
    try await joined.sync()
    #expect(folded.pieces > 0 && folded.pulled == 0)
    #expect(try joined.export == world[0].export)
    let keyless = try await world.add(nil, transport: folded)
    try await keyless.sync()
    #expect(try keyless.value(shelf, "name") == .string("in the clear"))
    #expect(try keyless.identities(of: "Item").count == 30)
    #expect(try keyless.value(items[3], "title") == .null)
    let parked = try SyncEngine.parked(of: keyless.store)
    #expect(parked.count == 30 && parked.allSatisfy { $0.code == "sealed" })
    #expect(parked.first?.reason.contains(ring.newest.description) ?? false)
    #expect(try SyncEngine.check(keyless.store).findings == [])
    _ = try await keyless.giving(ring).sync()
    #expect(try keyless.export == world[0].export)
    #expect(try SyncEngine.parked(of: keyless.store).isEmpty)
  }

  @Test(
    "Policies settle what was opened, and what they make of it goes out sealed",
    arguments: [
      ("stock", .integer(10), .integer(13), .integer(15), .integer(18)),
      ("high", .integer(1), .integer(5), .integer(3), .integer(5)),
      ("low", .integer(9), .integer(5), .integer(3), .integer(3)),
      (
        "text", .string("one two three"), .string("ONE two three"), .string("one two THREE"),
        .string("ONE two THREE")
      ),
      (
        "pick", .string("a"), .string("longest of all"), .string("short"), .string("longest of all")
      ),
      ("title", .string("a"), .string("b"), .string("c"), .string("c")),
      ("tag", .string("a"), .string("b"), .string("c"), .string("c")),
      ("note", .string("a"), .string("b"), .string("c"), .string("b")),
    ] as [(String, PropertyValue, PropertyValue, PropertyValue, PropertyValue)])
  func policies(
    name: String, base: PropertyValue, first: PropertyValue, second: PropertyValue,
    wanted: PropertyValue
  ) async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    try await world.add(ring)
    let id = try world[0].insert("Item", [name: base])
    try await world.world.syncAll()
    try world[0].set(id, [name: first])
    try world[1].set(id, [name: second])
    try await world.world.settle()
    #expect(try world[0].value(id, name) == wanted)
    #expect(try world.wire.range(of: Data("THREE".utf8)) == nil)
  }

  @Test("A comparison leaves encrypted properties out by name, and finds what else differs")
  func verify() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    try world[0].insert("Item", ["title": .string("a"), "stock": .integer(2)])
    try world[0].insert("Shelf", ["name": .string("s")])
    try await world[0].sync()
    let report = try await world[0].engine.verify()
    #expect(report.isEqual)
    #expect(report.leftOut.encrypted.contains("Item.title"))
    #expect(report.leftOut.encrypted.allSatisfy { $0.hasPrefix("Item.") })
    #expect(report.leftOut.properties == [])
  }

  @Test(
    "A unique key of a sealed value is held by one, across a rotation, and the server sees no value"
  )
  func uniqueKeys() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring, model: sealedShop(serial: true))
    try await world.add(ring.rotated(), model: sealedShop(serial: true))
    let first = try world[0].insert(
      "Item", ["serial": .string("needle-1"), "stock": .integer(4)])
    try world[1].insert("Item", ["serial": .string("needle-1"), "title": .string("needle-2")])
    try await world[0].sync()
    try await world[1].sync()
    // The first has no key yet that the second wrote with.
    _ = try await world[0].giving(
      try KeyRing(text: ring.text)
    ).sync()
    #expect(try world[1].identities(of: "Item") == [first])
    #expect(try world[1].value(first, "title") == .string("needle-2"))
    #expect(try world[1].value(first, "stock") == .integer(4))
    #expect(try world.wire.range(of: Data("needle".utf8)) == nil)
  }

  @Test(
    "A property that is encrypted from now on: what was sent stays readable, what is sent is sealed"
  )
  func newlySealed() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring, model: shopModel())
    let id = try world[0].insert("Item", ["title": .string("clear"), "tag": .string("clear too")])
    try await world[0].sync()
    try await world.add(ring)
    try await world[1].sync()
    #expect(try world[1].value(id, "title") == .string("clear"))
    try world[1].set(id, ["title": .string("needle")])
    try await world[1].sync()
    #expect(try world.wire.range(of: Data("needle".utf8)) == nil)
    // A replica whose model does not say so reads it all the same, where it has the key.
    try await world[0].sync()
    #expect(try world[0].value(id, "title") == .string("needle"))
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    let joined = try await world.add(ring, transport: folded)
    try await joined.sync()
    #expect(try joined.export == world[1].export)
    #expect(try joined.value(id, "tag") == .string("clear too"))
  }

  @Test(
    "Sealed anew, the zone has everything under the newest key, and newer edits of others stand")
  func sealedAnew() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    let rotated = ring.rotated()
    try await world.add(ring)
    try await world.add(rotated)
    let id = try world[0].insert(
      "Item", ["title": .string("a"), "stock": .integer(4), "tag": .string("t")])
    let other = try world[0].insert("Item", ["title": .string("b"), "pick": .string("p")])
    try await world[0].sync()
    try await world[1].sync()
    // Edited while nobody is looking, before all is sealed anew.
    try world[0].set(id, ["title": .string("later"), "stock": .integer(9), "tag": .string("u")])
    try SyncEngine.sealAnew(world[1].store)
    try await world[1].sync()
    #expect(try world[1].status.pending.objects == 0)
    let first = try await world[0].giving(rotated)
    _ = try await first.sync()
    try await world[1].sync()
    _ = try await first.sync()
    #expect(try world[0].export == world[1].export)
    #expect(try world[1].value(id, "title") == .string("later"))
    #expect(try world[1].value(id, "stock") == .integer(9))
    #expect(try world[1].value(id, "tag") == .string("u"))
    // Who has the new key alone reads all of what there is by now.
    let text = rotated.text.split(separator: "\n").filter { !$0.contains(ring.newest.description) }
    let newest = try KeyRing(text: text.joined(separator: "\n"))
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    let joined = try await world.add(newest, transport: folded)
    try await joined.sync()
    #expect(try SyncEngine.parked(of: joined.store).isEmpty)
    #expect(try joined.export == world[1].export)
    #expect(try joined.value(other, "pick") == .string("p"))
  }
}
