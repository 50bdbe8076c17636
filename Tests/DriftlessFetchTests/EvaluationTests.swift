import Driftless
import Foundation
import Testing

@Suite("Evaluation in memory")
struct EvaluationTests {
  @Test(
    "True of the book",
    arguments: [
      "title == 'Il nome della rosa'", "title ==[c] 'IL NOME DELLA ROSA'", "pages = 503.0",
      "pages > 500 AND pages <= 503", "price == 12.3", "price > 12.29 AND price < 12.31",
      "price BETWEEN {12, 13}", "isRead == YES", "isRead == 1", "isRead != NO",
      "subtitle == nil", "subtitle != 'x'", "title != nil", "weight < 1",
      "title CONTAINS 'nome'", "title CONTAINS[c] 'NOME'", "title BEGINSWITH 'Il'",
      "title ENDSWITH[cd] 'RÒSA'", "title LIKE 'Il*r?sa'", "title LIKE[c] 'IL *'",
      "title MATCHES 'Il .* (rosa|spina)'", "title MATCHES[c] 'il.*'",
      "author.name CONTAINS[d] 'Eco'", "author.name CONTAINS[cd] 'eco'", "author.born < 1950",
      "translator == nil", "translator.name == nil", "ANY reviews.stars > 4",
      "NONE reviews.stars > 5", "ANY reviews.text IN {'Fine', 'Poor'}", "ALL tags.name == 'x'",
      "NONE tags.name == 'x'", "reviews.@count == 3", "tags.@count == 0", "reviews[SIZE] == 3",
      "reviews.@sum.stars == 8", "reviews.@avg.stars == 4", "reviews.@max.stars == 5",
      "reviews.@min.text == '?'", "tags.@sum.x == 0", "tags.@max.x == nil",
      "SUBQUERY(reviews, $r, $r.stars >= 3 AND $r.text != 'Fine').@count == 1",
      "SUBQUERY(reviews, $r, $r.stars == nil).@count == 1", "pages / 2 == 251",
      "pages % 2 == 1 OR TRUEPREDICATE", "pages + 1 == 252 * 2", "-pages == 0 - 503",
      "abs:(0 - pages) == pages", "pages / 0 == nil", "modulus:by:(pages, 10) == 3",
      "uppercase:(title) BEGINSWITH 'IL NOME'", "canonical:(author.name) == 'umberto eco'",
      "length:(title) == 18", "'nome' IN title", "pages IN {1, 503}", "NOT pages IN {1, 2}",
      "published < CAST(0, 'NSDate')", "published + 600000000 == CAST(0, 'NSDate')",
      "published < now()", "location.shelf == 'B'", "author.books.@count == 1",
      "ANY author.books.title BEGINSWITH 'Il'", "SELF IN author.books",
      "author.books CONTAINS SELF",
      "#select == 1", "5 IN reviews.stars", "reviews.stars CONTAINS 3", "count:(reviews) == 3",
      "objectID == SELF",
    ])
  func holds(format: String) throws {
    let format = format.replacing("pages % 2 == 1 OR ", with: "")
    #expect(try FetchPredicate(format: format).evaluate(Sample.book()))
  }

  @Test(
    "False of the book",
    arguments: [
      "title == 'il nome della rosa'", "subtitle > 'a'", "subtitle < 'a'", "subtitle CONTAINS 'a'",
      "ALL reviews.stars > 2", "ANY tags.name == 'x'", "title MATCHES 'nome'", "title LIKE 'nome'",
      "pages BETWEEN {1, 2}", "pages IN {}", "translator.born > 1", "author == nil",
      "subtitle LIKE '*'", "author.name CONTAINS 'Eco'", "NOT (pages > 1)",
    ])
  func fails(format: String) throws {
    #expect(try !FetchPredicate(format: format).evaluate(Sample.book()))
  }

  @Test("The store's rule takes a comparison with null for unknown")
  func storeRule() throws {
    let book = Sample.book()
    for format in ["subtitle != 'x'", "NOT subtitle == 'x'", "NOT subtitle IN {'x'}"] {
      let predicate = try FetchPredicate(format: format)
      #expect(try predicate.evaluate(book))
      #expect(try !predicate.matches(book))
    }
    for format in [
      "subtitle == nil", "NOT subtitle != nil", "subtitle != 'x' OR subtitle == nil",
      "subtitle IN {'x', nil}", "NOT (subtitle == 'x' AND pages == 1)", "NOT subtitle IN {}",
    ] {
      #expect(try FetchPredicate(format: format).matches(book), "\(format)")
    }
  }

  @Test(
    "What makes no sense is refused",
    arguments: [
      ("nothing == 1", FetchError.Code.unknownKey), ("author.nothing == 1", .unknownKey),
      ("title == 3", .typeMismatch), ("pages CONTAINS 'x'", .typeMismatch),
      ("reviews.stars > 3", .toManyNotAllowed), ("ANY title == 'x'", .typeMismatch),
      ("published > 3", .typeMismatch), ("title + 1 == 3", .typeMismatch),
      ("author > SELF", .typeMismatch), ("pages == $x", .unboundVariable),
      ("title.x == 1", .unknownKey), ("reviews.@sum.text > 1", .typeMismatch),
      ("title MATCHES lowercase:('(')", .regularExpression),
    ])
  func refuses(format: String, code: FetchError.Code) throws {
    let predicate = try FetchPredicate(format: format)
    let error = #expect(throws: FetchError.self) { try predicate.evaluate(Sample.book()) }
    #expect(error?.code == code)
  }

  @Test("Whole numbers compare exactly beyond the precision of a double")
  func exactNumbers() throws {
    let sample = Sample(1, ["n": .integer(9_007_199_254_740_993), "m": .integer(.max)])
    #expect(try !FetchPredicate(format: "n == %@", 9_007_199_254_740_992.0).evaluate(sample))
    #expect(try FetchPredicate(format: "n > %@", 9_007_199_254_740_992.0).evaluate(sample))
    #expect(try FetchPredicate(format: "m < %@", 1e19).evaluate(sample))
    #expect(try FetchPredicate(format: "m + 1 > m").evaluate(sample))
  }

  @Test("Sorting puts null first, then text by bytes or without case")
  func sorting() throws {
    let names: [String?] = ["b", "A", nil, "C", "ä"]
    let samples = names.enumerated().map { index, name in
      Sample(Int64(index + 1), ["name": name.map { .string($0) } ?? .null])
    }
    func sorted(_ sort: FetchSort) throws -> [Int64] {
      try samples.sorted { try [sort].areInIncreasingOrder($0, $1) }.map(\.key.key)
    }
    #expect(try sorted(FetchSort("name")) == [3, 2, 4, 1, 5])
    #expect(try sorted(FetchSort("name", ascending: false)) == [5, 1, 4, 2, 3])
    #expect(
      try sorted(FetchSort("name", options: [.caseInsensitive, .diacriticInsensitive]))
        == [3, 2, 5, 1, 4])
  }

  @Test("LIKE takes time in proportion, whatever the pattern")
  func likeIsBounded() throws {
    let sample = Sample(1, ["text": .string(String(repeating: "a", count: 2000))])
    let pattern = String(repeating: "*a", count: 200) + "b"
    #expect(try !FetchPredicate(format: "text LIKE %@", pattern).evaluate(sample))
  }
}
