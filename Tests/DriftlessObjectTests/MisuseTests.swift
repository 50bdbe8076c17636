import Driftless
import Foundation
import TestSupport
import Testing

/// What Core Data raises exceptions for: here each gives a typed error, or does nothing, and never ends the process.
struct MisuseTests {
  let library: Library
  let context: ManagedObjectContext
  let author: Author
  let book: Book

  init() throws {
    library = try Library()
    context = library.container.newContext()
    author = try context.insert(Author.self)
    author.name = "Eco"
    book = try context.insert(Book.self)
    book.title = "Baudolino"
    book.author = author
    try context.save()
  }

  /// The error that the next save gives for what was done, after which the context is as it was.
  private func refused(
    _ code: ObjectError.Code, in other: ManagedObjectContext? = nil, _ body: () throws -> Void
  ) throws {
    let context = other ?? context
    try body()
    _ = try context.insert(Tag.self)
    let error = #expect(throws: ObjectError.self) { try context.save() }
    #expect(error?.code == code)
    #expect(error?.suggestion.isEmpty == false)
    context.rollback()
  }

  // MARK: Values

  @Test("A value of the wrong type or size is refused through every door, and the old one stays")
  func wrongTypes() throws {
    let wrong: [(String, Any)] = [
      ("title", 7), ("pages", "seven"), ("pages", Int64.max), ("pages", 1.5),
      ("pages", -5_000_000_000),
      ("price", "1.0"), ("isRead", 2), ("printed", "yesterday"), ("cover", "text"),
      ("code", "no-uuid"), ("page", Data()), ("author", "Eco"), ("author", book), ("tags", author),
      ("tags", [author]), ("tags", "x"), ("chapters", 1), ("weight", Data()), ("title", [1, 2]),
      ("title", ["a": 1]), ("title", NSObject()),
    ]
    for (name, value) in wrong {
      #expect(throws: ObjectError.self, "\(name) = \(value)") {
        try book.setValue(value, forKey: name)
      }
      try refused(.typeMismatch) { book[name] = value }
      if name != "tags", name != "chapters" {
        #expect(throws: ObjectError.self) { try book.setPrimitiveValue(value, forKey: name) }
        if name != "author" {
          #expect(throws: ObjectError.self) { try book.validateValue(value, forKey: name) }
        }
      }
    }
    #expect(book.title == "Baudolino" && book.author === author && !book.hasChanges)
  }

  @Test("Names that are no property are errors through every door")
  func unknownNames() throws {
    for name in [
      "", "titel", "author.name", "title; DROP TABLE ZBOOK", "\u{0}", "é", "Z_PK", "self",
    ] {
      #expect(throws: ObjectError.self) { try book.value(forKey: name) }
      #expect(throws: ObjectError.self) { try book.setValue(1, forKey: name) }
      #expect(throws: ObjectError.self) { try book.primitiveValue(forKey: name) }
      #expect(throws: ObjectError.self) { try book.setPrimitiveValue(1, forKey: name) }
      #expect(throws: ObjectError.self) { try book.validateValue(1, forKey: name) }
      #expect(throws: ObjectError.self) { try book.objectIDs(forRelationshipNamed: name) }
      #expect(book[name] == nil)
      try refused(.unknownProperty) { _ = book.hasFault(forRelationshipNamed: name) }
      #expect(book.committedValues(forKeys: [name]).isEmpty)
      book.willAccessValue(forKey: name)
      book.willChangeValue(forKey: name)
      book.didChangeValue(forKey: name)
      try refused(.unknownProperty) { book[name] = 1 }
    }
    // Keys of another entity, and of another kind.
    try refused(.unknownProperty) { _ = author[Book.title] }
    try refused(.unknownProperty) { author[Book.title] = "x" }
    try refused(.unknownProperty) { _ = book[ToMany<Book, Author>("author")].count }
    try refused(.unknownProperty) { book[ToOne<Book, Tag>("tags")] = nil }
    try refused(.typeMismatch) { book[Attribute<Book, String>("author")] = "Eco" }
    try refused(.typeMismatch) { book[Attribute<Book, String>("pages")] = "seven" }
    #expect(author.name == "Eco" && book.author === author)
  }

  @Test("Numbers that are none, and ends of ranges, come back as what they were or are refused")
  func numbers() throws {
    for number in [
      Double.infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0,
    ] {
      book[Book.weight] = number
      try context.save()
      try context.refresh(book, mergeChanges: false)
      #expect(book[Book.weight] == number)
    }
    for number in [Int32.max, 0] {
      book.pages = Int(number)
      try context.save()
      #expect(book.pages == Int(number))
    }
    try refused(.typeMismatch) { book.pages = Int(Int32.max) + 1 }
    #expect(throws: (any Error).self) {
      book.pages = -1
      try context.save()
    }
    context.rollback()
    book[Book.weight] = .nan
    do {
      try context.save()
      try context.refresh(book, mergeChanges: false)
      // SQLite has no such number: it reads as no value.
      #expect(book[Book.weight]?.isNaN ?? true)
    } catch is ObjectError {
      context.rollback()
    }
    #expect(throws: ObjectError.self) { try book.setValue(Decimal.nan as Any, forKey: "pages") }
  }

  @Test("A primitive reference to nobody, or to an object of another entity, is refused")
  func primitiveReferences() throws {
    for key in [
      ObjectKey(entity: 99, key: 1), ObjectKey(entity: -1, key: -1),
      ObjectKey(entity: book.objectID.key.entity, key: 1), ObjectKey(entity: 0, key: .min),
    ] {
      #expect(throws: ObjectError.self) {
        try book.setPrimitiveValue(PropertyValue.reference(key), forKey: "author")
      }
    }
    try book.setPrimitiveValue(PropertyValue.reference(author.objectID.key), forKey: "author")
    #expect(book.author === author)
  }

  // MARK: Other contexts

  @Test(
    "An object of another context, coordinator or of none is refused in relationships and deletes")
  func foreignObjects() throws {
    let elsewhere = library.container.newContext()
    let other = try Library()
    let otherContext = other.container.newContext()
    let orphan: Author = try {
      let gone = library.container.newContext()
      let author = try gone.insert(Author.self)
      author.name = "orphan"
      return author
    }()
    #expect(orphan.managedObjectContext == nil && orphan.name == "orphan")
    let strangers = [
      try elsewhere.insert(Author.self), try otherContext.insert(Author.self), orphan,
    ]
    for stranger in strangers {
      try refused(.foreignObject) { book.author = stranger }
      #expect(throws: ObjectError.self) { try book.setValue(stranger, forKey: "author") }
      try refused(.foreignObject) { context.delete(stranger) }
      try context.refresh(stranger, mergeChanges: true)
      #expect(throws: ObjectError.self) { try context.obtainPermanentIDs(for: [stranger]) }
      #expect(throws: ObjectError.self) {
        try context.assign(
          stranger, to: #require(context.persistentStoreCoordinator.persistentStores.first))
      }
    }
    let tag = try elsewhere.insert(Tag.self)
    try refused(.foreignObject) { book.tags.insert(tag) }
    try refused(.foreignObject) { book.tags = [tag] }
    #expect(!book.tags.contains(tag))
    #expect(book.author === author)
    // An ID of another coordinator names nobody here.
    let saved = try otherContext.insert(Author.self)
    saved.name = "there"
    strangers[1].name = "x"
    try otherContext.save()
    #expect(context.object(with: saved.objectID) == nil)
    #expect(throws: ObjectError.self) { try context.existingObject(with: saved.objectID) }
    #expect(
      try context.count(
        for: FetchRequest<Book>(
          entityName: "Book", predicate: FetchPredicate(format: "author == %@", saved.objectID)))
        == 0)
  }

  // MARK: After the end

  @Test("A deleted object can be looked at, and changing it changes nothing")
  func deletedObjects() throws {
    let id = book.objectID
    context.delete(book)
    context.delete(book)
    book.title = "changed"
    try context.save()
    #expect(book.managedObjectContext == nil && book.objectID == id)
    context.delete(author)
    context.rollback()
    touchEverything(book)
    #expect(try context.count(Book.self) == 0)
    try refused(.foreignObject) { context.delete(book) }
    try refused(.foreignObject) { author.books.insert(book) }
    #expect(throws: ObjectError.self) { try context.existingObject(with: id) }
  }

  @Test("Objects of a context that was reset or is gone can be touched everywhere")
  func leftBehind() throws {
    let fault = try #require(library.container.newContext().object(with: book.objectID))
    touchEverything(fault)
    let view = book.tags
    context.reset()
    touchEverything(book)
    touchEverything(author)
    #expect(view.isEmpty && view.array.isEmpty)
    book.title = "nobody's"
    #expect(!context.hasChanges)
    try context.save()
    let tag = try context.insert(Tag.self)
    var members = author.books
    members.insert(book)
    members.removeAll()
    try context.save()
    withExtendedLifetime(tag) {}
  }

  /// Goes through every door of an object; none may trap.
  private func touchEverything(_ object: ManagedObject) {
    let names = object.entity.properties.map(\.name)
    for name in names {
      _ = object[name]
      object[name] = object[name]
      object[name] = nil
      _ = try? object.primitiveValue(forKey: name)
      try? object.setPrimitiveValue(nil, forKey: name)
      _ = try? object.objectIDs(forRelationshipNamed: name)
      _ = object.hasFault(forRelationshipNamed: name)
      object.willAccessValue(forKey: name)
      object.willChangeValue(forKey: name)
      object.didChangeValue(forKey: name)
      try? object.validateValue(nil, forKey: name)
    }
    _ = object.changedValues()
    _ = object.changedValuesForCurrentEvent()
    _ = object.committedValues
    _ = object.committedValues(forKeys: nil)
    _ = object.hasPersistentChangedValues
    _ = object.description
    _ = object.objectID.uriRepresentation()
    _ = try? object.identity
    _ = (object.isFault, object.isInserted, object.isUpdated, object.isDeleted, object.hasChanges)
    try? object.validateForInsert()
    try? object.validateForUpdate()
    try? object.validateForDelete()
    _ = object.faultingState
  }

  @Test("Undo after a reset, a rollback or the end of the context does nothing")
  func undoAfterTheEnd() throws {
    let undo = UndoManager()
    context.undoManager = undo
    book.title = "changed"
    context.processPendingChanges()
    context.reset()
    undo.undo()
    context.undo()
    context.redo()
    #expect(!context.hasChanges)
    var gone: ManagedObjectContext? = library.container.newContext()
    gone?.undoManager = undo
    try gone?.insert(Tag.self).name = "x"
    gone?.processPendingChanges()
    gone = nil
    undo.undo()
    undo.redo()
  }

  // MARK: Requests

  @Test("Requests that make no sense are errors before anything runs")
  func requests() throws {
    #expect(throws: ObjectError.self) { try context.insert(entityNamed: "") }
    #expect(throws: ObjectError.self) { try context.insert(entityNamed: "Bok") }
    #expect(throws: ObjectError.self) { try context.insert(ManagedObject.self) }
    let wrongClass = FetchRequest<Author>(entityName: "Book")
    #expect(throws: ObjectError.self) { try context.fetch(wrongClass) }
    for name in ["", "Bok", "Book; --", "ZBOOK"] {
      #expect(throws: ObjectError.self) {
        try context.fetch(FetchRequest<ManagedObject>(entityName: name))
      }
      #expect(throws: ObjectError.self) {
        try context.execute(BatchInsertRequest(entityName: name, objects: [[:]]))
      }
    }
    var request = FetchRequest<Book>(entityName: "Book")
    request.relationshipKeyPathsForPrefetching = ["titel"]
    #expect(throws: ObjectError.self) { try context.fetch(request) }
    let empty = ManagedObjectContext(
      PersistentStoreCoordinator(managedObjectModel: Library.model()))
    for body: () throws -> Void in [
      { _ = try empty.insert(Book.self) }, { _ = try empty.fetch(Book.self) },
      { _ = try empty.object(withIdentity: UUID()) },
      { _ = try empty.execute(.fetchHistory(after: nil as PersistentHistoryToken?)) },
    ] {
      let error = #expect(throws: ObjectError.self) { try body() }
      #expect(error?.code == .noStore)
    }
    try empty.save()
    empty.reset()
    empty.processPendingChanges()
    #expect(empty.object(with: book.objectID) == nil)
  }

  @Test("A store that is closed under a context gives errors and keeps the changes")
  func closedStore() throws {
    let store = try #require(context.persistentStoreCoordinator.persistentStores.first)
    book.title = "changed"
    store.close()
    #expect(throws: (any Error).self) { try context.save() }
    #expect(throws: (any Error).self) { try context.fetch(Author.self) }
    #expect(context.hasChanges && book.title == "changed")
  }
}
