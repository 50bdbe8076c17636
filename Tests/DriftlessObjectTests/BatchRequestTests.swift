import Driftless
import Foundation
import Testing

@Suite("Batch requests")
struct BatchRequestTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
    context.transactionAuthor = "batch"
  }

  private var store: PersistentStore {
    library.container.persistentStoreCoordinator.persistentStores[0]
  }

  private func insertBooks(_ count: Int) throws {
    var number = 0
    try context.execute(
      BatchInsertRequest(
        entityName: "Book",
        dictionaryHandler: { book in
          guard number < count else { return true }
          book["title"] = "B\(number)"
          book["pages"] = number
          number += 1
          return false
        }))
  }

  private func changes() throws -> [PersistentHistoryTransaction] {
    try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
  }

  @Test("Dictionaries become rows with defaults, and one transaction of the history")
  func insertDictionaries() throws {
    var request = BatchInsertRequest(
      entityName: "Book", objects: [["title": "A", "pages": 7], ["title": "B"]])
    request.resultType = .objectIDs
    let result = try context.execute(request)
    #expect(result.objectIDs?.count == 2 && result.count == nil)
    let books = try context.fetch(Book.self, order: Book.title.ascending)
    #expect(books.map(\.pages) == [7, 1])
    #expect(books.map(\.objectID) == result.objectIDs)
    let history = try changes()
    #expect(history.count == 1 && history[0].author == "batch")
    #expect(history[0].changes?.map(\.changeType) == [.insert, .insert])
  }

  @Test("Objects of a handler become rows, their to-one relationships as well")
  func insertObjects() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    try context.save()
    let id = author.objectID
    var number = 0
    var request = BatchInsertRequest(
      entityName: "Novel",
      managedObjectHandler: { object in
        guard let novel = object as? Novel, number < 1500 else { return true }
        number += 1
        novel.title = "N\(number)"
        novel[Novel.hero] = "H"
        novel.author = novel.managedObjectContext?.object(with: id) as? Author
        return false
      })
    request.resultType = .count
    #expect(try context.execute(request).count == 1500)
    let other = library.container.newContext()
    #expect(try other.count(Novel.self, where: Novel.hero == "H") == 1500)
    let eco = try #require(try other.fetch(Author.self).first)
    #expect(eco.books.count == 1500)
  }

  @Test("Objects that a handler keeps hold their values, and belong to no context")
  func keptObjects() throws {
    var kept: [Book] = []
    var number = 0
    let request = BatchInsertRequest(
      entityName: "Book",
      managedObjectHandler: { object in
        guard let book = object as? Book, number < 1100 else { return true }
        number += 1
        book.title = "a kept title of some length \(number)"
        if number % 100 == 0 { kept.append(book) }
        return false
      })
    try context.execute(request)
    #expect(try library.container.newContext().count(Book.self) == 1100)
    #expect(kept.count == 11 && kept.allSatisfy { $0.managedObjectContext == nil })
    #expect(kept[10].title == "a kept title of some length 1100")
    kept[0].title = "changed"
    #expect(kept[0].title == "changed")
  }

  @Test("A batch that meets an error leaves nothing behind")
  func insertFails() throws {
    let rows: [[String: Any?]] = [["title": "A"], ["color": "red"]]
    #expect(throws: ObjectError.self) {
      try context.execute(BatchInsertRequest(entityName: "Book", objects: rows))
    }
    #expect(throws: ObjectError.self) {
      try context.execute(BatchInsertRequest(entityName: "Book", objects: [["pages": "many"]]))
    }
    #expect(throws: ObjectError.self) {
      try context.execute(BatchInsertRequest(entityName: "Book", objects: [["author": 1]]))
    }
    #expect(try context.count(Book.self) == 0)
    #expect(try changes().isEmpty)
  }

  @Test("Rows that meet others under a unique constraint go by the merge policy")
  func upsert() throws {
    let entity = EntityDescription("Item")
    entity.properties = [
      AttributeDescription("code", .string), AttributeDescription("name", .string),
      AttributeDescription("size", .integer64, defaultValue: .integer(5)),
    ]
    entity.uniquenessConstraints = [["code"]]
    let container = PersistentContainer(
      name: "Items", model: ManagedObjectModel(entities: [entity]), storeURL: nil)
    try container.loadPersistentStores()
    let context = container.newContext()
    func run(_ policy: MergePolicy, _ rows: [[String: Any?]]) throws -> [[PropertyValue?]] {
      context.mergePolicy = policy
      try context.execute(BatchInsertRequest(entityName: "Item", objects: rows))
      var request = FetchRequest<FetchedRow>(entityName: "Item")
      request.sort = [FetchSort("code")]
      return try context.fetch(request).map { row in
        ["code", "name", "size"].map { row.values[$0] }
      }
    }
    func row(_ code: String?, _ name: String, _ size: Int64) -> [PropertyValue?] {
      [code.map { .string($0) }, .string(name), .integer(size)]
    }
    #expect(
      try run(.error, [["code": "a", "name": "1", "size": 9], ["name": "n"], ["name": "n"]])
        == [row(nil, "n", 5), row(nil, "n", 5), row("a", "1", 9)])
    let error = #expect(throws: StoreError.self) {
      try run(.error, [["code": "b", "name": "2"], ["code": "a", "name": "3"]])
    }
    #expect(error?.code == .constraint)
    #expect(
      try run(
        .mergeByPropertyStoreTrump, [["code": "a", "name": "3"], ["code": "b", "name": "2"]]
      )
      .suffix(2) == [row("a", "1", 9), row("b", "2", 5)])
    #expect(
      try run(
        .mergeByPropertyObjectTrump, [["code": "a", "name": "4"], ["code": "b", "size": 6]]
      )
      .suffix(2) == [row("a", "4", 9), row("b", "2", 6)])
    // What is given is written where it is null or the default of new objects, too.
    let given = try run(.mergeByPropertyObjectTrump, [["code": "a", "size": 5, "name": nil]])
    #expect(
      given.contains { $0[0] == .string("a") && $0[1] ?? .null == .null && $0[2] == .integer(5) },
      "\(given)")
    #expect(
      try run(.overwrite, [["code": "a", "name": "5"]]).suffix(2)
        == [row("a", "5", 5), row("b", "2", 6)])
  }

  @Test(
    "An update sets constants and expressions of what was there, and history names the properties")
  func update() throws {
    try insertBooks(5)
    var request = BatchUpdateRequest(entityName: "Book")
    request.predicate = (Book.pages >= 2).predicate
    request.propertiesToUpdate = [
      "pages": try FetchExpression(format: "pages * 10"), "isRead": true,
      "title": try FetchExpression(format: "uppercase:(title)"), "price": Decimal(3),
    ]
    request.resultType = .count
    #expect(try context.execute(request).count == 3)
    let books = try context.fetch(Book.self, order: Book.pages.ascending)
    #expect(books.map(\.pages) == [0, 1, 20, 30, 40])
    #expect(books.map { $0[Book.isRead] } == [false, false, true, true, true])
    #expect(books.map { $0[Book.price] } == [nil, nil, 3, 3, 3])
    let last = try #require(try changes().last?.changes)
    #expect(last.count == 3 && last.allSatisfy { $0.changeType == .update })
  }

  @Test("An update leaves subentities out when it is asked to")
  func updateWithoutSubentities() throws {
    try insertBooks(2)
    try context.insert(Novel.self).title = "long"
    try context.save()
    var request = BatchUpdateRequest(entityName: "Book")
    request.propertiesToUpdate = ["isRead": true]
    request.resultType = .count
    request.includesSubentities = false
    #expect(try context.execute(request).count == 2)
    #expect(try context.count(Book.self, where: Book.isRead == true) == 2)
    request.includesSubentities = true
    #expect(try context.execute(request).count == 3)
  }

  @Test("An update that does not fit is refused before anything is changed")
  func updateRefused() throws {
    try insertBooks(3)
    func refused(_ values: [String: Any?]) throws {
      var request = BatchUpdateRequest(entityName: "Book")
      request.propertiesToUpdate = values
      #expect(throws: (any Error).self, "\(values)") { try context.execute(request) }
    }
    try refused([:])
    try refused(["color": 1])
    try refused(["tags": 1])
    try refused(["pages": "x"])
    try refused(["pages": try FetchExpression(format: "title")])
    try refused(["pages": try FetchExpression(format: "pages + 9000000000")])
    try refused(["author": 3])
    #expect(try context.fetch(Book.self).map(\.pages).sorted() == [0, 1, 2])
  }

  @Test("An update sets and clears a to-one relationship, seen at its other end")
  func updateRelationship() throws {
    try insertBooks(3)
    let author = try context.insert(Author.self)
    author.name = "Eco"
    try context.save()
    var request = BatchUpdateRequest(entityName: "Book")
    request.propertiesToUpdate = ["author": author.objectID]
    try context.execute(request)
    let other = library.container.newContext()
    #expect(try other.fetch(Author.self)[0].books.count == 3)
    request.propertiesToUpdate = ["author": nil]
    try context.execute(request)
    #expect(try library.container.newContext().fetch(Author.self)[0].books.isEmpty)
  }

  @Test("A delete cascades, nullifies and takes pairs away, and does not mind deny")
  func delete() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    let tag = try context.insert(Tag.self)
    for number in 0..<3 {
      let book = try context.insert(Book.self)
      book.title = "B\(number)"
      book.pages = number
      book.author = author
      book.tags = [tag]
      book.chapters = [try context.insert(Chapter.self), try context.insert(Chapter.self)]
    }
    try context.save()
    var request = BatchDeleteRequest(
      fetchRequest: FetchRequest<Book>(
        entityName: "Book", sort: [FetchSort("pages", ascending: false)], limit: 1))
    request.resultType = .objectIDs
    let ids = try #require(try context.execute(request).objectIDs)
    #expect(ids.map(\.entity.name).sorted() == ["Book", "Chapter", "Chapter"])
    var other = library.container.newContext()
    #expect(try other.count(Chapter.self) == 4)
    #expect(try other.fetch(Tag.self)[0][Tag.books].count == 2)
    #expect(try other.fetch(Author.self)[0].books.count == 2)

    try context.execute(BatchDeleteRequest(objectIDs: [author.objectID, tag.objectID]))
    other = library.container.newContext()
    let books = try other.fetch(Book.self)
    #expect(books.count == 2 && books.allSatisfy { $0.author == nil && $0.tags.isEmpty })
    let last = try #require(try changes().last?.changes)
    #expect(last.count { $0.changeType == .delete } == 2)
    #expect(last.contains { $0.changeType == .update })
  }

  @Test("A chain of cascades is followed to its end")
  func deleteChain() throws {
    var previous: Link?
    for _ in 0..<200 {
      let link = try context.insert(Link.self)
      if let previous { previous[Link.next] = link }
      previous = link
    }
    try context.save()
    let first = try #require(
      try context.fetch(
        FetchRequest<Link>(
          entityName: "Link", predicate: FetchPredicate(format: "previous == nil"))
      ).first)
    var request = BatchDeleteRequest(objectIDs: [first.objectID])
    request.resultType = .count
    #expect(try context.execute(request).count == 200)
    #expect(try library.container.newContext().count(Link.self) == 0)
  }

  @Test("A context sees what a batch did once it merges it")
  func merging() throws {
    try insertBooks(2)
    let books = try context.fetch(Book.self, order: Book.pages.ascending)
    var update = BatchUpdateRequest(entityName: "Book")
    update.predicate = (Book.pages == 0).predicate
    update.propertiesToUpdate = ["title": "new"]
    update.resultType = .objectIDs
    let updated = try #require(try context.execute(update).objectIDs)
    let delete = BatchDeleteRequest(objectIDs: [books[1].objectID])
    try context.execute(delete)
    #expect(books[0].title == "B0" && !books[1].isDeleted)
    try context.mergeChanges(updated: updated, deleted: [books[1].objectID])
    #expect(books[0].title == "new" && books[1].managedObjectContext == nil)
  }

  @Test("Two hundred thousand rows go in, change and go away in little memory")
  func constantMemory() throws {
    try insertBooks(2000)
    let before = try peakMemory()
    try insertBooks(200_000)
    var update = BatchUpdateRequest(entityName: "Book")
    update.propertiesToUpdate = ["pages": try FetchExpression(format: "pages + 1")]
    update.resultType = .count
    #expect(try context.execute(update).count == 202_000)
    var delete = BatchDeleteRequest(fetchRequest: FetchRequest<Book>(entityName: "Book"))
    delete.resultType = .count
    #expect(try context.execute(delete).count == 202_000)
    // The pages that SQLite holds, which do not grow with the rows beyond its cache; objects alone would take more.
    // Under a sanitizer each byte has several of its shadow's beside it.
    let isSanitized = ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil
    #expect(try peakMemory() - before < (isSanitized ? 1_600_000_000 : 160_000_000))
  }

  /// The most memory that the process ever had, in bytes.
  private func peakMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM") })
    let kilobytes = line.split(whereSeparator: { !$0.isNumber }).first
    return try #require(kilobytes.flatMap { Int($0) }) * 1024
  }
}
