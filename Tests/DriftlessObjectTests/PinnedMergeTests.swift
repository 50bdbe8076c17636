import Driftless
import Foundation
import TestSupport
import Testing

/// A pinned context goes on to the newest state when it merges, or is reset.
struct PinnedMergeTests {
  private let library: Library
  private let context: ManagedObjectContext
  private let other: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
    other = library.container.newContext()
    try other.insert(Book.self).title = "a"
    try other.save()
  }

  private func titles() throws -> [String] {
    try context.fetch(Book.self, order: Book.title.ascending).map(\.title)
  }

  /// Pins the context, reads, and has another one change what was read.
  ///
  /// - Returns: What the other context's save tells, the object of before, and the token.
  private func pinAndChange() throws -> (
    notification: Notification, book: Book, token: QueryGenerationToken?
  ) {
    try context.setQueryGenerationFrom(.current)
    let book = try #require(try context.fetch(Book.self).first)
    let token = context.queryGenerationToken
    nonisolated(unsafe) var told: Notification?
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: other, queue: nil
    ) { told = $0 }
    defer { NotificationCenter.default.removeObserver(observer) }
    try other.fetch(Book.self).first?.title = "b"
    try other.insert(Book.self).title = "c"
    try other.save()
    #expect(book.title == "a")
    return (try #require(told), book, token)
  }

  private func expectNewest(_ book: Book, _ token: QueryGenerationToken?) throws {
    #expect(book.title == "b")
    #expect(try titles() == ["b", "c"])
    let now = context.queryGenerationToken
    #expect(now != nil && now != token && now != .current)
    // It is pinned there.
    try other.insert(Book.self).title = "d"
    try other.save()
    #expect(try titles() == ["b", "c"])
  }

  @Test("A merge of another context's save moves a pinned context to the newest state")
  func save() throws {
    let change = try pinAndChange()
    #expect(try titles() == ["a"])
    context.mergeChanges(fromContextDidSave: change.notification)
    try expectNewest(change.book, change.token)
  }

  @Test("So does one of IDs, and one of transactions of the history")
  func others() throws {
    let change = try pinAndChange()
    ManagedObjectContext.mergeChanges(
      fromRemoteContextSave: ["updated": [change.book.objectID]], into: [context])
    try expectNewest(change.book, change.token)
    try context.setQueryGenerationFrom(.current)
    #expect(try titles() == ["b", "c", "d"])
    try other.insert(Book.self).title = "e"
    try other.save()
    let store = try #require(library.container.persistentStoreCoordinator.persistentStores.first)
    let all = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    try context.mergeChanges(fromHistory: Array(all.suffix(1)))
    #expect(try titles() == ["b", "c", "d", "e"])
  }

  @Test(
    "A pinned context that merges automatically shows each save of others, and is pinned between them"
  )
  func automatic() throws {
    context.automaticallyMergesChangesFromParent = true
    let change = try pinAndChange()
    context.processPendingChanges()
    #expect(change.book.title == "b")
    #expect(try titles() == ["b", "c"])
    #expect(context.queryGenerationToken != change.token)
    try other.insert(Book.self).title = "d"
    try other.save()
    #expect(try titles() == ["b", "c", "d"])
    // What another process, or another stack, saves comes the same way.
    let stack = try library.another()
    let foreign = stack.newContext()
    try foreign.insert(Book.self).title = "e"
    try foreign.save()
    _ = try other.fetch(Book.self)
    withExtendedLifetime(stack) {}
  }

  @Test("A reset pins the context to the state of its next read")
  func reset() throws {
    let change = try pinAndChange()
    context.reset()
    #expect(context.queryGenerationToken == .current)
    #expect(try titles() == ["b", "c"])
    try other.insert(Book.self).title = "d"
    try other.save()
    #expect(try titles() == ["b", "c"])
    withExtendedLifetime(change.book) {}
  }

  @Test("What is not pinned stays so")
  func unpinned() throws {
    let change = try pinAndChange()
    try context.setQueryGenerationFrom(nil)
    context.mergeChanges(fromContextDidSave: change.notification)
    context.reset()
    #expect(context.queryGenerationToken == nil)
  }
}
