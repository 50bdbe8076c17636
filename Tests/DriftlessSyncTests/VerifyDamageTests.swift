import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Columns that hold what their properties cannot hold, and references to what is nowhere: no program writes them, and each shows
/// something in their place.
struct VerifyDamageTests {
  private func stored(_ id: UUID, _ column: String, _ replica: TestReplica) throws -> SQLiteValue {
    let key = try replica.rowKey(of: id)
    return try replica.store.read {
      try $0.connection.rows("SELECT \(column) FROM ZITEM WHERE Z_PK = ?", .integer(key))[0][0]
    }
  }

  @Test(
    "A value of another type, or out of its range, is told and mended, also where what it shows is what the zone has",
    arguments: [
      ("stock", "ZSTOCK", "ZSTOCK + 0.5"), ("stock", "ZSTOCK", "'many'"),
      ("title", "ZTITLE", "CAST(ZTITLE AS BLOB)"),
      ("isOpen", "ZISOPEN", "CASE ZISOPEN WHEN 0 THEN 0.5 ELSE 7 END"),
      ("weight", "ZWEIGHT", "'heavy'"), ("price", "ZPRICE", "'dear'"),
      ("small", "ZSMALL", "100000"),
      ("code", "ZCODE", "x'01'"), ("blob", "ZBLOB", "'text'"),
    ])
  func type(_ property: String, _ column: String, _ value: String) async throws {
    let shop = try await VerifiedShop.make(20)
    let item = shop.items[7]
    let before = try stored(item, column, shop.replica)
    try shop.replica.alter(
      "UPDATE ZITEM SET \(column) = \(value) WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: item)))
    let found = try await shop.replica.engine.verify()
    #expect(!found.isEqual)
    #expect(found.differenceCount == 1, "\(found.differences)")
    #expect(
      found.differences.allSatisfy {
        $0.kind.rawValue == "damaged" && $0.object == item && $0.property == property
          && !$0.isRepaired
      }, "\(found.differences)")
    let mended = try await shop.replica.engine.repair()
    #expect(mended.isEqual && mended.repairedCount == 1, "\(mended.differences)")
    #expect(try stored(item, column, shop.replica) == before)
    #expect(try await shop.replica.engine.verify().isEqual)
    #expect(try shop.replica.status.pending.objects == 0)
    try await shop.world.settle()
  }

  @Test(
    "What is damaged where the zone itself has no value is told, and mended to none",
    arguments: [
      ("stock", "ZSTOCK", "0.5"), ("stock", "ZSTOCK", "'many'"), ("title", "ZTITLE", "x'00ff'"),
      ("isOpen", "ZISOPEN", "7"), ("weight", "ZWEIGHT", "'heavy'"), ("price", "ZPRICE", "'dear'"),
      ("small", "ZSMALL", "100000"), ("code", "ZCODE", "x'01'"), ("blob", "ZBLOB", "'text'"),
      ("made", "ZMADE", "'late'"), ("page", "ZPAGE", "x'01'"), ("words", "ZWORDS", "x'01'"),
    ])
  func none(_ property: String, _ column: String, _ value: String) async throws {
    let shop = try await VerifiedShop.make(20)
    let item = try shop.world[0].insert("Item")
    try await shop.world.settle()
    try shop.replica.alter(
      "UPDATE ZITEM SET \(column) = \(value) WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: item)))
    let found = try await shop.replica.engine.verify()
    #expect(found.differences.map(\.property) == [property], "\(found.differences)")
    let mended = try await shop.replica.engine.repair()
    #expect(mended.isEqual && mended.repairedCount == 1, "\(mended.differences)")
    #expect(try stored(item, column, shop.replica) == .null)
    #expect(try await shop.replica.engine.verify().isEqual)
    #expect(try shop.replica.status.pending.objects == 0)
    try await shop.world.settle()
  }

  @Test(
    "A reference to an object that is nowhere is told and mended, whatever the zone has of it",
    arguments: [0, 19, 15])
  func reference(item number: Int) async throws {
    let shop = try await VerifiedShop.make(40)
    let dead = try shop.world[0].insert("Shelf", ["name": .string("gone")])
    try await shop.world.settle()
    let deadKey = try shop.replica.rowKey(of: dead)
    try shop.world[0].delete(dead)
    try await shop.world.settle()
    let item = shop.items[number]
    let nowhere = number == 15 ? deadKey : 99_999
    // Of 0 and 15 the zone has a shelf, of 30 none.
    let other = shop.items[30]
    for id in [item, other] {
      try shop.replica.alter(
        "UPDATE ZITEM SET ZSHELF = ? WHERE Z_PK = ?", .integer(nowhere),
        .integer(try shop.replica.rowKey(of: id)))
    }
    let found = try await shop.replica.engine.verify()
    #expect(Set(found.differences.map(\.object)) == [item, other], "\(found.differences)")
    #expect(
      found.differences.allSatisfy {
        $0.kind.rawValue == "damaged" && $0.property == "shelf" && !$0.isRepaired
      }, "\(found.differences)")
    let mended = try await shop.replica.engine.repair()
    #expect(mended.isEqual && mended.repairedCount == 2, "\(mended.differences)")
    #expect(try shop.replica.reference(item, "shelf") == shop.shelves[0])
    #expect(try shop.replica.reference(other, "shelf") == nil)
    try await shop.world.settle()
  }

