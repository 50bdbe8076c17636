import CoreData
import Foundation
import TestSupport
import Testing

/// Stores whose files go while a coordinator has them.
struct DestroyedStoreTests {
  private let folder: TemporaryDirectory
  private let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())

  init() throws { folder = try TemporaryDirectory() }

  @Test(
    "A store of another class is detached with its file, also where that was gone already",
    arguments: [true, false])
  func ownClass(isThere: Bool) throws {
    let url = folder.file("shop.bin")
    try coordinator.addPersistentStore(
      ofType: NSBinaryStoreType, configurationName: nil, at: url, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    Item(context: context).name = "Lamp"
    try context.save()
    if isThere {
      try coordinator.destroyPersistentStore(at: url, ofType: NSBinaryStoreType)
    } else {
      try FileManager.default.removeItem(at: url)
      #expect(throws: (any Error).self) {
        try coordinator.destroyPersistentStore(at: url, ofType: NSBinaryStoreType)
      }
    }
    #expect(coordinator.persistentStores.isEmpty)
    try coordinator.addPersistentStore(
      ofType: NSBinaryStoreType, configurationName: nil, at: url, options: nil)
    #expect(try context.count(for: Item.fetchRequest() as NSFetchRequest<Item>) == 0)
  }

  @Test("A destroy that fails leaves a store attached, unless its file is another one by then")
  func failed() throws {
    let (url, aside) = (folder.file("shop.sqlite"), folder.file("other.sqlite"))
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    let other = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    try other.remove(try other.addPersistentStore(type: .sqlite, at: aside))
    // As a program holds it that syncs the store.
    let lock = open(url.path + "-driftless-sync", O_RDWR | O_CREAT, 0o600)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
    #expect(throws: (any Error).self) {
      try coordinator.destroyPersistentStore(at: url, type: .sqlite)
    }
    #expect(coordinator.persistentStores.count == 1)
    for suffix in ["-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: url.path + suffix)
    }
    #expect(rename(aside.path, url.path) == 0)
    #expect(throws: (any Error).self) {
      try coordinator.destroyPersistentStore(at: url, type: .sqlite)
    }
    #expect(coordinator.persistentStores.isEmpty)
  }

  @Test(
    "The metadata of a file that there is not are 260",
    arguments: [NSSQLiteStoreType, NSBinaryStoreType])
  func missing(type: String) throws {
    let url = folder.file("none")
    let error = #expect(throws: (any Error).self) {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: url)
    }
    let known = error.map { $0 as NSError }
    #expect(known?.domain == NSCocoaErrorDomain && known?.code == 260)
    #expect(known?.localizedDescription.contains("none") == true)
  }
}
