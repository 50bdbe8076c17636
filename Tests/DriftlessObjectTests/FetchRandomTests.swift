import Driftless
import Foundation
import TestSupport
import Testing

/// Requests made up at random over saved objects and unsaved changes made up at random: whatever is asked for, the answer
/// is that of all objects, filtered, sorted and cut.
@Suite("Fetches over unsaved changes")
struct FetchRandomTests {
  private static let weights: [Double?] = [nil, .nan, -0.0, 0.0, -1.5, 2.5, .infinity, -.infinity]
  private static let predicates = [
    "TRUEPREDICATE", "pages > 5", "pages BETWEEN {2, 8}", "weight == 0", "weight > 1",
    "weight < 1", "weight >= 0", "weight == nil", "weight != nil", "NOT weight > 0",
    "weight IN {0, 2.5}", "weight + 1 > 0", "weight BETWEEN {-2, 0}", "price > weight",
    "author == nil", "author.name == 'Eco'", "author.name BEGINSWITH[c] 'c' AND pages < 7",
    "tags.@count > 1", "ANY tags.name == 'b'", "NONE tags.name == 'b'", "isRead == YES",
    "SUBQUERY(tags, $t, $t.name > 'a').@count == 1", "title CONTAINS '1'", "price == nil",
    "NOT (pages > 3 AND weight > 0)",
  ]
  private static let sorts = ["pages", "weight", "price", "author.name", "isRead", "genre"]

  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  private func change(_ book: Book, _ numbers: inout SeededNumbers) {
    func pick<T>(_ choices: [T]) -> T { choices[numbers.number(below: choices.count)] }
    book.pages = numbers.number(below: 10)
    book[Book.weight] = pick(Self.weights)
    book[Book.price] = numbers.chance(30) ? nil : Decimal(numbers.number(below: 5)) / 2
    book[Book.isRead] = numbers.chance(50)
  }

  private func relate(
    _ book: Book, _ authors: [Author], _ tags: [Tag], _ numbers: inout SeededNumbers
  ) {
    book.author = numbers.chance(25) ? nil : authors[numbers.number(below: authors.count)]
    book.tags = RelatedObjects(tags.filter { _ in numbers.chance(40) })
  }

  private func book(
    _ number: Int, _ context: ManagedObjectContext, _ numbers: inout SeededNumbers
  ) throws -> Book {
    let book = numbers.chance(30) ? try context.insert(Novel.self) : try context.insert(Book.self)
    book.title = "title \(number)"
    change(book, &numbers)
    return book
  }

  @Test("Any request gives what all objects give, filtered, sorted and cut", arguments: 1...12)
  func agreement(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    var authors: [Author] = []
    var tags: [Tag] = []
    for name in ["Eco", "Calvino", "calvino"] {
      let author = try context.insert(Author.self)
      author.name = name
      authors.append(author)
    }
    for name in ["a", "b", "c"] {
      let tag = try context.insert(Tag.self)
      tag.name = name
      tags.append(tag)
    }
    var books: [Book] = []
    for number in 0..<40 {
      let book = try book(number, context, &numbers)
      relate(book, authors, tags, &numbers)
      books.append(book)
    }
    try context.save()
    for round in 0..<40 {
      if round % 8 == 0 {
        context.rollback()
        if round > 0 {
          for book in books where !book.isDeleted && numbers.chance(15) {
            change(book, &numbers)
            if numbers.chance(50) { relate(book, authors, tags, &numbers) }
          }
          for number in 0..<4 {
            let book = try book(100 * round + number, context, &numbers)
            relate(book, authors, tags, &numbers)
          }
          for book in books where numbers.chance(8) { context.delete(book) }
        }
      }
      try compare(&numbers)
    }
  }

  private func compare(_ numbers: inout SeededNumbers) throws {
    var request = FetchRequest<Book>(entityName: numbers.chance(20) ? "Novel" : "Book")
    request.includesSubentities = numbers.chance(80)
    let all = try context.fetch(FetchRequest<Book>(entityName: "Book")).filter {
      $0.entity.name == request.entityName
        || (request.includesSubentities && request.entityName == "Book")
    }
    let format = Self.predicates[numbers.number(below: Self.predicates.count)]
    let predicate = try FetchPredicate(format: format)
    request.predicate = predicate
    for _ in 0..<numbers.number(below: 3) {
      request.sort.append(
        FetchSort(
          Self.sorts[numbers.number(below: Self.sorts.count)], ascending: numbers.chance(50)))
    }
    // A title is one object's.
    request.sort.append(FetchSort("title", ascending: numbers.chance(50)))
    request.limit = numbers.chance(50) ? numbers.number(below: 12) : 0
    request.offset = numbers.chance(50) ? numbers.number(below: 12) : 0
    request.fetchBatchSize = numbers.number(below: 5)
    request.includesPropertyValues = numbers.chance(80)
    let sort = request.sort
    let found = try all.filter { try predicate.matches($0) }
      .sorted { try sort.areInIncreasingOrder($0, $1) }.dropFirst(request.offset)
    let expected = found.prefix(request.limit > 0 ? request.limit : .max).map(\.title)
    let what = "\(format) \(sort.map(\.keyPath)) \(request.limit) \(request.offset)"
    #expect(try context.fetch(request).map(\.title) == expected, "\(what)")
    #expect(try context.fetchBatches(request).map(\.title) == expected, "\(what)")
    #expect(try context.count(for: request) == expected.count, "\(what)")
    let ids = try context.fetchIDs(request)
    #expect(
      try ids.map { (try context.existingObject(with: $0) as? Book)?.title } == expected, "\(what)")
  }
}
