import Driftless
import DriftlessSQLite
import Foundation
import Testing

/// Objects that come, go, and outlive what they came from.
@Suite("Lifetimes")
struct LifetimeTests {
  let library: Library

  init() throws { library = try Library() }

  @Test("A chain of objects that hold each other is let go of without taking the stack")
  func chain() throws {
    let node = EntityDescription("Node")
    node.properties = [RelationshipDescription("next", to: "Node", inverse: nil, toMany: true)]
    let container = PersistentContainer(
      name: "Nodes", model: ManagedObjectModel(entities: [node]), storeURL: nil)
    try container.loadPersistentStores()
    let context = container.newContext()
    context.holdsMembers = true
    let count = 30_000
    var first: ManagedObject?
    do {
      var before: ManagedObject?
      for _ in 0..<count {
        let node = try context.insert(entityNamed: "Node")
        if let before { try node.setValue([before], forKey: "next") }
        before = node
      }
      try context.save()
      first = before
    }
    try context.refreshAllObjects()
    context.processPendingChanges()
    var last = first
    var length = 0
    while let node = last {
      length += 1
      last = try (node.value(forKey: "next") as? [ManagedObject])?.first
    }
    #expect(length == count && context.registeredObjects.count == count)
    first = nil
    #expect(context.registeredObjects.isEmpty)
  }

  @Test("An object that outlives its context keeps its values, and belongs to none")
  func outlivesContext() throws {
    var context: ManagedObjectContext? = library.container.newContext()
    let saved = try #require(try context?.insert(Book.self))
    saved.title = String(repeating: "saved ", count: 20)
    try context?.save()
    saved.title = "changed since"
    let new = try #require(try context?.insert(Book.self))
    new.title = "new"
    context = nil
    #expect(saved.managedObjectContext == nil && new.managedObjectContext == nil)
    #expect(saved.title == "changed since" && new.title == "new")
    saved.title = "and again"
    #expect(saved.title == "and again")
  }

  @Test("Of a context that ends, objects in its lists that nobody holds end, and others leave it")
  func endsWithChanges() throws {
    var context: ManagedObjectContext? = library.container.newContext()
    context?.retainsRegisteredObjects = true
    let kept = try (0..<4).map { number in
      let book = try #require(try context?.insert(Book.self))
      book.title = "\(number)"
      return book
    }
    try context?.save()
    weak let lost = try context?.insert(Book.self)
    lost?.title = "lost"
    kept[0].title = "changed"
    kept[1].author = try context?.insert(Author.self)
    if let context { context.delete(kept[2]) }
    #expect(lost != nil)
    context = nil
    #expect(lost == nil)
    #expect(kept.allSatisfy { $0.managedObjectContext == nil })
    #expect(kept[0].title == "changed" && kept[3].title == "3")
  }

  @Test("Objects that willSave inserts are saved with the others, after their own willSave")
  func insertedByWillSave() throws {
    let context = library.container.newContext()
    let books = try (0..<100).map { number in
      let book = try context.insert(Book.self)
      book.title = "book \(number)"
      return book
    }
    let cloners = books.prefix(50)
    for book in cloners { book.insertsAtSave = true }
    try context.save()
    let saved = try context.fetch(Book.self)
    #expect(saved.count == 150 && !context.hasChanges)
    #expect(saved.filter { $0.title == "clone" }.count == 50)
    #expect(cloners.allSatisfy { $0.log.filter { $0 == "willSave" }.count == 1 })
  }

  @Test("Objects know of an undo manager that came before them, after them, or went")
  func undoManagerComesAndGoes() throws {
    let context = library.container.newContext()
    let first = try context.insert(Book.self)
    first.title = "unregistered"
    context.undoManager = UndoManager()
    first.title = "registered"
    let second = try context.insert(Book.self)
    second.title = "second"
    context.processPendingChanges()
    context.undo()
    #expect(first.title == "unregistered" && second.managedObjectContext == nil)
    context.undoManager = nil
    first.title = "no more"
    context.undo()
    #expect(first.title == "no more")
  }

  @Test("A context that retains its objects keeps all of them until it is told otherwise")
  func retaining() throws {
    var context: ManagedObjectContext? = library.container.newContext()
    for number in 0..<5 { try context?.insert(Book.self).title = "\(number)" }
    try context?.save()
    #expect(context?.registeredObjects.isEmpty == true)
    context?.retainsRegisteredObjects = true
    _ = try context?.fetch(Book.self)
    #expect(context?.registeredObjects.count == 5)
    try context?.insert(Book.self).title = "new"
    try context?.save()
    #expect(context?.registeredObjects.count == 6)
    if let first = try context?.fetch(Book.self).first { context?.delete(first) }
    try context?.save()
    #expect(context?.registeredObjects.count == 5)
    context?.retainsRegisteredObjects = false
    #expect(context?.registeredObjects.isEmpty == true)
    context?.retainsRegisteredObjects = true
    let held = try context?.fetch(Book.self) ?? []
    context?.reset()
    #expect(context?.registeredObjects.isEmpty == true && held[0].managedObjectContext == nil)
    let last = try #require(try context?.fetch(Book.self).last)
    context = nil
    #expect(last.managedObjectContext == nil && last.title == "new")
  }

