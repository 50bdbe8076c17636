import CoreData
import TestSupport
import Testing

/// Settings that are what they were, that are another store's, or that come in another type.
struct SameSettingTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  @Test("The parent that a context has is no other one: the context keeps its changes")
  func sameParent() throws {
    let parent = Albums.context(try Albums.coordinator(nil))
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = parent
    child.performAndWait {
      let album = Album(context: child)
      child.parent = parent
      #expect(child.insertedObjects == [album] && album.managedObjectContext === child)
    }
    let other = Albums.context(try Albums.coordinator(nil))
    child.parent = other
    #expect(child.parent === other)
    child.performAndWait { #expect(!child.hasChanges) }
  }

  @Test("A query generation of other stores is refused, and what the context reads stays")
  func foreignGeneration() throws {
    let (one, two) = (
      Albums.context(try Albums.coordinator(folder.file("a.sqlite"))),
      Albums.context(try Albums.coordinator(folder.file("b.sqlite")))
    )
    func token(_ context: NSManagedObjectContext) throws -> NSQueryGenerationToken {
      try context.performAndWait {
        try context.setQueryGenerationFrom(.current)
        _ = try context.count(for: NSFetchRequest<Album>(entityName: "Album"))
        return try #require(context.queryGenerationToken)
      }
    }
    let (own, foreign) = (try token(one), try token(two))
    try one.performAndWait {
      let error = #expect(throws: CocoaError.self) { try one.setQueryGenerationFrom(foreign) }
      #expect(error?.code.rawValue == NSCoreDataError)
      #expect(one.queryGenerationToken == own)
      try one.setQueryGenerationFrom(own)
      try one.setQueryGenerationFrom(nil)
      try one.setQueryGenerationFrom(.current)
    }
  }

  @Test("Numbers of pragmas are numbers as SQLite has them")
  func pragmaNumbers() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let url = folder.file("c.sqlite")
    func open(_ number: NSNumber) throws {
      let store = try coordinator.addPersistentStore(
        type: .sqlite, at: url, options: [NSSQLitePragmasOption: ["synchronous": number]])
      try coordinator.remove(store)
    }
    try open(NSNumber(value: 1))
    try open(NSNumber(value: 2))
    let error = #expect(throws: CocoaError.self) { try open(NSNumber(value: 0)) }
    #expect(error?.localizedDescription.contains("synchronous = 0 ") == true)
  }

  @Test("Sections that share a letter are each at their own place in the index")
  func sharedLetter() throws {
    let context = try Shop.container(folder).viewContext
    try context.performAndWait {
      for name in ["apple", "avocado", "banana"] { Item(context: context).name = name }
      try context.save()
      let request = NSFetchRequest<Item>(entityName: "Item")
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      let results = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "name",
        cacheName: nil)
      try results.performFetch()
      #expect(results.sectionIndexTitles == ["A", "A", "B"])
      let found = ["A", "A", "B"].enumerated().map {
        results.section(forSectionIndexTitle: $0.element, at: $0.offset)
      }
      #expect(found == [0, 1, 2])
      #expect(results.section(forSectionIndexTitle: "B", at: 0) == 2)
      #expect(results.section(forSectionIndexTitle: "Z", at: 1) == 1)
    }
  }
}
