import CoreData
import TestSupport
import Testing

/// Predicates and expressions of Swift's properties, and predicates that are blocks.
struct TypedPredicateTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private func context(_ type: String) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let url = type == NSInMemoryStoreType ? nil : folder.file("a.\(type)")
    try coordinator.addPersistentStore(
      ofType: type, configurationName: nil, at: url, options: nil)
    let context = Albums.context(coordinator)
    try context.performAndWait {
      for (index, name) in ["lamp", "chair", "table", "bed"].enumerated() {
        let item = Item(context: context)
        item.name = name
        item.price = Int32(index)
        item.setValue(UUID(), forKey: "code")
      }
      try context.save()
    }
    return context
  }

  private func request(_ predicate: NSPredicate?) -> NSFetchRequest<Item> {
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    request.predicate = predicate
    request.sortDescriptors = [NSSortDescriptor(key: "price", ascending: true)]
    return request
  }

  @Test("NSPredicate(#Predicate) is asked of stores and of objects, alone and with others")
  func typed() throws {
    let context = try context(NSSQLiteStoreType)
    try context.performAndWait {
      let dear = try #require(NSPredicate(#Predicate<Item> { $0.price > 1 }))
      #expect(try context.fetch(request(dear)).map(\.name) == ["table", "bed"])
      #expect(try context.count(for: request(dear)) == 2)
      let all = try context.fetch(request(nil))
      #expect(all.filter { dear.evaluate(with: $0) }.map(\.name) == ["table", "bed"])
      let both = NSCompoundPredicate(
        andPredicateWithSubpredicates: [dear, NSPredicate(format: "name BEGINSWITH 'b'")])
      #expect(try context.fetch(request(both)).map(\.name) == ["bed"])
    }
  }

  @Test("NSExpression(forKeyPath:) takes a Swift key path")
  func keyPaths() throws {
    let context = try context(NSSQLiteStoreType)
    try context.performAndWait {
      let price = CoreData.NSExpression(forKeyPath: \Item.price)
      #expect(price.expressionType == .keyPath && price.keyPath == "price")
      let predicate = CoreData.NSComparisonPredicate(
        leftExpression: price, rightExpression: CoreData.NSExpression(forConstantValue: 2),
        modifier: .direct, type: .equalTo)
      let found = try context.fetch(request(predicate))
      #expect(found.map(\.name) == ["table"])
      #expect(CoreData.NSExpression(forKeyPath: \Item.name).keyPath == "name")
    }
  }

  @Test(
    "Block predicates are asked of in-memory and binary stores, with all that a request says",
    arguments: [NSInMemoryStoreType, NSBinaryStoreType])
  func blocks(_ type: String) throws {
    let context = try context(type)
    try context.performAndWait {
      let block = NSPredicate { object, _ in (object as? Item)?.name?.contains("a") == true }
      let found = try context.fetch(request(block))
      #expect(found.map(\.name) == ["lamp", "chair", "table"])
      #expect(try context.count(for: request(block)) == 3)
      let second = request(block)
      (second.fetchOffset, second.fetchLimit) = (1, 1)
      #expect(try context.fetch(second).map(\.name) == ["chair"])
      let both = NSCompoundPredicate(
        andPredicateWithSubpredicates: [block, NSPredicate(format: "price > 0")])
      #expect(try context.fetch(request(both)).map(\.name) == ["chair", "table"])
      // Unsaved objects count as they do with every predicate.
      let item = Item(context: context)
      item.name = "vase"
      item.price = 9
      #expect(try context.fetch(request(block)).map(\.name).last == "vase")
      let rows = NSFetchRequest<NSDictionary>(entityName: "Item")
      rows.resultType = .dictionaryResultType
      rows.propertiesToFetch = ["name"]
      rows.predicate = block
      #expect(try context.fetch(rows).count == 3)
    }
  }

  @Test("An SQLite store refuses a block predicate, and the error says so")
  func refused() throws {
    let context = try context(NSSQLiteStoreType)
    context.performAndWait {
      let error = #expect(throws: (any Error).self) {
        try context.fetch(request(NSPredicate { _, _ in true }))
      }
      #expect((error as NSError?)?.localizedDescription.contains("block") == true)
    }
  }

  @Test(
    "The number of all objects behind two to-many relationships is the same in memory and in the store"
  )
  func countBehindTwo() throws {
    let coordinator = try Albums.coordinator(folder.file("albums.sqlite"))
    let context = Albums.context(coordinator)
    try context.performAndWait {
      let albums = (0..<2).map { _ in Album(context: context) }
      for number in 0..<5 {
        let page = Page(Int32(number), context)
        page.album = albums[number < 3 ? 0 : 1]
        page.setValue(albums[0], forKey: "noted")
      }
      albums[0].title = "a"
      albums[1].title = "b"
      try context.save()
      // Notes of an album, the album of each, the pages of these.
      let asked = NSFetchRequest<Album>(entityName: "Album")
      asked.predicate = NSPredicate(format: "notes.album.pages.@count == 13")
      let found = try context.fetch(asked)
      #expect(found == [albums[0]])
      #expect(asked.predicate?.evaluate(with: albums[0]) == true)
    }
  }
}
