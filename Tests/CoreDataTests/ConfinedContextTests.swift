import CoreData
import TestSupport
import Testing

#if canImport(Dispatch)
  import Dispatch
#endif

/// A context of its caller's thread, whose objects are let go of on others.
struct ConfinedContextTests {
  @Test("Objects that are let go of on another thread leave the context in order")
  func letGoElsewhere() throws {
    let folder = try TemporaryDirectory()
    let container = try Shop.container(folder)
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = container.persistentStoreCoordinator
    for number in 0..<500 {
      let order = Order(context: context)
      order.setValue(Int64(number), forKey: "number")
    }
    try context.save()
    for _ in 0..<20 {
      let request = NSFetchRequest<Order>(entityName: "Order")
      let held = Box(try context.fetch(request))
      let isGone = DispatchSemaphore(value: 0)
      Thread {
        held.objects = []
        isGone.signal()
      }.start()
      for _ in 0..<40 {
        // Registers objects and lets go of them here, while others go there.
        let some = NSFetchRequest<Order>(entityName: "Order")
        some.predicate = NSPredicate(format: "number < 100")
        #expect(try context.fetch(some).count == 100)
      }
      isGone.wait()
      context.processPendingChanges()
      #expect(context.registeredObjects.isEmpty)
    }
  }

  @Test("What others save is taken in on the context's own thread, whoever saves where")
  func savedElsewhere() throws {
    let folder = try TemporaryDirectory()
    let container = try Shop.container(folder)
    let context = NSManagedObjectContext()
    context.persistentStoreCoordinator = container.persistentStoreCoordinator
    context.automaticallyMergesChangesFromParent = true
    let order = Order(context: context)
    order.setValue(Int64(1), forKey: "number")
    try context.save()
    let id = order.objectID
    func save(_ number: Int64, in other: NSManagedObjectContext) throws {
      try other.existingObject(with: id).setValue(number, forKey: "number")
      try other.save()
    }
    // On another thread: nothing happens to the objects here meanwhile.
    for number in Int64(2)..<20 {
      let isSaved = DispatchSemaphore(value: 0)
      let coordinator = container.persistentStoreCoordinator
      Thread {
        let other = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        other.persistentStoreCoordinator = coordinator
        other.performAndWait {
          other.object(with: id).setValue(number, forKey: "number")
          #expect(throws: Never.self) { try other.save() }
        }
        isSaved.signal()
      }.start()
      isSaved.wait()
      #expect(order.value(forKey: "number") as? Int64 == number - 1)
      context.processPendingChanges()
      #expect(order.value(forKey: "number") as? Int64 == number)
    }
    // On this thread: at once, also after news that came elsewhere and was not looked at.
    let there = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    there.persistentStoreCoordinator = container.persistentStoreCoordinator
    let isSaved = DispatchSemaphore(value: 0)
    Thread {
      there.performAndWait {
        there.object(with: id).setValue(Int64(50), forKey: "number")
        #expect(throws: Never.self) { try there.save() }
      }
      isSaved.signal()
    }.start()
    isSaved.wait()
    let here = NSManagedObjectContext()
    here.persistentStoreCoordinator = container.persistentStoreCoordinator
    try save(51, in: here)
    #expect(order.value(forKey: "number") as? Int64 == 51)
  }

  @Test("Blocks of a coordinator may be in each other, through a context as well")
  func nestedBlocks() throws {
    let folder = try TemporaryDirectory()
    let container = try Shop.container(folder)
    let coordinator = container.persistentStoreCoordinator
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let value = coordinator.performAndWait {
      context.performAndWait { coordinator.performAndWait { 7 } }
    }
    #expect(value == 7)
  }
}

/// Hands objects to another thread, as old code does.
private final class Box: @unchecked Sendable {  // one thread at a time has the objects
  var objects: [Order]
  init(_ objects: [Order]) { self.objects = objects }
}
