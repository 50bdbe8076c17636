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
}

/// Hands objects to another thread, as old code does.
private final class Box: @unchecked Sendable {  // one thread at a time has the objects
  var objects: [Order]
  init(_ objects: [Order]) { self.objects = objects }
}
