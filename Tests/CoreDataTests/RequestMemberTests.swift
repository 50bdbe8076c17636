import CoreData
import TestSupport
import Testing

/// Requests by each of the ways to make them, and what they give.
struct RequestMemberTests {
  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    context = try Shop.container(folder).newBackgroundContext()
  }

  private func names() throws -> [String] {
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    return try context.fetch(request).compactMap(\.name)
  }

  @Test("Batches insert what lists and handlers give, by an entity or its name")
  func batchInserts() throws {
    try context.performAndWait {
      let item = try #require(NSEntityDescription.entity(forEntityName: "Item", in: context))
      var rest = ["c", "d", "e", "f"]
      func fill(_ values: NSMutableDictionary) -> Bool {
        guard let name = rest.popLast() else { return true }
        values["name"] = name
        return false
      }
      func fill(_ object: NSManagedObject) -> Bool {
        guard let name = rest.popLast() else { return true }
        object.setValue(name, forKey: "name")
        return false
      }
      let listed = NSBatchInsertRequest(entity: item, objects: [["name": "a"], ["name": "b"]])
      #expect(listed.objectsToInsert?.count == 2 && listed.requestType == .batchInsertRequestType)
      try context.execute(listed)
      let once = { (values: NSMutableDictionary) -> Bool in fill(values) }
      try context.execute(NSBatchInsertRequest(entity: item, dictionaryHandler: once))
      rest = ["g", "h"]
      try context.execute(NSBatchInsertRequest(entityName: "Item", dictionaryHandler: once))
      rest = ["i"]
      let object = { (object: NSManagedObject) -> Bool in fill(object) }
      try context.execute(NSBatchInsertRequest(entity: item, managedObjectHandler: object))
      rest = ["j"]
      try context.execute(NSBatchInsertRequest(entityName: "Item", managedObjectHandler: object))
      #expect(try names().joined() == "abcdefghij")

      let update = NSBatchUpdateRequest(entity: item)
      update.propertiesToUpdate = ["price": 7]
      update.resultType = .updatedObjectsCountResultType
      #expect((try context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 10)
    }
  }

  @Test("An asynchronous fetch gives its result to its block and to who waits")
  func asynchronous() async throws {
    try await context.perform { [context] in
      Item(context: context).name = "Lamp"
      try context.save()
    }
    let count = try await withCheckedThrowingContinuation { waiting in
      context.perform { [context] in
        let request: NSFetchRequest<Item> = Item.fetchRequest()
        let block = { (result: NSAsynchronousFetchResult<Item>) in
          let waited: NSPersistentStoreAsynchronousResult = result
          waiting.resume(returning: waited.operationError == nil ? result.finalResult?.count : nil)
        }
        let fetch = NSAsynchronousFetchRequest(fetchRequest: request, completionBlock: block)
        do { try context.execute(fetch) } catch { waiting.resume(throwing: error) }
      }
    }
    #expect(count == 1)
    let any: NSPersistentStoreAsynchronousFetchResultCompletionBlock? = nil
    #expect(any == nil)
  }

  @Test("A fetch within a predicate is an expression, of its objects or their number")
  func fetchExpression() throws {
    try context.performAndWait {
      for name in ["a", "b"] { Item(context: context).name = name }
      try context.save()
      let inner = NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")
      inner.predicate = NSPredicate(format: "name == 'b'")
      let expression = NSFetchRequestExpression.expression(
        forFetch: NSExpression(forConstantValue: inner),
        context: NSExpression(forConstantValue: context), countOnly: true)
      let fetch = try #require(expression as? NSFetchRequestExpression)
      #expect(fetch.isCountOnlyRequest && fetch.contextExpression.constantValue != nil)
      #expect(fetch.requestExpression.constantValue is NSFetchRequest<any NSFetchRequestResult>)
    }
  }

  @Test("Titles of sections are the delegate's or the first letter, and caches are nobody's")
  func sectionTitles() throws {
    final class Titles: NSFetchedResultsControllerDelegate {
      func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
        sectionIndexTitleForSectionName sectionName: String
      ) -> String? { "#\(sectionName)" }
    }
    try context.performAndWait {
      for name in ["ant", "bee"] { Item(context: context).name = name }
      try context.save()
      let request: NSFetchRequest<Item> = Item.fetchRequest()
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      let results = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "name",
        cacheName: "c")
      NSFetchedResultsController<Item>.deleteCache(withName: "c")
      try results.performFetch()
      #expect(results.sections?.map(\.indexTitle) == ["A", "B"])
      let titles = Titles()
      results.delegate = titles
      #expect(results.sectionIndexTitle(forSectionName: "bee") == "#bee")
      withExtendedLifetime(titles) {}
    }
  }

  @Test("A conflict that an application names keeps what it is given; a token is a context's")
  func conflictAndToken() throws {
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      try context.save()
      let conflict = NSMergeConflict(
        source: item, newVersion: 3, oldVersion: 2, cachedSnapshot: ["name": "a"],
        persistedSnapshot: ["name": "b"])
      #expect(conflict.cachedSnapshot?["name"] as? String == "a")
      #expect(conflict.persistedSnapshot?["name"] as? String == "b")
      #expect((conflict.newVersionNumber, conflict.oldVersionNumber) == (3, 2))
      try context.setQueryGenerationFrom(.current)
      let token: NSQueryGenerationToken? = context.queryGenerationToken
      #expect(token != nil)
    }
  }
}
