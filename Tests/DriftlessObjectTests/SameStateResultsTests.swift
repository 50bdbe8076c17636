import Driftless
import TestSupport
import Testing

/// Fetched results of a context that takes over by itself nothing of what others save.
@Suite("Results of one state")
struct SameStateResultsTests {
  let library: Library
  let other: ManagedObjectContext
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    other = library.container.newContext()
    context = library.container.newContext()
    for title in ["a", "b", "c"] { try other.insert(Book.self).title = title }
    try other.save()
  }

  private func results() throws -> FetchedResults<Book> {
    try FetchedResults(
      FetchRequest<Book>(entityName: "Book", sort: [FetchSort("title")]), context: context,
      sectionKeyPath: "title")
  }

  @Test("Objects without unsaved changes show what the snapshot was made of")
  func shown() throws {
    let results = try results()
    try results.performFetch()
    let books = results.fetchedObjects
    let theirs = try other.fetch(Book.self, order: Book.title.ascending)
    (theirs[0].title, theirs[1].pages) = ("d", 9)
    try other.save()
    try results.performFetch()
    #expect(results.snapshot.sections.map(\.name) == ["b", "c", "d"])
    #expect(results.fetchedObjects.map(\.title) == ["b", "c", "d"])
    #expect(books[0].title == "d" && books[1].pages == 9)
    // What is changed here stays, and meets the other save.
    books[2].title = "mine"
    theirs[2].title = "theirs"
    try other.save()
    try results.performFetch()
    #expect(results.snapshot.sections.map(\.name) == ["b", "d", "theirs"])
    #expect(books[2].title == "mine")
    #expect(throws: SaveConflictError.self) { try context.save() }
  }

  @Test("Names that an order takes for one are a section each")
  func names() throws {
    for title in ["A", "a", "B"] { try other.insert(Book.self).title = title }
    try other.save()
    let results = try FetchedResults(
      FetchRequest<Book>(
        entityName: "Book", sort: [FetchSort("title", options: .caseInsensitive)]),
      context: context, sectionKeyPath: "title")
    try results.performFetch()
    let sections = results.snapshot.sections
    #expect(Set(sections.map(\.name)) == ["a", "A", "b", "B", "c"] && sections.count == 5)
    for section in sections {
      for id in section.objectIDs {
        #expect((context.object(with: id) as? Book)?.title == section.name)
      }
    }
    #expect(results.fetchedObjects.map(\.objectID) == results.snapshot.objectIDs)
  }
}
