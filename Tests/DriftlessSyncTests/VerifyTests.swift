import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// A store is compared with its zone, and mended where it differs without an edit of its own.
struct VerifyTests {
  /// Looks at a difference, mends it, and finds none any more; the replicas are one again.
  private func expectMended(
    _ shop: VerifiedShop, count: Int = 1, at location: SourceLocation = #_sourceLocation,
    _ look: (VerifyReport.Difference) -> Bool
  ) async throws {
    let before = try shop.replica.export
    let found = try await shop.replica.engine.verify()
    #expect(found.differenceCount == count, "\(found.differences)", sourceLocation: location)
    let others = found.differences.filter { !look($0) }
    #expect(others == [], sourceLocation: location)
    #expect(!found.isEqual, sourceLocation: location)
    #expect(try shop.replica.export == before, "it only looks", sourceLocation: location)
    let mended = try await shop.replica.engine.repair()
    #expect(mended.repairedCount >= count, "\(mended.differences)", sourceLocation: location)
    #expect(mended.isEqual, "\(mended.differences)", sourceLocation: location)
    #expect(try shop.replica.status.pending.objects == 0, sourceLocation: location)
    try await shop.world.settle(location)
  }

  @Test("Stores that are in step are told to be equal by one request and no values")
  func equal() async throws {
    let shop = try await VerifiedShop.make()
    let report = try await shop.replica.engine.verify()
    #expect(report.isEqual && report.differences == [])
    #expect(report.objects == 310 && report.bytes == 0 && shop.way.parts == [])
    #expect(report.leftOut.pending == 0 && report.leftOut.properties == [])
    #expect(report.sequence == shop.world.zone.head)
  }

  @Test("An empty zone is equal to an empty store, and an object that waits is no difference")
  func empty() async throws {
    let world = try await World(1)
    #expect(try await world[0].engine.verify().isEqual)
    try world[0].insert("Item")
    let report = try await world[0].engine.verify()
    #expect(report.isEqual && report.objects == 0)
  }

  @Test("One value that was changed without history is found by its block, and mended")
  func changedValue() async throws {
    let shop = try await VerifiedShop.make()
    try shop.replica.alter(
      "UPDATE ZITEM SET ZTITLE = 'item 7x' WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: shop.items[7])))
    try await expectMended(shop) {
      $0.kind == .value && $0.object == shop.items[7] && $0.property == "title"
        && $0.local == #""item 7x""# && $0.zone == #""item 7""# && !$0.isRepaired
    }
    let journal = try #require(try shop.replica.conflicts.last)
    #expect(journal.local == #""item 7x""# && journal.kept == #""item 7""#)
    #expect(journal.policy == "repair" && !journal.isWaiting)
    // Ranges, blocks, cells and the one object, of the look and of the repair.
    #expect(shop.way.parts.count == 8, "\(shop.way.parts)")
    #expect(
      shop.way.parts.filter {
        if case .objects(let numbers) = $0 { numbers.count == 1 } else { false }
      }
      .count == 2)
    // A person may have it back.
    try SyncEngine.undo(conflict: journal.number, of: shop.replica.store)
    #expect(try shop.replica.value(shop.items[7], "title") == .string("item 7x"))
  }

