import Driftless
import Foundation
import Testing

@Suite("In memory and in the store")
struct CorpusTests {
  @Test("Each predicate of the corpus finds the same objects")
  func agreement() throws {
    let library = try Library()
    for format in Corpus.all {
      let predicate = try FetchPredicate(format: format)
      let inMemory = try library.books.filter { try predicate.matches($0) }.map(\.key.key)
      let inStore = try library.keys(predicate).sorted()
      #expect(inMemory == inStore, "\(format)")
    }
  }

  @Test(
    "A fetch inside of a predicate finds the same objects, and is spelled so that it is not read back"
  )
  func fetches() throws {
    let library = try Library()
    for (format, request) in Corpus.fetches {
      let predicate = try FetchPredicate(format: format, request)
      let inMemory = try library.books.filter { try predicate.matches($0) }.map(\.key.key)
      let inStore = try library.keys(predicate).sorted()
      #expect(inMemory == inStore, "\(predicate)")
      #expect(inStore.count > 0 && (inStore.count < 10 || format.contains("== 3")), "\(predicate)")
      #expect(throws: FetchError.self) { try FetchPredicate(format: predicate.description) }
    }
    let unknown = FetchRequest<ManagedObject>(entityName: "Nobody")
    let error = #expect(throws: FetchError.self) {
      try library.keys(FetchPredicate(format: "SELF IN FETCH(%@)", unknown))
    }
    #expect(error?.code == .unknownKey)
    var several = FetchRequest<FetchedRow>(entityName: "Book")
    several.propertiesToFetch = ["title", "pages"]
    #expect(throws: FetchError.self) { try FetchPredicate(format: "title IN FETCH(%@)", several) }
    several.propertiesToFetch = ["author.name"]
    #expect(try library.keys(FetchPredicate(format: "title IN FETCH(%@)", several)) == [9])
  }

  @Test("Predicates made up at random find the same objects, or are refused by both")
  func randomAgreement() throws {
    let library = try Library()
    var made = 0
    var sharp = 0
    for seed in 1...3000 {
      var maker = RandomPredicate(seed: UInt64(seed))
      let format = maker.format()
      let predicate = try FetchPredicate(format: format)
      #expect(try FetchPredicate(format: predicate.description) == predicate, "\(format)")
      let inStore: [Int64]
      do {
        inStore = try library.keys(predicate).sorted()
      } catch is FetchError {
        continue
      }
      let inMemory = try library.books.filter { try predicate.matches($0) }.map(\.key.key)
      #expect(inMemory == inStore, "seed \(seed): \(format)")
      made += 1
      if !inStore.isEmpty && inStore.count < library.books.count { sharp += 1 }
    }
    #expect(made > 2500 && sharp > 1200, "\(made) compiled, \(sharp) tell objects apart")
  }

  @Test("The corpus tells objects apart: most predicates find some books, not all")
  func corpusIsSharp() throws {
    let library = try Library()
    var sharp = 0
    for format in Corpus.all {
      let found = try library.keys(FetchPredicate(format: format)).count
      if found > 0 && found < library.books.count { sharp += 1 }
    }
    #expect(sharp * 10 > Corpus.all.count * 7, "\(sharp) of \(Corpus.all.count)")
  }

  @Test("The null rule is the one documented difference")
  func nullRule() throws {
    let library = try Library()
    for (format, inMemory, inStore) in Corpus.nullRule {
      let predicate = try FetchPredicate(format: format)
      let evaluated = try library.books.filter { try predicate.evaluate($0) }
      #expect(evaluated.count == inMemory, "\(format)")
      let fetched = try library.keys(predicate)
      #expect(fetched.count == inStore, "\(format)")
    }
    for format in Corpus.all where !format.contains("NOT") && !format.contains("!=") {
      let predicate = try FetchPredicate(format: format)
      for sample in library.books where try predicate.matches(sample) {
        #expect(try predicate.evaluate(sample), "\(format)")
      }
    }
  }

  @Test(
    "Sorting agrees",
    arguments: [
      "title", "pages", "price", "weight", "isRead", "published", "author.name", "author.born",
      "editor.name", "isbn", "cover", "link", "author",
    ])
  func sorting(key: String) throws {
    let library = try Library()
    for ascending in [true, false] {
      for options: FetchComparison.Options in [[], [.caseInsensitive, .diacriticInsensitive]] {
        let sort = [FetchSort(key, ascending: ascending, options: options)]
        let inMemory = try library.books.sorted { try sort.areInIncreasingOrder($0, $1) }
        #expect(try library.keys(nil, sort: sort) == inMemory.map(\.key.key))
        let some = try library.keys(nil, sort: sort, limit: 3, offset: 2)
        #expect(some == inMemory.map(\.key.key).dropFirst(2).prefix(3).map { $0 })
      }
    }
  }

  @Test(
    "What the model does not know or the store cannot do is refused",
    arguments: [
      ("nothing == 1", FetchError.Code.unknownKey), ("author.nothing == 1", .unknownKey),
      ("title.x == 1", .unknownKey), ("tags.name == 'x'", .toManyNotAllowed),
      ("title == 3", .typeMismatch), ("pages == 'x'", .typeMismatch),
      ("published > 3", .typeMismatch), ("ANY title == 'x'", .typeMismatch),
      ("author > SELF", .typeMismatch), ("author == 3", .typeMismatch),
      ("pages == $x", .unboundVariable), ("tags.@sum.name > 1", .typeMismatch),
      ("title + 1 == 2", .typeMismatch), ("pages BEGINSWITH 'x'", .typeMismatch),
      ("title MATCHES %@", .regularExpression), ("title == pages", .typeMismatch),
      ("isbn == pages", .typeMismatch), ("CAST(title, 'NSDate') == nil", .typeMismatch),
      ("CAST(cover, 'NSString') == ''", .typeMismatch), ("tags.@median.name > 1", .typeMismatch),
      ("author.books.@stddev.title > 1", .typeMismatch), ("sum:({title, 'a'}) == 1", .typeMismatch),
      ("title & 1 == 1", .typeMismatch),
      ("author.books.@distinctUnionOfObjects.editor.@sum.born > 1", .unsupported),
    ])
  func refuses(format: String, code: FetchError.Code) throws {
    let library = try Library()
    let arguments: [Any?] = format.contains("%@") ? ["a*"] : []
    var predicate = try FetchPredicate(format: format, argumentArray: arguments)
    if case .comparison(var comparison) = predicate, comparison.operator == .matches {
      comparison.right = .constant(.string("("))
      predicate = .comparison(comparison)
    }
    let error = #expect(throws: FetchError.self) { try library.keys(predicate) }
    #expect(error?.code == code)
  }

  @Test("Objects compare by key, and one of another entity is never equal")
  func objects() throws {
    let library = try Library()
    func found(_ format: String, _ argument: Any?) throws -> [Int64] {
      let predicate = try FetchPredicate(format: format, argument)
      let inMemory = try library.books.filter { try predicate.matches($0) }.map(\.key.key)
      #expect(try library.keys(predicate).sorted() == inMemory)
      return inMemory
    }
    #expect(try found("author == %@", library.author(2)) == [3, 10])
    #expect(try found("author == %@", library.book(2)) == [])
    #expect(try found("author == %@", ObjectKey(entity: 99, key: 2)) == [])
    #expect(try found("author == %@", library.author(-2)) == [])
    #expect(try found("SELF IN %@", [1, 3].map(library.book)) == [1, 3])
    #expect(try found("tags CONTAINS %@", library.tag(4)) == [4, 7])
    #expect(try found("%@ IN tags", library.tag(4)) == [4, 7])
  }

  @Test("Long lists and long chains of conditions work")
  func longPredicates() throws {
    let library = try Library()
    let numbers = Array(0..<5000)
    #expect(
      try library.keys(FetchPredicate(format: "pages IN %@", numbers)) == [1, 2, 3, 7, 9, 10])
    let texts = numbers.map { "t\($0)" } + ["ROSA", "a\"b", "straße"]
    #expect(try library.keys(FetchPredicate(format: "title IN %@", texts)) == [3, 6])
    let doubles = numbers.map { Double($0) + 0.5 }
    #expect(try library.keys(FetchPredicate(format: "weight IN %@", doubles)) == [2, 8])
    let chain = FetchPredicate.or(
      numbers.map {
        .comparison(FetchComparison(.keyPath(["pages"]), .equal, .constant(.integer(Int64($0)))))
      })
    #expect(try library.keys(chain) == [1, 2, 3, 7, 9, 10])
    #expect(try library.books.filter { try chain.matches($0) }.count == 6)
  }

  @Test("A list of a hundred thousand values of any type is one condition")
  func longLists() throws {
    let library = try Library()
    let many = 0..<100_000
    let uuid = UUID(uuid: (247, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 1))
    let lists: [(format: String, values: [Any], found: [Int64])] = [
      ("isbn IN %@", many.map { _ in UUID() } + [uuid], [1, 10]),
      ("weight IN %@", many.map { Double($0) + 0.5 }, [2, 8]),
      (
        "published IN %@", many.map { Date(timeIntervalSinceReferenceDate: Double($0)) },
        [4, 7, 10]
      ),
      ("price IN %@", many.map { Decimal($0) / 100 }, [1, 3, 6, 8, 9, 10]),
      (
        "cover IN %@",
        many.map { Data([0, 0, UInt8($0 & 1)]) } + [Data([7, 0, 255])], [9]
      ),
      ("pages IN %@", many.map { Double($0) + 0.5 } + [503.0], [1, 10]),
      ("title IN %@", many.map { "\u{0}\($0)" } + ["ROSA"], [3]),
    ]
    for list in lists {
      let predicate = try FetchPredicate(format: list.format, list.values)
      #expect(try library.keys(predicate).sorted() == list.found, "\(list.format)")
      let compiled = try library.compile(predicate)
      #expect(compiled.sql.utf8.count < 500)
    }
  }

  @Test("An expression that is none by itself is refused, and one that runs away comes to an end")
  func regularExpressions() throws {
    for pattern in ["a)(b", "(", "[", "*"] {
      let error = #expect(throws: FetchError.self) {
        try FetchPredicate(format: "title MATCHES %@", pattern)
      }
      #expect(error?.code == .regularExpression)
    }
    let sample = Sample(1, ["text": .string(String(repeating: "a", count: 64))])
    let start = ContinuousClock.now
    for pattern in ["(a+)+b", "(a*)*b", "(a|aa)+b", "(.*a){30}b"] {
      #expect(try !FetchPredicate(format: "text MATCHES %@", pattern).matches(sample))
    }
    #expect(ContinuousClock.now - start < .seconds(60))
  }
}
