import CoreData
import TestSupport
import Testing

/// Code in the shape that templates and tutorials give it: list, insert, delete, save, fetch, history.
struct TemplateTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  @Test("What is inserted by name and saved is fetched by another stack")
  func insertsAndFetches() throws {
    let container = try Shop.container(folder)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for number in 1...5 {
        let item = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
        item.setValue("item x\(number)", forKey: "name")
        item.setValue(number, forKey: "price")
      }
      try context.save()
    }

    let second = try Shop.container(folder).newBackgroundContext()
    try second.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
      request.predicate = NSPredicate(
        format: "price > %@ AND name CONTAINS[cd] %@", NSNumber(value: 3), "X")
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
      let found = try second.fetch(request)
      #expect(found.map { $0.value(forKey: "name") as? String } == ["item x5", "item x4"])
      #expect(found.first?.value(forKey: "price") as? Int == 5)
      #expect(found.first is Item)
      request.predicate = nil
      #expect(try second.count(for: request) == 5)
    }
  }

  @Test("A list of objects of a class: insert, change, delete, save")
  func list() throws {
    let container = try Shop.container(folder)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      item.price = 20
      #expect(context.insertedObjects == [item])
      #expect(item.managedObjectContext === context)
      #expect(item.objectID.isTemporaryID)
      try context.save()
      #expect(!item.objectID.isTemporaryID && !context.hasChanges)

      item.price = 25
      #expect(item.changedValues()["price"] as? Int == 25)
      #expect(item.committedValues(forKeys: ["price"])["price"] as? Int == 20)
      try context.save()

      let request: NSFetchRequest<Item> = Item.fetchRequest()
      request.predicate = NSPredicate(format: "%K == %d", "price", 25)
      #expect(try context.fetch(request) == [item])
      context.delete(item)
      #expect(item.isDeleted)
      try context.save()
      #expect(try context.fetch(request).isEmpty)
    }
  }

  @Test(
    "A save that breaks a rule throws Core Data's error, with its object, as NSError and as CocoaError"
  )
  func validation() throws {
    let context = try Shop.container(folder).newBackgroundContext()
    try context.performAndWait {
      let item = Item(context: context)
      let error = #expect(throws: (any Error).self) { try context.save() }
      let known = try #require(error as NSError?)
      #expect(known.domain == NSCocoaErrorDomain)
      #expect(known.code == NSValidationMissingMandatoryPropertyError)
      #expect(known.userInfo[NSValidationKeyErrorKey] as? String == "name")
      #expect(known.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === item)
      do { try context.save() } catch let error as CocoaError {
        #expect(error.code == .validationMissingMandatoryProperty)
        #expect(error.validationKey == "name")
      }
    }
  }

  @Test("The history of saves is read from a token on, with authors and changes, and purged")
  func history() throws {
    let container = try Shop.container(folder)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      context.transactionAuthor = "app"
      context.name = "list"
      let item = Item(context: context)
      item.name = "Lamp"
      try context.save()
      let token = try #require(
        container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil))
      item.price = 3
      try context.save()

      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
      let result = try #require(try context.execute(request) as? NSPersistentHistoryResult)
      let transactions = try #require(result.result as? [NSPersistentHistoryTransaction])
      #expect(transactions.map(\.author) == ["app"])
      #expect(transactions.first?.contextName == "list")
      let change = try #require(transactions.first?.changes?.first)
      #expect(change.changeType == .update && change.changedObjectID == item.objectID)
      #expect(change.updatedProperties?.map(\.name) == ["price"])
      #expect(change.transaction?.author == "app")

      let all = NSPersistentHistoryChangeRequest.fetchHistory(
        after: nil as NSPersistentHistoryToken?)
      all.resultType = .count
      let fetch = try #require(NSPersistentHistoryTransaction.fetchRequest)
      fetch.predicate = NSPredicate(format: "author == %@", "nobody")
      all.fetchRequest = fetch
      #expect((try context.execute(all) as? NSPersistentHistoryResult)?.result as? Int == 0)

      let purge = NSPersistentHistoryChangeRequest.deleteHistory(before: transactions[0])
      #expect((try context.execute(purge) as? NSPersistentHistoryResult)?.result as? Bool == true)
      let rest = NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast)
      rest.resultType = .transactionsOnly
      let left = (try context.execute(rest) as? NSPersistentHistoryResult)?.result
      #expect((left as? [NSPersistentHistoryTransaction])?.count == 1)
    }
  }

  @Test("A token of the history can be archived")
  func archivedToken() throws {
    let container = try Shop.container(folder)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
    }
    let token = try #require(
      container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil))
    let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    let read = try NSKeyedUnarchiver.unarchivedObject(
      ofClass: NSPersistentHistoryToken.self, from: data)
    #expect(read == token)
  }
}
