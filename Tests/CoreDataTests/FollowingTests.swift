import CoreData
import TestSupport
import Testing

/// What a context takes over from others, and what fetched results tell of it.
struct FollowingTests {
  private final class Listener: NSFetchedResultsControllerDelegate {
    var told: [String] = []
    var atEnd: (() -> Void)?

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChange anObject: Any, at indexPath: IndexPath?, for type: NSFetchedResultsChangeType,
      newIndexPath: IndexPath?
    ) { told.append("\(type) \((anObject as? Page)?.number ?? -1)") }

    func controllerDidChangeContent(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>
    ) {
      let work = atEnd
      atEnd = nil
      work?()
    }
  }

  private let coordinator: NSPersistentStoreCoordinator
  private let context: NSManagedObjectContext
  private let other: NSManagedObjectContext

  init() throws {
    coordinator = try Albums.coordinator(nil)
    context = Albums.context(coordinator)
    other = Albums.context(coordinator)
    try context.performAndWait { [context] in
      for number in 1...3 { _ = Page(Int32(number), context) }
      try context.save()
    }
  }

  private func controller() throws -> NSFetchedResultsController<Page> {
    let request = NSFetchRequest<Page>(entityName: "Page")
    request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    try controller.performFetch()
    return controller
  }

  /// Another context sets a text.
  private func editElsewhere(_ number: Int32) throws {
    try other.performAndWait { [other] in
      let request = NSFetchRequest<Page>(entityName: "Page")
      request.predicate = NSPredicate(format: "number == %d", number)
      try other.fetch(request).first?.setValue("elsewhere", forKey: "text")
      try other.save()
    }
  }

  @Test("Updates of this context and of others in one event are both told")
  func both() throws {
    try context.performAndWait {
      context.automaticallyMergesChangesFromParent = true
      let controller = try controller()
      let listener = Listener()
      controller.delegate = listener
      let pages = controller.fetchedObjects ?? []
      #expect(pages.map { $0.value(forKey: "text") as? String } == [nil, nil, nil])
      pages[0].setValue("here", forKey: "text")
      try editElsewhere(2)
      context.processPendingChanges()
      #expect(Set(listener.told).count == 2)
      #expect(listener.told.allSatisfy { $0.hasSuffix("1") || $0.hasSuffix("2") })
    }
  }

  @Test("What a delegate changes and saves is in the results")
  func delegateSaves() throws {
    try context.performAndWait {
      let controller = try controller()
      let listener = Listener()
      controller.delegate = listener
      listener.atEnd = { [context] in
        _ = Page(9, context)
        try? context.save()
      }
      controller.fetchedObjects?.first?.setValue("x", forKey: "text")
      context.processPendingChanges()
      #expect(controller.fetchedObjects?.map(\.number) == [1, 2, 3, 9])
      #expect(listener.told.count == 2)
    }
  }

  @Test("A changed request counts from the next performFetch")
  func requestChanges() throws {
    try context.performAndWait {
      let controller = try controller()
      let listener = Listener()
      controller.delegate = listener
      controller.fetchRequest.predicate = NSPredicate(format: "number > 2")
      _ = Page(0, context)
      context.processPendingChanges()
      #expect(controller.fetchedObjects?.map(\.number) == [0, 1, 2, 3])
      try controller.performFetch()
      #expect(controller.fetchedObjects?.map(\.number) == [3])
    }
  }

  @Test("What others inserted is told of as inserted objects")
  func inserts() throws {
    try context.performAndWait {
      context.automaticallyMergesChangesFromParent = true
      nonisolated(unsafe) var inserted: [Int32] = []
      let token = NotificationCenter.default.addObserver(
        forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
      ) { note in
        let objects = note.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject> ?? []
        inserted += objects.compactMap { ($0 as? Page)?.number }
      }
      defer { NotificationCenter.default.removeObserver(token) }
      try other.performAndWait { [other] in
        _ = Page(7, other)
        try other.save()
      }
      context.processPendingChanges()
      #expect(inserted == [7])
    }
  }

  @Test("Transient values stay when changes are merged, and go when they are not")
  func transients() throws {
    try context.performAndWait {
      let album = Album(context: context)
      album.title = "a"
      try context.save()
      album.setPrimitiveValue("expensive", forKey: "cached")
      context.refresh(album, mergeChanges: true)
      #expect(
        album.title == "a" && album.primitiveValue(forKey: "cached") as? String == "expensive")
      album.title = "b"
      context.refresh(album, mergeChanges: true)
      #expect(album.title == "b" && album.value(forKey: "cached") as? String == "expensive")
      context.refresh(album, mergeChanges: false)
      #expect(album.title == "a" && album.value(forKey: "cached") == nil)
    }
  }

  @Test("An object that a child's save deleted is not to be deleted any more")
  func deletedByChild() throws {
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = context
    try child.performAndWait {
      let page = try #require(try child.fetch(NSFetchRequest<Page>(entityName: "Page")).first)
      child.delete(page)
      #expect(page.isDeleted)
      try child.save()
      #expect(!page.isDeleted && page.managedObjectContext == nil)
    }
    context.performAndWait { #expect(context.deletedObjects.count == 1) }
  }

  @Test("An object of a batch insert is in a context")
  func batchContext() throws {
    try context.performAndWait {
      var contexts: [Bool] = []
      let insert = NSBatchInsertRequest(entityName: "Page") { (page: NSManagedObject) in
        contexts.append(page.managedObjectContext?.persistentStoreCoordinator === self.coordinator)
        page.setValue(8, forKey: "number")
        return contexts.count > 1
      }
      try context.execute(insert)
      #expect(contexts == [true, true])
    }
  }
}
