import CoreData
import Dispatch
import TestSupport
import Testing

/// The main queue ends the events of its contexts by itself.
struct EventEndTests {
  private final class Listener: NSFetchedResultsControllerDelegate {
    var count = 0

    func controllerDidChangeContent(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>
    ) { count += 1 }
  }

  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  /// Lets the main queue do what it was given before.
  @MainActor private func turn() async {
    await withCheckedContinuation { waiting in DispatchQueue.main.async { waiting.resume() } }
  }

  @Test("Fetched results of the view context are told of changes, and of a refresh, once an event")
  @MainActor func viewContext() async throws {
    let context = try Shop.container(folder).viewContext
    let lamp = Item(context: context)
    lamp.name = "Lamp"
    try context.save()
    let request = Item.fetchRequest() as NSFetchRequest<Item>
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let results = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    let listener = Listener()
    results.delegate = listener
    try results.performFetch()

    lamp.price = 2
    Item(context: context).name = "Chair"
    #expect(listener.count == 0)
    await turn()
    #expect(listener.count == 1 && results.fetchedObjects?.map(\.name) == ["Chair", "Lamp"])

    try context.save()
    context.refreshAllObjects()
    await turn()
    #expect(listener.count == 2)
    withExtendedLifetime(listener) {}
  }

  @Test("An event that was ended is not ended again, and one that follows is")
  @MainActor func again() async throws {
    let context = try Shop.container(folder).viewContext
    nonisolated(unsafe) var told = 0  // posted on the main actor
    let observer = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
    ) { _ in told += 1 }
    defer { NotificationCenter.default.removeObserver(observer) }
    let lamp = Item(context: context)
    context.processPendingChanges()
    lamp.name = "Lamp"
    context.processPendingChanges()
    #expect(told == 2)
    await turn()
    #expect(told == 2)
    lamp.name = "Chair"
    await turn()
    #expect(told == 3)
  }
}
