import CoreData
import TestSupport
import Testing

/// Requests to some of a coordinator's stores, and what a store says of itself.
struct AffectedStoreTests {
  private let folder: TemporaryDirectory
  private let coordinator: NSPersistentStoreCoordinator
  private let stores: [NSPersistentStore]
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Albums.model())
    var stores: [NSPersistentStore] = []
    for name in ["main", "cache"] {
      stores.append(
        try coordinator.addPersistentStore(
          ofType: NSSQLiteStoreType, configurationName: nil, at: folder.file("\(name).sqlite")))
    }
    (self.coordinator, self.stores) = (coordinator, stores)
    context = Albums.context(coordinator)
    try context.performAndWait { [context] in
      for (index, store) in stores.enumerated() {
        for number in 0..<4 {
          let page = Page(Int32(number * 2 + index), context)
          context.assign(page, to: store)
        }
      }
      try context.save()
    }
  }

  private func numbers(_ store: Int) throws -> [Int32] {
    let request = NSFetchRequest<Page>(entityName: "Page")
    request.affectedStores = [stores[store]]
    request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
    return try context.fetch(request).map(\.number)
  }

  @Test("A batch delete is for its stores, or for those of its fetch request")
  func delete() throws {
    try context.performAndWait {
      let fetch = NSFetchRequest<NSManagedObject>(entityName: "Page")
      fetch.predicate = NSPredicate(format: "number < 4")
      fetch.affectedStores = [stores[0]]
      try context.execute(NSBatchDeleteRequest(fetchRequest: fetch))
      #expect(try numbers(0) == [4, 6] && numbers(1) == [1, 3, 5, 7])
      fetch.affectedStores = nil
      fetch.predicate = nil
      let wipe = NSBatchDeleteRequest(fetchRequest: fetch)
      wipe.affectedStores = [stores[1]]
      try context.execute(wipe)
      #expect(try numbers(0) == [4, 6] && numbers(1) == [])
    }
  }

  @Test("A batch update reaches no object of another store that has the same key")
  func update() throws {
    try context.performAndWait {
      let albums = stores.map { store in
        let album = Album(context: context)
        context.assign(album, to: store)
        return album
      }
      for (index, album) in albums.enumerated() {
        let page = Page(Int32(20 + index), context)
        context.assign(page, to: stores[index])
        page.setValue(album, forKey: "noted")
      }
      let made = NSPredicate(format: "noted == %@", albums[0])
      try context.save()
      let ids = albums.map(\.objectID)
      context.reset()
      func change(_ predicate: NSPredicate?, _ values: [String: Any], in store: Int? = nil) throws {
        let update = NSBatchUpdateRequest(entityName: "Page")
        update.predicate = predicate
        update.propertiesToUpdate = values
        update.affectedStores = store.map { [stores[$0]] }
        try context.execute(update)
        context.reset()
      }
      try change(NSPredicate(format: "noted == %@", ids[0]), ["number": 99])
      #expect(try numbers(0).last == 99 && numbers(1).last == 21)
      try change(made, ["number": 98])
      #expect(try numbers(0).last == 98 && numbers(1).last == 21)
      #expect(throws: (any Error).self) { try change(nil, ["noted": ids[0]]) }
      try change(nil, ["noted": NSExpression(forConstantValue: ids[0])], in: 0)
      let noted = NSFetchRequest<Page>(entityName: "Page")
      noted.predicate = NSPredicate(format: "noted == %@", ids[0])
      #expect(try context.count(for: noted) == 5)
      try change(nil, ["noted": NSExpression(forConstantValue: nil)], in: 0)
      #expect(try context.count(for: noted) == 0)
      noted.predicate = NSPredicate(format: "noted == %@", ids[1])
      #expect(try context.count(for: noted) == 1)
    }
  }

  @Test("A batch delete over several stores cuts what all of them found")
  func cut() throws {
    try context.performAndWait {
      let fetch = NSFetchRequest<NSManagedObject>(entityName: "Page")
      fetch.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
      (fetch.fetchOffset, fetch.fetchLimit) = (3, 2)
      let request = NSBatchDeleteRequest(fetchRequest: fetch)
      request.resultType = .resultTypeCount
      let result = try context.execute(request) as? NSBatchDeleteResult
      #expect(result?.result as? Int == 2)
      #expect(try numbers(0) == [0, 2, 6] && numbers(1) == [1, 5, 7])
    }
  }

  @Test("Batch updates and inserts go to their stores")
  func updateAndInsert() throws {
    try context.performAndWait {
      let update = NSBatchUpdateRequest(entityName: "Page")
      update.propertiesToUpdate = ["number": 9]
      update.affectedStores = [stores[1]]
      try context.execute(update)
      #expect(try numbers(0) == [0, 2, 4, 6] && numbers(1) == [9, 9, 9, 9])
      let insert = NSBatchInsertRequest(entityName: "Page", objects: [["number": 5]])
      insert.affectedStores = [stores[1]]
      try context.execute(insert)
      #expect(try numbers(0).count == 4 && numbers(1) == [5, 9, 9, 9, 9])
      insert.affectedStores = []
      #expect(throws: CocoaError.self) { try context.execute(insert) }
    }
  }

  @Test("An asynchronous fetch asks its stores")
  func asynchronous() async throws {
    let request = NSFetchRequest<Page>(entityName: "Page")
    let numbers = await withCheckedContinuation { continuation in
      context.performAndWait {
        let fetch = NSAsynchronousFetchRequest(fetchRequest: request) { result in
          continuation.resume(returning: result.finalResult?.map(\.number) ?? [])
        }
        fetch.affectedStores = [stores[1]]
        _ = try? context.execute(fetch)
      }
    }
    #expect(Set(numbers) == [1, 3, 5, 7])
  }

  @Test("A store of another coordinator on the same file counts as this one's")
  func twoCoordinators() throws {
    let other = try Albums.coordinator(folder.file("main.sqlite"))
    try context.performAndWait {
      let request = NSFetchRequest<Page>(entityName: "Page")
      request.predicate = NSPredicate(format: "number == 0")
      let page = try #require(try context.fetch(request).first)
      let store = try #require(page.objectID.persistentStore)
      #expect(store.identifier == other.persistentStores[0].identifier)
      request.affectedStores = [store]
      #expect(try context.fetch(request) == [page])
      page.number = 10
      request.predicate = NSPredicate(format: "number == 10")
      #expect(try context.fetch(request) == [page])
    }
    withExtendedLifetime(other) {}
  }

  @Test("Metadata that is set is all that a store has beside its own")
  func metadata() throws {
    let store = stores[0]
    store.metadata = ["a": 1, "b": "x"]
    store.metadata["a"] = nil
    store.metadata["c"] = 2
    #expect(store.metadata["a"] == nil && store.metadata["b"] as? String == "x")
    let url = folder.file("main.sqlite")
    let read = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: NSSQLiteStoreType, at: url)
    #expect(read["a"] == nil && read["c"] as? Int == 2)
    #expect(read[NSStoreUUIDKey] as? String == store.identifier)
  }

  @Test("A store that moves is opened with the options that are given")
  func moving() throws {
    let moved = try coordinator.migratePersistentStore(
      stores[1], to: folder.file("moved.sqlite"), options: [NSReadOnlyPersistentStoreOption: true],
      withType: NSSQLiteStoreType)
    #expect(moved.isReadOnly)
    #expect(throws: CocoaError.self) {
      try coordinator.migratePersistentStore(
        moved, to: folder.file("again.sqlite"), options: [NSReadOnlyPersistentStoreOption: "maybe"],
        withType: NSSQLiteStoreType)
    }
    #expect(throws: CocoaError.self) {
      try coordinator.migratePersistentStore(
        moved, to: folder.file("again.sqlite"), withType: "Binary")
    }
  }

  @Test("A coordinator's blocks run one after the other, in order")
  func blocks() async throws {
    nonisolated(unsafe) var order: [Int] = []
    func send(_ number: Int) { coordinator.perform { order.append(number) } }
    for number in 0..<50 { send(number) }
    let count = await coordinator.perform { [coordinator] in
      coordinator.performAndWait { order.count }
    }
    #expect(count == 50 && order == Array(0..<50))
    let last = coordinator.performAndWait { order.count }
    #expect(last == 50)
  }

  @Test("Each description is loaded, also at the address of one that is gone")
  func descriptions() throws {
    let container = NSPersistentContainer(name: "Shelf", managedObjectModel: Albums.model())
    nonisolated(unsafe) var told = 0
    for number in 0..<20 {
      let url = folder.file("account\(number).sqlite")
      container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
      container.loadPersistentStores { _, error in if error == nil { told += 1 } }
    }
    #expect(told == 20 && container.persistentStoreCoordinator.persistentStores.count == 20)
  }

  @Test("A store knows its coordinator while it is told of")
  func owner() throws {
    nonisolated(unsafe) var owner: NSPersistentStoreCoordinator?
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Albums.model())
    let token = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreCoordinatorStoresDidChange, object: coordinator, queue: nil
    ) { note in
      let added = note.userInfo?[NSAddedPersistentStoresKey] as? [NSPersistentStore]
      owner = added?.first?.persistentStoreCoordinator
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    #expect(owner === coordinator)
  }
}
