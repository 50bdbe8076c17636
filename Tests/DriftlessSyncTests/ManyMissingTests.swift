import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A store that lacks many objects of its zone.
struct ManyMissingTests {
  @Test(
    "What mends objects whose numbers are not known reads the zone's part once, and not for each")
  func manyMissing() async throws {
    try await expectLinear((60, 120)) { count in
      let shop = try await VerifiedShop.make(count)
      let root = try shop.replica.rowKey(of: shop.items[0])
      #expect(root > 0)
      let table = try #require(shop.replica.store.model.entitiesByName["Item"])
      let number = shop.replica.store.schema.entityNumber(of: table)
      try shop.replica.alter("DELETE FROM ZITEM")
      try shop.replica.alter(
        "DELETE FROM ZDL_IDENTITY WHERE root_entity = ?", .integer(Int64(number)))
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
