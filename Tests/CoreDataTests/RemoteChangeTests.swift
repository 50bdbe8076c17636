import CoreData
import TestSupport
import Testing

/// `NSPersistentStoreRemoteChange`, as its page has it.
struct RemoteChangeTests {
  private final class Seen: @unchecked Sendable {  // under its lock
    private let lock = NSLock()
    private var all: [Notification] = []
    var notifications: [Notification] { lock.withLock { all } }
    func add(_ notification: Notification) { lock.withLock { all.append(notification) } }
  }

  private func observe(_ object: Any?, _ seen: Seen) -> any NSObjectProtocol {
    NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreRemoteChange, object: object, queue: nil
    ) { seen.add($0) }
  }

  @Test("Its object is the coordinator, its token an NSPersistentHistoryToken of the history")
  func contents() throws {
    let folder = try TemporaryDirectory()
    let (one, two) = (try Shop.container(folder), try Shop.container(folder, name: "Other"))
    let coordinator = one.persistentStoreCoordinator
    let (mine, theirs) = (Seen(), Seen())
    let observers = [observe(coordinator, mine), observe(two.persistentStoreCoordinator, theirs)]
    defer { observers.forEach(NotificationCenter.default.removeObserver) }
    let context = one.newBackgroundContext()
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
      let notification = try #require(mine.notifications.first)
      #expect(mine.notifications.count == 1 && theirs.notifications.isEmpty)
      #expect(notification.object as? NSPersistentStoreCoordinator === coordinator)
      let store = coordinator.persistentStores[0]
      #expect(notification.userInfo?[NSStoreUUIDKey] as? String == store.identifier)
      #expect(notification.userInfo?[NSPersistentStoreURLKey] as? URL == store.url)
      let token = notification.userInfo?[NSPersistentHistoryTokenKey] as? NSPersistentHistoryToken
      #expect(token == coordinator.currentPersistentHistoryToken(fromStores: nil))
      Item(context: context).name = "Chair"
      try context.save()
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
      let result = try context.execute(request) as? NSPersistentHistoryResult
      #expect((result?.result as? [NSPersistentHistoryTransaction])?.count == 1)
    }
    // A store that was removed tells nobody, and one that was saved elsewhere its coordinator.
    let moved = try coordinator.migratePersistentStore(
      coordinator.persistentStores[0], to: folder.file("Moved.sqlite"), options: nil, type: .sqlite)
    let before = mine.notifications.count
    try context.performAndWait {
      Item(context: context).name = "Table"
      try context.save()
    }
    #expect(mine.notifications.count == before + 1)
    #expect(mine.notifications.last?.userInfo?[NSPersistentStoreURLKey] as? URL == moved.url)
  }
}
