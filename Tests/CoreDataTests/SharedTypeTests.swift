import CoreData
import TestSupport
import Testing

/// Core Data's types that several threads may have, used from several threads at once.
struct SharedTypeTests {
  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer

  init() throws {
    folder = try TemporaryDirectory()
    container = try Shop.container(folder)
  }

  private func count() throws -> Int {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      try context.count(for: NSFetchRequest<Item>(entityName: "Item"))
    }
  }

  @Test("A context that many threads send work to does one piece after the other")
  func contexts() async throws {
    let context = container.newBackgroundContext()
    try await onSeveralThreads { number in
      for round in 0..<10 {
        try context.performAndWait {
          Item(context: context).name = "\(number) \(round)"
          if round % 3 == 0 { try context.save() }
        }
        context.perform { context.insertedObjects.forEach { $0.setValue(2.5, forKey: "weight") } }
      }
    }
    try await context.perform { try context.save() }
    #expect(try count() == 80)
  }

  @Test("A container and its coordinator, which many threads ask for contexts, stores and IDs")
  func containers() async throws {
    let (container, folder) = (container, folder)
    let coordinator = container.persistentStoreCoordinator
    try await onSeveralThreads { number in
      for _ in 0..<5 {
        if number == 0 {
          let store = try coordinator.addPersistentStore(
            ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
          try coordinator.remove(store)
        }
        let context = container.newBackgroundContext()
        try context.performAndWait {
          let item = Item(context: context)
          item.name = "\(number)"
          try context.save()
          let uri = item.objectID.uriRepresentation()
          #expect(coordinator.managedObjectID(forURIRepresentation: uri) == item.objectID)
        }
        #expect(coordinator.persistentStore(for: folder.file("Shop.sqlite")) != nil)
      }
    }
    #expect(try count() == 40)
  }

  @Test("Expressions and tokens that all threads use, and predicates that each has")
  func values() async throws {
    let expression = NSExpression(format: "price + 1")
    let text = expression.description
    let (container, coordinator) = (container, container.persistentStoreCoordinator)
    try await onSeveralThreads { number in
      let predicate = NSPredicate(format: "price BETWEEN {2, 4} AND name LIKE 'item*'")
      let context = container.newBackgroundContext()
      try context.performAndWait {
        for price in 0..<6 as Range<Int32> {
          let item = Item(context: context)
          (item.name, item.price) = ("item \(number)", price)
          #expect(predicate.evaluate(with: item) == (2...4).contains(price))
        }
        #expect(expression.description == text)
        try context.save()
        let request = NSFetchRequest<Item>(entityName: "Item")
        request.predicate = predicate
        let count = try context.count(for: request)
        #expect(count >= 3)
      }
      let token = try #require(
        coordinator.currentPersistentHistoryToken(fromStores: coordinator.persistentStores))
      let bytes = try NSKeyedArchiver.archivedData(
        withRootObject: token, requiringSecureCoding: true)
      #expect(!bytes.isEmpty)
    }
    #expect(try count() == 48)
  }
}
