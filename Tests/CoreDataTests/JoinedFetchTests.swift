import CoreData
import TestSupport
import Testing

/// Fetches that an incremental store answers with others, and cuts of them where something is unsaved.
struct JoinedFetchTests {
  private let coordinator: NSPersistentStoreCoordinator
  private let store: ServerStore
  private let context: NSManagedObjectContext

  init() throws {
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    store = try ServerStore.add(to: coordinator, ["Item": Self.rows("b", "d", "f", "h", "j")])
    context = Albums.context(coordinator)
  }

  private static func rows(_ names: String...) -> [String: [String: Any]] {
    var rows: [String: [String: Any]] = [:]
    for name in names { rows[name] = ["name": name, "price": 1] }
    return rows
  }

  private func request(limit: Int = 0, offset: Int = 0) -> NSFetchRequest<Item> {
    let request = NSFetchRequest<Item>(entityName: "Item")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    (request.fetchLimit, request.fetchOffset) = (limit, offset)
    return request
  }

  private func names(
    _ limit: Int = 0, _ offset: Int = 0, in other: NSManagedObjectContext? = nil
  ) throws -> [String] {
    try (other ?? context).fetch(request(limit: limit, offset: offset)).compactMap(\.name)
  }

  private func insert(_ name: String, in other: NSManagedObjectContext? = nil) -> Item {
    let item = Item(context: other ?? context)
    item.name = name
    return item
  }

  @Test("Pages are of what there is with unsaved changes: full, and one after the other")
  func pendingPages() throws {
    try context.performAndWait { () throws -> Void in
      _ = insert("c")
      #expect(
        try names(2) == ["b", "c"] && names(2, 2) == ["d", "f"] && names(2, 4) == ["h", "j"])
      context.delete(context.object(with: store.id("Item", "d")))
      #expect(try names(3) == ["b", "c", "f"] && names(3, 3) == ["h", "j"])
      #expect(try names(0, 4) == ["j"] && names(5, 9).isEmpty)
      #expect(try context.count(for: request(limit: 2, offset: 4)) == 1)
      // What no change touches is asked as it is.
      let plain = request(limit: 2, offset: 1)
      plain.includesPendingChanges = false
      #expect(try context.fetch(plain).map(\.name) == ["d", "f"])
      #expect(try #require(store.cuts.last) == (2, 1))
    }
  }

  @Test("The pages of a context on another one are of its own changes and of that one's")
  func childPages() throws {
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = context
    context.performAndWait { _ = insert("c") }
    try child.performAndWait { () throws -> Void in
      #expect(try names(2, 1, in: child) == ["c", "d"])
      _ = insert("a", in: child)
      #expect(try names(3, in: child) == ["a", "b", "c"])
      #expect(try names(3, 3, in: child) == ["d", "f", "h"])
      child.delete(child.object(with: store.id("Item", "b")))
      #expect(try names(2, 1, in: child) == ["c", "d"])
    }
  }

  @Test("Several incremental stores give one order, and one cut of it")
  func severalServers() throws {
    let second = try ServerStore.add(
      to: coordinator, ["Item": Self.rows("a", "e", "k")], at: "/nowhere/other")
    try context.performAndWait { () throws -> Void in
      #expect(try names() == ["a", "b", "d", "e", "f", "h", "j", "k"])
      #expect(try names(3, 1) == ["b", "d", "e"] && names(0, 6) == ["j", "k"])
      #expect(try context.count(for: request()) == 8)
      #expect(try context.count(for: request(limit: 3, offset: 6)) == 2)
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Item")
      ids.resultType = .managedObjectIDResultType
      ids.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
      ids.fetchLimit = 2
      #expect(
        try context.fetch(ids) == [second.id("Item", "k"), store.id("Item", "j")])
      let rows = NSFetchRequest<NSDictionary>(entityName: "Item")
      rows.resultType = .dictionaryResultType
      let error = #expect(throws: CocoaError.self) { try context.fetch(rows) }
      #expect(error?.code.rawValue == NSCoreDataError)
      rows.affectedStores = [second]
      #expect(try context.fetch(rows).count == 3)
      _ = insert("c")
      #expect(try names(3, 1) == ["b", "c", "d"])
    }
  }

  @Test("An entity that a store of SQLite has too is fetched from both, unless stores are named")
  func bothKinds() throws {
    let folder = try TemporaryDirectory()
    let file = try coordinator.addPersistentStore(type: .sqlite, at: folder.file("a.sqlite"))
    try context.performAndWait {
      for name in ["a", "e", "k"] { context.assign(insert(name), to: file) }
      try context.save()
      #expect(store.rows["Item"]?.count == 5)
      #expect(try names() == ["a", "b", "d", "e", "f", "h", "j", "k"])
      #expect(try names(3, 2) == ["d", "e", "f"])
      #expect(try context.count(for: request()) == 8)
      #expect(try context.count(for: request(limit: 2, offset: 7)) == 1)
      let some = request()
      some.predicate = NSPredicate(format: "name > 'd' AND name < 'i'")
      #expect(try context.fetch(some).map(\.name) == ["e", "f", "h"])
      some.affectedStores = [file]
      #expect(try context.fetch(some).map(\.name) == ["e"])
      some.affectedStores = [store]
      #expect(try context.fetch(some).map(\.name) == ["f", "h"])
      // Unsaved ones of either, and of named stores those of these alone.
      let (kept, served) = (insert("g"), insert("gg"))
      context.assign(kept, to: file)
      context.assign(served, to: store)
      #expect(try context.fetch(some).map(\.name) == ["f", "gg", "h"])
      some.affectedStores = nil
      some.fetchOffset = 1
      some.fetchLimit = 3
      #expect(try context.fetch(some).map(\.name) == ["f", "g", "gg"])
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Item")
      ids.resultType = .managedObjectIDResultType
      #expect(try context.fetch(ids).count == 10 && context.count(for: request()) == 10)
    }
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = context
    try child.performAndWait { () throws -> Void in
      #expect(try names(4, 4, in: child) == ["f", "g", "gg", "h"])
      #expect(try child.count(for: request()) == 10)
    }
  }
}
