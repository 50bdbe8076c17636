import CoreData
import TestSupport
import Testing

/// A policy that an application asks itself about the conflicts of a save that failed.
struct CaughtConflictTests {
  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer
  private let one: NSManagedObjectContext
  private let two: NSManagedObjectContext
  private let item: Item
  private let same: Item

  init() throws {
    folder = try TemporaryDirectory()
    container = try Shop.container(folder)
    one = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    two = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    one.persistentStoreCoordinator = container.persistentStoreCoordinator
    two.persistentStoreCoordinator = container.persistentStoreCoordinator
    item = Item(context: one)
    (item.name, item.price) = ("Lamp", 1)
    try one.save()
    same = try #require(try two.existingObject(with: item.objectID) as? Item)
    #expect(same.price == 1)
  }

  private func caught() throws -> [Any] {
    do { try two.save() } catch {
      return try #require(
        (error as NSError).userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [Any])
    }
    return []
  }

  private func stored() throws -> (String?, Int32, Bool) {
    let fresh = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    fresh.persistentStoreCoordinator = container.persistentStoreCoordinator
    let found = try #require(try fresh.existingObject(with: item.objectID) as? Item)
    return (found.name, found.price, found.value(forKey: "isSold") as? Bool ?? false)
  }

  /// Both change the name; the price changes there alone, and whether it is sold here alone.
  @Test(
    "It does with the objects what its kind says, and the next save goes through",
    arguments: [
      (NSMergePolicyType.mergeByPropertyStoreTrumpMergePolicyType, "theirs", Int32(5), true),
      (.mergeByPropertyObjectTrumpMergePolicyType, "mine", 5, true),
      (.overwriteMergePolicyType, "mine", 1, true),
      (.rollbackMergePolicyType, "theirs", 5, false),
    ])
  func resolved(
    kind: NSMergePolicyType, name: String, price: Int32, isSold: Bool
  ) throws {
    (item.name, item.price) = ("theirs", 5)
    try one.save()
    same.name = "mine"
    same.setValue(true, forKey: "isSold")
    let conflicts = try caught()
    #expect(conflicts.count == 1)
    try NSMergePolicy(merge: kind).resolve(mergeConflicts: conflicts)
    #expect(same.name == name && same.price == price)
    #expect(same.value(forKey: "isSold") as? Bool ?? false == isSold)
    #expect(same.hasPersistentChangedValues == (kind != .rollbackMergePolicyType))
    try two.save()
    #expect(try stored() == (name, price, isSold))
  }

  @Test("The error policy throws the list again, and what another save did since is met")
  func again() throws {
    item.name = "theirs"
    try one.save()
    same.name = "mine"
    let conflicts = try caught()
    #expect(throws: CocoaError.self) { try NSMergePolicy.error.resolve(mergeConflicts: conflicts) }
    #expect(same.name == "mine")
    try NSMergePolicy.mergeByPropertyObjectTrump.resolve(
      optimisticLockingConflicts: conflicts.compactMap { $0 as? NSMergeConflict })
    item.name = "later"
    try one.save()
    #expect(try caught().count == 1)
    #expect(same.name == "mine")
  }

  @Test("A delete stands, or is given up", arguments: [true, false])
  func deletes(isGivenUp: Bool) throws {
    item.name = "theirs"
    try one.save()
    two.delete(same)
    let conflicts = try caught()
    #expect(conflicts.count == 1)
    let policy =
      isGivenUp ? NSMergePolicy.mergeByPropertyStoreTrump : .mergeByPropertyObjectTrump
    try policy.resolve(mergeConflicts: conflicts)
    #expect(same.isDeleted != isGivenUp)
    try two.save()
    #expect(try one.count(for: Item.fetchRequest() as NSFetchRequest<Item>) == (isGivenUp ? 1 : 0))
  }

  @Test("Values that a unique property has in common go to the object that there is")
  func unique() throws {
    let code = UUID()
    item.setValue(code, forKey: "code")
    try one.save()
    let new = Item(context: two)
    new.name = "new"
    new.setValue(code, forKey: "code")
    let conflicts = try caught()
    #expect(conflicts.first is NSConstraintConflict)
    try NSMergePolicy.mergeByPropertyObjectTrump.resolve(mergeConflicts: conflicts)
    try two.save()
    let found = try one.fetch(Item.fetchRequest() as NSFetchRequest<Item>)
    one.refreshAllObjects()
    #expect(found.map(\.name) == ["new"])
  }
}
