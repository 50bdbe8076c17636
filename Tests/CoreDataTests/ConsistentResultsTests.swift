import CoreData
import Dispatch
import Synchronization
import TestSupport
import Testing

/// What a controller reports while others save: each report leads from the former list to the present one.
struct ConsistentResultsTests {
  /// Does what a table does with what it is told, and compares.
  private final class Table: NSFetchedResultsControllerDelegate {
    typealias Controller = NSFetchedResultsController<any NSFetchRequestResult>

    struct Section: Equatable {
      var name: String
      var rows: [NSManagedObjectID?]
    }

    var sections: [Section]
    /// Whether the sections are in the order of their names.
    var isSorted = true
    private(set) var reportCount = 0
    private(set) var faults: [String] = []
    private var deletedSections: IndexSet = []
    private var insertedSections: [Int: String] = [:]
    private var deletes: [IndexPath] = []
    private var inserts: [(IndexPath, NSManagedObjectID)] = []
    private var updates: [(IndexPath, NSManagedObjectID)] = []

    init(_ controller: NSFetchedResultsController<Item>) {
      sections = Self.shown(controller.sections)
      check(controller.sections)
    }

    static func shown(_ sections: [any NSFetchedResultsSectionInfo]?) -> [Section] {
      (sections ?? []).map { section in
        Section(
          name: section.name,
          rows: (section.objects ?? []).map { ($0 as? NSManagedObject)?.objectID })
      }
    }

    private func check(_ sections: [any NSFetchedResultsSectionInfo]?) {
      let items = (sections ?? []).map { ($0.name, ($0.objects ?? []).compactMap { $0 as? Item }) }
      for (name, members) in items {
        let keys = members.map { $0.name ?? "" }
        if !keys.allSatisfy({ $0 == name }) { faults.append("section \(name) has \(keys)") }
        let prices = members.map(\.price)
        if prices != prices.sorted() { faults.append("prices of \(name): \(prices)") }
        if prices.contains(where: { $0 >= 50 }) { faults.append("prices \(prices) do not match") }
      }
      let names = items.map(\.0)
      if isSorted && names != names.sorted() || Set(names).count < names.count {
        faults.append("sections \(names)")
      }
    }

    func controllerWillChangeContent(_ controller: Controller) {
      (deletedSections, insertedSections, deletes, inserts, updates) = ([], [:], [], [], [])
    }

    func controller(
      _ controller: Controller, didChange sectionInfo: any NSFetchedResultsSectionInfo,
      atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
    ) {
      if type == .delete {
        let known = sections.indices.contains(sectionIndex) ? sections[sectionIndex].name : nil
        if known != sectionInfo.name { faults.append("deleted \(sectionInfo.name) at another") }
        deletedSections.insert(sectionIndex)
      } else {
        insertedSections[sectionIndex] = sectionInfo.name
      }
    }

    func controller(
      _ controller: Controller, didChange anObject: Any, at indexPath: IndexPath?,
      for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {
      guard let id = (anObject as? NSManagedObject)?.objectID else { return }
      if let indexPath, row(at: indexPath) != id { faults.append("\(type) of another") }
      switch (type, indexPath, newIndexPath) {
      case (.insert, nil, let place?): inserts.append((place, id))
      case (.delete, let origin?, nil): deletes.append(origin)
      case (.move, let origin?, let place?):
        deletes.append(origin)
        inserts.append((place, id))
      case (.update, .some, let place?): updates.append((place, id))
      default: faults.append("\(type) without its places")
      }
    }

    private func row(at path: IndexPath) -> NSManagedObjectID? {
      guard sections.indices.contains(path[0]), sections[path[0]].rows.indices.contains(path[1])
      else { return nil }
      return sections[path[0]].rows[path[1]]
    }

    func controllerDidChangeContent(_ controller: Controller) {
      reportCount += 1
      for path in deletes.sorted(by: >) where row(at: path) != nil {
        sections[path[0]].rows.remove(at: path[1])
      }
      for index in deletedSections.reversed() where sections.indices.contains(index) {
        let left = sections.remove(at: index).rows
        if !left.isEmpty { faults.append("a deleted section keeps \(left.count)") }
      }
      for (index, name) in insertedSections.sorted(by: { $0.key < $1.key }) {
        guard index <= sections.count else { return faults.append("no place for section \(index)") }
        sections.insert(Section(name: name, rows: []), at: index)
      }
      for (path, id) in inserts.sorted(by: { $0.0 < $1.0 }) {
        guard sections.indices.contains(path[0]), path[1] <= sections[path[0]].rows.count else {
          return faults.append("no place \(path)")
        }
        sections[path[0]].rows.insert(id, at: path[1])
      }
      for (path, id) in updates where row(at: path) != id { faults.append("no update at \(path)") }
      let present = Self.shown(controller.sections)
      if sections != present { faults.append("told \(sections), and there is \(present)") }
      check(controller.sections)
      sections = present
    }
  }

  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer
  private static let names = ["a", "b", "c", "d"]

