import CoreData
import TestSupport
import Testing

/// Predicates and requests that Core Data answers and that are easily refused.
struct AnsweredRequestTests {
  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    context = try Shop.container(folder).newBackgroundContext()
  }

  private func insert(_ names: String...) throws {
    for (price, name) in names.enumerated() {
      let item = Item(context: context)
      item.name = name
      item.price = Int32(price)
    }
    try context.save()
  }

  @Test("A group's condition names a computed column as a variable")
  func having() throws {
    try context.performAndWait {
      try insert("Lamp", "Lamp", "Chair")
      let count = NSExpressionDescription()
      count.name = "count"
      count.expression = NSExpression(
        forFunction: "count:", arguments: [NSExpression(forKeyPath: "name")])
      count.expressionResultType = .integer64AttributeType
      let request = NSFetchRequest<NSDictionary>(entityName: "Item")
      request.resultType = .dictionaryResultType
      request.propertiesToGroupBy = ["name"]
      request.propertiesToFetch = ["name", count]
      request.havingPredicate = NSPredicate(
        format: "%@ > 1", NSExpression(forVariable: "count"))
      #expect(try context.fetch(request).map { $0["name"] as? String } == ["Lamp"])
      request.havingPredicate = NSPredicate(format: "$other > 1")
      #expect(throws: CocoaError.self) { try context.fetch(request) }
    }
  }

  @Test("A text is found in a list of numbers, in the store and in memory")
  func numbers() throws {
    try context.performAndWait {
      try insert("9", "10", "11.5", "Lamp")
      let request = NSFetchRequest<Item>(entityName: "Item")
      for list in [[9, 10, 12], [9, 11.5], [9, "10"]] as [[Any]] {
        let predicate = NSPredicate(format: "%K IN %@", "name", list)
        request.predicate = predicate
        let found = try context.fetch(request)
        #expect(found.count == 2, "\(list)")
        request.predicate = nil
        let all = try context.fetch(request)
        #expect(Set(all.filter { predicate.evaluate(with: $0) }) == Set(found), "\(list)")
        // What is unsaved is looked at beside the store.
        let item = Item(context: context)
        item.name = "9"
        request.predicate = predicate
        #expect(try context.fetch(request).count == found.count + 1)
        context.delete(item)
      }
    }
  }

  @Test("A predicate about constants alone is asked of anything")
  func constants() {
    #expect(NSPredicate(format: "1 + 2 > 2").evaluate(with: nil))
    #expect(!NSPredicate(format: "%@ == %@", "a", "b").evaluate(with: "text"))
    #expect(NSPredicate(format: "5 IN {1, 5}").evaluate(with: NSNumber(value: 3)))
  }

  @Test("A fetched property's predicate reads what its description says")
  func fetchedProperty() throws {
    let model = Albums.model()
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Page")
    request.predicate = NSPredicate(
      format: "text CONTAINS[c] $FETCHED_PROPERTY.userInfo.search AND "
        + "album == $FETCH_SOURCE AND $FETCHED_PROPERTY.name == 'found'")
    let found = NSFetchedPropertyDescription()
    found.name = "found"
    found.fetchRequest = request
    found.userInfo = ["search": "great"]
    model.entitiesByName["Album"]?.properties.append(found)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = Albums.context(coordinator)
    try context.performAndWait {
      let album = Album(context: context)
      for (number, text) in ["Great", "poor", "not great"].enumerated() {
        let page = Page(Int32(number), context)
        page.setValue(text, forKey: "text")
        page.album = album
      }
      try context.save()
      let pages = try #require(album.value(forKey: "found") as? [Page])
      #expect(Set(pages.map(\.number)) == [0, 2])
    }
  }

  @Test("Changes of the history are asked for by an entity")
  func entityOfChanges() throws {
    try context.performAndWait {
      try insert("Lamp", "Chair")
      let order = Order(context: context)
      try context.save()
      let request = NSFetchRequest<any NSFetchRequestResult>()
      request.entity = NSPersistentHistoryChange.entityDescription(with: context)
      func count(_ format: String, _ arguments: Any...) throws -> Int? {
        request.predicate = NSPredicate(format: format, argumentArray: arguments)
        let asked = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: request)
        asked.resultType = .changesOnly
        let answer = try context.execute(asked) as? NSPersistentHistoryResult
        return (answer?.result as? [NSPersistentHistoryChange])?.count
      }
      #expect(try count("changedEntity == %@", order.entity) == 1)
      #expect(try count("changedEntity == %@", Item.entity()) == 2)
      #expect(try count("changedEntity IN %@", [Item.entity(), order.entity]) == 3)
    }
  }
}
