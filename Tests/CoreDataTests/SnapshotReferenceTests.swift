import CoreData
import TestSupport
import Testing

/// What fetched results hand to a list as a whole.
struct SnapshotReferenceTests {
  private final class Listener: NSFetchedResultsControllerDelegate {
    var snapshots: [NSDiffableDataSourceSnapshotReference] = []

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference
    ) { snapshots.append(snapshot) }
  }

  @Test("A delegate gets the names of sections and the IDs of objects as they are after a change")
  func fetchedResults() throws {
    let folder = try TemporaryDirectory()
    let context = try Shop.container(folder).newBackgroundContext()
    try context.performAndWait {
      let request: NSFetchRequest<Item> = Item.fetchRequest()
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      let results = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "name",
        cacheName: nil)
      let listener = Listener()
      results.delegate = listener
      try results.performFetch()
      let items = ["a", "b", "b"].map { name in
        let item = Item(context: context)
        item.name = name
        return item
      }
      try context.save()
      let snapshot = try #require(listener.snapshots.last)
      #expect(snapshot.sectionIdentifiers as? [String] == ["a", "b"])
      #expect(snapshot.numberOfItems == 3 && snapshot.numberOfItems(inSection: "b") == 2)
      let ids = snapshot.itemIdentifiers as? [NSManagedObjectID]
      #expect(ids.map(Set.init) == Set(items.map(\.objectID)))
      #expect(
        snapshot.sectionIdentifier(forSectionContainingItemIdentifier: items[0].objectID) as? String
          == "a")
      items[0].price = 4
      context.processPendingChanges()
      #expect(
        listener.snapshots.last?.reloadedItemIdentifiers as? [NSManagedObjectID]
          == [items[0].objectID])
      withExtendedLifetime(listener) {}
    }
  }

  @Test("A snapshot is made and changed by hand")
  func byHand() {
    let snapshot = NSDiffableDataSourceSnapshotReference()
    snapshot.appendSections(withIdentifiers: ["x", "y"])
    snapshot.appendItems(withIdentifiers: [1, 2])
    snapshot.appendItems(withIdentifiers: [3], intoSectionWithIdentifier: "x")
    #expect(snapshot.itemIdentifiers as? [Int] == [3, 1, 2] && snapshot.numberOfSections == 2)
    #expect(snapshot.index(ofItemIdentifier: 2) == 2)
    #expect(snapshot.index(ofItemIdentifier: 9) == NSNotFound)
    #expect(snapshot.index(ofSectionIdentifier: "y") == 1)
    snapshot.deleteItems(withIdentifiers: [1])
    snapshot.reloadItems(withIdentifiers: [2])
    #expect(snapshot.itemIdentifiersInSection(withIdentifier: "y") as? [Int] == [2])
    #expect(snapshot.reloadedItemIdentifiers as? [Int] == [2])
    snapshot.deleteSections(withIdentifiers: ["x"])
    #expect(snapshot.sectionIdentifiers as? [String] == ["y"])
    snapshot.deleteAllItems()
    #expect(snapshot.numberOfItems == 0 && snapshot.numberOfSections == 0)
  }

  @Test("Items and sections of a snapshot are put before and behind others")
  func places() {
    let snapshot = NSDiffableDataSourceSnapshotReference()
    snapshot.appendSections(withIdentifiers: ["x", "y"])
    snapshot.appendItems(withIdentifiers: [1, 2], intoSectionWithIdentifier: "x")
    snapshot.appendItems(withIdentifiers: [3], intoSectionWithIdentifier: "y")
    snapshot.insertItems(withIdentifiers: [4, 5], beforeItemWithIdentifier: 2)
    snapshot.insertItems(withIdentifiers: [6], afterItemWithIdentifier: 3)
    #expect(snapshot.itemIdentifiers as? [Int] == [1, 4, 5, 2, 3, 6])
    snapshot.moveItem(withIdentifier: 1, afterItemWithIdentifier: 3)
    snapshot.moveItem(withIdentifier: 2, beforeItemWithIdentifier: 4)
    snapshot.moveItem(withIdentifier: 6, beforeItemWithIdentifier: 6)
    #expect(snapshot.itemIdentifiersInSection(withIdentifier: "x") as? [Int] == [2, 4, 5])
    #expect(snapshot.itemIdentifiersInSection(withIdentifier: "y") as? [Int] == [3, 1, 6])
    snapshot.insertSections(withIdentifiers: ["a"], beforeSectionWithIdentifier: "x")
    snapshot.insertSections(withIdentifiers: ["b"], afterSectionWithIdentifier: "x")
    snapshot.moveSection(withIdentifier: "y", beforeSectionWithIdentifier: "b")
    snapshot.moveSection(withIdentifier: "a", afterSectionWithIdentifier: "b")
    #expect(snapshot.sectionIdentifiers as? [String] == ["x", "y", "b", "a"])
    #expect(snapshot.itemIdentifiers as? [Int] == [2, 4, 5, 3, 1, 6])
    snapshot.reloadSections(withIdentifiers: ["x"])
    snapshot.reconfigureItems(withIdentifiers: [4])
    #expect(snapshot.reloadedSectionIdentifiers as? [String] == ["x"])
    #expect(snapshot.reconfiguredItemIdentifiers as? [Int] == [4])
  }
}
