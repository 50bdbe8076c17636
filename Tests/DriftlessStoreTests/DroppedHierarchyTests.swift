import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Hierarchies that a migration drops leave nothing by which objects of others could be known.
struct DroppedHierarchyTests {
  private func model(_ names: String...) -> ManagedObjectModel {
    ManagedObjectModel(
      entities: names.map { name in
        let entity = EntityDescription(name)
        entity.properties = [AttributeDescription("name", .string)]
        return entity
      })
  }

  @Test(
    "An object of an entity that got a dropped one's number has an identity of its own",
    arguments: [false, true])
  func identities(isDeferred: Bool) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("store.sqlite")
    let store = try PersistentStore.open(url: url, model: model("A", "B", "C"))
    let gone = UUID()
    let key = try store.insert("C")
    _ = try store.write(TransactionInfo()) { try $0.assignIdentity(key, gone) }
    store.close()
    let options = StoreOptions(
      migratesAutomatically: true, defersMigrationCleanup: isDeferred)
    try PersistentStore.open(url: url, model: model("A", "B"), options: options).close()
    let migrated = try PersistentStore.open(url: url, model: model("A", "B", "D"), options: options)
    let new = try migrated.insert("D")
    #expect(try migrated.read { try $0.identity(of: new) } != gone)
    #expect(try migrated.read { try $0.key(of: gone) } == nil)
    #expect(try migrated.check().findings == [])
  }
}
