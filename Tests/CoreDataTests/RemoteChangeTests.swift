import CoreData
import Dispatch
import TestSupport
import Testing

/// `NSPersistentStoreRemoteChange`, as its page has it.
struct RemoteChangeTests {
  private final class Seen: @unchecked Sendable {  // under its condition
    private let condition = NSCondition()
    private var all: [Notification] = []
    var notifications: [Notification] { condition.withLock { all } }

    func add(_ notification: Notification) {
      condition.withLock {
        all.append(notification)
        condition.broadcast()
      }
    }

    /// What was told once there are so many, or after a time that no queue takes.
    func notifications(count: Int) -> [Notification] {
      let end = Date(timeIntervalSinceNow: 30)
      return condition.withLock {
        while all.count < count, condition.wait(until: end) {}
        return all
      }
    }
  }

  private func container(
    _ folder: TemporaryDirectory, name: String = "Shop", posts: Bool = true
  ) throws -> NSPersistentContainer {
    let container = NSPersistentContainer(name: name, managedObjectModel: Shop.model())
    let description = NSPersistentStoreDescription(url: folder.file("\(name).sqlite"))
    if posts {
      description.setOption(
        NSNumber(value: true), forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
    }
    container.persistentStoreDescriptions = [description]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    return container
  }

  private func observe(_ object: Any?, _ seen: Seen) -> any NSObjectProtocol {
    NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreRemoteChange, object: object, queue: nil
    ) { seen.add($0) }
  }

  @Test("Its object is the coordinator, its token an NSPersistentHistoryToken of the history")
  func contents() throws {
    let folder = try TemporaryDirectory()
    let (one, two) = (try container(folder), try container(folder, name: "Other"))
    let coordinator = one.persistentStoreCoordinator
    let (mine, theirs) = (Seen(), Seen())
    let observers = [observe(coordinator, mine), observe(two.persistentStoreCoordinator, theirs)]
    defer { observers.forEach(NotificationCenter.default.removeObserver) }
    let context = one.newBackgroundContext()
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
      let notification = try #require(mine.notifications(count: 1).first)
      #expect(mine.notifications.count == 1 && theirs.notifications.isEmpty)
      #expect(notification.object as? NSPersistentStoreCoordinator === coordinator)
      let store = coordinator.persistentStores[0]
      #expect(notification.userInfo?[NSStoreUUIDKey] as? String == store.identifier)
      #expect(notification.userInfo?[NSPersistentStoreURLKey] as? URL == store.url)
      let token = notification.userInfo?[NSPersistentHistoryTokenKey] as? NSPersistentHistoryToken
      #expect(token == coordinator.currentPersistentHistoryToken(fromStores: nil))
      Item(context: context).name = "Chair"
      try context.save()
      #expect(mine.notifications(count: 2).count == 2)
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
    #expect(mine.notifications(count: before + 1).count == before + 1)
    #expect(mine.notifications.last?.userInfo?[NSPersistentStoreURLKey] as? URL == moved.url)
  }

  @Test("Without the option nothing is told")
  func withoutOption() throws {
    let folder = try TemporaryDirectory()
    let (silent, telling) = (
      try container(folder, posts: false), try container(folder, name: "Other")
    )
    let seen = Seen()
    let observers = [silent, telling].map { observe($0.persistentStoreCoordinator, seen) }
    defer { observers.forEach(NotificationCenter.default.removeObserver) }
    for container in [silent, telling] {
      let context = container.newBackgroundContext()
      try context.performAndWait {
        Item(context: context).name = "Lamp"
        try context.save()
      }
    }
    let told = seen.notifications(count: 1)
    #expect(
      told.map { $0.object as? NSPersistentStoreCoordinator } == [
        telling.persistentStoreCoordinator
      ])
  }

  @Test("An observer of one store that waits holds up no other's", .timeLimit(.minutes(1)))
  func blocked() throws {
    let folder = try TemporaryDirectory()
    let (one, two) = (try container(folder), try container(folder, name: "Other"))
    let (waiting, isTold) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let seen = Seen()
    let observers = [
      NotificationCenter.default.addObserver(
        forName: .NSPersistentStoreRemoteChange, object: one.persistentStoreCoordinator, queue: nil
      ) { _ in
        isTold.signal()
        waiting.wait()
      }, observe(two.persistentStoreCoordinator, seen),
    ]
    defer { observers.forEach(NotificationCenter.default.removeObserver) }
    defer { waiting.signal() }
    for container in [one, two] {
      let context = container.newBackgroundContext()
      try context.performAndWait {
        Item(context: context).name = "Lamp"
        try context.save()
      }
      if container === one { try #require(isTold.wait(timeout: .now() + 30) == .success) }
    }
    #expect(seen.notifications(count: 1).count == 1)
  }

  @Test("An observer may wait for the thread that saves", .timeLimit(.minutes(1)))
  func waiting() throws {
    let folder = try TemporaryDirectory()
    let container = try container(folder)
    let context = container.newBackgroundContext()
    let seen = Seen()
    let observer = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreRemoteChange, object: container.persistentStoreCoordinator,
      queue: nil
    ) { notification in
      context.performAndWait {}
      seen.add(notification)
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
    }
    #expect(seen.notifications(count: 1).count == 1)
  }
}