  init() throws {
    folder = try TemporaryDirectory()
    container = try Shop.container(folder)
  }

  private func request() -> NSFetchRequest<Item> {
    let request = NSFetchRequest<Item>(entityName: "Item")
    request.predicate = NSPredicate(format: "price < 50")
    request.sortDescriptors = [
      NSSortDescriptor(key: "name", ascending: true),
      NSSortDescriptor(key: "price", ascending: true),
    ]
    return request
  }

  private func controller(
    _ context: NSManagedObjectContext, section: String? = "name"
  ) -> NSFetchedResultsController<Item> {
    NSFetchedResultsController(
      fetchRequest: request(), managedObjectContext: context, sectionNameKeyPath: section,
      cacheName: nil)
  }

  /// Changes one of the items, makes one or deletes one.
  private static func edit(_ context: NSManagedObjectContext, _ numbers: inout SeededNumbers) throws
  {
    let items = try context.fetch(NSFetchRequest<Item>(entityName: "Item"))
    let name = names[numbers.number(below: names.count)]
    if items.count < 8 || numbers.chance(15) {
      let item = Item(context: context)
      (item.name, item.price) = (name, Int32(numbers.number(below: 60)))
    } else {
      let item = items[numbers.number(below: items.count)]
      if numbers.chance(15) { return context.delete(item) }
      if numbers.chance(60) { item.name = name }
      if numbers.chance(60) { item.price = Int32(numbers.number(below: 60)) }
    }
  }

  @Test(
    "Whatever six contexts save, and when, a table follows what is reported, with automatic merging and without",
    arguments: [true, false])
  func follows(merges: Bool) throws {
    let context = container.newBackgroundContext()
    context.automaticallyMergesChangesFromParent = merges
    context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    var numbers = SeededNumbers(seed: 7)
    let controller = controller(context)
    let table = try context.performAndWait { () throws -> Table in
      for _ in 0..<12 { try Self.edit(context, &numbers) }
      try context.save()
      try controller.performFetch()
      let table = Table(controller)
      controller.delegate = table
      return table
    }
    let left = Mutex(6)
    let failure = Mutex<(any Error)?>(nil)
    let container = container
    let group = DispatchGroup()
    for writer in 0..<6 {
      group.enter()
      // Of a queue's threads those that look below may be all that there are.
      Thread.detachNewThread {
        defer {
          left.withLock { $0 -= 1 }
          group.leave()
        }
        let own = container.newBackgroundContext()
        own.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
        var numbers = SeededNumbers(seed: UInt64(writer) + 100)
        do {
          for _ in 0..<40 {
            try own.performAndWait {
              own.refreshAllObjects()
              for _ in 0...numbers.number(below: 3) { try Self.edit(own, &numbers) }
              try own.save()
            }
          }
        } catch { failure.withLock { $0 = error } }
      }
    }
    repeat {
      try context.performAndWait {
        // Without merging, it looks when something is refreshed, and then most objects are older than their rows.
        let items = controller.fetchedObjects ?? []
        if !merges, !items.isEmpty {
          context.refresh(items[numbers.number(below: items.count)], mergeChanges: true)
        }
        context.processPendingChanges()
        if numbers.chance(10) {
          try controller.performFetch()
          table.sections = Table.shown(controller.sections)
        }
      }
    } while left.withLock { $0 } > 0
    group.wait()
    #expect(failure.withLock { $0 } == nil)
    context.performAndWait {
      context.processPendingChanges()
      #expect(table.faults == [])
      #expect(table.reportCount > 0)
      if merges {
        let shown = Table.shown(controller.sections)
        context.refreshAllObjects()
        context.processPendingChanges()
        #expect(Table.shown(controller.sections) == shown)
      }
      #expect(table.faults == [])
    }
  }

