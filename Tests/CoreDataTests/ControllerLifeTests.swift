import CoreData
import TestSupport
import Testing

/// Which controller a delegate is told by, and when it is told nothing.
struct ControllerLifeTests {
  private typealias AnyController = NSFetchedResultsController<any NSFetchRequestResult>

  private final class Listener: NSFetchedResultsControllerDelegate {
    var controllers: [AnyController] = []
    var told: [NSFetchedResultsChangeType] = []

    func controllerWillChangeContent(_ controller: AnyController) { controllers.append(controller) }

    func controller(
      _ controller: AnyController, didChange anObject: Any, at indexPath: IndexPath?,
      for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) { told.append(type) }
  }

  private let context: NSManagedObjectContext
  private let listener = Listener()

  init() throws {
    context = Albums.context(try Albums.coordinator(nil))
    try context.performAndWait { [context] in
      for number in 1...3 { _ = Page(Int32(number), context) }
      try context.save()
    }
  }

  private func controller(
    _ sort: [NSSortDescriptor]? = [NSSortDescriptor(key: "number", ascending: true)]
  ) -> NSFetchedResultsController<Page> {
    let request = NSFetchRequest<Page>(entityName: "Page")
    request.sortDescriptors = sort
    request.predicate = NSPredicate(format: "number > 0")
    return NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil,
      cacheName: "pages")
  }

  @Test("After a reset nothing is told until the next fetch")
  func reset() throws {
    try context.performAndWait {
      let controller = controller()
      controller.delegate = listener
      try controller.performFetch()
      context.reset()
      _ = Page(4, context)
      try context.save()
      #expect(listener.told.isEmpty)
      try controller.performFetch()
      _ = Page(5, context)
      context.processPendingChanges()
      #expect(listener.told == [.insert] && controller.fetchedObjects?.count == 5)
    }
  }

  @Test("No sort descriptors are an order; only nil is refused")
  func unsorted() throws {
    try context.performAndWait {
      let unsorted = controller([])
      try unsorted.performFetch()
      #expect(unsorted.fetchedObjects?.count == 3)
      #expect(throws: CocoaError.self) { try controller(nil).performFetch() }
    }
  }

  @Test("A delegate's controller has the request and the cache's name, and is equal to the other")
  func standing() throws {
    try context.performAndWait {
      let controller = controller()
      controller.delegate = listener
      try controller.performFetch()
      for number in 4...5 {
        _ = Page(Int32(number), context)
        context.processPendingChanges()
      }
      let told = listener.controllers
      #expect(told.count == 2 && told[0] === told[1])
      #expect(told[0] == controller && told[0].hash == controller.hash)
      #expect(told[0] != self.controller())
      #expect(told[0].fetchRequest.entityName == "Page" && told[0].cacheName == "pages")
      #expect(told[0].fetchRequest.predicate == controller.fetchRequest.predicate)
      #expect(told[0].fetchedObjects?.count == 5)
    }
  }

  @Test("A controller of all results is the one that its delegate is told by")
  func ofAll() throws {
    try context.performAndWait {
      let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Page")
      request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil,
        cacheName: nil)
      controller.delegate = listener
      try controller.performFetch()
      _ = Page(4, context)
      context.processPendingChanges()
      #expect(listener.controllers.count == 1 && listener.controllers[0] === controller)
    }
  }

  @Test("Without a delegate nothing is followed")
  func alone() throws {
    try context.performAndWait {
      let controller = controller()
      try controller.performFetch()
      _ = Page(4, context)
      context.processPendingChanges()
      #expect(controller.fetchedObjects?.count == 3)
      controller.delegate = listener
      _ = Page(5, context)
      context.processPendingChanges()
      #expect(listener.told == [.insert, .insert] && controller.fetchedObjects?.count == 5)
      controller.delegate = nil
      _ = Page(6, context)
      context.processPendingChanges()
      #expect(controller.fetchedObjects?.count == 5)
    }
  }
}