  @Test(
    "A value of every type is compared",
    arguments: [
      "ZSTOCK = ZSTOCK + 1", "ZWEIGHT = ZWEIGHT + 1e-9", "ZPRICE = ZPRICE + 1", "ZMADE = ZMADE + 1",
      "ZBLOB = x'010203'", "ZCODE = randomblob(16)", "ZISOPEN = 1 - ZISOPEN", "ZPAGE = 'a:c'",
      "ZTITLE = NULL", "ZNOTE = 'what the log never named'",
    ])
  func types(_ change: String) async throws {
    let shop = try await VerifiedShop.make(100)
    try shop.replica.alter(
      "UPDATE ZITEM SET \(change) WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: shop.items[70])))
    try await expectMended(shop) { $0.kind == .value && $0.object == shop.items[70] }
  }

  @Test("An object that is missing comes back with its values, and what refers to it")
  func missing() async throws {
    let shop = try await VerifiedShop.make(100)
    try shop.replica.alter(
      "DELETE FROM ZITEM WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: shop.items[3])))
    let shelf = try shop.replica.rowKey(of: shop.shelves[0])
    try shop.replica.alter("DELETE FROM ZSHELF WHERE Z_PK = ?", .integer(shelf))
    try shop.replica.alter("UPDATE ZITEM SET ZSHELF = NULL WHERE ZSHELF = ?", .integer(shelf))
    let found = try await shop.replica.engine.verify()
    #expect(Set(found.differences.map(\.kind)) == [.missing])
    #expect(
      Set(found.differences.map(\.object)) == [shop.items[3], shop.shelves[0]])
    let mended = try await shop.replica.engine.repair()
    #expect(mended.isEqual, "\(mended.differences)")
    try await shop.world.settle()
  }

  @Test("An object whose number was lost too is made anew under its identity")
  func missingNumber() async throws {
    let shop = try await VerifiedShop.make(10)
    let id = try shop.world[0].insert("Item", ["title": .string("one")], identity: UUID())
    try await shop.world.settle()
    let key = try shop.replica.rowKey(of: id)
    try shop.replica.alter("DELETE FROM ZITEM WHERE Z_PK = ?", .integer(key))
    try shop.replica.alter(
      "DELETE FROM ZDL_IDENTITY WHERE first_key = ? AND count = 1", .integer(key))
    let mended = try await shop.replica.engine.repair()
    #expect(mended.isEqual && mended.differences.map(\.object) == [id])
    #expect(mended.differences.map(\.kind) == [.missing])
    #expect(try await shop.replica.engine.verify().isEqual)
    #expect(try shop.replica.value(id, "title") == .string("one"))
  }

  @Test("An object that the zone has deleted goes, to the journal")
  func deleted() async throws {
    let shop = try await VerifiedShop.make(100)
    let item = shop.items[50]
    let key = try shop.replica.rowKey(of: item)
    let row = try shop.replica.store.read {
      try $0.connection.rows("SELECT Z_ENT FROM ZITEM WHERE Z_PK = ?", .integer(key))
    }
    try shop.world[0].delete(item)
    try await shop.world.syncAll()
    try shop.replica.alter(
      "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (?, ?, 1, 'back')",
      .integer(key), row[0][0])
    try await expectMended(shop) { $0.kind == .deleted && $0.object == item }
    let journal = try #require(try shop.replica.conflicts.last)
    #expect(journal.object == item && journal.outcome == .remote)
    // Its local time is none of an edit.
    #expect(journal.policy == "repair", "\(journal)")
  }

  @Test("No repair takes most of a store out without a person's word")
  func massDelete() async throws {
    let shop = try await VerifiedShop.make(200)
    let gone = Array(shop.items[..<180])
    let keys = try gone.map { try shop.replica.rowKey(of: $0) }
    let entity = try shop.replica.store.read {
      try $0.connection.rows("SELECT Z_ENT FROM ZITEM LIMIT 1")
    }
    for start in stride(from: 0, to: gone.count, by: 45) {
      for item in gone[start..<start + 45] { try shop.world[0].delete(item) }
      try await shop.world.syncAll()
    }
    for key in keys {
      try shop.replica.alter(
        "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (?, ?, 1, 'back')",
        .integer(key), entity[0][0])
    }
    let braked = try await shop.replica.engine.repair()
    #expect(!braked.isEqual)
    #expect(try shop.replica.identities(of: "Item").count >= 100)
    let meant = try await shop.replica.engine.repair(allowingMassDelete: true)
    #expect(meant.differenceCount == meant.repairedCount)
    #expect(try shop.replica.identities(of: "Item").count == 20)
    #expect(try await shop.replica.engine.verify().isEqual)
  }

  @Test("An object that nobody sent and nobody will send is told, and stays")
  func unknown() async throws {
    let shop = try await VerifiedShop.make(10)
    try shop.replica.alter(
      """
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZTITLE)
      SELECT max(Z_PK) + 1, max(Z_ENT), 1, 'by hand' FROM ZITEM
      """)
    for report in [
      try await shop.replica.engine.verify(), try await shop.replica.engine.repair(),
    ] {
      #expect(report.differences.map(\.kind) == [.unknown])
      #expect(!report.isEqual)
    }
    #expect(try shop.replica.identities(of: "Item").count == 11)
  }

  @Test("A reference, a set and an order that were changed are found and mended")
  func relationships() async throws {
    let shop = try await VerifiedShop.make(60)
    let other = try shop.replica.rowKey(of: shop.shelves[1])
    try shop.replica.alter(
      "UPDATE ZITEM SET ZSHELF = ? WHERE Z_PK = ?", .integer(other),
      .integer(try shop.replica.rowKey(of: shop.items[5])))
    try await expectMended(shop) { $0.property == "shelf" && $0.object == shop.items[5] }
    let place = try shop.replica.store.read {
      try $0.connection.rows("SELECT name FROM pragma_table_info('ZROW') WHERE name LIKE 'Z_FOK%'")
    }
    guard case .text(let column)? = place.first?.first else {
      Issue.record("no column of places")
      return
    }
    try shop.replica.alter(
      "UPDATE ZROW SET \"\(column)\" = -\"\(column)\" WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: shop.rows[2])))
    try await expectMended(shop) {
      $0.property == "shelf#place" && $0.object == shop.rows[2]
    }
    let join = try shop.replica.store.read {
      try $0.connection.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'Z_[0-9]*'")
    }
    guard case .text(let table)? = join.first?.first else {
      Issue.record("no table of labels")
      return
    }
    try shop.replica.alter(
      "DELETE FROM \"\(table)\" WHERE rowid = (SELECT max(rowid) FROM \"\(table)\")")
    try await expectMended(shop) { $0.property == "labels" || $0.property == "items" }
  }

  @Test("What waits to be pushed is no difference, and no repair takes it")
  func pendingEdits() async throws {
    let shop = try await VerifiedShop.make(100)
    try shop.replica.set(
      shop.items[1], ["title": .string("mine"), "stock": .integer(500)])
    try shop.replica.delete(shop.items[2])
    let new = try shop.replica.insert("Item", ["title": .string("new")])
    try shop.replica.alter(
      "UPDATE ZITEM SET ZTAG = 'flipped' WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: shop.items[1])))
    let found = try await shop.replica.engine.verify()
    #expect(found.differences.map(\.property) == ["tag"])
    #expect(found.leftOut.pending == 3)
    let mended = try await shop.replica.engine.repair()
    #expect(mended.isEqual && mended.repairedCount == 1)
    #expect(try shop.replica.value(shop.items[1], "title") == .string("mine"))
    #expect(try shop.replica.value(shop.items[1], "tag") == .null)
    #expect(try !shop.replica.exists(shop.items[2]))
    #expect(try shop.replica.status.pending.objects == 3)
    try await shop.world.settle()
    #expect(try shop.world[0].value(shop.items[1], "title") == .string("mine"))
    #expect(try shop.world[0].value(shop.items[1], "stock") == .integer(500))
    #expect(try shop.world[0].value(new, "title") == .string("new"))
  }

  @Test("A zone that moves on while a store is compared is compared at one place")
  func movesOn() async throws {
    let shop = try await VerifiedShop.make(100)
    try shop.replica.alter(
      "UPDATE ZITEM SET ZTITLE = 'flipped' WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: shop.items[1])))
    var rule = DigestWay.Rule()
    let first = shop.world[0]
    let (item, edited) = (shop.items[1], shop.items[2])
    nonisolated(unsafe) let other = first
    rule.before = {
      try other.set(item, ["note": .string("\(UUID())")])
      try other.set(edited, ["title": .string("\(UUID())")])
      try await other.sync()
    }
    shop.way.set(rule)
    let mended = try await shop.replica.engine.repair()
    #expect(mended.isEqual && mended.repairedCount == 1, "\(mended.differences)")
    shop.way.set(DigestWay.Rule())
    try await shop.world.settle()
  }

  @Test("An edit that is made between the look and the repair stands")
  func editedMeanwhile() async throws {
    let shop = try await VerifiedShop.make(100)
    try shop.replica.alter(
      "UPDATE ZITEM SET ZTITLE = 'flipped' WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: shop.items[1])))
    nonisolated(unsafe) let replica = shop.replica
    let item = shop.items[1]
    let isEdited = Mutex(false)
    var rule = DigestWay.Rule()
    rule.before = {
      let isFirst = isEdited.withLock { isEdited in
        defer { isEdited = true }
        return !isEdited
      }
      guard isFirst else { return }
      try replica.set(item, ["title": .string("edited")])
    }
    shop.way.set(rule)
    let mended = try await replica.engine.repair()
    #expect(mended.differences == [] && mended.leftOut.pending > 0)
    #expect(try replica.value(item, "title") == .string("edited"))
    try await shop.world.settle()
    #expect(try shop.world[0].value(item, "title") == .string("edited"))
  }

  @Test("A server that lies about sizes is not followed")
  func lies() async throws {
    let shop = try await VerifiedShop.make(100)
    var rule = DigestWay.Rule()
    rule.digests = { $0.nextObject = 1 << 50 }
    shop.way.set(rule)
    await #expect(throws: ProtocolError.self) { _ = try await shop.replica.engine.verify() }
    rule.digests = { $0.columns += $0.columns }
    shop.way.set(rule)
    await #expect(throws: ProtocolError.self) { _ = try await shop.replica.engine.verify() }
    try shop.replica.alter(
      "UPDATE ZITEM SET ZTITLE = 'flipped' WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: shop.items[1])))
    rule.digests = nil
    for change in [{ $0.removeAll() }, { $0.append(1) }, { $0 = Data(count: $0.count) }]
      as [@Sendable (inout Data) -> Void]
    {
      rule.part = { part, data in
        if case .objects = part { change(&data) }
      }
      shop.way.set(rule)
      await #expect(throws: ProtocolError.self) { _ = try await shop.replica.engine.repair() }
      rule.part = { part, data in
        if case .ranges = part { data.append(0) }
      }
      shop.way.set(rule)
      await #expect(throws: ProtocolError.self) { _ = try await shop.replica.engine.repair() }
    }
    shop.way.set(DigestWay.Rule())
    #expect(try await shop.replica.engine.repair().repairedCount == 1)
    try await shop.world.settle()
  }

  @Test("A server without digests is told, and one that was put back is come back to first")
  func otherServers() async throws {
    struct Older: ForwardingTransport {
      let next: any SyncTransport
      func digests(at cursor: Cursor) async throws -> ZoneDigests { throw ProtocolError.noDigests }
    }
    let shop = try await VerifiedShop.make(20)
    let older = SyncEngine(store: shop.replica.store, transport: Older(next: shop.world.zone))
    let error = await #expect(throws: SyncError.self) { _ = try await older.verify() }
    #expect(error?.code == .notVerified)
    let backup = shop.world.zone.log
    try shop.world[0].set(shop.items[0], ["title": .string("lost")])
    try await shop.world.settle()
    shop.world.zone.putBack(backup)
    let report = try await shop.replica.engine.verify()
    #expect(report.isEqual, "\(report.differences)")
    shop.world.zone.renew()
    #expect(try await shop.replica.engine.verify().isEqual)
    try await shop.world.settle()
  }

  @Test("Another version of the model compares what both have, and names the rest")
  func otherModel() async throws {
    var shop = try await VerifiedShop.make(50)
    let newer = try await TestReplica(
      "newer", zone: shop.world.zone, clock: shop.world.clock,
      model: shopModel(withNewerParts: true))
    try await newer.sync()
    try newer.set(shop.items[0], ["colour": .string("red"), "title": .string("of newer")])
    try newer.insert("Offer", ["percent": .integer(5)])
    try await newer.sync()
    #expect(try await newer.engine.verify().isEqual)
    let report = try await shop.replica.engine.verify()
    #expect(report.isEqual, "\(report.differences)")
    #expect(report.leftOut.properties == ["Item.colour", "Offer", "Offer.percent"])
    try shop.replica.alter(
      "UPDATE ZITEM SET ZTITLE = 'flipped' WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: shop.items[0])))
    #expect(try await shop.replica.engine.repair().repairedCount == 1)
    #expect(try shop.replica.value(shop.items[0], "title") == .string("of newer"))
    shop.world.replicas.append(newer)
  }

  @Test("Two comparisons at once are one after the other, and both right")
  func atOnce() async throws {
    let shop = try await VerifiedShop.make(100)
    let engine = shop.replica.engine
    async let one = engine.verify()
    async let two = engine.repair()
    let reports = try await [one, two]
    #expect(reports.allSatisfy { $0.isEqual })
  }
}
