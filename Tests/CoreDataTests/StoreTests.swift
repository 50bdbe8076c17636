import CoreData
import Foundation
import TestSupport
import Testing

/// Coordinators, descriptions, options, metadata and files.
struct StoreTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  @Test("A coordinator adds stores by type and options, and says what they are")
  func adding() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let url = folder.file("a.sqlite")
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [
        NSPersistentHistoryTrackingKey: true as NSNumber, NSPersistentStoreTimeoutOption: 3,
        NSPersistentStoreConnectionPoolMaxSizeKey: 7,
        NSSQLitePragmasOption: ["synchronous": "NORMAL"],
      ])
    #expect(store.type == NSSQLiteStoreType && coordinator.url(for: store) == url)
    #expect(store.persistentStoreCoordinator === coordinator)
    #expect(store.options?[NSPersistentStoreTimeoutOption] as? Double == 3)
    #expect(store.options?[NSPersistentStoreConnectionPoolMaxSizeKey] as? Int == 7)
    #expect(store.configurationName == "PF_DEFAULT_CONFIGURATION_NAME")
    coordinator.setMetadata(["note": "x"], for: store)
    #expect(coordinator.metadata(for: store)["note"] as? String == "x")
    let read = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: NSSQLiteStoreType, at: url)
    #expect(read[NSStoreUUIDKey] as? String == store.identifier && read["note"] as? String == "x")
    #expect(
      coordinator.managedObjectModel.isConfiguration(
        withName: nil, compatibleWithStoreMetadata: read))
    let memory = try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    #expect(memory.type == NSInMemoryStoreType && coordinator.persistentStores.count == 2)
    try coordinator.remove(memory)
    #expect(throws: CocoaError.self) { try coordinator.remove(memory) }
  }

  @Test("A binary store's file is there as soon as the store is; a coordinator is one by identity")
  func binaryFile() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let url = folder.file("a.binary")
    try coordinator.addPersistentStore(
      ofType: NSBinaryStoreType, configurationName: nil, at: url,
      options: [NSPersistentHistoryTrackingKey: true])
    #expect(FileManager.default.fileExists(atPath: url.path))
    let other = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    #expect(coordinator == coordinator && coordinator != other)
    #expect(Set([coordinator, other]).count == 2)
    // A history that is not wanted is kept all the same.
    let description = NSPersistentStoreDescription(url: folder.file("b.sqlite"))
    description.setOption(false as NSNumber, forKey: NSPersistentHistoryTrackingKey)
    nonisolated(unsafe) var failure: (any Error)?
    other.addPersistentStore(with: description) { _, error in failure = error }
    #expect(failure == nil)
    try other.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.file("c.sqlite"),
      options: [NSPersistentHistoryTrackingKey: false])
  }

  @Test("Under a name that is no configuration of the model a store has all entities")
  func unknownConfiguration() throws {
    let url = folder.file("a.sqlite")
    for _ in 0...1 {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
      let store = try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: "Nobody's", at: url)
      let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      try context.performAndWait {
        Item(context: context).name = "Lamp"
        Order(context: context).setValue(1, forKey: "number")
        try context.save()
      }
      #expect(
        coordinator.managedObjectModel.isConfiguration(
          withName: "Nobody's", compatibleWithStoreMetadata: store.metadata))
      try coordinator.remove(store)
    }
  }

  @Test("A store that was removed is closed, its log in the file, though a context of it is there")
  func removed() throws {
    let url = folder.file("a.sqlite")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      try context.save()
      #expect(FileManager.default.fileExists(atPath: url.path + "-wal"))
      item.name = "Chair"
      try coordinator.remove(store)
      #expect(!FileManager.default.fileExists(atPath: url.path + "-wal"))
      // What was unsaved of it is forgotten, and stands in the way of no save.
      try context.save()
      #expect(item.managedObjectContext == nil)
    }
    let moved = folder.file("b.sqlite")
    try FileManager.default.copyItem(at: url, to: moved)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: moved)
    try context.performAndWait {
      let items = try context.fetch(Item.fetchRequest())
      #expect(items.map(\.name) == ["Lamp"])
    }
  }

  @Test("An option that is a key of notifications is passed over, by every way")
  func passedOver() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.file("a.sqlite"),
      options: [
        NSPersistentHistoryTokenKey: true,
        NSPersistentHistoryTrackingKey: [NSPersistentHistoryTrackingKey: true],
      ])
    let description = NSPersistentStoreDescription(url: folder.file("b.sqlite"))
    description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTokenKey)
    nonisolated(unsafe) var failure: (any Error)?  // the handler is called before this goes on
    coordinator.addPersistentStore(with: description) { failure = $1 }
    #expect(failure == nil && coordinator.persistentStores.count == 2)
  }

  @Test("A type, an option or a file that cannot be is an error, by both ways")
  func refusals() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    #expect(throws: CocoaError.self) {
      try coordinator.addPersistentStore(
        ofType: "XML", configurationName: nil, at: folder.file("a.xml"))
    }
    #expect(throws: CocoaError.self) {
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: folder.file("b.sqlite"),
        options: [NSReadOnlyPersistentStoreOption: "maybe"])
    }
    try Data("no store".utf8).write(to: folder.file("c.sqlite"))
    let container = NSPersistentContainer(name: "c", managedObjectModel: Shop.model())
    let description = NSPersistentStoreDescription(url: folder.file("c.sqlite"))
    description.setOption(false as NSNumber, forKey: NSReadOnlyPersistentStoreOption)
    #expect(description.options[NSReadOnlyPersistentStoreOption] as? NSNumber == false)
    container.persistentStoreDescriptions = [description]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    #expect((failure as NSError?)?.domain == NSCocoaErrorDomain)
    #expect(failure is CocoaError)
  }

  @Test("A store moves, is replaced and destroyed")
  func files() throws {
    let container = try Shop.container(folder)
    let coordinator = container.persistentStoreCoordinator
    let context = container.newBackgroundContext()
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
    }
    let moved = try coordinator.migratePersistentStore(
      coordinator.persistentStores[0], to: folder.file("moved.sqlite"), withType: NSSQLiteStoreType)
    #expect(moved.url == folder.file("moved.sqlite") && coordinator.persistentStores.count == 1)
    try context.performAndWait {
      let count = try context.count(for: Item.fetchRequest() as NSFetchRequest<Item>)
      #expect(count == 1)
    }
    try coordinator.remove(moved)
    moved.close()
    try coordinator.destroyPersistentStore(
      at: folder.file("moved.sqlite"), ofType: NSSQLiteStoreType)
    try coordinator.addPersistentStore(
      type: .sqlite, at: folder.file("moved.sqlite"))
    context.reset()
    try context.performAndWait {
      let count = try context.count(for: Item.fetchRequest() as NSFetchRequest<Item>)
      #expect(count == 0)
    }
  }

  @Test("A container loads each store once, later ones where the description says so")
  func containers() async throws {
    final class Shelf: NSPersistentContainer, @unchecked Sendable {
      override class func defaultDirectoryURL() -> URL {
        FileManager.default.temporaryDirectory
      }
    }
    let container = Shelf(name: "Shelf", managedObjectModel: Shop.model())
    let first = try #require(container.persistentStoreDescriptions.first)
    #expect(first.url?.lastPathComponent == "Shelf.sqlite" && first.type == NSSQLiteStoreType)
    let description = NSPersistentStoreDescription()
    description.type = NSInMemoryStoreType
    description.shouldAddStoreAsynchronously = true
    container.persistentStoreDescriptions = [description]
    let error: (any Error)? = await withCheckedContinuation { continuation in
      container.loadPersistentStores { _, error in continuation.resume(returning: error) }
    }
    #expect(error == nil)
    nonisolated(unsafe) var count = 0
    container.loadPersistentStores { _, _ in count += 1 }
    #expect(count == 0 && container.persistentStoreCoordinator.persistentStores.count == 1)
    let names = await container.performBackgroundTask {
      $0.persistentStoreCoordinator?.persistentStores.count
    }
    #expect(names == 1)
  }

  /// The pool of threads that this one is of: dispatch calls its threads after it.
  private static func pool() -> String? {
    try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
  }

  @Test("Stores that are added later are opened on no thread of tasks, which would wait with them")
  func addingLaterTakesNoThreadOfTasks() async {
    let ofTasks = await Task.detached { Self.pool() }.value
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let container = NSPersistentContainer(name: "Later", managedObjectModel: Shop.model())
    func description() -> NSPersistentStoreDescription {
      let description = NSPersistentStoreDescription()
      description.type = NSInMemoryStoreType
      description.shouldAddStoreAsynchronously = true
      return description
    }
    let ofCoordinator = await withCheckedContinuation { continuation in
      coordinator.addPersistentStore(with: description()) { _, _ in
        continuation.resume(returning: Self.pool())
      }
    }
    container.persistentStoreDescriptions = [description()]
    let ofContainer = await withCheckedContinuation { continuation in
      container.loadPersistentStores { _, _ in continuation.resume(returning: Self.pool()) }
    }
    #expect(ofTasks != nil && ofCoordinator != ofTasks && ofContainer != ofTasks)
  }
}
