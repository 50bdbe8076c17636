import Driftless
import Foundation
import Synchronization
import Testing

@Suite("Fetched results and asynchronous fetches")
struct FetchedResultsTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
    for (index, title) in ["a", "b", "c", "d"].enumerated() {
      let book = try context.insert(Book.self)
      book.title = title
      book.pages = index
      book[Book.genre] = index < 2 ? .essay : .novel
    }
    try context.save()
  }

  private var request: FetchRequest<Book> {
    FetchRequest<Book>(entityName: "Book", sort: [FetchSort("genre"), FetchSort("pages")])
  }

  private func book(_ title: String, in context: ManagedObjectContext) throws -> Book {
    try #require(try context.fetch(Book.self, where: Book.title == title).first)
  }

  @Test("Sections follow their key path; updates tell inserts, deletes, moves and updates")
  func updates() async throws {
    let results = try FetchedResults(request, context: context, sectionKeyPath: "genre")
    try results.performFetch()
    #expect(results.snapshot.sections.map(\.name) == ["essay", "novel"])
    #expect(results.snapshot.sections.map(\.objectIDs.count) == [2, 2])
    #expect(results.object(at: .init(section: 1, row: 1))?.title == "d")
    #expect(results.object(at: .init(section: 2, row: 0)) == nil)
    var updates = results.updates().makeAsyncIterator()

    let (a, b, c) = (
      try book("a", in: context), try book("b", in: context), try book("c", in: context)
    )
    let gone = c.objectID
    a.title = "A"
    b[Book.genre] = .novel
    context.delete(c)
    let e = try context.insert(Book.self)
    e.pages = 9
    e[Book.genre] = .novel
    try context.save()
    let update = try #require(await updates.next())
    #expect(update.sectionChanges.isEmpty)
    #expect(
      Set(update.rowChanges) == [
        .update(a.objectID, at: .init(section: 0, row: 0)),
        .move(b.objectID, from: .init(section: 0, row: 1), to: .init(section: 1, row: 0)),
        .delete(gone, from: .init(section: 1, row: 0)),
        .insert(e.objectID, at: .init(section: 1, row: 2)),
      ])

    a[Book.genre] = .novel
    try context.save()
    let second = try #require(await updates.next())
    #expect(second.sectionChanges == [.delete(name: "essay", at: 0)])
    #expect(second.snapshot == results.snapshot && results.snapshot.sections.count == 1)
  }

  @Test("One row that changes places is one move")
  func moves() async throws {
    let request = FetchRequest<Book>(entityName: "Book", sort: [FetchSort("pages")])
    let results = try FetchedResults(request, context: context)
    try results.performFetch()
    var updates = results.updates().makeAsyncIterator()
    let a = try book("a", in: context)
    a.pages = 100
    try context.save()
    let update = try #require(await updates.next())
    #expect(
      update.rowChanges == [
        .move(a.objectID, from: .init(section: 0, row: 0), to: .init(section: 0, row: 3))
      ])
    #expect(results.fetchedObjects.map(\.title) == ["b", "c", "d", "a"])
  }

  @Test("What changed while nobody asked for an update comes as one, for each who listens")
  func coalesced() async throws {
    let request = FetchRequest<Book>(entityName: "Book", sort: [FetchSort("pages")])
    let results = try FetchedResults(request, context: context)
    try results.performFetch()
    var early = results.updates().makeAsyncIterator()
    let a = try book("a", in: context)
    for pages in 100...150 {
      a.pages = pages
      try context.save()
    }
    var late = results.updates().makeAsyncIterator()
    a.title = "a, edited"
    try context.save()
    let first = try #require(await early.next())
    #expect(first.snapshot == results.snapshot)
    #expect(
      first.rowChanges == [
        .move(a.objectID, from: .init(section: 0, row: 0), to: .init(section: 0, row: 3))
      ])
    #expect(
      await late.next()?.rowChanges == [.update(a.objectID, at: .init(section: 0, row: 3))])
  }

  @Test("Results that end while somebody waits end the stream")
  func ended() async throws {
    let request = FetchRequest<Book>(entityName: "Book", sort: [FetchSort("pages")])
    var results: FetchedResults<Book>? = try FetchedResults(request, context: context)
    try results?.performFetch()
    var updates = try #require(results?.updates()).makeAsyncIterator()
    results = nil
    #expect(await updates.next() == nil)
  }

  @Test("Another context's save arrives with the merge")
  func merge() async throws {
    context.automaticallyMergesChangesFromParent = true
    let results = try FetchedResults(request, context: context, sectionKeyPath: "genre")
    try results.performFetch()
    var updates = results.updates().makeAsyncIterator()
    let other = library.container.newContext()
    try book("d", in: other).title = "D"
    try other.save()
    context.processPendingChanges()
    let update = try #require(await updates.next())
    let d = try book("D", in: context).objectID
    #expect(update.rowChanges == [.update(d, at: .init(section: 1, row: 1))])
  }

  @Test("Results need an order that agrees with their sections")
  func refused() throws {
    let plain = FetchRequest<Book>(entityName: "Book")
    #expect(throws: FetchError.self) { try FetchedResults(plain, context: context) }
    #expect(throws: FetchError.self) {
      try FetchedResults(request, context: context, sectionKeyPath: "title")
    }
    #expect(throws: FetchError.self) { try library.container.fetchedResults(plain) }
  }

  @Test("The store's results follow every commit, of another stack too")
  func storeResults() async throws {
    let stream = try library.container.fetchedResults(request, sectionKeyPath: "genre")
    var updates = stream.makeAsyncIterator()
    let first = try #require(await updates.next())
    #expect(first.sectionChanges.count == 2 && first.rowChanges.count == 4)
    let other = try library.another().newContext()
    let a = try book("a", in: other)
    a.title = "A"
    try other.save()
    let second = try #require(await updates.next())
    #expect(second.rowChanges.count == 1)
    guard case .update(let id, let place)? = second.rowChanges.first else {
      Issue.record("\(second)")
      return
    }
    #expect(id.key == a.objectID.key && place == .init(section: 0, row: 0))
  }

  @Test("Asynchronous fetches give IDs, rows, counts and objects, and tell how far they are")
  func asynchronous() async throws {
    try context.execute(
      BatchInsertRequest(entityName: "Book", objects: (0..<1000).map { ["pages": 100 + $0] }))
    let steps = Steps()
    let ids = try await library.container.fetchIDs(request) { steps.add($0) }
    #expect(ids.count == 1004)
    #expect(steps.all.map(\.completed) == [256, 512, 768, 1004])
    #expect(steps.all.allSatisfy { $0.total == 1004 })
    #expect(try await library.container.count(for: request) == 1004)
    var rows = FetchRequest<FetchedRow>(entityName: "Book", sort: [FetchSort("pages")], limit: 2)
    rows.propertiesToFetch = ["title"]
    #expect(
      try await library.container.fetchRows(rows).map { $0["title", as: String.self] }
        == ["a", "b"])
    let titles = try await library.container.fetch(
      FetchRequest<Book>(entityName: "Book", sort: [FetchSort("pages")], limit: 3)
    ) { context, books in books.map(\.title) }
    #expect(titles == ["a", "b", "c"])
  }

  @Test("Cancelling stops the query inside the store")
  func cancellation() async throws {
    try context.execute(
      BatchInsertRequest(entityName: "Book", objects: (0..<3000).map { ["pages": $0] }))
    let slow = FetchRequest<Book>(entityName: "Book")
    let container = library.container
    let before = Task { try await container.fetchIDs(slow) }
    before.cancel()
    await #expect(throws: FetchError.self) { try await before.value }

    let steps = Steps()
    let started = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await container.fetchIDs(slow) { _ in
        started.continuation.yield()
        // The fetch goes on only once its task was cancelled.
        while !steps.isOver { usleep(1000) }
      }
    }
    for await _ in started.stream { break }
    task.cancel()
    steps.end()
    let error = await #expect(throws: FetchError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(try await container.count(for: request) == 3004)
  }

  @Test("Many objects that change places are told, too", .timeLimit(.minutes(3)))
  func manyMoves() async throws {
    let count = 20_000
    for number in 4..<count {
      let book = try context.insert(Book.self)
      (book.title, book.pages) = ("\(number)", number)
    }
    try context.save()
    let request = FetchRequest<Book>(entityName: "Book", sort: [FetchSort("pages")])
    let results = try FetchedResults(request, context: context)
    try results.performFetch()
    var updates = results.updates().makeAsyncIterator()
    for book in try context.fetch(request) { book.pages = count - book.pages }
    try context.save()
    let update = try #require(await updates.next())
    let moves = update.rowChanges.filter { if case .move = $0 { true } else { false } }
    #expect(moves.count == count - 1)
  }
}

/// What a progress handler was told.
final class Steps: Sendable {
  private let state = Mutex((steps: [FetchProgress](), isOver: false))

  var all: [FetchProgress] { state.withLock { $0.steps } }
  var isOver: Bool { state.withLock { $0.isOver } }

  func add(_ step: FetchProgress) { state.withLock { $0.steps.append(step) } }
  func end() { state.withLock { $0.isOver = true } }
}
