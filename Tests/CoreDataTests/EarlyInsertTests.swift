import CoreData
import TestSupport
import Testing

/// Objects that are made before the coordinator has a store.
struct EarlyInsertTests {
  private let folder: TemporaryDirectory
  private let coordinator: NSPersistentStoreCoordinator
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  private func code(_ body: () throws -> Void) -> Int? {
    do {
      try body()
      return nil
    } catch { return (error as NSError).code }
  }

  @Test(
    "Objects are made, related, undone and deleted before there is a store; a save throws until there is one"
  )
  func waits() throws {
    let entity = try #require(coordinator.managedObjectModel.entitiesByName["Item"])
    let item = Item(entity: entity, insertInto: context)
    item.name = "Lamp"
    let order = Order(context: context)
    item.order = order
    #expect(order.items == [item])
    #expect(item.isInserted && item.objectID.isTemporaryID)
    #expect(context.insertedObjects == [item, order])
    let doomed = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
    context.delete(doomed)
    let id = item.objectID
    #expect(context.object(with: id) === item)
    #expect(code { try context.save() } != nil)
    #expect(code { _ = try context.fetch(Item.fetchRequest()) } != nil)
    #expect(code { try context.obtainPermanentIDs(for: [item]) } != nil)
    #expect(item.name == "Lamp" && context.hasChanges)
    let store = try coordinator.addPersistentStore(
      type: .sqlite, at: folder.file("Shop.sqlite"), options: nil)
    #expect(try context.fetch(Item.fetchRequest()) == [item])
    try context.save()
    #expect(!item.objectID.isTemporaryID && item.objectID.persistentStore === store)
    #expect(context.object(with: id) === item)
    context.reset()
    let saved = try #require(try context.fetch(Item.fetchRequest()).first)
    #expect(saved.name == "Lamp" && saved.order?.items == [saved])
  }

