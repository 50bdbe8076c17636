import Driftless
import Foundation
import TestSupport
import Testing

/// Contexts on other contexts.
struct ChildContextTests {
  let library: Library
  let parent: ManagedObjectContext
  let child: ManagedObjectContext

  init() throws {
    library = try Library()
    parent = library.container.newContext()
    child = ManagedObjectContext(parent: parent)
  }

  private func savedBook(_ title: String = "Baudolino") throws -> Book {
    let author = try parent.insert(Author.self)
    author.name = "Eco"
    let book = try parent.insert(Book.self)
    book.title = title
    book.author = author
    try parent.save()
    return book
  }

  private func inChild<Object: ManagedObject>(_ object: Object) throws -> Object {
    try #require(try child.existingObject(with: object.objectID) as? Object)
  }

  private func stored() throws -> [String] {
    try library.container.newContext().fetch(Book.self, order: Book.title.ascending).map(\.title)
  }

  @Test("A child sees the parent's unsaved values, objects and deletes")
  func reading() throws {
    let book = try savedBook()
    let other = try savedBook("Other")
    book.title = "unsaved"
    let new = try parent.insert(Book.self)
    new.title = "new"
    new.author = book.author
    parent.delete(other)
    #expect(
      try child.fetch(Book.self, order: Book.title.ascending).map(\.title) == ["new", "unsaved"])
    #expect(try child.count(Book.self) == 2)
    #expect(try child.fetchIDs(FetchRequest<Book>(entityName: "Book")).count == 2)
    let copy = try inChild(book)
    #expect(copy !== book && copy.managedObjectContext === child)
    #expect(copy.title == "unsaved")
    #expect(Set(try #require(copy.author).books.map(\.title)) == ["new", "unsaved"])
    #expect(throws: ObjectError.self) { try child.existingObject(with: other.objectID) }
    // What is read counts as committed in the child.
    #expect(!child.hasChanges && copy.changedValues().isEmpty)
    #expect(child.parent === parent && parent.parent == nil)
  }

  @Test("A save goes to the parent only; the parent's save brings it into the store")
  func saving() throws {
    let book = try savedBook()
    let copy = try inChild(book)
    copy.title = "changed"
    #expect(book.title == "Baudolino")
    try child.save()
    #expect(book.title == "changed" && book.isUpdated && !copy.hasChanges)
    #expect(book.committedValues["title"] == .string("Baudolino"))
    #expect(try stored() == ["Baudolino"])
    try parent.save()
    #expect(try stored() == ["changed"])
    copy.title = "again"
    try child.save()
    try parent.save()
    #expect(try stored() == ["again"])
  }

  @Test("What a child does not save, the parent never learns")
  func discarding() throws {
    let book = try savedBook()
    do {
      let edit = ManagedObjectContext(parent: parent)
      let copy = try #require(try edit.existingObject(with: book.objectID) as? Book)
      copy.title = "draft"
      _ = try edit.insert(Book.self)
      edit.delete(copy)
    }
    #expect(!parent.hasChanges && book.title == "Baudolino")
    let copy = try inChild(book)
    copy.title = "draft"
    child.rollback()
    #expect(copy.title == "Baudolino")
    try child.save()
    #expect(!parent.hasChanges)
  }

  @Test(
    "A new object is the parent's, with its relationships, and gets its permanent key everywhere")
  func inserting() throws {
    let book = try savedBook()
    let author = try child.insert(Author.self)
    author.name = "Calvino"
    let new = try child.insert(Book.self)
    new.title = "Marcovaldo"
    new.author = author
    try inChild(book).author = author
    let early = new.objectID
    try child.save()
    let above = try #require(parent.insertedObjects.first { $0.entity.name == "Book" } as? Book)
    #expect(above.title == "Marcovaldo" && above.author?.name == "Calvino")
    #expect(book.author === above.author)
    #expect(!new.isInserted && !new.hasChanges && new.objectID.isTemporaryID)
    #expect(new.author === author && Set(author.books.map(\.title)) == ["Baudolino", "Marcovaldo"])
    #expect(child.registeredObject(for: above.objectID) === new)
    #expect(child.registeredObject(for: early) === new)
    let between = above.objectID
    try parent.save()
    #expect(!new.objectID.isTemporaryID && new.objectID == above.objectID)
    for id in [early, between, above.objectID] { #expect(child.registeredObject(for: id) === new) }
    #expect(new.author === author && author.books.contains(new))
    // It is an object like any other from now on.
    new.title = "Marcovaldo 2"
    try child.save()
    try parent.save()
    #expect(try stored() == ["Baudolino", "Marcovaldo 2"])
  }

  @Test("A delete follows its rules in the parent too")
  func deleting() throws {
    let book = try savedBook()
    let chapter = try parent.insert(Chapter.self)
    chapter.title = "unsaved chapter"
    chapter.book = book
    child.delete(try inChild(book))
    #expect(!book.isDeleted)
    try child.save()
    #expect(book.isDeleted && chapter.managedObjectContext == nil)
    try parent.save()
    #expect(try stored() == [])
  }

  @Test("Many-to-many and ordered relationships go up, beside the parent's own changes")
  func collections() throws {
    let book = try savedBook()
    let chapters = try ["a", "b", "c"].map { title in
      let chapter = try parent.insert(Chapter.self)
      chapter.title = title
      chapter.book = book
      return chapter
    }
    let tag = try parent.insert(Tag.self)
    tag.name = "parent's"
    book.tags.insert(tag)
    try parent.save()
    let copy = try inChild(book)
    copy.chapters.sort { ($0.title ?? "") > ($1.title ?? "") }
    let own = try child.insert(Tag.self)
    own.name = "child's"
    copy.tags.insert(own)
    // Meanwhile the parent gets one chapter more.
    let late = try parent.insert(Chapter.self)
    late.title = "late"
    late.book = book
    try child.save()
    #expect(book.chapters.map(\.title) == ["c", "b", "a", "late"])
    #expect(Set(book.tags.map(\.name)) == ["parent's", "child's"])
    try parent.save()
    let context = library.container.newContext()
    let fresh = try #require(try context.fetch(Book.self).first)
    #expect(fresh.chapters.map(\.title) == ["c", "b", "a", "late"])
    #expect(Set(fresh.tags.map(\.name)) == ["parent's", "child's"])
    #expect(chapters.allSatisfy { $0.book === book })
  }

  @Test("A reference that both changed is the child's, at both ends")
  func bothEnds() throws {
    let book = try savedBook()
    let copy = try inChild(book)
    let (b, c) = (try parent.insert(Author.self), try child.insert(Author.self))
    (b.name, c.name) = ("B", "C")
    copy.author = c
    book.author = b
    try child.save()
    #expect(book.author?.name == "C")
    #expect(b.books.isEmpty && book.author?.books.map(\.title) == ["Baudolino"])
  }

  @Test("A change of what the parent deleted is a conflict, or goes with it")
  func conflict() throws {
    let book = try savedBook()
    let copy = try inChild(book)
    copy.title = "changed"
    parent.delete(book)
    let error = #expect(throws: SaveConflictError.self) { try child.save() }
    #expect(error?.conflicts.map(\.changedProperties) == [["title"]])
    #expect(child.hasChanges)
    child.mergePolicy = .mergeByPropertyStoreTrump
    try child.save()
    #expect(!child.hasChanges && copy.managedObjectContext == nil)
    try parent.save()
    #expect(try stored() == [])
  }

  @Test("Grandchildren save level by level, and learn the keys from above")
  func generations() throws {
    let grandchild = ManagedObjectContext(parent: child)
    let book = try grandchild.insert(Book.self)
    book.title = "deep"
    let author = try grandchild.insert(Author.self)
    author.name = "Eco"
    book.author = author
    try grandchild.save()
    #expect(try child.fetch(Book.self).map(\.title) == ["deep"])
    #expect(try parent.fetch(Book.self).isEmpty)
    try child.save()
    #expect(try parent.fetch(Book.self).map(\.title) == ["deep"])
    try parent.save()
    #expect(try stored() == ["deep"])
    let saved = try #require(try parent.fetch(Book.self).first)
    #expect(book.objectID == saved.objectID && author.objectID == saved.author?.objectID)
    #expect(book.author === author && author.books.contains(book))
    #expect(try grandchild.fetch(Book.self).first === book)
  }

  @Test("A child validates, and nothing of a refused save arrives")
  func validation() throws {
    let book = try savedBook()
    try inChild(book).title = "changed"
    let author = try child.insert(Author.self)
    try author.setPrimitiveValue(nil, forKey: "name")
    #expect(throws: ValidationFailure.self) { try child.save() }
    #expect(!parent.hasChanges && child.hasChanges)
  }

  @Test("A save from a child can be undone in the parent, and one in the child as a new change")
  func undo() throws {
    let book = try savedBook()
    parent.undoManager = UndoManager()
    child.undoManager = UndoManager()
    let copy = try inChild(book)
    copy.title = "changed"
    let new = try child.insert(Book.self)
    new.title = "new"
    try child.save()
    parent.undo()
    #expect(book.title == "Baudolino" && parent.insertedObjects.isEmpty)
    parent.redo()
    #expect(book.title == "changed" && parent.insertedObjects.count == 1)
    child.undo()
    #expect(copy.title == "Baudolino" && child.deletedObjects == [new])
    try child.save()
    try parent.save()
    #expect(parent.insertedObjects.isEmpty)
    let titles = try stored()
    #expect(titles == ["Baudolino"])
  }

  @Test("A child that merges by itself follows the saves of its parent")
  func merging() throws {
    let book = try savedBook()
    child.automaticallyMergesChangesFromParent = true
    let copy = try inChild(book)
    #expect(copy.title == "Baudolino")
    book.title = "changed"
    #expect(copy.title == "Baudolino")
    try parent.save()
    child.processPendingChanges()
    #expect(copy.title == "changed")
    book.title = "unsaved"
    try child.refresh(copy, mergeChanges: false)
    #expect(copy.title == "unsaved")
  }

  @Test("An identity is one through all levels")
  func identities() throws {
    let identity = UUID()
    let book = try child.insert(Book.self, identity: identity)
    book.title = "known"
    try child.save()
    #expect(try parent.object(withIdentity: identity)?.value(forKey: "title") as? String == "known")
    #expect(try child.object(withIdentity: identity) === book)
    try parent.save()
    #expect(try book.identity == identity)
    let fresh = library.container.newContext()
    #expect(try fresh.object(withIdentity: identity) != nil)
  }

  @Test("Prefetching, pages and limits work through the parent")
  func fetchOptions() throws {
    for index in 0..<30 {
      let book = try savedBook(String(format: "%02d", index))
      let tag = try parent.insert(Tag.self)
      book.tags.insert(tag)
    }
    try parent.save()
    parent.reset()
    var request = FetchRequest<Book>(entityName: "Book", sort: [FetchSort("title")])
    request.relationshipKeyPathsForPrefetching = ["tags", "author"]
    request.limit = 10
    request.offset = 5
    let books = try child.fetch(request)
    #expect(books.map(\.title) == (5..<15).map { String(format: "%02d", $0) })
    #expect(books.allSatisfy { $0.author?.isFault == false && $0.tags.allSatisfy { !$0.isFault } })
    request.fetchBatchSize = 4
    #expect(try child.fetchBatches(request).map(\.title) == books.map(\.title))
    request.includesPropertyValues = false
    #expect(try child.fetch(request).count == 10)
  }

  @Test(
    "An error that waits in the parent is the parent's, and keeps nothing of a child from going up")
  func parentsError() throws {
    let library = try Library()
    let parent = library.container.newContext()
    let author = try parent.insert(Author.self)
    author.name = "Eco"
    try parent.save()
    author["name"] = 7
    let child = ManagedObjectContext(parent: parent)
    let same = try #require(child.object(with: author.objectID) as? Author)
    #expect(same.books.isEmpty)
    try child.insert(Book.self).title = "once"
    try child.save()
    try child.save()
    #expect(try parent.count(Book.self) == 1)
    let error = #expect(throws: ObjectError.self) { try parent.save() }
    #expect(error?.code == .typeMismatch)
    parent.clearAccessorErrors()
    try parent.save()
    #expect(try library.container.newContext().count(Book.self) == 1)
  }

  @Test("A reference to what the parent deleted does not go up")
  func deletedAbove() throws {
    let library = try Library()
    let parent = library.container.newContext()
    let author = try parent.insert(Author.self)
    author.name = "Eco"
    try parent.save()
    let child = ManagedObjectContext(parent: parent)
    let book = try child.insert(Book.self)
    book.author = try #require(child.object(with: author.objectID) as? Author)
    parent.delete(author)
    child.mergePolicy = .mergeByPropertyStoreTrump
    try child.save()
    try parent.save()
    let other = library.container.newContext()
    #expect(try other.fetch(Book.self).map(\.author) == [nil])
  }

  @Test("What a child changed back is no change of the parent")
  func changedBack() throws {
    let book = try savedBook()
    let copy = try inChild(book)
    copy.title = "b"
    copy.title = "Baudolino"
    book.title = "x"
    try child.save()
    #expect(book.title == "x")
    try parent.save()
    #expect(try stored() == ["x"])
  }
}