  @Test("Objects that are older than their rows are in the section and the order of what they show")
  func older() throws {
    let (context, other) = (container.newBackgroundContext(), container.newBackgroundContext())
    try context.performAndWait {
      for (name, price) in [("a", 1), ("a", 2), ("b", 3), ("c", 4)] {
        let item = Item(context: context)
        (item.name, item.price) = (name, Int32(price))
      }
      try context.save()
      let controller = controller(context)
      try controller.performFetch()
      let table = Table(controller)
      controller.delegate = table
      let items = try #require(controller.fetchedObjects)
      try other.performAndWait {
        let theirs = try other.fetch(request())
        (theirs[0].name, theirs[1].price, theirs[3].name) = ("d", 0, "b")
        try other.save()
      }
      context.refresh(items[2], mergeChanges: true)
      context.processPendingChanges()
      #expect(table.faults == [] && table.reportCount == 1)
      #expect(controller.sections?.map(\.name) == ["a", "b", "c"])
      try controller.performFetch()
      #expect(controller.sections?.map(\.name) == ["a", "b", "c"])
      for item in items { context.refresh(item, mergeChanges: true) }
      context.processPendingChanges()
      #expect(controller.sections?.map(\.name) == ["a", "b", "d"])
      #expect(table.faults == [])
    }
  }

  @Test("Sections that change places are told of")
  func reordered() throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let items = [("a", 1), ("a", 2), ("b", 3), ("c", 4)].map { name, price in
        let item = Item(context: context)
        (item.name, item.price) = (name, Int32(price))
        return item
      }
      let controller = controller(context)
      controller.fetchRequest.sortDescriptors = [NSSortDescriptor(key: "price", ascending: true)]
      try controller.performFetch()
      let table = Table(controller)
      table.isSorted = false
      controller.delegate = table
      (items[0].price, items[1].price) = (5, 6)
      context.processPendingChanges()
      #expect(controller.sections?.map(\.name) == ["b", "c", "a"])
      items[3].price = 0
      context.processPendingChanges()
      #expect(controller.sections?.map(\.name) == ["c", "b", "a"])
      #expect(table.faults == [] && table.reportCount == 2)
    }
  }

  @Test("A section key that the order does not agree with is 134060, with the reason")
  func wrongSections() throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for (name, price) in [("a", 1), ("b", 2), ("a", 3)] {
        let item = Item(context: context)
        (item.name, item.price) = (name, Int32(price))
        item.setValue(price == 2, forKey: "isSold")
      }
      try context.save()
      let wrong = controller(context)
      wrong.fetchRequest.sortDescriptors = [NSSortDescriptor(key: "price", ascending: true)]
      let error = #expect(throws: (any Error).self) { try wrong.performFetch() }
      let known = error.map { $0 as NSError }
      #expect(known?.domain == NSCocoaErrorDomain && known?.code == NSCoreDataError)
      let text = known?.localizedDescription ?? ""
      #expect(text.contains("name") && text.contains("price"), "\(text)")
      #expect(wrong.sections == nil)
      // One that gives the same order is right.
      let right = controller(context, section: "price")
      right.fetchRequest.sortDescriptors = [NSSortDescriptor(key: "price", ascending: false)]
      try right.performFetch()
      #expect(right.sections?.map(\.name) == ["3", "2", "1"])
    }
  }

  private class Told {
    var told: [String] = []

    func controllerWillChangeContent(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>
    ) { told.append("will") }
    func controllerDidChangeContent(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>
    ) { told.append("did") }
  }

  private final class Notes: Told, NSFetchedResultsControllerDelegate {
    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
      for type: NSFetchedResultsChangeType
    ) { told.append("section") }
    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChange anObject: Any, at indexPath: IndexPath?, for type: NSFetchedResultsChangeType,
      newIndexPath: IndexPath?
    ) { told.append("object") }
  }

  private final class Differences: Told, NSFetchedResultsControllerDelegate {
    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
    ) { told.append("difference \(diff.count)") }
  }

  private final class Snapshots: Told, NSFetchedResultsControllerDelegate {
    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
    ) { told.append("difference") }
    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference
    ) { told.append("snapshot \(snapshot.numberOfItems)") }
  }

  @Test("A delegate that takes snapshots or differences is told in that way alone")
  func precedence() throws {
    let context = container.newBackgroundContext()
    let (notes, differences, snapshots) = (Notes(), Differences(), Snapshots())
    try context.performAndWait {
      let controllers = [controller(context, section: nil), controller(context)]
      for controller in controllers { try controller.performFetch() }
      for delegate in [notes, differences, snapshots] as [any NSFetchedResultsControllerDelegate] {
        for controller in controllers { controller.delegate = delegate }
        let item = Item(context: context)
        (item.name, item.price) = ("a", 1)
        context.processPendingChanges()
        context.delete(item)
        context.processPendingChanges()
      }
    }
    let plain = ["will", "object", "did"]
    let inSections = ["will", "section", "object", "did"]
    #expect(notes.told.sorted() == (plain + plain + inSections + inSections).sorted())
    #expect(
      differences.told.sorted()
        == ["did", "did", "difference 1", "difference 1", "will", "will"])
    #expect(
      snapshots.told.sorted() == ["snapshot 0", "snapshot 0", "snapshot 1", "snapshot 1"])
  }
}