  @Test("A fault whose row is gone reads as empty, or is an error when the context is told so")
  func inaccessibleFaults() throws {
    let context = library.container.newContext()
    let books = try ["a", "b"].map { title in
      let book = try context.insert(Book.self)
      book.title = title
      return book
    }
    try context.save()
    for book in books { try context.refresh(book, mergeChanges: false) }
    try library.container.performAndWait { other in
      for book in try other.fetch(Book.self) { other.delete(book) }
      try other.save()
    }
    #expect(books[0].title == "")
    try context.save()
    context.shouldDeleteInaccessibleFaults = false
    #expect(books[1].title == "")
    _ = try context.insert(Author.self)
    let error = #expect(throws: ObjectError.self) { try context.save() }
    #expect(error?.code == .missingObject)
  }

  @Test("Objects are found while someone holds them, in whatever order they come and go")
  func registry() throws {
    let context = library.container.newContext()
    for number in 0..<300 { try context.insert(Book.self).title = "\(number)" }
    try context.save()
    let ids = try context.fetch(Book.self, order: Book.title.ascending).map(\.objectID)
    #expect(context.registeredObjects.isEmpty)
    var generator = SystemRandomNumberGenerator()
    var held: [ManagedObjectID: ManagedObject] = [:]
    for _ in 0..<3000 {
      let id = try #require(ids.randomElement(using: &generator))
      if held[id] == nil {
        #expect(context.registeredObject(for: id) == nil)
        held[id] = try context.existingObject(with: id)
      } else {
        #expect(context.registeredObject(for: id) === held[id])
        held[id] = nil
      }
    }
    #expect(context.registeredObjects == Set(held.values))
  }

  @Test("New objects of several entities that refer to each other are saved together")
  func mixedInserts() throws {
    let context = library.container.newContext()
    for number in 0..<50 {
      let author = try context.insert(Author.self)
      author.name = "author \(number)"
      let book = number % 3 == 0 ? try context.insert(Novel.self) : try context.insert(Book.self)
      book.title = "book \(number)"
      book.author = author
    }
    try context.save()
    let other = library.container.newContext()
    let books = try other.fetch(Book.self)
    #expect(books.count == 50 && books.filter { $0 is Novel }.count == 17)
    for book in books {
      #expect(book.author?.name == book.title.replacingOccurrences(of: "book", with: "author"))
    }
  }

  @Test("L6 What could not be read takes no value, and no save writes what came of it")
  func unreadable() throws {
    let context = library.container.newContext()
    let (book, sum) = (try context.insert(Book.self), try context.insert(Book.self))
    (book.title, book.pages, sum.title, sum.pages) = ("read", 7, "sum", 0)
    try context.save()
    try context.refresh(book, mergeChanges: false)
    let file = try SQLiteConnection(path: library.container.storeURL?.path ?? "", mode: .readWrite)
    defer { file.close() }
    try file.execute("ALTER TABLE ZBOOK RENAME TO ZAWAY")
    // Nothing says so where it is read, so the number is 0.
    book.pages += 1
    sum.pages = book.pages + 10
    book.author = nil
    for _ in 0..<2 {
      let failure = #expect(throws: AccessorFailure.self) { try context.save() }
      let errors = failure?.errors ?? []
      #expect(errors.count == 2)
      #expect(errors.allSatisfy { ($0 as? ObjectError)?.code == .unreadable })
    }
    let told = #expect(throws: ObjectError.self) { try book.accessing { book.pages } }
    #expect(told?.code == .unreadable)
    try file.execute("ALTER TABLE ZAWAY RENAME TO ZBOOK")
    // It can be read again, and what was made of it is still wrong.
    #expect(throws: AccessorFailure.self) { try context.save() }
    #expect(!book.hasChanges && !context.accessorErrors.isEmpty)
    context.rollback()
    #expect(context.accessorErrors.isEmpty)
    #expect(book.pages == 7 && sum.pages == 0)
    book.pages += 1
    try context.save()
    #expect(try library.container.newContext().fetch(Book.self, where: Book.pages == 8).count == 1)
  }
}
