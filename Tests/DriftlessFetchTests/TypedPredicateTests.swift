import Driftless
import Foundation
import Testing

private final class Book: ManagedObject {
  static let title = Attribute<Book, String>("title")
  static let subtitle = Attribute<Book, String?>("subtitle")
  static let pages = Attribute<Book, Int>("pages")
  static let read = Attribute<Book, Int>("read")
  static let shelf = Attribute<Book, String>("location.shelf")
  static let author = ToOne<Book, Author>("author")
}

private final class Author: ManagedObject {
  static let name = Attribute<Author, String>("name")
  static let books = ToMany<Author, Book>("books")
  static let mentor = ToOne<Author, Author>("mentor")
}

@Suite("Typed predicates")
struct TypedPredicateTests {
  @Test("Operators on typed keys say what the format strings say")
  func operators() throws {
    func means(
      _ typed: TypedPredicate<Book>, _ format: String,
      location: SourceLocation = #_sourceLocation
    ) throws {
      #expect(
        typed.predicate == (try FetchPredicate(format: format)), sourceLocation: location)
    }
    try means(Book.pages > 300 && Book.title == "x", "pages > 300 AND title == 'x'")
    try means(
      Book.pages >= 1 && Book.pages <= 2 && Book.pages < 3,
      "pages >= 1 AND pages <= 2 AND pages < 3")
    try means(Book.pages == 1 || !(Book.title != "x"), "pages == 1 OR NOT title != 'x'")
    try means(Book.subtitle == nil, "subtitle == nil")
    try means(Book.subtitle.isNotNull, "subtitle != nil")
    try means(Book.subtitle == "x", "subtitle == 'x'")
    try means(Book.subtitle.contains("a", .caseInsensitive), "subtitle CONTAINS[c] 'a'")
    try means(Book.title.hasPrefix("a"), "title BEGINSWITH 'a'")
    try means(Book.title.hasSuffix("a"), "title ENDSWITH 'a'")
    try means(Book.title.like("a*"), "title LIKE 'a*'")
    try means(Book.title.matches("a+"), "title MATCHES 'a+'")
    try means(Book.title.equals("a", .caseInsensitive), "title ==[c] 'a'")
    try means(Book.title.in(["a", "b"]), "title IN {'a', 'b'}")
    try means(Book.pages.between(1, 2), "pages BETWEEN {1, 2}")
    try means(Book.read < Book.pages, "read < pages")
    try means(Book.shelf == "B", "location.shelf == 'B'")
    try means(Book.author[Author.name] == "Eco", "author.name == 'Eco'")
    try means(Book.author[Author.mentor[Author.name]].isNull, "author.mentor.name == nil")
    try means(Book.author.isNull, "author == nil")
    try means(Book.author == nil && Book.author != nil, "author == nil AND author != nil")
    try means(Book.read <= Book.pages || Book.read >= Book.pages, "read <= pages OR read >= pages")
  }

  @Test("Collections are asked with any, none, contains and count")
  func collections() throws {
    func means(_ typed: TypedPredicate<Author>, _ format: String) throws {
      #expect(typed.predicate == (try FetchPredicate(format: format)))
    }
    try means(Author.books.count > 3, "books.@count > 3")
    try means(Author.books.isEmpty, "books.@count == 0")
    try means(
      Author.books.any(Book.pages > 3 && Book.title == "x"),
      "SUBQUERY(books, $e0, $e0.pages > 3 AND $e0.title == 'x').@count > 0")
    try means(
      Author.books.none(Book.pages > 3), "SUBQUERY(books, $e0, $e0.pages > 3).@count == 0")
    try means(
      Author.mentor[Author.name] == "x" && Author.books.any(Book.author[Author.name] == "y"),
      "mentor.name == 'x' AND SUBQUERY(books, $e0, $e0.author.name == 'y').@count > 0")
  }

  @Test("Nested collections keep their variables apart")
  func nesting() throws {
    let predicate = Book.author[Author.name] == "x"
    let outer = Author.books.any(predicate)
    #expect(outer.predicate.description.contains("$e0.author.name"))
    let format = Author.books.any(TypedPredicate(outer.predicate)).predicate.description
    #expect(
      format == "SUBQUERY(books, $e1, SUBQUERY($e1.books, $e0, $e0.author.name == \"x\")"
        + ".@count > 0).@count > 0")
  }

  @Test("Sort keys come from typed keys")
  func sorting() {
    #expect(Book.title.ascending.sort == FetchSort("title"))
    #expect(Book.author[Author.name].descending.sort == FetchSort("author.name", ascending: false))
    #expect(
      Book.title.ascendingIgnoringCase.sort
        == FetchSort("title", options: [.caseInsensitive, .diacriticInsensitive]))
  }
}
