import Driftless
import Foundation
import TestSupport
import Testing

/// Objects whose key, entity or context is another one by now.
@Suite struct ReplacedObjectTests {
  private let library: Library
  private let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  /// The ID of a saved novel, as one of a book: a bookmark that names the wrong entity.
  private func novelAsBook() throws -> ManagedObjectID {
    let novel = try context.insert(Novel.self)
    novel.title = "n"
    try novel.setValue(String(repeating: "hero ", count: 10), forKey: "hero")
    try context.save()
    let coordinator = library.container.persistentStoreCoordinator
    let uri = novel.objectID.uriRepresentation().absoluteString
    let url = try #require(
      URL(string: uri.replacingOccurrences(of: "/Novel/", with: "/Book/")))
    return try #require(coordinator.managedObjectID(forURIRepresentation: url))
  }

  @Test("A row of another entity than the fault of its key does not fill that fault's memory")
  func otherEntity() throws {
    let id = try novelAsBook()
    let fresh = library.container.newContext()
    let ghost = fresh.object(with: id)
    let neighbours = try (0..<8).map { number in
      let book = try fresh.insert(Book.self)
      book.title = "neighbour \(number)"
      return book
    }
    let found = try fresh.fetch(FetchRequest<Book>(entityName: "Book"))
    #expect(neighbours.enumerated().allSatisfy { $1.title == "neighbour \($0)" })
    let novel = try #require(found.compactMap { $0 as? Novel }.first)
    #expect(
      try novel.value(forKey: "hero") as? String == String(repeating: "hero ", count: 10))
    #expect(novel !== ghost && fresh.registeredObject(for: novel.objectID) === novel)
    try fresh.save()
    #expect(try fresh.count(Book.self) == 9)
  }

  @Test("The value of an object is not read of a row of another entity")
  func faultOfOtherEntity() throws {
    let id = try novelAsBook()
    let fresh = library.container.newContext()
    #expect(throws: ObjectError.self) { try fresh.existingObject(with: id) }
    let child = ManagedObjectContext(parent: fresh)
    _ = child.object(with: id)
    let novels = try child.fetch(FetchRequest<Book>(entityName: "Book"))
    #expect(novels.first is Novel && novels.first?.title == "n")
  }

  @Test("Who has the key of an object that comes back under its identity leaves the context")
  func reusedKey() throws {
    let uuid = UUID()
    var last: ManagedObjectContext? = library.container.newContext()
    let old = try #require(try last?.insert(Book.self, identity: uuid))
    old.title = "old"
    try last?.save()
    if let object = try context.object(withIdentity: uuid) { context.delete(object) }
    try context.save()
    let again = try #require(try last?.insert(Book.self, identity: uuid))
    again.title = "again"
    try last?.save()
    #expect(again.objectID == old.objectID && old.managedObjectContext == nil)
    #expect(last?.registeredObject(for: again.objectID) === again)
    last = nil
    #expect(old.title == "old" && again.title == "again")
  }

  @Test("An object is taken in once its former context is done with it, and then saved")
  func movedDraft() throws {
    let other = library.container.newContext()
    let draft = try context.insert(Tag.self)
    draft.name = "draft"
    context.delete(draft)
    #expect { try other.insert(draft) } throws: { ($0 as? ObjectError)?.code == .foreignObject }
    context.rollback()
    try other.insert(draft)
    #expect(other.insertedObjects == [draft] && !context.hasChanges)
    try other.save()
    #expect(try context.fetch(Tag.self).map(\.name) == ["draft"])
    // The same context may take its own back.
    let second = try other.insert(Tag.self)
    other.delete(second)
    try other.insert(second)
    second.name = "second"
    try other.save()
    #expect(try context.count(Tag.self) == 2)
  }

  @Test("A reference to a new object that was deleted is refused, as one to a saved object is")
  func referenceToNobody() throws {
    let author = try context.insert(Author.self)
    author.name = "a"
    let tag = try context.insert(Tag.self)
    let book = try context.insert(Book.self)
    book.title = "b"
    tag[Tag.books].insert(book)
    try context.save()
    // Tags deny that they are deleted while they have books, new ones as well.
    let new = try context.insert(Tag.self)
    new[Tag.books].insert(book)
    context.delete(new)
    try? context.save()
    context.rollback()
    #expect(book.tags.count == 1)
  }

  @Test("Faults of several stores come in the order of their values")
  func sortedFaults() throws {
    let memory = try library.container.persistentStoreCoordinator.addPersistentStore(at: nil)
    for (index, name) in ["c", "a", "d", "b"].enumerated() {
      let author = try context.insert(Author.self)
      if index % 2 == 0 { try context.assign(author, to: memory) }
      author.name = name
    }
    try context.save()
    context.reset()
    var request = FetchRequest<Author>(entityName: "Author", sort: [FetchSort("name")])
    request.includesPropertyValues = false
    #expect(try context.fetch(request).map(\.name) == ["a", "b", "c", "d"])
    request.limit = 2
    request.offset = 1
    #expect(try context.fetchIDs(request).count == 2 && context.count(for: request) == 2)
  }

  @Test("A batch insert refuses relationships that it cannot write at both ends")
  func batchRelationships() throws {
    let master = try context.insert(Author.self)
    master.name = "master"
    let book = try context.insert(Book.self)
    try context.save()
    let (masterID, bookID) = (master.objectID, book.objectID)
    #expect(throws: FetchError.self) {
      try context.execute(
        BatchInsertRequest(
          entityName: "Author",
          managedObjectHandler: { object in
            let author = object as? Author
            author?.name = "pupil"
            author?[Author.master] =
              object.managedObjectContext?.object(with: masterID) as? Author
            return false
          }))
    }
    #expect(throws: FetchError.self) {
      try context.execute(
        BatchInsertRequest(
          entityName: "Author",
          managedObjectHandler: { object in
            guard let book = object.managedObjectContext?.object(with: bookID) as? Book else {
              return true
            }
            (object as? Author)?.books.insert(book)
            return false
          }))
    }
    #expect(try context.count(Author.self) == 1)
  }

  @Test("Rows of a child context are those of its parent's pinned state")
  func pinnedRows() throws {
    let book = try context.insert(Book.self)
    book.pages = 3
    try context.save()
    try context.setQueryGenerationFrom(.current)
    _ = try context.fetch(Book.self)
    let other = library.container.newContext()
    for theirs in try other.fetch(Book.self) { theirs.pages = 9 }
    try other.save()
    let child = ManagedObjectContext(parent: context)
    let rows = try child.fetchRows(FetchRequest<FetchedRow>(entityName: "Book"))
    #expect(rows.first?["pages"] == .integer(3))
  }

  @Test("Places that there are not are errors, and errors that were cleared stay away")
  func smallThings() throws {
    for number in 0..<3 { try context.insert(Tag.self).name = "\(number)" }
    try context.save()
    var request = FetchRequest<Tag>(entityName: "Tag")
    request.fetchBatchSize = 2
    let batches = try context.fetchBatches(request)
    #expect(throws: ObjectError.self) { try batches.object(at: 3) }
    #expect(throws: ObjectError.self) { try batches.object(at: -1) }
    #expect(try batches.object(at: 2).name != nil)
    context.delete(try library.container.newContext().insert(Tag.self))
    #expect(context.accessorErrors.count == 1)
    try context.accessing { context.rollback() }
    #expect(context.accessorErrors.isEmpty)
  }
}
