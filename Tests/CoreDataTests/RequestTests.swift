import CoreData
import TestSupport
import Testing

/// Requests, locks, options and entities that applications name.
struct RequestTests {
  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    container = try Shop.container(folder)
    context = container.newBackgroundContext()
  }

  private func item(_ name: String) -> Item {
    let item = Item(context: context)
    item.name = name
    return item
  }

  @Test("A request is one of another kind with the same content, where Apple's systems cast it")
  func cast() throws {
    try context.performAndWait {
      _ = item("Lamp")
      _ = item("Chair")
      try context.save()
      let request = NSFetchRequest<Item>(entityName: "Item")
      request.predicate = NSPredicate(format: "name == 'Lamp'")
      request.affectedStores = container.persistentStoreCoordinator.persistentStores
      let other = request.cast(to: NSFetchRequest<any NSFetchRequestResult>.self)
      #expect(other.affectedStores?.count == 1)
      try context.execute(NSBatchDeleteRequest(fetchRequest: other))
      let left = NSFetchRequest<NSManagedObject>(entityName: "Item").cast(
        to: NSFetchRequest<Item>.self)
      #expect(try context.fetch(left).map(\.name) == ["Chair"])
      #expect(request.cast(to: NSFetchRequest<Item>.self) === request)
    }
  }

  @Test("The request of a class that declares none of its own needs no type where it is asked for")
  func untyped() throws {
    try context.performAndWait {
      let order = Order(context: context)
      order.setValue(3, forKey: "number")
      let request = Order.fetchRequest()
      request.predicate = NSPredicate(format: "number == 3")
      let found = try context.fetch(request)
      #expect(found.first as? Order == order)
      let kind: NSManagedObject.Type = Order.self
      let dynamic = kind.fetchRequest()
      #expect(dynamic.entityName == "Order")
      // The one that a class declares goes before.
      let own = Item.fetchRequest()
      #expect(type(of: own) == NSFetchRequest<Item>.self)
    }
  }

  @Test("A new object has no committed values, and a required relationship to many may be empty")
  func newObject() throws {
    let model = Shop.model()
    model.entitiesByName["Order"]?.relationshipsByName["items"]?.isOptional = false
    let container = NSPersistentContainer(name: "required", managedObjectModel: model)
    container.persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: folder.file("required.sqlite"))
    ]
    container.loadPersistentStores { _, error in #expect(error == nil) }
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let order = Order(context: context)
      order.setValue(1, forKey: "number")
      #expect(order.committedValues(forKeys: ["number"]).isEmpty)
      try context.save()
      #expect(order.committedValues(forKeys: nil)["number"] as? Int == 1)
    }
  }

  @Test("A request of a save names its objects, and the coordinator carries it out")
  func saveRequest() throws {
    try context.performAndWait {
      let lamp = item("Lamp")
      let request = NSSaveChangesRequest(
        inserted: [lamp], updated: nil, deleted: [], locked: nil)
      #expect(request.requestType == .saveRequestType && request.insertedObjects == [lamp])
      #expect(request.updatedObjects == nil && request.deletedObjects == [])
      #expect(request.lockedObjects == nil)
      let coordinator = container.persistentStoreCoordinator
      let error = #expect(throws: CocoaError.self) { try context.execute(request) }
      #expect(error?.code == .persistentStoreUnsupportedRequestType)
      #expect(lamp.isInserted)
      let saved = try coordinator.execute(request, with: context) as? [Any]
      #expect(saved?.isEmpty == true && !lamp.isInserted && !context.hasChanges)
    }
  }

  @Test("Contexts and coordinators have a lock that one thread takes several times")
  func locks() async {
    let coordinator = container.persistentStoreCoordinator
    coordinator.name = "Shop"
    #expect(coordinator.name == "Shop")
    context.lock()
    coordinator.lock()
    #expect(context.withLock { coordinator.withLock { 7 } } == 7)
    #expect(context.tryLock() && coordinator.tryLock())
    nonisolated(unsafe) let locks: [any NSLocking] = [context, coordinator]
    let isFree = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let isFree = locks.map {
          ($0 as? NSManagedObjectContext)?.tryLock()
            ?? ($0 as? NSPersistentStoreCoordinator)?.tryLock()
        }
        continuation.resume(returning: isFree)
      }
    }
    #expect(isFree == [false, false])
    for lock in locks {
      lock.unlock()
      lock.unlock()
    }
  }

  @Test("Requests for the history may name its entities, and ask what these have")
  func historyEntities() throws {
    try context.performAndWait {
      context.transactionAuthor = "shop"
      let lamp = item("Lamp")
      try context.save()
      context.transactionAuthor = "other"
      lamp.price = 3
      try context.save()
      let transaction = try #require(
        NSPersistentHistoryTransaction.entityDescription(with: context))
      #expect(transaction === NSPersistentHistoryTransaction.entityDescription)
      #expect(transaction.attributesByName["author"]?.attributeType == .stringAttributeType)
      #expect(transaction.relationshipsByName["changes"]?.destinationEntity?.name == "Change")
      let request = NSFetchRequest<any NSFetchRequestResult>()
      request.entity = transaction
      request.predicate = NSPredicate(format: "author == %@", "other")
      let asked = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: request)
      asked.resultType = .transactionsAndChanges
      let answer = try context.execute(asked) as? NSPersistentHistoryResult
      let found = answer?.result as? [NSPersistentHistoryTransaction]
      #expect(found?.map(\.author) == ["other"] && found?.first?.changes?.count == 1)

      let changes = NSFetchRequest<any NSFetchRequestResult>()
      changes.entity = NSPersistentHistoryChange.entityDescription(with: context)
      changes.predicate = NSPredicate(format: "changedObjectID == %@", lamp.objectID)
      let second = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: changes)
      second.resultType = .changesOnly
      let list = try context.execute(second) as? NSPersistentHistoryResult
      #expect((list?.result as? [NSPersistentHistoryChange])?.count == 2)

      changes.entity = lamp.entity
      #expect(throws: CocoaError.self) {
        try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(withFetch: changes))
      }
    }
  }

  @Test("A context decides about an object whose row is gone")
  func inaccessible() throws {
    final class Strict: NSManagedObjectContext, @unchecked Sendable {
      var asked: [NSManagedObjectID] = []
      override func shouldHandleInaccessibleFault(
        _ fault: NSManagedObject, for oid: NSManagedObjectID,
        triggeredByProperty property: NSPropertyDescription?
      ) -> Bool {
        asked.append(oid)
        return false
      }
    }
    let id = try context.performAndWait {
      let lamp = item("Lamp")
      try context.save()
      return lamp.objectID
    }
    let strict = Strict(concurrencyType: .privateQueueConcurrencyType)
    strict.persistentStoreCoordinator = container.persistentStoreCoordinator
    #expect(strict.stalenessInterval == -1 && strict.propagatesDeletesAtEndOfEvent)
    try strict.performAndWait {
      let lamp = strict.object(with: id)
      #expect(lamp.isFault)
      try context.performAndWait {
        context.delete(try context.existingObject(with: id))
        try context.save()
      }
      #expect(lamp.value(forKey: "name") == nil && strict.asked == [id])
      _ = Item(context: strict)
      let error = #expect(throws: CocoaError.self) { try strict.save() }
      #expect(error?.code == .managedObjectReferentialIntegrity)
    }
  }

  @Test("A store's file is written anew as it is opened, where that is asked for")
  func vacuum() throws {
    let url = folder.file("Shop.sqlite")
    try context.performAndWait {
      let items = (0..<200).map { item("\($0)") }
      for item in items { item.setValue(Data(count: 20_000), forKey: "photo") }
      try context.save()
      for item in items { context.delete(item) }
      try context.save()
    }
    let coordinator = container.persistentStoreCoordinator
    let store = try #require(coordinator.persistentStores.first)
    try coordinator.remove(store)
    store.close()
    func size() throws -> Int { try Data(contentsOf: url).count }
    let before = try size()
    let other = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    #expect(throws: CocoaError.self) {
      try other.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: url,
        options: [NSSQLiteManualVacuumOption: "perhaps"])
    }
    try other.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [NSSQLiteManualVacuumOption: true as NSNumber])
    #expect(try size() < before / 2)
  }

  @Test("Compound indexes are indexes of the entity")
  func compoundIndexes() throws {
    let model = Shop.model()
    let item = try #require(model.entitiesByName["Item"])
    let price = try #require(item.attributesByName["price"])
    item.compoundIndexes = [["name", price], ["made"]]
    #expect(item.compoundIndexes as? [[String]] == [["name", "price"], ["made"]])
    #expect(item.indexes.map { $0.elements.count } == [2, 1])
    item.compoundIndexes = []
    #expect(item.indexes.isEmpty)
  }

  @Test("An application names a conflict under a constraint")
  func constraintConflict() throws {
    context.performAndWait {
      let (lamp, chair) = (item("Lamp"), item("Chair"))
      let code = UUID()
      for item in [lamp, chair] { item.setValue(code, forKey: "code") }
      let conflict = NSConstraintConflict(
        constraint: ["code"], database: nil, databaseSnapshot: nil, conflicting: [lamp, chair],
        conflictingSnapshots: [[:], [:]])
      #expect(conflict.constraintValues["code"] as? UUID == code)
      #expect(conflict.conflictingObjects == [lamp, chair] && conflict.databaseObject == nil)
      let error = #expect(throws: CocoaError.self) {
        try NSMergePolicy.error.resolve(constraintConflicts: [conflict])
      }
      #expect(error?.code == .managedObjectConstraintMerge)
      let request = NSBatchInsertRequest()
      #expect(throws: CocoaError.self) { try context.execute(request) }
    }
  }

  // MARK: Behaviour

  @Test("A new object that is deleted before it was saved says so")
  func deletedNew() throws {
    try context.performAndWait {
      let lamp = item("Lamp")
      context.delete(lamp)
      #expect(lamp.isDeleted && !context.hasChanges)
      try context.save()
      let count = try context.count(for: NSFetchRequest<Item>(entityName: "Item"))
      #expect(count == 0)
      context.undoManager = UndoManager()
      let chair = item("Chair")
      context.processPendingChanges()
      context.delete(chair)
      context.processPendingChanges()
      #expect(chair.isDeleted)
      context.undo()
      #expect(!chair.isDeleted && chair.isInserted && chair.name == "Chair")
    }
  }

  @Test("A new object that is refreshed without its changes is given up")
  func refreshedNew() throws {
    try context.performAndWait {
      let lamp = item("Lamp")
      let order = Order(context: context)
      lamp.order = order
      context.refresh(lamp, mergeChanges: true)
      #expect(lamp.isInserted && lamp.name == "Lamp" && !lamp.isFault)
      context.refresh(lamp, mergeChanges: false)
      #expect(lamp.isFault && !lamp.isInserted && context.insertedObjects == [order])
      try context.save()
      let count = try context.count(for: NSFetchRequest<Item>(entityName: "Item"))
      #expect(count == 0 && order.items.isEmpty)
    }
  }

  @Test("An error of a bound has the predicate that the bound stands for")
  func bounds() throws {
    let model = Shop.model()
    let price = try #require(model.entitiesByName["Item"]?.attributesByName["price"])
    price.setValidationPredicates(
      [NSPredicate(format: "SELF >= 5")], withValidationWarnings: nil)
    let name = try #require(model.entitiesByName["Item"]?.attributesByName["name"])
    name.minimum = .integer(3)
    let container = NSPersistentContainer(name: "Bounds", managedObjectModel: model)
    let description = NSPersistentStoreDescription()
    description.type = NSInMemoryStoreType
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { _, _ in }
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "ab"
      item.price = 5
      let error = #expect(throws: CocoaError.self) { try context.save() }
      #expect(error?.code == .validationStringTooShort)
      let predicate = error?.userInfo[NSValidationPredicateErrorKey] as? NSPredicate
      #expect("\(predicate.map(String.init(describing:)) ?? "")".contains("length >= 3"))
      item.name = "abc"
      try context.save()
    }
  }

  @Test("Every fetch of a child context reads the state that its parent is pinned to")
  func pinnedParent() throws {
    let id = try context.performAndWait {
      let lamp = item("Lamp")
      try context.save()
      return lamp.objectID
    }
    let parent = container.newBackgroundContext()
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = parent
    try parent.performAndWait {
      try parent.setQueryGenerationFrom(.current)
      #expect(try parent.count(for: NSFetchRequest<Item>(entityName: "Item")) == 1)
      _ = try parent.existingObject(with: id)
    }
    try context.performAndWait {
      try context.existingObject(with: id).setValue(9, forKey: "price")
      _ = item("Chair")
      try context.save()
    }
    try child.performAndWait {
      let rows = NSFetchRequest<NSDictionary>(entityName: "Item")
      rows.resultType = .dictionaryResultType
      rows.propertiesToFetch = ["name", "price"]
      let found = try child.fetch(rows)
      #expect(found.count == 1 && found.first?["price"] as? Int == 0)
      let items = NSFetchRequest<Item>(entityName: "Item")
      items.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      #expect(try child.count(for: items) == 1)
      let results = NSFetchedResultsController(
        fetchRequest: items, managedObjectContext: child, sectionNameKeyPath: "price",
        cacheName: nil)
      try results.performFetch()
      #expect(results.fetchedObjects?.count == 1 && results.sections?.map(\.name) == ["0"])
    }
  }
}
