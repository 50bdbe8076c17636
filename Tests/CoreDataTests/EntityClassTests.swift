import CoreData
import TestSupport
import Testing

/// Objects that are made by their entity, and what a list has by its first fetch.
struct EntityClassTests {
  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    context = try Shop.container(folder).newBackgroundContext()
  }

  @Test("init(entity:insertInto:) of NSManagedObject makes an object of the entity's class")
  func ofEntity() throws {
    let entity = try #require(
      context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Item"])
    let made = NSManagedObject(entity: entity, insertInto: context)
    let item = try #require(made as? Item)
    item.name = "Lamp"
    #expect(item.isInserted && item.managedObjectContext === context)
    try context.save()
    #expect(try context.fetch(Item.fetchRequest()).count == 1)

    let loose = NSManagedObject(entity: entity, insertInto: nil)
    #expect(loose is Item && loose.managedObjectContext == nil)
    #expect(Item(entity: entity, insertInto: context).isInserted)
  }

  private final class Screen: NSFetchedResultsControllerDelegate {
    var snapshots: [NSDiffableDataSourceSnapshotReference] = []

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference
    ) { snapshots.append(snapshot) }
  }

  @Test("performFetch() gives the delegate the whole content as a snapshot")
  func firstSnapshot() throws {
    let item = Item(context: context)
    item.name = "Lamp"
    try context.save()
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    let screen = Screen()
    controller.delegate = screen
    try controller.performFetch()
    #expect(screen.snapshots.count == 1)
    #expect(screen.snapshots.first?.itemIdentifiers as? [NSManagedObjectID] == [item.objectID])
  }

  @Test(
    "A store with a file is not made without the file's URL",
    arguments: [NSSQLiteStoreType, NSBinaryStoreType])
  func noURL(type: String) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let error = try #require(
      #expect(throws: CocoaError.self) {
        try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: nil)
      })
    #expect(error.code == .persistentStoreOpen)
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
  }
}
