import Driftless
import Foundation
import Testing

@Suite("Fetch options")
struct FetchOptionTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
    let names = ["Eco", "Calvino"]
    for (index, name) in names.enumerated() {
      let author = try context.insert(Author.self)
      author.name = name
      for number in 0..<3 {
        let book = try context.insert(Book.self)
        book.title = "\(name) \(number)"
        book.pages = 100 * index + 10 * number
        book.setPrice(number == 0 ? nil : Decimal(string: "1\(number).10"))
        book.author = author
        book.chapters = RelatedObjects(
          try (0..<2).map { place in
            let chapter = try context.insert(Chapter.self)
            chapter[Chapter.title] = "\(name) \(number).\(place)"
            return chapter
          })
      }
    }
    let novel = try context.insert(Novel.self)
    novel.title = "Novel"
    novel.pages = 1000
    novel[Novel.hero] = "William"
    try context.save()
  }

  func request<Result>(_ type: Result.Type, _ entity: String = "Book") -> FetchRequest<Result> {
    FetchRequest<Result>(entityName: entity)
  }

  @Test(
    "Rows hold the properties asked for, to-one relationships as IDs, and leave out what is missing"
  )
  func rows() throws {
    var request = request(FetchedRow.self)
    request.propertiesToFetch = ["title", "price", "author", "author.name", "SELF"]
    request.sort = [FetchSort("title")]
    let rows = try context.fetch(request)
    #expect(rows.count == 7)
    #expect(rows[0]["title", as: String.self] == "Calvino 0" && rows[0].values["price"] == nil)
    #expect(rows[1]["price", as: Decimal.self] == Decimal(string: "11.1"))
    #expect(rows[1]["author.name", as: String.self] == "Calvino")
    let author = try #require(rows[1].objectID("author"))
    #expect((try context.existingObject(with: author) as? Author)?.name == "Calvino")
    #expect(rows[6].values["author"] == nil && rows[6].objectID("SELF")?.entity.name == "Novel")
    #expect(rows[1].dictionary["author"] as? ManagedObjectID == author)

    var all = self.request(FetchedRow.self, "Author")
    all.limit = 1
    all.offset = 1
    #expect(try context.fetchRows(all).map(\.values) == [["name": .string("Calvino")]])
  }

  @Test("Rows tell what the store has, whatever is unsaved")
  func rowsAndChanges() throws {
    var request = request(FetchedRow.self)
    request.propertiesToFetch = ["title"]
    request.predicate = (Book.title == "changed").predicate
    let book = try #require(try context.fetch(Book.self, where: Book.title == "Eco 0").first)
    book.title = "changed"
    #expect(try context.fetch(request).isEmpty)
    try context.save()
    #expect(try context.fetch(request).count == 1)
  }

  @Test(
    "Aggregates work over all rows and over groups, and HAVING chooses by alias and by aggregate")
  func groups() throws {
    func expression(_ name: String, _ format: String) throws -> FetchedProperty {
      .expression(name, try FetchExpression(format: format))
    }
    var total = request(FetchedRow.self)
    total.propertiesToFetch = [
      try expression("sum", "sum:(pages)"), try expression("count", "count:(price)"),
      try expression("most", "max:(price)"), try expression("least", "min:(title)"),
      try expression("mean", "average:(pages)"), try expression("double", "sum:(pages) * 2"),
    ]
    let row = try #require(try context.fetch(total).first)
    #expect(row["sum", as: Int.self] == 1360 && row["count", as: Int.self] == 4)
    #expect(row["most", as: Decimal.self] == Decimal(string: "12.10"))
    #expect(row["least", as: String.self] == "Calvino 0")
    #expect(row["mean", as: Double.self] == 1360.0 / 7 && row["double", as: Int.self] == 2720)

    var groups = request(FetchedRow.self)
    groups.propertiesToGroupBy = ["author.name"]
    groups.propertiesToFetch = ["author.name", try expression("total", "sum:(pages)")]
    groups.sort = [FetchSort("total", ascending: false)]
    #expect(
      try context.fetch(groups).map { $0["total", as: Int.self] } == [1000, 330, 30])
    groups.havingPredicate = try FetchPredicate(format: "total > 100 AND count:(title) > 1")
    #expect(try context.fetch(groups).map { $0["author.name", as: String.self] } == ["Calvino"])
  }

  @Test("Equal rows come once when asked for")
  func distinct() throws {
    var request = request(FetchedRow.self)
    request.propertiesToFetch = ["author.name"]
    request.sort = [FetchSort("author.name")]
    #expect(try context.fetch(request).count == 7)
    request.returnsDistinctResults = true
    #expect(
      try context.fetch(request).map { $0["author.name", as: String.self] }
        == [nil, "Calvino", "Eco"])
    request.limit = 1
    request.offset = 2
    #expect(try context.fetch(request).map { $0["author.name", as: String.self] } == ["Eco"])
  }

  @Test("An expression description is a column")
  func expressionDescription() throws {
    let description = ExpressionDescription()
    description.name = "chapterCount"
    description.expression = try FetchExpression(format: "chapters.@count")
    description.expressionResultType = .integer64
    var request = request(FetchedRow.self)
    request.propertiesToFetch = [FetchedProperty(description), "title"]
    request.predicate = (Book.title == "Eco 1").predicate
    #expect(
      try context.fetch(request).map(\.values)
        == [["chapterCount": .integer(2), "title": .string("Eco 1")]])
  }

  @Test("Options that contradict each other are refused, with what to do")
  func refused() throws {
    func refusal(_ code: FetchError.Code, _ change: (inout FetchRequest<Book>) throws -> Void)
      throws
    {
      var request = request(Book.self)
      request.resultType = .dictionary
      try change(&request)
      let type = request.resultType
      let error = #expect(throws: FetchError.self) {
        if type == .dictionary { _ = try context.fetchRows(request) }
        if type == .managedObject { _ = try context.fetch(request) }
      }
      #expect(
        error?.code == code && error?.suggestion.isEmpty == false, "\(String(describing: error))")
    }
    try refusal(.invalidRequest) { $0.havingPredicate = .constant(true) }
    try refusal(.invalidRequest) { $0.limit = -1 }
    try refusal(.toManyNotAllowed) { $0.propertiesToFetch = ["chapters"] }
    try refusal(.unknownKey) { $0.propertiesToFetch = ["color"] }
    try refusal(.invalidRequest) { $0.propertiesToFetch = ["title", "title"] }
    try refusal(.invalidRequest) {
      $0.propertiesToGroupBy = ["author"]
      $0.propertiesToFetch = ["author", "title"]
    }
    try refusal(.invalidRequest) {
      $0.resultType = .managedObject
      $0.returnsDistinctResults = true
    }
    try refusal(.invalidRequest) {
      $0.resultType = .managedObject
      $0.propertiesToGroupBy = ["title"]
    }
    try refusal(.toManyNotAllowed) {
      $0.resultType = .managedObject
      $0.propertiesToFetch = ["tags"]
    }
    let error = #expect(throws: FetchError.self) {
      try context.fetchIDs(FetchRequest<FetchedRow>(entityName: "Book"))
    }
    #expect(error?.code == .invalidRequest)
  }

  @Test("Without property values objects are faults; batches read a page at a time")
  func batches() throws {
    let other = library.container.newContext()
    var request = request(Book.self)
    request.sort = [FetchSort("pages")]
    request.includesPropertyValues = false
    let faults = try other.fetch(request)
    #expect(faults.count == 7 && faults.allSatisfy(\.isFault))

    let third = library.container.newContext()
    request.fetchBatchSize = 3
    let books = try third.fetchBatches(request)
    #expect(books.count == 7 && books.objectIDs.count == 7)
    #expect(books[4].title == "Calvino 1")
    let held = [3, 5].compactMap { third.registeredObject(for: books.objectIDs[$0]) }
    #expect(held.count == 2 && held.allSatisfy { !$0.isFault })
    #expect(third.registeredObject(for: books.objectIDs[0]) == nil)
    #expect(books.map(\.pages) == [0, 10, 20, 100, 110, 120, 1000])
    #expect(books.last is Novel)
  }

  @Test("A page that ends beyond all numbers has what there is, unsaved changes among it")
  func largestPage() throws {
    var request = request(Book.self)
    request.offset = 1
    request.limit = Int.max
    let saved = try context.fetch(request).count
    let new = try context.insert(Book.self)
    new.title = "unsaved"
    #expect(try context.fetch(request).count == saved + 1)
    request.offset = Int.max
    #expect(try context.fetch(request).isEmpty)
  }

  @Test("Batches count unsaved changes, and go on when objects are deleted")
  func batchesAndChanges() throws {
    var request = request(Book.self)
    request.sort = [FetchSort("pages")]
    request.predicate = (Book.pages < 50).predicate
    request.fetchBatchSize = 2
    let new = try context.insert(Book.self)
    new.pages = 15
    let gone = try #require(try context.fetch(Book.self, where: Book.pages == 20).first)
    gone.pages = 60
    let books = try context.fetchBatches(request)
    #expect(books.map(\.pages) == [0, 10, 15])
    let other = library.container.newContext()
    let doomed = try #require(try other.fetch(Book.self, where: Book.pages == 0).first)
    other.delete(doomed)
    try other.save()
    let third = library.container.newContext()
    var plain = request
    plain.includesPendingChanges = false
    #expect(try third.fetchBatches(plain).map(\.pages) == [10, 20])
  }

  @Test("Refetched objects take the store's values when asked to, beneath unsaved changes")
  func refetch() throws {
    let books = try context.fetch(Book.self, where: Book.pages < 20, order: Book.pages.ascending)
    let other = library.container.newContext()
    for book in try other.fetch(Book.self, where: Book.pages < 20) {
      book.title = "theirs"
      book[Book.weight] = 7
    }
    try other.save()
    books[0].title = "mine"
    var request = request(Book.self)
    request.sort = [FetchSort("pages")]
    request.limit = 2
    #expect(try context.fetch(request).map(\.title) == ["mine", "Eco 1"])
    request.shouldRefreshRefetchedObjects = true
    #expect(try context.fetch(request).map(\.title) == ["mine", "theirs"])
    #expect(books.map { $0[Book.weight] } == [7, 7])
    try context.save()
  }

  @Test(
    "A limit, an offset and a sort are right with inserts, changes and deletes that are not saved")
  func overlayWithCut() throws {
    let all = try context.fetch(Book.self, order: Book.pages.ascending)
    all[0].pages = 500
    context.delete(all[2])
    let new = try context.insert(Book.self)
    new.pages = 105
    let expected = [10, 100, 105, 110, 120, 500, 1000]
    for offset in 0...8 {
      for limit in 0...8 {
        var request = request(Book.self)
        request.sort = [FetchSort("pages")]
        request.limit = limit
        request.offset = offset
        let cut = expected.dropFirst(offset).prefix(limit == 0 ? 99 : limit)
        #expect(try context.fetch(request).map(\.pages) == Array(cut))
        #expect(try context.count(for: request) == cut.count)
        #expect(try context.fetchIDs(request).count == cut.count)
      }
    }
  }

  @Test("Only affected stores answer")
  func stores() throws {
    let other = try Library()
    var request = request(Book.self)
    request.affectedStores = other.container.persistentStoreCoordinator.persistentStores
    #expect(try context.fetch(request).isEmpty && context.count(for: request) == 0)
    request.affectedStores = library.container.persistentStoreCoordinator.persistentStores
    #expect(try context.fetch(request).count == 7)
  }

  @Test("Subentities are left out when asked to")
  func subentities() throws {
    var request = request(Book.self)
    request.includesSubentities = false
    #expect(try context.fetch(request).count == 6)
    let new = try context.insert(Novel.self)
    new.title = "unsaved"
    #expect(try context.fetch(request).count == 6)
    #expect(try context.count(Book.self) == 8)
  }

  @Test("Prefetching reads collections and their objects, so that nothing is left to read")
  func prefetch() throws {
    let other = library.container.newContext()
    var request = request(Author.self, "Author")
    request.relationshipKeyPathsForPrefetching = ["books.chapters"]
    request.sort = [FetchSort("name")]
    let authors = try other.fetch(request)
    // What was read stays readable when the store no longer is.
    library.container.persistentStoreCoordinator.persistentStores[0].close()
    #expect(authors.map { $0.books.count } == [3, 3])
    let chapters = authors.flatMap { $0.books.flatMap { $0.chapters.array } }
    #expect(chapters.count == 12 && chapters.allSatisfy { !$0.isFault })
    #expect(
      authors[1].books.array.sorted { $0.title < $1.title }[1].chapters
        .map { $0[Chapter.title] } == ["Eco 1.0", "Eco 1.1"])
  }

  @Test("Prefetching something that is no relationship is refused")
  func prefetchUnknown() throws {
    var request = request(Author.self, "Author")
    request.relationshipKeyPathsForPrefetching = ["titles"]
    let error = #expect(throws: ObjectError.self) { try context.fetch(request) }
    #expect(error?.code == .unknownProperty)
  }

  @Test("Keys of a class above find, order and count objects of a class below")
  func inheritedKeys() throws {
    let other = library.container.newContext()
    let novels = try other.fetch(
      Novel.self, where: Book.pages > 300, order: Book.title.ascending, limit: 5)
    #expect(novels.map { $0[Novel.hero] } == ["William"])
    #expect(try other.fetch(Novel.self, where: Book.pages < 300).isEmpty)
    #expect(try other.fetch(Novel.self, order: Book.title.ascending).count == 1)
    #expect(try other.count(Novel.self, where: Book.pages > 300) == 1)
    #expect(
      try other.fetch(Novel.self, where: Novel.hero == "William" && Book.pages > 300).count == 1)
    let error = #expect(throws: FetchError.self) {
      try other.fetch(Tag.self, where: Book.pages > 300)
    }
    #expect(error?.code == .unknownKey)
  }

  @Test("An element of an ordered relationship is found by its place, in the store as in memory")
  func elements() throws {
    for (format, count) in [
      ("chapters[FIRST].title == 'Eco 1.0'", 1), ("chapters[LAST].title ENDSWITH '.1'", 6),
      ("chapters[1].title == 'Eco 1.1'", 1), ("chapters[0].title == 'Eco 1.1'", 0),
      ("chapters[2] == nil", 7), ("chapters[LAST].book == SELF", 6),
    ] {
      let predicate = try FetchPredicate(format: format)
      #expect(try FetchPredicate(format: predicate.description) == predicate)
      let found = try context.fetch(FetchRequest<Book>(entityName: "Book", predicate: predicate))
      #expect(found.count == count, "\(format)")
      let all = try context.fetch(Book.self)
      #expect(try all.count { try predicate.evaluate(with: $0) } == count, "\(format)")
    }
    let unordered = try FetchPredicate(format: "tags[FIRST].name == 'x'")
    let error = #expect(throws: FetchError.self) {
      try context.fetch(FetchRequest<Book>(entityName: "Book", predicate: unordered))
    }
    #expect(error?.code == .unsupported)
  }

  @Test("A transient attribute in a predicate or sort is refused before anything runs")
  func transient() throws {
    let note = AttributeDescription("note", .string)
    note.isTransient = true
    let entity = EntityDescription("Thing")
    entity.properties = [note, AttributeDescription("name", .string)]
    let container = PersistentContainer(
      name: "T", model: ManagedObjectModel(entities: [entity]), storeURL: nil)
    try container.loadPersistentStores()
    let context = container.newContext()
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    request.predicate = try FetchPredicate(format: "note == 'x'")
    let error = #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(error?.code == .unsupported && error?.message.contains("note") == true)
    request.predicate = nil
    request.sort = [FetchSort("note")]
    #expect(throws: FetchError.self) { try context.fetch(request) }
  }
}

extension Book {
  func setPrice(_ price: Decimal?) { self[Book.price] = price }
}
