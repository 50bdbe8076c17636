import CoreData
import TestSupport
import Testing

/// What an object says of its state, and which of its values stay, as Core Data's pages and other projects' tests have it.
struct ObjectStateTests {
  private let folder: TemporaryDirectory
  private let coordinator: NSPersistentStoreCoordinator
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    coordinator = try Albums.coordinator(folder.file("albums.sqlite"))
    context = Albums.context(coordinator)
  }

  private func transactions() throws -> Int {
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast)
    request.resultType = .count
    return try #require((context.execute(request) as? NSPersistentHistoryResult)?.result as? Int)
  }

  @Test("changedValuesForCurrentEvent() has the values from before the event")
  func formerValues() throws {
    try context.performAndWait {
      let album = Album(context: context)
      #expect(album.changedValuesForCurrentEvent().isEmpty)
      album.title = "a"
      #expect(album.changedValuesForCurrentEvent()["title"] is NSNull)
      try context.save()
      album.title = "b"
      album.title = "c"
      #expect(album.changedValuesForCurrentEvent()["title"] as? String == "a")
      context.processPendingChanges()
      #expect(album.changedValuesForCurrentEvent().isEmpty)
      album.title = "d"
      #expect(album.changedValuesForCurrentEvent()["title"] as? String == "c")
      #expect(album.changedValues()["title"] as? String == "d")
      let page = Page(context: context)
      page.setValue(album, forKey: "album")
      #expect(page.changedValuesForCurrentEvent()["album"] is NSNull)
      try context.save()
      page.setValue(nil, forKey: "album")
      #expect(page.changedValuesForCurrentEvent()["album"] as? Album === album)
      let pages = album.changedValuesForCurrentEvent()["pages"] as? NSOrderedSet
      #expect(pages?.array as? [Page] == [page])
    }
  }

  @Test("A deleted object that is inserted is not deleted any more")
  func insertedAgain() throws {
    try context.performAndWait {
      let album = Album(context: context)
      album.title = "a"
      try context.save()
      context.delete(album)
      context.insert(album)
      #expect(!album.isDeleted && context.deletedObjects.isEmpty && context.hasChanges)
      try context.save()
      context.refresh(album, mergeChanges: false)
      #expect(album.title == "a")
      context.delete(album)
      context.processPendingChanges()
      context.insert(album)
      album.title = "b"
      try context.save()
      #expect(album.title == "b" && !context.hasChanges)
      #expect(try context.count(for: NSFetchRequest<Album>(entityName: "Album")) == 1)
    }
  }

  @Test("An equal value marks an object updated, and neither a row nor the history has it")
  func equalValue() throws {
    try context.performAndWait {
      let album = Album(context: context)
      album.title = "a"
      try context.save()
      let before = try transactions()
      album.title = "a"
      #expect(album.hasChanges && album.isUpdated && context.hasChanges)
      #expect(!album.hasPersistentChangedValues && album.changedValues().isEmpty)
      #expect(context.updatedObjects == [album])
      try context.save()
      #expect(!album.hasChanges && !context.hasChanges)
      #expect(try transactions() == before)
      album.setValue("a", forKey: "title")
      #expect(album.hasChanges)
      context.rollback()
      #expect(!album.hasChanges && album.title == "a")
    }
  }

  @Test("An equal value brings nothing back that others deleted, and needs no store to write to")
  func equalValueOfDeleted() throws {
    let other = Albums.context(coordinator)
    try context.performAndWait {
      let album = Album(context: context)
      album.title = "a"
      let page = Page(1, context)
      page.album = album
      Album(context: context).title = "kept"
      try context.save()
      #expect((album.value(forKey: "pages") as? NSOrderedSet)?.count == 1)
      try other.performAndWait {
        other.delete(other.object(with: page.objectID))
        other.delete(other.object(with: album.objectID))
        try other.save()
      }
      album.title = "a"
      page.setManagedValue(Int32(1), forKey: "number")
      #expect(album.hasChanges && page.hasChanges)
      try context.save()
      #expect(!context.hasChanges)
    }
    try other.performAndWait {
      let albums = try other.fetch(NSFetchRequest<Album>(entityName: "Album"))
      #expect(albums.map(\.title) == ["kept"])
    }
    let readOnly = Albums.context(
      try Albums.coordinator(
        folder.file("albums.sqlite"), [NSReadOnlyPersistentStoreOption: true]))
    try readOnly.performAndWait {
      let album = try #require(
        readOnly.fetch(NSFetchRequest<Album>(entityName: "Album")).first)
      album.title = "kept"
      #expect(readOnly.hasChanges)
      try readOnly.save()
      #expect(!readOnly.hasChanges)
    }
  }

  @Test("refreshAllObjects() drops transient values, and keeps those of objects with changes")
  func transients() throws {
    try context.performAndWait {
      let (clean, changed) = (Album(context: context), Album(context: context))
      for album in [clean, changed] {
        album.title = "a"
        album.setValue("kept", forKey: "cached")
      }
      try context.save()
      #expect(clean.value(forKey: "cached") as? String == "kept")
      changed.title = "b"
      context.refreshAllObjects()
      #expect(clean.isFault && !changed.isFault)
      #expect(clean.value(forKey: "cached") == nil)
      #expect(changed.value(forKey: "cached") as? String == "kept" && changed.title == "b")
    }
  }

  @Test("A child's save brings transient values into its parent, and a child reads none from there")
  func transientsOfParent() throws {
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = context
    nonisolated(unsafe) var held: Album?  // on the parent's queue
    let id = try child.performAndWait {
      let album = Album(context: child)
      album.title = "a"
      album.setValue("up", forKey: "cached")
      try child.save()
      #expect(album.value(forKey: "cached") as? String == "up")
      return album.objectID
    }
    try context.performAndWait {
      let album = try #require(context.object(with: id) as? Album)
      held = album
      #expect(album.value(forKey: "cached") as? String == "up")
      try context.save()
      #expect(album.value(forKey: "cached") as? String == "up")
    }
    try child.performAndWait {
      let album = try #require(child.object(with: id) as? Album)
      #expect(album.title == "a" && album.value(forKey: "cached") == nil)
      album.setValue("again", forKey: "cached")
      #expect(album.hasChanges && !album.hasPersistentChangedValues)
      try child.save()
    }
    context.performAndWait {
      #expect(held?.managedObjectContext === context)
      held = nil
      #expect(context.object(with: id).value(forKey: "cached") as? String == "again")
      #expect(context.hasChanges)
    }
  }

  @Test("An object of a context that was reset is a fault without values")
  func reset() throws {
    try context.performAndWait {
      let album = Album(context: context)
      album.title = "a"
      let page = Page(1, context)
      page.album = album
      try context.save()
      let unsaved = Page(2, context)
      context.reset()
      for object in [album, page, unsaved] {
        #expect(object.isFault && object.managedObjectContext == nil && !object.hasChanges)
        object.willAccessValue(forKey: nil)
        #expect(!object.isFault)
      }
      #expect(album.value(forKey: "title") == nil && page.value(forKey: "album") == nil)
      #expect(page.number == 0)
    }
  }

  @Test("The changed values of a new object have what was set as primitive values")
  func primitives() throws {
    try context.performAndWait {
      let album = Album(context: context)
      album.setPrimitiveValue(Date(timeIntervalSinceReferenceDate: 7), forKey: "made")
      #expect(Set(album.changedValues().keys) == ["made"])
      try context.save()
      #expect(album.changedValues().isEmpty)
    }
  }

  @Test("A child that merges by itself has what its parent saved in its next piece of work")
  func mergingChild() throws {
    for merges in [true, false] {
      let id = try context.performAndWait {
        let album = Album(context: context)
        album.title = "a"
        try context.save()
        return album.objectID
      }
      let child = NSManagedObjectContext(.privateQueue)
      child.parent = context
      child.automaticallyMergesChangesFromParent = merges
      nonisolated(unsafe) var held: Album?  // on the child's queue
      child.performAndWait {
        held = child.object(with: id) as? Album
        #expect(held?.title == "a")
      }
      try context.performAndWait {
        (context.object(with: id) as? Album)?.title = "b"
        try context.save()
      }
      child.performAndWait {
        #expect(held?.title == (merges ? "b" : "a"))
        held = nil
      }
    }
  }

  @Test("Members of a relationship that was read keep their values until its owner is a fault")
  func members() throws {
    try context.performAndWait {
      let album = Album(context: context)
      album.title = "a"
      for number in 1...3 { Page(Int32(number), context).album = album }
      try context.save()
      context.refreshAllObjects()
      context.processPendingChanges()
      func pages() -> [Page] {
        (album.value(forKey: "pages") as? NSOrderedSet)?.array as? [Page] ?? []
      }
      #expect(pages().allSatisfy { $0.isFault })
      #expect(pages().map(\.number) == [1, 2, 3])
      #expect(!pages().contains { $0.isFault } && context.registeredObjects.count == 4)
      weak let first = pages().first
      #expect(first?.number == 1)
      context.refresh(album, mergeChanges: false)
      #expect(first == nil && context.registeredObjects == [album])
    }
  }

  @Test("NSManagedObject itself has an entity without a name")
  func ownEntity() {
    #expect(NSManagedObject.entity().name == nil || NSManagedObject.entity().name == "")
  }
}