  @Test("In a file whose entities have other numbers, early objects keep their relationships")
  func numbers() throws {
    // Item and Order have the numbers 1 and 2 in the file, and 2 and 3 in a fresh one with Cart.
    let url = folder.file("Old.sqlite")
    let old = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let store = try old.addPersistentStore(type: .sqlite, at: url, options: nil)
    try old.remove(store)
    let model = Shop.model()
    let cart = NSEntityDescription()
    cart.name = "Cart"
    cart.properties = [Shop.attribute("label", .stringAttributeType)]
    model.entities += [cart]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    context.persistentStoreCoordinator = coordinator
    context.undoManager = UndoManager()
    let (item, order) = (Item(context: context), Order(context: context))
    item.name = "Lamp"
    item.order = order
    context.processPendingChanges()
    item.order = nil
    context.processPendingChanges()
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true,
        NSInferMappingModelAutomaticallyOption: true,
      ])
    context.undo()
    #expect(item.order === order && order.items == [item])
    try context.save()
    context.reset()
    let saved = try #require(try context.fetch(Item.fetchRequest()).first)
    #expect(saved.order?.items == [saved])
  }

  @Test("A child's objects go to its parent before there is a store")
  func children() throws {
    let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    child.parent = context
    let item = Item(context: child)
    item.name = "Lamp"
    item.order = Order(context: child)
    try child.save()
    #expect(context.insertedObjects.count == 2)
    try coordinator.addPersistentStore(type: .sqlite, at: folder.file("Shop.sqlite"), options: nil)
    #expect(item.order?.items == [item])
    try context.save()
    #expect(try child.fetch(Item.fetchRequest()) == [item])
  }

  @Test("An object waits in a context without a coordinator, and for a store that has its entity")
  func nowhere() throws {
    let lone = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    let entity = try #require(coordinator.managedObjectModel.entitiesByName["Item"])
    let item = Item(entity: entity, insertInto: lone)
    item.name = "Lamp"
    #expect(lone.insertedObjects == [item] && code { try lone.save() } != nil)

    let model = Shop.model()
    let cart = NSEntityDescription()
    cart.name = "Cart"
    cart.properties = [Shop.attribute("label", .stringAttributeType)]
    model.entities += [cart]
    model.setEntities([cart], forConfigurationName: "Carts")
    let other = NSPersistentStoreCoordinator(managedObjectModel: model)
    context.persistentStoreCoordinator = other
    let early = Item(context: context)
    early.name = "Lamp"
    NSEntityDescription.insertNewObject(forEntityName: "Cart", into: context)
      .setValue("a", forKey: "label")
    try other.addPersistentStore(
      type: .sqlite, configuration: "Carts", at: folder.file("Carts.sqlite"), options: nil)
    #expect(code { try context.save() } != nil)
    #expect(early.name == "Lamp" && context.insertedObjects.count == 2)
    try other.addPersistentStore(type: .sqlite, at: folder.file("All.sqlite"), options: nil)
    try context.save()
    #expect(try context.count(for: Item.fetchRequest()) == 1)
  }

  private func addStore() throws {
    try coordinator.addPersistentStore(type: .sqlite, at: folder.file("Shop.sqlite"), options: nil)
  }

  @Test(
    "What goes before there is a store comes back with undo and redo, with one and without",
    arguments: [true, false])
  func takenBack(storeComesBefore: Bool) throws {
    context.undoManager = UndoManager()
    let (item, refreshed, order) = (
      Item(context: context), Item(context: context), Order(context: context)
    )
    item.name = "Lamp"
    item.order = order
    refreshed.name = "Vase"
    context.processPendingChanges()
    context.delete(item)
    context.processPendingChanges()
    context.refresh(refreshed, mergeChanges: false)
    if storeComesBefore { try addStore() }
    context.undo()
    #expect(context.insertedObjects == [refreshed, order])
    context.undo()
    #expect(context.insertedObjects == [item, refreshed, order])
    context.undo()
    #expect(!context.hasChanges)
    context.redo()
    #expect(context.insertedObjects == [item, refreshed, order])
    #expect(item.order === order && order.items == [item])
    if !storeComesBefore { try addStore() }
    try context.save()
    context.reset()
    let names = try context.fetch(Item.fetchRequest()).map(\.name)
    #expect(Set(names) == ["Lamp", "Vase"])
    #expect(try context.fetch(NSFetchRequest<Order>(entityName: "Order")).first?.items.count == 1)
  }

  @Test("Objects of a context without a coordinator are of that which it gets, or of its parent's")
  func carried() throws {
    let entities = coordinator.managedObjectModel.entitiesByName
    for isChild in [false, true] {
      let lone = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      let item = Item(entity: try #require(entities["Item"]), insertInto: lone)
      let order = Order(entity: try #require(entities["Order"]), insertInto: lone)
      item.name = "Lamp"
      item.order = order
      let id = item.objectID
      if isChild {
        lone.parent = context
      } else {
        try addStore()
        lone.persistentStoreCoordinator = coordinator
      }
      #expect(lone.insertedObjects == [item, order] && item.managedObjectContext === lone)
      #expect(item.order === order && order.items == [item] && lone.object(with: id) === item)
      try lone.save()
      if isChild { try context.save() }
      #expect(!lone.hasChanges && !item.isInserted)
    }
    let saved = try context.fetch(Item.fetchRequest())
    #expect(saved.count == 2 && saved.allSatisfy { $0.order?.items == [$0] })
  }

  @Test(
    "What accessors of a context without a coordinator could not do is an error of its next save")
  func carriedErrors() throws {
    let lone = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    let item = Item(
      entity: try #require(coordinator.managedObjectModel.entitiesByName["Item"]), insertInto: lone)
    item.setValue("much", forKey: "price")
    try addStore()
    lone.persistentStoreCoordinator = coordinator
    #expect(code { try lone.save() } != nil)
    #expect(item.isInserted)
  }

  @Test("An object that the coordinator's model does not have is an error of the next save")
  func notCarried() throws {
    let lone = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    let item = Item(
      entity: try #require(coordinator.managedObjectModel.entitiesByName["Item"]), insertInto: lone)
    let cart = NSEntityDescription()
    cart.name = "Cart"
    cart.properties = [Shop.attribute("label", .stringAttributeType)]
    let model = NSManagedObjectModel()
    model.entities = [cart]
    lone.persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try lone.persistentStoreCoordinator?.addPersistentStore(
      type: .sqlite, at: folder.file("Carts.sqlite"), options: nil)
    #expect(code { try lone.save() } != nil)
    #expect(item.managedObjectContext == nil && !lone.hasChanges)
  }

  @Test("A child's fault has its values once a store has come")
  func childFault() throws {
    let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    child.parent = context
    let item = Item(context: child)
    item.name = "Lamp"
    try child.save()
    child.refresh(item, mergeChanges: false)
    try addStore()
    #expect(item.isFault && item.name == "Lamp")
  }
}
