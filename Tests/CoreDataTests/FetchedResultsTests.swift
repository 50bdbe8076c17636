import CoreData
import TestSupport
import Testing

/// A controller of fetched results tells its delegate what changed, where, and in which order.
struct FetchedResultsTests {
  private final class Listener: NSFetchedResultsControllerDelegate {
    var told: [String] = []
    var sectionCounts: [Int] = []

    func controllerWillChangeContent(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>
    ) { told.append("will") }

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
      for type: NSFetchedResultsChangeType
    ) {
      told.append("section \(type) \(sectionInfo.name) \(sectionIndex)")
      sectionCounts.append(sectionInfo.numberOfObjects)
    }

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChange anObject: Any, at indexPath: IndexPath?, for type: NSFetchedResultsChangeType,
      newIndexPath: IndexPath?
    ) {
      let name = (anObject as? Item)?.name ?? ""
      let places = [indexPath, newIndexPath].map { $0.map { "\($0.section).\($0.row)" } ?? "-" }
      told.append("\(type) \(name) \(places.joined(separator: " "))")
    }

    func controllerDidChangeContent(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>
    ) { told.append("did \(controller.fetchedObjects?.count ?? -1)") }

    func take() -> [String] {
      defer { told = [] }
      return told
    }
  }

  private final class Differences: NSFetchedResultsControllerDelegate {
    var difference: CollectionDifference<NSManagedObjectID>?

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
    ) { difference = diff }
  }

  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    context = try Shop.container(folder).newBackgroundContext()
  }

  private func item(_ name: String, _ price: Int32) -> Item {
    let item = Item(context: context)
    item.name = name
    item.price = price
    return item
  }

  private func controller(_ keyPath: String?) throws -> NSFetchedResultsController<Item> {
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    request.sortDescriptors = [
      NSSortDescriptor(key: "price", ascending: true),
      NSSortDescriptor(key: "name", ascending: true),
    ]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: keyPath,
      cacheName: "cache")
    #expect(controller.fetchedObjects == nil && controller.sections == nil)
    try controller.performFetch()
    return controller
  }

  @Test("Inserts, updates, moves and deletes, unsaved ones too")
  func rows() throws {
    try context.performAndWait {
      let (a, b) = (item("a", 1), item("b", 2))
      try context.save()
      let (other, differences) = (try controller(nil), Differences())
      other.delegate = differences
      let controller = try controller(nil)
      let listener = Listener()
      controller.delegate = listener
      #expect(controller.fetchedObjects == [a, b] && controller.object(at: [0, 1]) == b)
      #expect(controller.sections?.first?.numberOfObjects == 2)
      #expect(controller.indexPath(forObject: b) == IndexPath(row: 1, section: 0))

      let c = item("c", 3)
      context.processPendingChanges()
      #expect(listener.take() == ["will", "insert c - 0.2", "did 3"])
      #expect(differences.difference?.insertions.count == 1)
      b.setValue(2.5, forKey: "weight")
      context.processPendingChanges()
      #expect(listener.take() == ["will", "update b 0.1 0.1", "did 3"])
      a.price = 9
      context.processPendingChanges()
      #expect(controller.fetchedObjects == [b, c, a])
      #expect(listener.take() == ["will", "move a 0.0 0.2", "did 3"])
      try context.save()
      _ = listener.take()
      context.delete(c)
      context.processPendingChanges()
      #expect(listener.take().contains("delete c 0.1 -"))
      #expect(controller.fetchedObjects == [b, a])
    }
  }

  @Test("Sections come and go, and have letters")
  func sections() throws {
    try context.performAndWait {
      let a = item("a", 1)
      _ = item("b", 2)
      let controller = try controller("price")
      let listener = Listener()
      controller.delegate = listener
      #expect(controller.sections?.map(\.name) == ["1", "2"])
      #expect(controller.sectionIndexTitles == ["1", "2"])
      #expect(controller.section(forSectionIndexTitle: "2", at: 0) == 1)
      a.price = 3
      context.processPendingChanges()
      #expect(
        listener.take() == [
          "will", "section delete 1 0", "section insert 3 1", "move a 0.0 1.0", "did 2",
        ])
      // A section that went has nothing any more.
      #expect(listener.sectionCounts == [0, 1])
    }
  }

  @Test("A request whose sort descriptors were never set is refused")
  func unsorted() throws {
    let controller = NSFetchedResultsController(
      fetchRequest: Item.fetchRequest() as NSFetchRequest<Item>, managedObjectContext: context,
      sectionNameKeyPath: nil, cacheName: nil)
    #expect(throws: CocoaError.self) { try controller.performFetch() }
  }

  @Test("Many objects that come at once are told, too", .timeLimit(.minutes(3)))
  func many() throws {
    try context.performAndWait {
      let (controller, listener) = (try controller(nil), Differences())
      controller.delegate = listener
      for number in 0..<20_000 { _ = item("i\(number)", Int32(number)) }
      context.processPendingChanges()
      #expect(listener.difference?.insertions.count == 20_000)
    }
  }
}
