import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What Core Data writes for a decimal that is no number.
struct ForeignDecimalTests {
  @Test("The text NaN is no value, and no damage; what is written here as no number stays")
  func notANumber() throws {
    let directory = try TemporaryDirectory()
    let store = try PersistentStore.open(url: directory.file("a.sqlite"), model: Shop.model())
    let foreign = try store.insert("Item", ["price": .decimal(1)])
    let own = try store.insert("Item", ["price": .decimal(.nan)])
    _ = try store.write(TransactionInfo()) {
      try $0.connection.execute("UPDATE ZITEM SET ZPRICE = 'NaN' WHERE Z_PK = \(foreign.key)")
    }
    #expect(try store.values(foreign)?["price"] == .null)
    #expect(try store.values(own)?["price"] == .decimal(.nan))
    #expect(try store.check().findings.filter { $0.table == "ZITEM" }.isEmpty)
  }
}
