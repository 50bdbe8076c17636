import Driftless
import Foundation
import TestSupport
import Testing

/// What notifications tell, and under which keys.
@Suite("Notifications")
struct NotificationTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  /// The notifications of a name that `body` brought about, on this thread.
  private func notes(
    _ name: Notification.Name, of object: AnyObject? = nil, _ body: () throws -> Void
  ) rethrows -> [Notification] {
    nonisolated(unsafe) var seen: [Notification] = []
    let observer = NotificationCenter.default.addObserver(
      forName: name, object: object ?? context, queue: nil
    ) { seen.append($0) }
    defer { NotificationCenter.default.removeObserver(observer) }
    try body()
    return seen
  }

  private func ids(
    _ note: Notification?, _ key: ManagedObjectContext.NotificationKey
  ) -> Set<ManagedObjectID>? {
    (note?.userInfo?[key.rawValue] as? ChangedObjectIDs).map { Set($0) }
  }

  private func objects(
    _ note: Notification?, _ key: ManagedObjectContext.NotificationKey
  ) -> [ManagedObject]? {
    note?.userInfo?[key.rawValue] as? [ManagedObject]
  }

  @Test("A save tells the IDs of what it changed, and another context takes them over")
  func didSaveObjectIDs() throws {
    let first = try context.insert(Book.self)
    let second = try context.insert(Book.self)
    try context.save()
    let other = library.container.newContext()
    let theirs = try #require(try other.existingObject(with: first.objectID) as? Book)
    let gone = try other.existingObject(with: second.objectID)
    let goneID = second.objectID
    first.title = "changed"
    context.delete(second)
    let third = try context.insert(Book.self)
    let told = try notes(.managedObjectContextDidSaveObjectIDs) { try context.save() }
    #expect(told.count == 1)
    #expect(ids(told.first, .insertedObjectIDs) == [third.objectID])
    #expect(ids(told.first, .updatedObjectIDs) == [first.objectID])
    #expect(ids(told.first, .deletedObjectIDs) == [goneID])
    var info = try #require(told.first?.userInfo)
    info["changes"] = nil
    ManagedObjectContext.mergeChanges(fromRemoteContextSave: info, into: [other])
    #expect(theirs.title == "changed" && gone.managedObjectContext == nil)
  }

  @Test("A merge tells which objects it read anew and which went, and the IDs of all")
  func didMerge() throws {
    let first = try context.insert(Book.self)
    let second = try context.insert(Book.self)
    try context.save()
    let (firstID, secondID) = (first.objectID, second.objectID)
    let other = library.container.newContext()
    try #require(try other.existingObject(with: firstID) as? Book).title = "changed"
    other.delete(try other.existingObject(with: secondID))
    let third = try other.insert(Book.self)
    context.automaticallyMergesChangesFromParent = true
    try other.save()
    // Two saves that wait are taken over as one.
    third.title = "and again"
    try other.save()
    var changed: [Notification] = []
    let merged = notes(.managedObjectContextDidMergeChangesObjectIDs) {
      changed = notes(.managedObjectContextObjectsDidChange) { context.processPendingChanges() }
    }
    #expect(merged.count == 1 && changed.count == 1)
    #expect(objects(changed.first, .refreshedObjects) == [first])
    #expect(objects(changed.first, .deletedObjects) == [second])
    #expect(ids(merged.first, .insertedObjectIDs) == [third.objectID])
    #expect(ids(merged.first, .refreshedObjectIDs) == [firstID])
    #expect(ids(merged.first, .deletedObjectIDs) == [secondID])
    #expect(merged.first?.userInfo?["changes"] is ContextChanges)
  }

  @Test("IDs, URIs and objects under Core Data's plain keys are taken over")
  func plainKeys() throws {
    typealias Key = ManagedObjectContext.NotificationKey
    let books = try (0..<4).map { _ in try context.insert(Book.self) }
    try context.save()
    let ids = books.map(\.objectID)
    let other = library.container.newContext()
    let theirs = try ids.map { try #require(try other.existingObject(with: $0) as? Book) }
    for book in books[..<2] { book.title = "changed" }
    for book in books[2...] { context.delete(book) }
    try context.save()
    ManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [
        Key.updatedObjects.rawValue: [books[0]],
        Key.refreshedObjects.rawValue: [ids[1].uriRepresentation()],
        Key.deletedObjects.rawValue: Set(ids[2...]),
      ], into: [other])
    #expect(theirs[0].title == "changed" && theirs[1].title == "changed")
    #expect(theirs[2].managedObjectContext == nil && theirs[3].managedObjectContext == nil)
  }

  @Test("A refresh, a rollback and a reset tell what they did")
  func others() throws {
    let book = try context.insert(Book.self)
    let tag = try context.insert(Tag.self)
    try context.save()
    let refreshed = try notes(.managedObjectContextObjectsDidChange) {
      try context.refreshAllObjects()
      context.processPendingChanges()
    }
    #expect(refreshed.count == 1)
    #expect(Set(objects(refreshed.first, .refreshedObjects) ?? []) == [book, tag])
    book.title = "changed"
    let new = try context.insert(Book.self)
    let rolledBack = notes(.managedObjectContextObjectsDidChange) { context.rollback() }
    #expect(objects(rolledBack.first, .refreshedObjects) == [book])
    #expect(objects(rolledBack.first, .deletedObjects) == [new])
    let reset = notes(.managedObjectContextObjectsDidChange) { context.reset() }
    let all =
      reset.first?.userInfo?[
        ManagedObjectContext.NotificationKey.invalidatedAllObjects.rawValue] as? [ManagedObjectID]
    #expect(Set(all ?? []) == [book.objectID, tag.objectID])
    #expect(notes(.managedObjectContextObjectsDidChange) { context.reset() }.isEmpty)
  }

  @Test("A coordinator tells of stores that come and go; who is told may ask it for the next")
  func stores() throws {
    typealias Key = PersistentStoreCoordinator.NotificationKey
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Library.model())
    var will: [Notification] = []
    var removing: [Notification] = []
    var store: PersistentStore?
    let did = try notes(.persistentStoreCoordinatorStoresDidChange, of: coordinator) {
      will = try notes(.persistentStoreCoordinatorStoresWillChange, of: coordinator) {
        removing = try notes(.persistentStoreCoordinatorWillRemoveStore, of: coordinator) {
          store = try coordinator.addPersistentStore(at: nil)
          coordinator.remove(try #require(store))
          coordinator.remove(try #require(store))
        }
      }
    }
    let keys = [Key.addedStores.rawValue, Key.removedStores.rawValue]
    for notes in [will, did] {
      #expect(notes.map { $0.userInfo?.keys.first as? String } == keys)
      #expect(
        notes.allSatisfy { ($0.userInfo?.values.first as? [PersistentStore])?.first === store })
    }
    #expect(removing.count == 1)
    let container = PersistentContainer(name: "x", model: Library.model(), storeURL: nil)
    container.persistentStoreDescriptions.append(
      PersistentStoreDescription(url: library.directory.url.appendingPathComponent("second.sqlite"))
    )
    let observer = NotificationCenter.default.addObserver(
      forName: .persistentStoreCoordinatorStoresDidChange,
      object: container.persistentStoreCoordinator, queue: nil
    ) { _ in
      #expect(throws: Never.self) { try container.loadPersistentStores() }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try container.loadPersistentStores()
    #expect(container.persistentStoreCoordinator.persistentStores.count == 2)
  }

  @Test("A store that is saved elsewhere is told of, the former one and the one in its place")
  func moved() throws {
    typealias Key = PersistentStoreCoordinator.NotificationKey
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Library.model())
    let former = try coordinator.addPersistentStore(at: nil)
    var present: PersistentStore?
    let told = try notes(.persistentStoreCoordinatorStoresDidChange, of: coordinator) {
      let url = library.directory.url.appendingPathComponent("moved.sqlite")
      present = try coordinator.migratePersistentStore(former, to: url)
    }
    func stores(_ key: Key) -> [PersistentStore] {
      told.first?.userInfo?[key.rawValue] as? [PersistentStore] ?? []
    }
    #expect(told.count == 1 && stores(.addedStores).first === present)
    #expect(stores(.removedStores).first === former)
    #expect(stores(.changedStores).map { $0 === former } == [true, false])
  }

  @Test("A save without changes is told of, and what an observer inserts before it is saved")
  func nothing() throws {
    let context = library.container.newContext()
    let told = try notes(.managedObjectContextDidSave, of: context) { try context.save() }
    #expect(told.count == 1)
    let changes = told.first?.userInfo?["changes"] as? ContextChanges
    #expect(changes?.isEmpty == true && told.first?.userInfo?.count == 1)
    nonisolated(unsafe) let observed = context
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextWillSave, object: context, queue: nil
    ) { _ in _ = try? observed.insert(Tag.self) }
    defer { NotificationCenter.default.removeObserver(observer) }
    try context.save()
    #expect(!context.hasChanges)
    #expect(try context.count(for: FetchRequest<Tag>(entityName: "Tag")) == 1)
  }
}
