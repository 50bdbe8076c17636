import CoreData
import Synchronization
import TestSupport
import Testing

/// Notes what it is told.
final class ToldPerson: NSManagedObject {
  let told = Mutex<[String]>([])

  override func didSave() {
    super.didSave()
    told.withLock { $0.append(isDeleted ? "deleted" : "saved") }
  }
}

/// What objects say of themselves as they are saved, deleted and found to be gone.
struct ToldObjectTests {
  private let container: NSPersistentContainer
  private let folder: TemporaryDirectory

  init() throws {
    folder = try TemporaryDirectory()
    let model = Shop.person("name")
    model.entitiesByName["Person"]?.managedObjectClassName = NSStringFromClass(ToldPerson.self)
    container = NSPersistentContainer(name: "told", managedObjectModel: model)
    container.persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: folder.file("told.sqlite"))
    ]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
  }

  @Test("didSave() tells a delete from another save by isDeleted, in a child as well")
  func deletes() throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let (one, other) = (ToldPerson(context: context), ToldPerson(context: context))
      try context.save()
      one.setValue("new", forKey: "name")
      context.delete(one)
      try context.save()
      #expect(one.told.withLock { $0 } == ["saved", "deleted"])
      #expect(!one.isDeleted && one.managedObjectContext == nil)

      let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      child.parent = context
      let id = other.objectID
      try child.performAndWait {
        let mine = try #require(try child.existingObject(with: id) as? ToldPerson)
        child.delete(mine)
        try child.save()
        #expect(mine.told.withLock { $0 } == ["deleted"] && !mine.isDeleted)
      }
      #expect(other.isDeleted)
      try context.save()
      #expect(other.told.withLock { $0 } == ["saved", "deleted"] && !other.isDeleted)
    }
  }

  @Test("A fault whose row existingObject(with:) did not find is found to be gone by who reads it")
  func missing() throws {
    let (context, other) = (container.newBackgroundContext(), container.newBackgroundContext())
    try context.performAndWait {
      let object = ToldPerson(context: context)
      object.setValue("n", forKey: "name")
      try context.save()
      context.refresh(object, mergeChanges: false)
      let id = object.objectID
      try other.performAndWait {
        other.delete(try other.existingObject(with: id))
        try other.save()
      }
      for _ in 0..<2 {
        let error = #expect(throws: CocoaError.self) { try context.existingObject(with: id) }
        #expect(error?.code == .managedObjectReferentialIntegrity)
        #expect(object.isFault && !object.isDeleted)
      }
      #expect(object.value(forKey: "name") == nil)
      #expect(object.isDeleted && context.deletedObjects == [object])
      try context.save()
    }
  }

  @Test("A fault of a child whose row a prefetch did not find is found to be gone by who reads it")
  func prefetched() throws {
    let shop = try Shop.container(folder)
    let (context, other) = (shop.newBackgroundContext(), shop.newBackgroundContext())
    try context.performAndWait {
      let (item, order) = (Item(context: context), Order(context: context))
      item.name = "a"
      item.order = order
      try context.save()
      let (itemID, orderID) = (item.objectID, order.objectID)
      let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      child.parent = context
      try child.performAndWait {
        let owner = try child.existingObject(with: orderID)
        let member = child.object(with: itemID)
        #expect(owner.objectIDs(forRelationshipNamed: "items") == [itemID])
        context.refreshAllObjects()
        try other.performAndWait {
          other.delete(try other.existingObject(with: itemID))
          try other.save()
        }
        let request = NSFetchRequest<NSManagedObject>(entityName: "Order")
        request.relationshipKeyPathsForPrefetching = ["items"]
        _ = try child.fetch(request)
        #expect(member.isFault && !member.isDeleted)
        #expect(member.value(forKey: "name") == nil && member.isDeleted)
        withExtendedLifetime(owner) {}
      }
    }
  }
}
