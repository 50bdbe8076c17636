import CoreData
import TestSupport
import Testing

/// Values of transformable attributes in what conflicts and the history tell, and in what batches and stores of an own class are
/// given.
struct SnapshotArchiveTests {
  private let folder: TemporaryDirectory
  private var url: URL { folder.file("albums.sqlite") }

  init() throws { folder = try TemporaryDirectory() }

  private static func tags(_ album: NSManagedObject) -> [String]? {
    album.value(forKey: "tags") as? [String]
  }

  private static func info(_ album: NSManagedObject) -> [String: Int]? {
    album.value(forKey: "info") as? [String: Int]
  }

  @Test("A policy that writes the values of the store's snapshot back leaves them what they are")
  func writtenBack() throws {
    let coordinator = try Albums.coordinator(url)
    let (one, two) = (Albums.context(coordinator), Albums.context(coordinator))
    let policy = WritingBack(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    two.mergePolicy = policy
    let id = try one.performAndWait {
      let album = Album(context: one)
      album.title = "a"
      album.setValue(["first"], forKey: "tags")
      album.setValue(["k": 1], forKey: "info")
      try one.save()
      return album.objectID
    }
    let seen = try two.performAndWait {
      let album = try two.existingObject(with: id)
      #expect(Self.tags(album) == ["first"] && Self.info(album) == ["k": 1])
      return album
    }
    try one.performAndWait {
      let album = try one.existingObject(with: id)
      album.setValue(["theirs"], forKey: "tags")
      album.setValue(["k": 2], forKey: "info")
      try one.save()
    }
    try two.performAndWait {
      seen.setValue(["mine"], forKey: "tags")
      seen.setValue(["k": 3], forKey: "info")
      try two.save()
      #expect(policy.mine?["tags"] as? [String] == ["first"])
      #expect(policy.mine?["info"] as? [String: Int] == ["k": 1])
      two.refresh(seen, mergeChanges: false)
      #expect(Self.tags(seen) == ["theirs"] && Self.info(seen) == ["k": 2])
    }
  }

  @Test("A conflict that an application names has the object's own values beside the coordinator's")
  func named() throws {
    let context = Albums.context(try Albums.coordinator(nil))
    try context.performAndWait {
      let album = Album(context: context)
      album.title = "saved"
      album.setValue(["x"], forKey: "tags")
      let page = Page(1, context)
      page.album = album
      try context.save()
      page.number = 2
      album.title = "unsaved"
      func snapshot(_ object: NSManagedObject) -> [String: Any]? {
        NSMergeConflict(
          source: object, newVersion: 3, oldVersion: 2, cachedSnapshot: ["title": "cached"],
          persistedSnapshot: nil
        ).objectSnapshot
      }
      #expect(snapshot(album)?["title"] as? String == "saved")
      #expect(snapshot(album)?["tags"] as? [String] == ["x"])
      #expect(snapshot(page)?["number"] as? Int == 1)
      #expect(snapshot(page)?["album"] as? NSManagedObjectID == album.objectID)
    }
  }

  @Test("The tombstone of a deleted object has the values that its attributes had")
  func tombstone() throws {
    let model = Albums.model()
    for name in ["tags", "info", "title"] {
      model.entitiesByName["Album"]?.attributesByName[name]?.preservesValueInHistoryOnDeletion =
        true
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = Albums.context(coordinator)
    try context.performAndWait {
      let album = Album(context: context)
      album.setValue(["first"], forKey: "tags")
      album.setValue(["k": 1], forKey: "info")
      try context.save()
      context.delete(album)
      try context.save()
      let request = NSPersistentHistoryChangeRequest.fetchHistory(
        after: nil as NSPersistentHistoryToken?)
      let result = try context.execute(request) as? NSPersistentHistoryResult
      let transactions = result?.result as? [NSPersistentHistoryTransaction] ?? []
      let change = try #require(
        transactions.flatMap { $0.changes ?? [] }.first { $0.changeType == .delete })
      #expect(change.tombstone?["tags"] as? [String] == ["first"])
      #expect(change.tombstone?["info"] as? [String: Int] == ["k": 1])
      #expect(change.tombstone?["title"] is NSNull)
    }
  }

  @Test("Batches take values of an attribute that names no transformer, in every form")
  func batches() throws {
    let context = Albums.context(try Albums.coordinator(url))
    try context.performAndWait {
      try context.execute(
        NSBatchInsertRequest(
          entityName: "Album",
          objects: [["title": "a", "info": ["k": 1], "tags": ["x"]], ["title": "b"]]))
      var isOver = false
      try context.execute(
        NSBatchInsertRequest(entityName: "Album") { (values: NSMutableDictionary) in
          guard !isOver else { return true }
          values["title"] = "c"
          values["info"] = ["k": 2]
          isOver = true
          return false
        })
      let request = NSFetchRequest<Album>(entityName: "Album")
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      let albums = try context.fetch(request)
      #expect(albums.map(Self.info) == [["k": 1], nil, ["k": 2]])
      #expect(albums.map(Self.tags) == [["x"], nil, nil])
      func update(_ values: [AnyHashable: Any]) throws {
        let update = NSBatchUpdateRequest(entityName: "Album")
        update.propertiesToUpdate = values
        try context.execute(update)
        context.refreshAllObjects()
      }
      try update(["info": ["k": 4], "tags": ["y"]])
      #expect(albums.map(Self.info) == [["k": 4], ["k": 4], ["k": 4]])
      #expect(albums.map(Self.tags) == [["y"], ["y"], ["y"]])
      try update(["info": NSExpression(forConstantValue: ["k": 5])])
      #expect(albums.map(Self.info) == [["k": 5], ["k": 5], ["k": 5]])
      try update(["info": NSExpression(forConstantValue: nil), "tags": NSNull()])
      #expect(
        albums.map(Self.info) == [nil, nil, nil] && albums.map(Self.tags) == [nil, nil, nil])
    }
  }

