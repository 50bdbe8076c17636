import Driftless
import Foundation
import Testing

/// What the page of Core Data's fetch request says of members that other tests use by other names.
struct RequestPageTests {
  private let library: Library
  private let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
    for number in 0..<5 {
      let book = try context.insert(Book.self)
      book.pages = number
      book.title = "\(number % 2)"
    }
    try context.save()
  }

  @Test("sortDescriptors, fetchOffset and fetchLimit are the request's order and cut")
  func cut() throws {
    var request = FetchRequest<Book>(entityName: "Book")
    request.sortDescriptors = [FetchSort("title"), FetchSort("pages", ascending: false)]
    #expect(request.sort == request.sortDescriptors)
    request.fetchOffset = 1
    request.fetchLimit = 3
    #expect(request.offset == 1 && request.limit == 3)
    #expect(try context.fetch(request).map(\.pages) == [2, 0, 3])
  }

  @Test("returnsObjectsAsFaults false gives objects with their values, also those that were faults")
  func faults() throws {
    let other = library.container.newContext()
    let request = FetchRequest<Book>(entityName: "Book")
    let books = try other.fetch(request)
    for book in books { try other.refresh(book, mergeChanges: false) }
    #expect(books.count { $0.isFault } == 5)
    var values = request
    values.returnsObjectsAsFaults = false
    let again = try other.fetch(values)
    #expect(Set(again) == Set(books))
    #expect(again.count { $0.isFault } == 0)
  }

  @Test("An asynchronous request keeps the block that it was given")
  func block() {
    let request = FetchRequest<Book>(entityName: "Book")
    #expect(AsynchronousFetchRequest(fetchRequest: request).completionBlock == nil)
    #expect(AsynchronousFetchRequest(fetchRequest: request) { _, _ in }.completionBlock != nil)
  }
}
