import Driftless
import Foundation
import Testing

@Suite("Objects")
struct ObjectTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  @Test(
    "A date that is no number, infinite or beyond all calendars is told as what it is",
    arguments: [Double.nan, -.infinity, .infinity, .greatestFiniteMagnitude, -1e18, -0.0, 7.5])
  func oddDates(seconds: Double) throws {
    let date = Date(timeIntervalSinceReferenceDate: seconds)
    let entity = EntityDescription("Event")
    entity.properties = [
      AttributeDescription("at", .date), AttributeDescription("count", .integer32),
    ]
    let model = ManagedObjectModel(entities: [entity])
    let store = try PersistentStore.open(url: nil, model: model)
    defer { store.close() }
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let event = try context.insert(entityNamed: "Event")
    try event.setValue(date, forKey: "at")
    #expect(event.description.contains("at: "))
    let refused = #expect(throws: ObjectError.self) { try event.setValue(date, forKey: "count") }
    #expect(refused?.message.contains("cannot hold") == true)
    #expect("\(PropertyValue.date(date))".hasPrefix("date("))
    #expect("\(PropertyValue.null) \(PropertyValue.integer(3))" == "null integer(3)")
    #expect("\(PropertyValue.string("a"))" == "string(\"a\")")
  }

  @Test("A new object has its defaults, and values of every type survive a save")
  func valuesOfEveryType() throws {
    let book = try context.insert(Book.self)
    #expect(book.title == "?" && book.pages == 1 && book[Book.price] == nil)
    #expect(book.isInserted && book.hasChanges && book.objectID.isTemporaryID)
    let code = UUID()
    let printed = Date(timeIntervalSinceReferenceDate: 123_456_789.123456)
    book.title = "Il pendolo di Foucault"
    book[Book.pages] = 680
    book[Book.price] = Decimal(string: "12.345678901234567890123")
    book[Book.weight] = -0.0
    book[Book.isRead] = true
    book[Book.printed] = printed
    book[Book.cover] = Data([0, 1, 255])
    book[Book.code] = code
    book[Book.page] = URL(string: "https://example.org/a?b=c")
    book[Book.genre] = .novel
    try context.save()
    #expect(!book.hasChanges && !book.isInserted && !book.objectID.isTemporaryID)

    let other = library.container.newContext()
    let again = try #require(try other.fetch(Book.self).first)
    #expect(again.title == "Il pendolo di Foucault" && again.pages == 680)
    #expect(again[Book.price] == Decimal(string: "12.345678901234567890123"))
    #expect(again[Book.weight]?.sign == .minus)
    #expect(again[Book.isRead] && again[Book.printed] == printed && again[Book.code] == code)
    #expect(again[Book.cover] == Data([0, 1, 255]) && again[Book.genre] == .novel)
    #expect(again[Book.page]?.absoluteString == "https://example.org/a?b=c")
    #expect(again.objectID == book.objectID)
  }

  @Test("Values by name take what fits and refuse the rest")
  func valuesByName() throws {
    let book = try context.insert(Book.self)
    try book.setValue(12, forKey: "price")
    #expect(try book.value(forKey: "price") as? Decimal == 12)
    try book.setValue(nil, forKey: "price")
    #expect(book["price"] == nil)
    #expect(throws: ObjectError.self) { try book.setValue("many", forKey: "pages") }
    #expect(throws: ObjectError.self) { try book.setValue(Int64(1) << 40, forKey: "pages") }
    #expect(throws: ObjectError.self) { try book.value(forKey: "color") }
    #expect(book.pages == 1)
  }

  @Test("What an accessor cannot do, the next save throws")
  func deferredErrors() throws {
    let book = try context.insert(Book.self)
    book["pages"] = "many"
    let error = #expect(throws: ObjectError.self) { try context.save() }
    #expect(error?.code == .typeMismatch)
    // It is not forgotten with the first save that tells it.
    #expect(throws: ObjectError.self) { try context.save() }
    #expect(context.accessorErrors.count == 1)
    #expect(throws: ObjectError.self) { try book.accessing { book["pages"] = "few" } }
    #expect(try book.accessing { book.pages } == 1)
    #expect(context.accessorErrors.count == 1)
    context.clearAccessorErrors()
    try context.save()
    #expect(try context.count(Book.self) == 1)
  }

  @Test("Changes are told with their names, and nothing is left when a value is put back")
  func changedValues() throws {
    let book = try context.insert(Book.self)
    try context.save()
    book.pages = 5
    #expect(Array(book.changedValues().keys) == ["pages"] && book.isUpdated)
    #expect(book.committedValues["pages"] == .integer(1))
    book.pages = 1
    #expect(book.changedValues().isEmpty && !book.hasPersistentChangedValues)
    try context.save()
    let version = try library.container.performAndWait { other in
      try other.existingObject(with: book.objectID).committedValues["pages"]
    }
    #expect(version == .integer(1))
  }

  @Test("An object stands once in a context, and is let go when nobody holds it")
  func uniquing() throws {
    let id = try {
      let book = try context.insert(Book.self)
      try context.save()
      #expect(try context.fetch(Book.self).first === book)
      return book.objectID
    }()
    #expect(context.registeredObjects.isEmpty)
    let fault = try #require(context.object(with: id))
    #expect(fault.isFault && context.registeredObject(for: id) === fault)
    #expect(try context.fetch(Book.self).first === fault && !fault.isFault)
  }

  @Test("A changed object is held until it is saved")
  func changedObjectsAreHeld() throws {
    _ = try context.insert(Book.self)
    try context.save()
    do {
      let book = try #require(try context.fetch(Book.self).first)
      book.pages = 77
    }
    #expect(context.updatedObjects.count == 1)
    try context.save()
    #expect(try library.container.performAndWait { try $0.fetch(Book.self)[0].pages } == 77)
  }

  @Test("A fault reads at first access, and one without a row reads as empty")
  func faults() throws {
    let book = try context.insert(Book.self)
    book.title = "A"
    try context.save()
    try context.refresh(book, mergeChanges: false)
    #expect(book.isFault)
    #expect(book.title == "A" && !book.isFault)
    #expect(book.log.suffix(3) == ["willTurnIntoFault", "didTurnIntoFault", "awakeFromFetch"])

    let other = library.container.newContext()
    let fault = try #require(other.object(with: book.objectID) as? Book)
    context.delete(book)
    try context.save()
    #expect(fault.title == "" && fault.pages == 0)
    let error = #expect(throws: ObjectError.self) {
      try other.existingObject(with: fault.objectID)
    }
    #expect(error?.code == .missingObject)
  }

  @Test("Callbacks come in their order")
  func callbacks() throws {
    let book = try context.insert(Book.self)
    try context.save()
    #expect(book.log == ["awakeFromInsert", "willSave", "didSave"])
    book.log = []
    context.delete(book)
    #expect(book.isDeleted)
    try context.save()
    #expect(
      book.log
        == ["prepareForDeletion", "willSave", "didSave", "willTurnIntoFault", "didTurnIntoFault"])
    #expect(!book.isDeleted && book.managedObjectContext == nil)
  }

  @Test("An identity given at insert stays, finds the object, and is not given twice")
  func identity() throws {
    let identity = UUID()
    let book = try context.insert(entityNamed: "Book", identity: identity)
    #expect(try context.object(withIdentity: identity) === book)
    #expect(throws: ObjectError.self) {
      try context.insert(entityNamed: "Book", identity: identity)
    }
    try context.save()
    #expect(try book.identity == identity)
    let other = library.container.newContext()
    #expect(try other.object(withIdentity: identity)?.objectID == book.objectID)

    try other.insert(entityNamed: "Author", identity: identity).setValue("E", forKey: "name")
    #expect(throws: (any Error).self) { try other.save() }
    other.rollback()
    #expect(try other.count(Author.self) == 0)
  }

  @Test("Minted identities differ, and stay the same in every context")
  func mintedIdentities() throws {
    let books = try (0..<3).map { _ in try context.insert(Book.self) }
    let early = try books[0].identity
    try context.save()
    let identities = try books.map { try $0.identity }
    #expect(Set(identities).count == 3 && identities[0] == early)
    let other = library.container.newContext()
    for (book, identity) in zip(books, identities) {
      #expect(try other.object(withIdentity: identity)?.objectID == book.objectID)
    }
  }
}
