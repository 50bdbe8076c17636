import CoreData
import TestSupport
import Testing

/// Objects that are gone, for those who still hold them.
struct GoneObjectTests {
  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer
  private let context: NSManagedObjectContext
  private let other: NSManagedObjectContext
  private let item: Item
  private let order: Order

  init() throws {
    folder = try TemporaryDirectory()
    container = try Shop.container(folder)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = container.persistentStoreCoordinator
    other = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    other.persistentStoreCoordinator = container.persistentStoreCoordinator
    (item, order) = (Item(context: context), Order(context: context))
    item.name = "Lamp"
    item.order = order
    try context.save()
  }

  @Test(
    "After the save of its delete an object is a fault in no context, and not deleted any more",
    arguments: [false, true])
  func deleted(undoes: Bool) throws {
    if undoes { context.undoManager = UndoManager() }
    context.delete(item)
    #expect(item.isDeleted && !item.isFault && item.managedObjectContext === context)
    try context.save()
    #expect(item.isFault && !item.isDeleted && item.managedObjectContext == nil)
    #expect(!item.hasChanges && !item.isInserted)
    guard undoes else { return }
    context.undo()
    #expect(item.name == "Lamp" && item.isInserted && !item.isFault)
    try context.save()
    #expect(try other.count(for: Item.fetchRequest() as NSFetchRequest<Item>) == 1)
  }

  @Test(
    "What others deleted takes what refers to it along, and can be referred to no more",
    arguments: [false, true])
  func referredTo(isChild: Bool) throws {
    context.automaticallyMergesChangesFromParent = true
    let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    if isChild { child.parent = context }
    child.automaticallyMergesChangesFromParent = true
    let view = isChild ? child : context
    let own = try #require(try view.existingObject(with: order.objectID) as? Order)
    #expect(own.items.count == 1)
    let new = Item(context: view)
    new.name = "new"
    new.order = own
    other.delete(other.object(with: order.objectID))
    try other.save()
    context.processPendingChanges()
    child.processPendingChanges()
    #expect(own.isDeleted && new.order == nil)
    // A reference to what is known to be deleted is one to nothing that could be saved.
    new.order = own
    var failure: NSError?
    do { try view.save() } catch { failure = error as NSError }
    #expect(failure?.code == NSManagedObjectValidationError)
    #expect(failure?.userInfo[NSValidationKeyErrorKey] as? String == "order")
    new.order = nil
    try view.save()
    if isChild { try context.save() }
    other.refreshAllObjects()
    let left = try other.fetch(Item.fetchRequest() as NSFetchRequest<Item>)
    #expect(left.map(\.name) == ["new"] && left.first?.order == nil)
  }
}
