import Driftless
import Foundation
import TestSupport
import Testing

/// Fetched results and asynchronous fetches of contexts on others: what the parent has counts, saved or not.
struct ChildResultsTests {
  let library: Library
  let parent: ManagedObjectContext
  let child: ManagedObjectContext

  init() throws {
    library = try Library()
    parent = library.container.newContext()
    child = ManagedObjectContext(parent: parent)
    for number in 0..<4 { try book("\(number)", number, in: parent) }
    try parent.save()
  }

  @discardableResult
  private func book(
    _ title: String, _ pages: Int, in context: ManagedObjectContext
  ) throws -> Book {
    let book = try context.insert(Book.self)
    book.title = title
    book.pages = pages
    book[Book.genre] = pages.isMultiple(of: 2) ? .essay : .novel
    return book
  }

  private func results(_ limit: Int = 0) throws -> FetchedResults<Book> {
    var request = FetchRequest<Book>(
      entityName: "Book", sort: [FetchSort("genre"), FetchSort("pages")])
    request.limit = limit
    let results = try FetchedResults(request, context: child, sectionKeyPath: "genre")
    try results.performFetch()
    return results
  }

  @Test("Results of a child have what the parent has not saved, in sections and within the limit")
  func unsavedAbove() throws {
    try book("new", 6, in: parent)
    let gone = try #require(try parent.fetch(Book.self, where: Book.title == "1").first)
    parent.delete(gone)
    let edited = try #require(try parent.fetch(Book.self, where: Book.title == "3").first)
    edited[Book.genre] = .essay
    let all = try results()
    #expect(all.fetchedObjects.map(\.title) == ["0", "2", "3", "new"])
    #expect(all.snapshot.sections.map(\.name) == ["essay"])
    let some = try results(3)
    #expect(some.fetchedObjects.map(\.title) == ["0", "2", "3"])
    #expect(some.fetchedObjects.allSatisfy { $0.managedObjectContext === child })
  }

  @Test("What a child saves into its parent is told, within the limit, and what it has not is not")
  func savedIntoParent() async throws {
    let results = try results(4)
    var updates = results.updates().makeAsyncIterator()
    let new = try book("new", 1, in: child)
    try child.insert(Book.self).title = "unsaved"
    let same = try #require(try child.fetch(Book.self, where: Book.title == "0").first)
    same.title = "changed"
    child.delete(try #require(try child.fetch(Book.self, where: Book.title == "unsaved").first))
    #expect(results.fetchedObjects.count == 4)
    try child.save()
    #expect(results.updateError == nil)
    #expect(results.fetchedObjects.map(\.title) == ["changed", "2", "1", "new"])
    let update = try #require(await updates.next())
    #expect(update.snapshot.objectIDs == results.fetchedObjects.map(\.objectID))
    #expect(update.rowChanges.contains(.insert(new.objectID, at: .init(section: 1, row: 1))))
    #expect(update.rowChanges.contains(.update(same.objectID, at: .init(section: 0, row: 0))))
    // The store knows nothing of it yet.
    #expect(try library.container.newContext().count(Book.self) == 4)
    try child.save()
    try parent.save()
    try results.performFetch()
    #expect(results.fetchedObjects.map(\.title) == ["changed", "2", "1", "new"])
    #expect(results.snapshot.objectIDs.allSatisfy { !$0.isTemporaryID })
  }

  @Test("A child that merges by itself takes over what another child saved into their parent")
  func siblings() throws {
    child.automaticallyMergesChangesFromParent = true
    let results = try results()
    let held = try #require(results.fetchedObjects.first)
    let sibling = ManagedObjectContext(parent: parent)
    let beside = library.container.newContext()
    beside.automaticallyMergesChangesFromParent = true
    let saved = try #require(try beside.existingObject(with: held.objectID) as? Book)
    let same = try #require(try sibling.existingObject(with: held.objectID) as? Book)
    same.title = "sibling's"
    try sibling.save()
    child.processPendingChanges()
    beside.processPendingChanges()
    #expect(held.title == "sibling's" && saved.title == "0")
    #expect(results.fetchedObjects.map(\.title) == ["sibling's", "2", "1", "3"])
    sibling.delete(same)
    try book("another", 9, in: sibling)
    try sibling.save()
    child.processPendingChanges()
    #expect(results.fetchedObjects.map(\.title) == ["2", "1", "3", "another"])
    try parent.save()
    beside.processPendingChanges()
    #expect(saved.isDeleted)
  }

  @Test("Progress of an asynchronous fetch of a child counts what it finds in the parent")
  func progress() async throws {
    let above = library.container.newBackgroundContext()
    let below = BackgroundContext(parent: above)
    try await above.perform { context in
      for number in 0..<3 {
        let book = try context.insert(Book.self)
        book.title = "unsaved \(number)"
      }
    }
    var request = FetchRequest<Book>(entityName: "Book", sort: [FetchSort("title")])
    for (limit, count) in [(0, 7), (6, 6)] {
      request.limit = limit
      let result = below.execute(AsynchronousFetchRequest(fetchRequest: request))
      #expect(try await result.wait().count == count)
      #expect(result.progress.completed == count && result.progress.total == count)
    }
  }
}
