import Driftless
import Foundation
import TestSupport
import Testing

/// Under which key an object is known, in a context and in those on it, before and after saves.
struct ChildKeyTests {
  let library: Library
  let parent: ManagedObjectContext
  let child: ManagedObjectContext

  init() throws {
    library = try Library()
    parent = library.container.newContext()
    child = ManagedObjectContext(parent: parent)
  }

  private func author(_ name: String) throws -> Author {
    let author = try parent.insert(Author.self)
    author.name = name
    return author
  }

  private func book(_ title: String, in context: ManagedObjectContext) throws -> Book {
    let book = try context.insert(Book.self)
    book.title = title
    return book
  }

  @Test("A child's new object with a permanent key is no other of its parent with that number")
  func numbersOfHierarchies() throws {
    let above = try author("Eco")
    try parent.save()
    let author = try #require(try child.existingObject(with: above.objectID) as? Author)
    let book = try book("new", in: child)
    try child.obtainPermanentIDs(for: [book])
    #expect(book.objectID != author.objectID)
    author.name = "Calvino"
    book.author = author
    try child.save()
    #expect(above.name == "Calvino" && above.books.map(\.title) == ["new"])
    try parent.save()
    let reader = library.container.newContext()
    #expect(try reader.fetch(Book.self).map { $0.author?.name } == ["Calvino"])
  }

  @Test("An object that its parent has edited before it was made is as the child made it")
  func editedFault() throws {
    let above = try author("Eco")
    let book = try book("child's", in: child)
    try child.obtainPermanentIDs(for: [book])
    let fault = try #require(parent.object(with: book.objectID) as? Book)
    fault.title = "parent's"
    fault.author = above
    let chapter = try parent.insert(Chapter.self)
    chapter.book = fault
    try child.save()
    #expect(fault.title == "child's" && fault.isInserted)
    #expect(fault.chapters.map { $0 } == [chapter])
    try parent.save()
    let reader = library.container.newContext()
    let read = try #require(try reader.fetch(Book.self).first)
    #expect(read.title == "child's" && read.chapters.count == 1)
  }

  @Test("A parent that merges what its child saved keeps the deletes; others are told nothing")
  func mergedIntoParent() throws {
    let book = try book("gone", in: parent)
    try parent.save()
    let beside = library.container.newContext()
    let same = try beside.existingObject(with: book.objectID)
    let sibling = ManagedObjectContext(parent: parent)
    let third = try sibling.existingObject(with: book.objectID)
    nonisolated(unsafe) var saved: [ContextChanges] = []
    let token = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: child, queue: nil
    ) { if let changes = $0.userInfo?["changes"] as? ContextChanges { saved.append(changes) } }
    defer { NotificationCenter.default.removeObserver(token) }
    child.delete(try child.existingObject(with: book.objectID))
    try child.save()
    let changes = try #require(saved.first)
    parent.mergeChanges(fromContextDidSave: changes)
    beside.mergeChanges(fromContextDidSave: changes)
    sibling.mergeChanges(fromContextDidSave: changes)
    #expect(parent.deletedObjects == [book] && same.managedObjectContext === beside)
    #expect(third.managedObjectContext == nil)
    try parent.save()
    #expect(try library.container.newContext().count(Book.self) == 0)
  }

  @Test("What was linked to a fault is found under the key that it gets")
  func linkedToFault() throws {
    let id = try {
      let author = try author("Eco")
      try parent.save()
      return author.objectID
    }()
    let context = library.container.newContext()
    let fault = try #require(context.object(with: id) as? Author)
    #expect(fault.isFault)
    let book = try book("new", in: context)
    book.author = fault
    try context.obtainPermanentIDs(for: [book])
    #expect(fault.books.map { $0 } == [book] && fault.books.contains(book))
    try context.save()
    #expect(fault.books.count == 1)
  }

  @Test("A predicate that was made with an unsaved object finds by it once that is saved")
  func predicates() throws {
    let author = try author("Eco")
    try book("one", in: parent).author = author
    let predicate = Book.author == author
    let below = try #require(try child.fetch(Author.self).first)
    let childs = Book.author == below
    #expect(try parent.fetch(Book.self, where: predicate).count == 1)
    try parent.save()
    #expect(try parent.fetch(Book.self, where: predicate).count == 1)
    #expect(try parent.count(Book.self, where: predicate) == 1)
    try book("two", in: parent).author = author
    #expect(try parent.fetch(Book.self, where: predicate).count == 2)
    #expect(try child.fetch(Book.self, where: childs).count == 2)
    #expect(try child.count(Book.self, where: childs) == 2)
  }

  @Test("Pages and IDs that a child fetched lead to objects that its parent saves later")
  func fetchedBefore() throws {
    _ = try book("unsaved", in: parent)
    var request = FetchRequest<Book>(entityName: "Book")
    request.fetchBatchSize = 10
    let pages = try child.fetchBatches(request)
    let ids = try child.fetchIDs(request)
    let other = try child.fetch(request).map(\.objectID)
    #expect(pages.count == 1 && ids == other)
    try parent.save()
    #expect(pages.map(\.title) == ["unsaved"])
    #expect(try child.existingObject(with: ids[0]) === pages[0])
    #expect(!pages[0].objectID.isTemporaryID)
  }

  @Test("A primitive reference to an object that a child's save makes follows it")
  func primitives() throws {
    let above = try book("old", in: parent)
    try parent.save()
    let book = try #require(try child.existingObject(with: above.objectID) as? Book)
    let author = try child.insert(Author.self)
    author.name = "Eco"
    try book.setPrimitiveValue(author, forKey: "author")
    try child.save()
    #expect(try book.primitiveValue(forKey: "author") as? Author === author)
    try parent.save()
    #expect(try book.primitiveValue(forKey: "author") as? Author === author)
  }

  @Test("An object that was given an identity keeps it when it asks for its permanent ID")
  func identities() throws {
    let identity = UUID()
    let given = try parent.insert(Book.self, identity: identity)
    let minted = try book("minted", in: parent)
    try parent.obtainPermanentIDs(for: [given, minted])
    let own = try minted.identity
    #expect(try given.identity == identity)
    #expect(own != identity)
    try parent.save()
    #expect(try given.identity == identity)
    #expect(try minted.identity == own)
    #expect(try parent.object(withIdentity: identity) === given)
  }

  @Test("A child's object follows one that its parent assigns to another store")
  func assigned() throws {
    let container = PersistentContainer(
      name: "Two", model: Library.model(), storeURL: library.directory.file("one.sqlite"))
    try container.loadPersistentStores()
    let second = try container.persistentStoreCoordinator.addPersistentStore(
      at: library.directory.file("two.sqlite"))
    let parent = container.newContext()
    for title in ["a", "b"] { _ = try book(title, in: parent) }
    try parent.save()
    let child = ManagedObjectContext(parent: parent)
    let above = try book("second", in: parent)
    let below = try #require(try child.existingObject(with: above.objectID) as? Book)
    try parent.assign(above, to: second)
    try parent.save()
    #expect(below.objectID == above.objectID && below.title == "second")
    below.title = "changed"
    try child.save()
    try parent.save()
    let titles = try container.newContext().fetch(Book.self).map(\.title).sorted()
    #expect(titles == ["a", "b", "changed"])
  }
}