  @Test("Nodes of stores of an own class hold values of such an attribute")
  func ownStores() throws {
    NSPersistentStoreCoordinator.registerStoreClass(InfoStore.self, forStoreType: "Info")
    let atomic = NSPersistentStoreCoordinator(managedObjectModel: Albums.model())
    try atomic.addPersistentStore(
      ofType: "Info", configurationName: nil, at: folder.file("a.info"))
    let incremental = NSPersistentStoreCoordinator(managedObjectModel: Albums.model())
    let row: [String: Any] = ["title": "a", "info": ["k": 1], "tags": ["x"]]
    _ = try ServerStore.add(to: incremental, ["Album": ["a": row]])
    for coordinator in [atomic, incremental] {
      let context = Albums.context(coordinator)
      try context.performAndWait {
        let album = try #require(
          try context.fetch(NSFetchRequest<Album>(entityName: "Album")).first)
        #expect(Self.info(album) == ["k": 1] && Self.tags(album) == ["x"])
        album.setValue(["k": 2], forKey: "info")
        try context.save()
        context.refresh(album, mergeChanges: false)
        #expect(Self.info(album) == ["k": 2])
      }
    }
  }
}

/// Gives objects of conflicts the values that the store has.
private final class WritingBack: NSMergePolicy {
  private(set) var mine: [String: Any]?

  override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    for conflict in list {
      mine = conflict.objectSnapshot
      for name in ["tags", "info"] {
        conflict.sourceObject.setValue(conflict.cachedSnapshot?[name], forKey: name)
      }
    }
    try super.resolve(optimisticLockingConflicts: list)
  }
}

/// One album, of which nothing is kept.
private final class InfoStore: NSAtomicStore, @unchecked Sendable {  // used by one test
  override var type: String { "Info" }

  override func load() throws {
    guard let album = persistentStoreCoordinator?.managedObjectModel.entitiesByName["Album"] else {
      return
    }
    let node = NSAtomicStoreCacheNode(objectID: objectID(for: album, withReferenceObject: "a"))
    node.setValue("a", forKey: "title")
    node.setValue(["k": 1], forKey: "info")
    node.setValue(["x"], forKey: "tags")
    addCacheNodes([node])
  }

  override func save() throws {}
}
