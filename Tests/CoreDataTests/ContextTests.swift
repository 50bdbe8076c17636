import CoreData
import TestSupport
import Testing

/// Contexts: queues, parents, merges, notifications, undo.
struct ContextTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  @Test("Work of a private queue runs there, in order, and gives values and errors")
  func perform() async throws {
    struct Refusal: Error, Equatable {}
    let context = try Shop.container(folder).newBackgroundContext()
    #expect(context.concurrencyType == .privateQueueConcurrencyType)
    let id = try await context.perform {
      let item = Item(context: context)
      item.name = "Lamp"
      try context.save()
      return item.objectID
    }
    let name = await context.perform { context.object(with: id).value(forKey: "name") as? String }
    #expect(name == "Lamp")
    await #expect(throws: Refusal.self) { try await context.perform { throw Refusal() } }
    let count = try await context.perform(schedule: .enqueued) {
      try context.count(for: Item.fetchRequest() as NSFetchRequest<Item>)
    }
    #expect(count == 1)
    let nested = context.performAndWait { context.performAndWait { 7 } }
    #expect(nested == 7)
    await withCheckedContinuation { continuation in
      context.perform { continuation.resume() }
    }
  }

  @Test("A background task has a context of its own")
  func backgroundTask() async throws {
    let container = try Shop.container(folder)
    let id = try await container.performBackgroundTask { context in
      let item = Item(context: context)
      item.name = "Lamp"
      try context.save()
      return item.objectID
    }
    let main = container.viewContext
    let found = try await main.perform { try main.existingObject(with: id).value(forKey: "name") }
    #expect(found as? String == "Lamp")
    #expect(main === container.viewContext)
    #expect(main.concurrencyType == .mainQueueConcurrencyType)
  }

  @Test("A fetch request is executed in the context of the block")
  func execute() throws {
    let context = try Shop.container(folder).newBackgroundContext()
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      let names = try request.execute().map(\.name)
      #expect(names == ["Lamp"])
    }
    #expect(throws: CocoaError.self) { try request.execute() }
  }

  @Test("A child sees its parent's unsaved objects, and its save is the parent's change")
  func child() throws {
    let container = try Shop.container(folder)
    let parent = container.newBackgroundContext()
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    #expect(child.persistentStoreCoordinator == nil)
    child.parent = parent
    #expect(child.parent === parent)
    try parent.performAndWait {
      let item = Item(context: parent)
      item.name = "Lamp"
      try child.performAndWait {
        let same = try #require(try child.fetch(Item.fetchRequest() as NSFetchRequest<Item>).first)
        #expect(same !== item && same.name == "Lamp")
        same.name = "Chair"
        try child.save()
      }
      #expect(item.name == "Chair" && parent.hasChanges)
      try parent.save()
    }
    let other = try Shop.container(folder).newBackgroundContext()
    try other.performAndWait {
      let names = try other.fetch(Item.fetchRequest() as NSFetchRequest<Item>).map(\.name)
      #expect(names == ["Chair"])
    }
  }

  @Test("What one context saves another merges from the notification, and refreshes")
  func merging() throws {
    let container = try Shop.container(folder)
    let one = container.newBackgroundContext()
    let two = container.newBackgroundContext()
    let id = try one.performAndWait {
      let item = Item(context: one)
      item.name = "Lamp"
      try one.save()
      return item.objectID
    }
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: one, queue: nil
    ) { two.mergeChanges(fromContextDidSave: $0) }
    defer { NotificationCenter.default.removeObserver(token) }
    try two.performAndWait {
      let item = try #require(try two.existingObject(with: id) as? Item)
      try one.performAndWait {
        (one.object(with: id) as? Item)?.name = "Chair"
        try one.save()
      }
      #expect(item.name == "Chair")
      try one.performAndWait {
        one.delete(one.object(with: id))
        try one.save()
      }
      #expect(item.isDeleted && item.managedObjectContext === two)
      try two.save()
      #expect(item.managedObjectContext == nil)
    }
  }

  @Test("A context that merges by itself takes over what others save, on its queue")
  func automaticMerge() async throws {
    let container = try Shop.container(folder)
    let one = container.newBackgroundContext()
    let two = container.newBackgroundContext()
    two.automaticallyMergesChangesFromParent = true
    let id = try await one.perform {
      let item = Item(context: one)
      item.name = "Lamp"
      try one.save()
      return item.objectID
    }
    nonisolated(unsafe) var held: NSManagedObject?
    await two.perform { held = two.object(with: id) }
    let before = await two.perform { held?.value(forKey: "name") as? String }
    #expect(before == "Lamp")
    try await one.perform {
      one.object(with: id).setValue("Chair", forKey: "name")
      try one.save()
    }
    let after = await two.perform { held?.value(forKey: "name") as? String }
    #expect(after == "Chair")
    await two.perform { held = nil }
  }

  @Test("Notifications have Core Data's names, the context as their object, and sets")
  func notifications() throws {
    let context = try Shop.container(folder).newBackgroundContext()
    nonisolated(unsafe) var told: [Notification] = []
    let names: [Notification.Name] = [
      .NSManagedObjectContextObjectsDidChange, .NSManagedObjectContextWillSave,
      .NSManagedObjectContextDidSave, .NSManagedObjectContextDidSaveObjectIDs,
    ]
    let tokens = names.map {
      NotificationCenter.default.addObserver(forName: $0, object: context, queue: nil) {
        told.append($0)
      }
    }
    defer { tokens.forEach(NotificationCenter.default.removeObserver) }
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      try context.save()
      #expect(told.map(\.name) == names)
      for notification in [told[0], told[2]] {
        #expect(notification.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject> == [item])
      }
      let ids = told[3].userInfo?[NSInsertedObjectIDsKey] as? Set<NSManagedObjectID>
      #expect(ids == [item.objectID])
      context.reset()
    }
  }

  @Test("Undo, rollback and refresh give changes up")
  func undo() throws {
    let context = try Shop.container(folder).newBackgroundContext()
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      try context.save()
      context.undoManager = UndoManager()
      item.name = "Chair"
      context.processPendingChanges()
      context.undo()
      #expect(item.name == "Lamp")
      context.redo()
      #expect(item.name == "Chair")
      context.rollback()
      #expect(item.name == "Lamp" && !context.hasChanges)
      item.name = "Table"
      context.refresh(item, mergeChanges: false)
      #expect(item.isFault && item.name == "Lamp")
    }
  }

  @Test("IDs: permanent ones before the save, URIs, what is registered, what is gone")
  func ids() throws {
    let container = try Shop.container(folder)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      try context.obtainPermanentIDs(for: [item])
      let id = item.objectID
      #expect(!id.isTemporaryID && context.registeredObject(for: id) === item)
      try context.save()
      let uri = id.uriRepresentation()
      #expect(container.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri) == id)
      #expect(
        container.persistentStoreCoordinator.managedObjectID(for: uri.absoluteString) == id)
      #expect(id.persistentStore === container.persistentStoreCoordinator.persistentStores[0])
      context.delete(item)
      try context.save()
      let error = #expect(throws: (any Error).self) { try context.existingObject(with: id) }
      #expect((error as NSError?)?.code == NSManagedObjectReferentialIntegrityError)
    }
  }

  @Test("A private child of the view context works on its own queue and shows there when saved")
  func privateChild() async throws {
    let container = try Shop.container(folder)
    let main = container.viewContext
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = main
    child.automaticallyMergesChangesFromParent = true
    let id = try await main.perform {
      let item = Item(context: main)
      item.name = "Lamp"
      try main.save()
      item.name = "unsaved"
      return item.objectID
    }
    let isMain = try await child.perform {
      let item = try #require(try child.existingObject(with: id) as? Item)
      #expect(item.name == "unsaved")
      item.name = "Chair"
      try child.save()
      return Thread.isMainThread
    }
    #expect(!isMain)
    let name = await main.perform { main.object(with: id).value(forKey: "name") as? String }
    #expect(name == "Chair")
    await main.perform {
      let name = child.performAndWait { child.object(with: id).value(forKey: "name") as? String }
      #expect(name == "Chair")
    }
    try await main.perform { try main.save() }
  }

  @Test("An object is made in no context and inserted later")
  func looseObject() throws {
    let context = try Shop.container(folder).newBackgroundContext()
    try context.performAndWait {
      let entity = try #require(NSEntityDescription.entity(forEntityName: "Item", in: context))
      let item = Item(entity: entity, insertInto: nil)
      item.name = "Lamp"
      #expect(item.managedObjectContext == nil && item.name == "Lamp" && !item.isInserted)
      context.insert(item)
      #expect(item.managedObjectContext === context && context.insertedObjects == [item])
      try context.save()
      context.insert(item)
      #expect(!context.hasChanges)
      let names = try context.fetch(Item.fetchRequest() as NSFetchRequest<Item>).map(\.name)
      #expect(names == ["Lamp"])
    }
  }
}