  @Test("An element of a set that is nowhere is told and taken out")
  func element() async throws {
    let shop = try await VerifiedShop.make(20)
    let item = shop.items[7]
    let before = try shop.replica.export
    let key = try shop.replica.rowKey(of: item)
    let (table, columns) = try shop.replica.store.read { transaction in
      let connection = transaction.connection
      let tables = try connection.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'Z_[0-9]*'")
      guard case .text(let table)? = tables.first?.first else { return ("", [String]()) }
      let columns = try connection.rows("SELECT name FROM pragma_table_info('\(table)')")
      return (table, columns.compactMap { if case .text(let name) = $0[0] { name } else { nil } })
    }
    try #require(columns.count >= 2)
    // There are three labels, and more items: one of the two columns is that of items.
    let most = try shop.replica.store.read {
      try $0.connection.scalar("SELECT max(\"\(columns[0])\") > 3 FROM \"\(table)\"")
    }
    let (own, other) =
      most == .integer(1) ? (columns[0], columns[1]) : (columns[1], columns[0])
    try shop.replica.alter(
      "INSERT INTO \"\(table)\" (\"\(own)\", \"\(other)\") VALUES (?, 99999)", .integer(key))
    let found = try await shop.replica.engine.verify()
    #expect(found.differences.map(\.kind.rawValue) == ["damaged"])
    #expect(found.differences.map(\.property) == ["labels"])
    let mended = try await shop.replica.engine.repair()
    #expect(mended.isEqual && mended.repairedCount == 1, "\(mended.differences)")
    #expect(try await shop.replica.engine.verify().isEqual)
    #expect(try shop.replica.export == before)
    try await shop.world.settle()
  }

  @Test("Of what waits to be sent nothing is taken: it is told, and goes once somebody sets it")
  func pending() async throws {
    let shop = try await VerifiedShop.make(20)
    let item = shop.items[7]
    try shop.replica.set(item, ["stock": .integer(9)])
    try shop.replica.alter(
      "UPDATE ZITEM SET ZSTOCK = 9.5 WHERE Z_PK = ?",
      .integer(try shop.replica.rowKey(of: item)))
    for report in [
      try await shop.replica.engine.verify(), try await shop.replica.engine.repair(),
    ] {
      #expect(report.differences.map(\.kind.rawValue) == ["damaged"])
      #expect(report.repairedCount == 0)
    }
    // What adds to a value that cannot be read is refused.
    let error = #expect(throws: StoreError.self) {
      try shop.replica.set(item, ["stock": .integer(8)])
    }
    #expect(error?.code == .valueNotHeld)
    try shop.replica.set(item, ["stock": .null])
    try shop.replica.set(item, ["stock": .integer(8)])
    #expect(try await shop.replica.engine.verify().isEqual)
    try await shop.world.settle()
    #expect(try shop.world[0].value(item, "stock") == .integer(8))
  }

  @Test("An object that the zone never had is told with what is wrong with it")
  func unknown() async throws {
    let shop = try await VerifiedShop.make(10)
    try shop.replica.alter(
      """
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZSTOCK, ZSHELF)
      SELECT max(Z_PK) + 1, max(Z_ENT), 1, 'by hand', 1.5, 99999 FROM ZITEM
      """)
    let report = try await shop.replica.engine.verify()
    #expect(report.differences.map(\.kind.rawValue).sorted() == ["damaged", "damaged", "unknown"])
  }
}
