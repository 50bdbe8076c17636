import Driftless
import Foundation
import Synchronization
import Testing

@Suite("Contexts that tasks send work to")
struct BackgroundContextTests {
  let library: Library

  init() throws { library = try Library() }

  @Test("Work of many tasks runs one after another in one context, and what is unsaved stays in it")
  func oneAfterAnother() async throws {
    let context = library.container.newBackgroundContext()
    let busy = Counter()
    let counts = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<40 {
        group.addTask {
          try await context.perform { context in
            #expect(busy.add(1) == 1)
            defer { busy.add(-1) }
            try context.insert(Book.self).title = "\(number)"
            return context.insertedObjects.count
          }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    // Each saw the unsaved books of all before it.
    #expect(counts.sorted() == Array(1...40))
    #expect(try library.container.newContext().count(Book.self) == 0)
    try await context.perform { try $0.save() }
    #expect(try library.container.newContext().count(Book.self) == 40)
  }

  @Test("Work that one task sends runs in the order in which it was sent")
  func order() async throws {
    let context = library.container.newBackgroundContext()
    for number in 0..<20 {
      try await context.perform { context in
        let book = try context.fetch(Book.self).first ?? context.insert(Book.self)
        #expect(number == 0 || book.title == "\(number - 1)")
        book.title = "\(number)"
        try context.save()
      }
    }
    #expect(try library.container.newContext().fetch(Book.self).map(\.title) == ["19"])
  }

  @Test("Errors come back, and the context can be used on")
  func errors() async throws {
    struct Refused: Error {}
    let context = library.container.newBackgroundContext()
    await #expect(throws: Refused.self) {
      try await context.perform { context in
        try context.insert(Book.self).title = "kept"
        throw Refused()
      }
    }
    #expect(throws: Refused.self) { try context.performAndWait { _ in throw Refused() } }
    try context.performAndWait { try $0.save() }
    #expect(try library.container.newContext().fetch(Book.self).map(\.title) == ["kept"])
  }

  @Test("Waiting inside a piece of work is part of it, and does not end its event")
  func nested() throws {
    let background = library.container.newBackgroundContext()
    let events = Mutex<[Int]>([])
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextObjectsDidChange, object: nil, queue: nil
    ) { note in
      guard let context = note.object as? ManagedObjectContext, context.name == "nested" else {
        return
      }
      events.withLock { $0.append((note.userInfo?["inserted"] as? [ManagedObject])?.count ?? 0) }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let id = try background.performAndWait { context in
      context.name = "nested"
      let book = try context.insert(Book.self)
      let outer = ObjectIdentifier(context)
      let count = try background.performAndWait { inner in
        #expect(ObjectIdentifier(inner) == outer)
        try inner.insert(Book.self).title = "inner"
        return try inner.count(Book.self, where: Book.title == "nobody")
      }
      #expect(count == 0)
      try context.save()
      return book.objectID
    }
    #expect(!id.isTemporaryID)
    background.performAndWait { context in
      _ = try? context.insert(Book.self)
      background.performAndWait { _ = try? $0.insert(Book.self) }
      #expect(context.insertedObjects.count == 2)
    }
    #expect(events.withLock { $0.last } == 2)
  }

  @Test("It takes over what others save when it is told to")
  func merges() async throws {
    let context = library.container.newBackgroundContext()
    let id = try await context.perform { context in
      context.automaticallyMergesChangesFromParent = true
      let book = try context.insert(Book.self)
      try context.save()
      context.userInfo["held"] = book
      return book.objectID
    }
    try library.container.performAndWait { other in
      let book = try #require(try other.existingObject(with: id) as? Book)
      book.title = "theirs"
      try other.save()
    }
    let title = try await context.perform { context in
      context.processPendingChanges()
      return (context.userInfo["held"] as? Book)?.title
    }
    #expect(title == "theirs")
  }

  @Test("A context of one's own runs work at once and ends the event")
  func ownContext() throws {
    let context = library.container.newContext()
    let events = Mutex(0)
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextObjectsDidChange, object: context, queue: nil
    ) { _ in events.withLock { $0 += 1 } }
    defer { NotificationCenter.default.removeObserver(observer) }
    let book = try context.perform { try context.insert(Book.self) }
    #expect(events.withLock { $0 } == 1)
    context.performAndWait { book.title = "waits" }
    #expect(events.withLock { $0 } == 1)
    context.perform {}
    #expect(events.withLock { $0 } == 2 && book.title == "waits")
  }

  @Test("However many tasks send work to a container, eight pieces run at once, and all are done")
  func bounded() async throws {
    let busy = Counter()
    let container = library.container
    let done = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<200 {
        group.addTask {
          try await container.perform { context in
            busy.add(1)
            defer { busy.add(-1) }
            return try context.count(Book.self) + 1
          }
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(done == 200)
    #expect(busy.most <= 8)
  }

  @Test("The view context is the main actor's, one a container, and can be observed")
  @MainActor func viewContext() async throws {
    let context = library.container.viewContext
    #expect(context === library.container.viewContext && context.tracksObservation)
    try context.insert(Book.self).title = "seen"
    try context.save()
    let count = try await library.container.newBackgroundContext().perform {
      try $0.count(Book.self)
    }
    #expect(count == 1)
  }
}

private final class Counter: Sendable {
  private let values = Mutex((now: 0, most: 0))

  var most: Int { values.withLock { $0.most } }

  @discardableResult
  func add(_ number: Int) -> Int {
    values.withLock {
      $0.now += number
      $0.most = max($0.most, $0.now)
      return $0.now
    }
  }
}
