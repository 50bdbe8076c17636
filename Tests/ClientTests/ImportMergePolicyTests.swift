import Driftless
import TestSupport
import Testing

@testable import SyncControl

/// What an import does where another program deleted an object while lines changed it.
struct ImportMergePolicyTests {
  /// An item and a tag, each alone or one in the other.
  private func shop(isTagged: Bool) throws -> Shop {
    let shop = try Shop()
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop.store))
    let item = try context.insert(entityNamed: "Item")
    let tag = try context.insert(entityNamed: "Tag")
    if isTagged { item["tags"] = [tag] as Set<ManagedObject> }
    try context.save()
    return shop
  }

  private func first(_ entity: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).first)
  }

  /// Sets the item's tags by an import, while another program deletes one of the two.
  private func change(_ shop: Shop, tagged: Bool, deleting entity: String) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop.store))
    context.mergePolicy = ImportMergePolicy()
    let (item, tag) = (try first("Item", context), try first("Tag", context))
    item["tags"] = (tagged ? [tag] : []) as Set<ManagedObject>
    let other = ManagedObjectContext(PersistentStoreCoordinator(store: shop.store))
    other.delete(try first(entity, other))
    try other.save()
    try context.save()
  }

  @Test(
    "What lines put into an object that somebody deleted meanwhile is not lost without a word",
    arguments: ["Item", "Tag"])
  func added(deleted: String) throws {
    let shop = try shop(isTagged: false)
    #expect(throws: SaveConflictError.self) {
      try change(shop, tagged: true, deleting: deleted)
    }
  }

  @Test(
    "What lines only took from an object that somebody deleted meanwhile is no conflict",
    arguments: ["Item", "Tag"])
  func removed(deleted: String) throws {
    try change(shop(isTagged: true), tagged: false, deleting: deleted)
  }
}
