import CoreData
import TestSupport
import Testing

/// What others deleted is, after a merge, a deleted object of the context, as after its own `delete(_:)`.
struct MergedDeleteTests {
  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer
  private let context: NSManagedObjectContext
  private let other: NSManagedObjectContext
  private let item: Item

  init() throws {
    folder = try TemporaryDirectory()
    container = try Shop.container(folder)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = container.persistentStoreCoordinator
    other = container.newBackgroundContext()
    item = Item(context: context)
    item.name = "Lamp"
    try context.save()
  }

  /// Deletes an object in the other context; the item where none is named.
  ///
  /// - Returns: What the save told.
  private func deleteElsewhere(_ id: NSManagedObjectID? = nil) throws -> Notification {
    nonisolated(unsafe) var told: Notification?
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: other, queue: nil
    ) { told = $0 }
    defer { NotificationCenter.default.removeObserver(token) }
    let id = id ?? item.objectID
    try other.performAndWait { [other] in
      other.delete(other.object(with: id))
      try other.save()
    }
    return try #require(told)
  }

  private func transactionCount() throws -> Int {
    let request = NSPersistentHistoryChangeRequest.fetchHistory(
      after: nil as NSPersistentHistoryToken?)
    let result = try context.execute(request) as? NSPersistentHistoryResult
    return (result?.result as? [NSPersistentHistoryTransaction])?.count ?? -1
  }

  @Test("It stays registered and readable, is among the deleted ones, and the next save lets go")
  func registered() throws {
    let saved = try deleteElsewhere()
    nonisolated(unsafe) var told: [Set<NSManagedObject>] = []
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
    ) { note in
      if let deleted = note.userInfo?[NSDeletedObjectsKey] as? Set<NSManagedObject> {
        told.append(deleted)
      }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    context.mergeChanges(fromContextDidSave: saved)
    #expect(told == [[item]])
    #expect(item.isDeleted && item.name == "Lamp" && item.managedObjectContext === context)
    #expect(context.deletedObjects == [item] && context.registeredObjects == [item])
    #expect(context.hasChanges && context.insertedObjects.isEmpty)
    #expect(try context.fetch(Item.fetchRequest() as NSFetchRequest<Item>).isEmpty)
    context.mergeChanges(fromContextDidSave: saved)
    #expect(told == [[item]], "it is told once")

    let count = try transactionCount()
    try context.save()
    #expect(!context.hasChanges && item.managedObjectContext == nil && !item.isDeleted)
    #expect(try transactionCount() == count, "the history has the delete already")
  }

  @Test("A context that never saves does not hold what nobody else holds")
  func letGo() throws {
    let ids = try other.performAndWait { [other] in
      let lamps = (0..<40).map { _ in Item(context: other) }
      for lamp in lamps { lamp.name = "Lamp" }
      try other.save()
      return lamps.map(\.objectID)
    }
    for id in ids { try mergeDelete(of: id) }
    #expect(context.registeredObjects == [item])
    #expect(context.deletedObjects.isEmpty && !context.hasChanges)
    context.mergeChanges(fromContextDidSave: try deleteElsewhere())
    #expect(context.deletedObjects == [item])
    try context.save()
    #expect(item.managedObjectContext == nil)
  }

  /// Has an item that others delete, and holds it no longer than that.
  private func mergeDelete(of id: NSManagedObjectID) throws {
    let lamp = try #require(try context.existingObject(with: id) as? Item)
    #expect(lamp.name == "Lamp")
    context.mergeChanges(fromContextDidSave: try deleteElsewhere(id))
    #expect(lamp.isDeleted && context.deletedObjects == [lamp] && context.hasChanges)
  }

  @Test("A fault that others deleted is one too, and reads as empty")
  func fault() throws {
    context.refresh(item, mergeChanges: false)
    context.mergeChanges(fromContextDidSave: try deleteElsewhere())
    #expect(context.deletedObjects == [item] && item.name == nil)
    try context.save()
    #expect(item.managedObjectContext == nil)
  }

  @Test("Unsaved changes do not keep it, and what they made refer to it is saved without it")
  func changed() throws {
    item.name = "Chair"
    let order = Order(context: context)
    order.items = [item]
    context.mergeChanges(fromContextDidSave: try deleteElsewhere())
    #expect(item.isDeleted && context.deletedObjects == [item] && context.updatedObjects == [])
    #expect(order.items.isEmpty)
    try context.save()
    #expect(order.items.isEmpty && item.managedObjectContext == nil)
    #expect(try context.count(for: Item.fetchRequest() as NSFetchRequest<Item>) == 0)
  }

  @Test("A new object that refers to it refers to nothing")
  func cascade() throws {
    let (order, child) = (Order(context: context), Item(context: context))
    child.name = "Bulb"
    try context.save()
    child.order = order
    let id = order.objectID
    nonisolated(unsafe) var told: Notification?
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: other, queue: nil
    ) { told = $0 }
    defer { NotificationCenter.default.removeObserver(token) }
    try other.performAndWait { [other] in
      other.delete(other.object(with: id))
      try other.save()
    }
    context.mergeChanges(fromContextDidSave: try #require(told))
    #expect(order.isDeleted && child.order == nil && !child.isDeleted)
    try context.save()
    #expect(child.order == nil && child.managedObjectContext === context)
  }

  @Test("A rollback gives it up: it is a fault without a row")
  func rollback() throws {
    context.mergeChanges(fromContextDidSave: try deleteElsewhere())
    context.rollback()
    #expect(!item.isDeleted && item.isFault && !context.hasChanges)
    #expect(item.name == nil && item.isDeleted)
  }

  @Test("The IDs of a batch request do it as well")
  func remote() throws {
    let id = item.objectID
    let request = NSBatchDeleteRequest(objectIDs: [id])
    try other.performAndWait { [other] in _ = try other.execute(request) }
    NSManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [NSDeletedObjectsKey: [id]], into: [context])
    #expect(item.isDeleted && context.deletedObjects == [item])
    try context.save()
  }

  @Test("A merge tells of what was changed as updated and as refreshed")
  func updated() throws {
    nonisolated(unsafe) var told: [AnyHashable: Any]?
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidMergeChangesObjectIDs, object: context, queue: nil
    ) { told = $0.userInfo }
    defer { NotificationCenter.default.removeObserver(token) }
    let id = item.objectID
    NSManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [NSUpdatedObjectsKey: [id]], into: [context])
    for key in [NSUpdatedObjectIDsKey, NSRefreshedObjectIDsKey] {
      #expect(told?[key] as? Set<NSManagedObjectID> == [id])
    }
    #expect(told?[NSDeletedObjectIDsKey] == nil)
  }
}
