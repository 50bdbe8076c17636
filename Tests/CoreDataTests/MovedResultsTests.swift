import CoreData
import TestSupport
import Testing

/// Which object a controller of fetched results tells as moved: the one that changed.
struct MovedResultsTests {
  private final class Listener: NSFetchedResultsControllerDelegate {
    var told: [String] = []

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChange anObject: Any, at indexPath: IndexPath?, for type: NSFetchedResultsChangeType,
      newIndexPath: IndexPath?
    ) {
      let name = (anObject as? Item)?.name ?? ""
      let places = [indexPath, newIndexPath].map { $0.map { "\($0[1])" } ?? "-" }
      told.append("\(type) \(name) \(places.joined(separator: " "))")
    }

    func take() -> [String] {
      defer { told = [] }
      return told
    }
  }

  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    context = try Shop.container(folder).newBackgroundContext()
  }

  private func item(_ name: String) -> Item {
    let item = Item(context: context)
    item.name = name
    return item
  }

  private func controller(_ listener: Listener) throws -> NSFetchedResultsController<Item> {
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    controller.delegate = listener
    try controller.performFetch()
    return controller
  }

  @Test("The renamed object moves, wherever it goes, and nobody else is told")
  func renamed() throws {
    try context.performAndWait {
      let (a, b, c) = (item("Aaa"), item("Bbb"), item("Ccc"))
      try context.save()
      let listener = Listener()
      let controller = try controller(listener)
      func told() -> [String] {
        context.processPendingChanges()
        return listener.take()
      }
      b.name = "Zzz"
      #expect(told() == ["move Zzz 1 2"])
      b.name = "Bbb"
      #expect(told() == ["move Bbb 2 1"])
      c.name = "Aba"
      #expect(told() == ["move Aba 2 1"])
      a.name = "Aca"
      #expect(told() == ["move Aca 0 1"])
      // Of two that changed and turned about, one moves.
      (a.name, c.name) = ("Aba", "Aca")
      let types = told().map { $0.prefix { $0 != " " } }
      #expect(types.sorted() == ["move", "update"])
      // Changed, and where it was among the others.
      c.name = "Acb"
      #expect(told() == ["update Acb 1 1"])
      #expect(controller.fetchedObjects == [a, c, b])
    }
  }

  @Test("Whatever is renamed, only what changed moves or is updated")
  func random() throws {
    try context.performAndWait {
      let items = (0..<30).map { item("\(100 + $0)") }
      try context.save()
      let listener = Listener()
      let controller = try controller(listener)
      var generator = SystemRandomNumberGenerator()
      for _ in 0..<60 {
        var names: Set<String> = []
        for item in items.shuffled(using: &generator).prefix(Int.random(in: 1...6)) {
          let name = "\(Int.random(in: 100..<400))-\(UUID().uuidString.prefix(4))"
          item.name = name
          names.insert(name)
        }
        context.processPendingChanges()
        let told = listener.take()
        #expect(Set(told.map { String($0.split(separator: " ")[1]) }) == names)
        #expect(controller.fetchedObjects?.map(\.name) == items.map(\.name).sorted { $0! < $1! })
      }
    }
  }
}
