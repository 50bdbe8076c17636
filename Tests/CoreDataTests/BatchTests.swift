import CoreData
import TestSupport
import Testing

/// Batch requests, and merges of what they did.
struct BatchTests {
  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    context = try Shop.container(folder).newBackgroundContext()
  }

  @Test("Dictionaries, a dictionary handler and an object handler insert")
  func inserts() throws {
    try context.performAndWait {
      let objects = NSBatchInsertRequest(
        entityName: "Item", objects: [["name": "a", "price": 1], ["name": "b", "price": 2]])
      objects.resultType = .objectIDs
      let result = try #require(try context.execute(objects) as? NSBatchInsertResult)
      let ids = try #require(result.result as? [NSManagedObjectID])
      #expect(ids.count == 2 && result.resultType == .objectIDs)
      #expect((try context.existingObject(with: ids[1]) as? Item)?.price == 2)

      var left = 3
      let handler = NSBatchInsertRequest(entityName: "Item") { (row: NSMutableDictionary) in
        row["name"] = "row \(left)"
        left -= 1
        return left < 0
      }
      handler.resultType = .count
      #expect((try context.execute(handler) as? NSBatchInsertResult)?.result as? Int == 3)
      var isOver = false
      let object = NSBatchInsertRequest(entityName: "Item") { (item: NSManagedObject) in
        item.setValue("object", forKey: "name")
        defer { isOver = true }
        return isOver
      }
      #expect((try context.execute(object) as? NSBatchInsertResult)?.result as? Bool == true)
      #expect(try context.count(for: Item.fetchRequest() as NSFetchRequest<Item>) == 6)
      let unknown = NSBatchInsertRequest(entityName: "Nothing", objects: [["a": 1]])
      #expect(throws: CocoaError.self) { try context.execute(unknown) }
    }
  }

  @Test("An update by value and by expression is merged into what a context has")
  func updates() throws {
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      item.price = 4
      try context.save()
      let request = NSBatchUpdateRequest(entityName: "Item")
      request.predicate = NSPredicate(format: "name == %@", "Lamp")
      request.propertiesToUpdate = [
        "price": NSExpression(format: "price + 1"), "isSold": NSNumber(value: true),
        "cost": NSNull(),
      ]
      request.resultType = .updatedObjectIDsResultType
      let ids = try #require(
        (try context.execute(request) as? NSBatchUpdateResult)?.result as? [NSManagedObjectID])
      #expect(ids == [item.objectID] && item.price == 4)
      NSManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [NSUpdatedObjectsKey: ids], into: [context])
      #expect(item.price == 5 && item.value(forKey: "isSold") as? Bool == true)
    }
  }

  @Test("A delete by fetch and by IDs is merged into what a context has")
  func deletes() throws {
    try context.performAndWait {
      let items = (0..<3).map { number in
        let item = Item(context: context)
        item.name = "\(number)"
        item.price = Int32(number)
        return item
      }
      try context.save()
      let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")
      fetch.predicate = NSPredicate(format: "price > 1")
      let request = NSBatchDeleteRequest(fetchRequest: fetch)
      request.resultType = .resultTypeObjectIDs
      let ids = try #require(
        (try context.execute(request) as? NSBatchDeleteResult)?.result as? [NSManagedObjectID])
      #expect(ids == [items[2].objectID])
      NSManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [NSDeletedObjectsKey: ids], into: [context])
      #expect(items[2].isDeleted && context.deletedObjects == [items[2]])
      let byID = NSBatchDeleteRequest(objectIDs: [items[0].objectID])
      byID.resultType = .resultTypeCount
      #expect((try context.execute(byID) as? NSBatchDeleteResult)?.result as? Int == 1)
    }
  }

  @Test("An asynchronous fetch calls its block on the context's queue")
  func asynchronousFetch() async throws {
    try await context.perform { [context] in
      Item(context: context).name = "Lamp"
      try context.save()
    }
    let names: [String?] = await withCheckedContinuation { continuation in
      let request = NSAsynchronousFetchRequest(
        fetchRequest: Item.fetchRequest() as NSFetchRequest<Item>
      ) {
        continuation.resume(returning: $0.finalResult?.map(\.name) ?? [])
      }
      context.performAndWait { _ = try? context.execute(request) }
    }
    #expect(names == ["Lamp"])
  }

  @Test("A batch update is asked as a fetch is")
  func asked() throws {
    try context.performAndWait {
      for (name, price) in [("a", 4), ("b", 5)] {
        let item = Item(context: context)
        item.name = name
        item.price = Int32(price)
      }
      try context.save()
      let request = NSBatchUpdateRequest(entityName: "Item")
      request.resultType = .updatedObjectsCountResultType
      request.propertiesToUpdate = ["isSold": NSNumber(value: true)]
      request.predicate = NSPredicate(format: "price == %@", "4")
      #expect((try context.execute(request) as? NSBatchUpdateResult)?.result as? Int == 1)
    }
  }

  @Test("A pattern that lies in an object and is none matches nothing, saved or not")
  func patterns() throws {
    try context.performAndWait {
      for name in ["a.*", "("] {
        let item = Item(context: context)
        item.name = name
      }
      try context.save()
      let request = NSFetchRequest<Item>(entityName: "Item")
      request.predicate = NSPredicate(format: "%@ MATCHES name", "abc")
      #expect(try context.fetch(request).map(\.name) == ["a.*"])
      let items = try context.fetch(NSFetchRequest<Item>(entityName: "Item"))
      for item in items { item.price = 9 }
      #expect(try context.fetch(request).map(\.name) == ["a.*"])
      #expect(items.filter { request.predicate?.evaluate(with: $0) ?? false }.count == 1)
    }
  }
}
