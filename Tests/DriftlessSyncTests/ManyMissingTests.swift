import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A store that lacks many objects of its zone.
struct ManyMissingTests {
  private func sql(_ replica: TestReplica, _ sql: String, _ values: SQLiteValue...) throws {
    // Past the library: nobody hears of it.
    let url = try #require(replica.store.url)
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    defer { connection.close() }
    let statement = try connection.prepareUncached(sql)
    statement.bind(values)
    try statement.run()
  }

  private func key(_ id: UUID, _ replica: TestReplica) throws -> Int64 {
    try replica.store.read { try #require(try $0.key(of: id)).key }
  }

  @Test(
    "What mends objects whose numbers are not known reads the zone's part once, and not for each")
  func manyMissing() async throws {
    try await expectLinear((60, 120)) { count in
      let shop = try await VerifiedShop.make(count)
      let root = try key(shop.items[0], shop.replica)
      #expect(root > 0)
      let table = try #require(shop.replica.store.model.entitiesByName["Item"])
      let number = shop.replica.store.schema.entityNumber(of: table)
      try sql(shop.replica, "DELETE FROM ZITEM")
      try sql(
        shop.replica, "DELETE FROM ZDL_IDENTITY WHERE root_entity = ?", .integer(Int64(number)))
      let found = try await shop.replica.engine.verify()
      #expect(found.differences.count { $0.kind == .missing } == count)
      #expect(Set(found.differences.map(\.object)).isSuperset(of: shop.items))
      let work = try await shop.replica.statementWork { _ = try await shop.replica.engine.repair() }
      #expect(try await shop.replica.engine.verify().isEqual)
      #expect(try shop.replica.identities(of: "Item").count == count)
      return work
    }
  }
}
