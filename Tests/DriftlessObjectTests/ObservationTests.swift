import Driftless
import Foundation
import Observation
import Synchronization
import Testing

@Suite("Observing objects")
struct ObservationTests {
  let library: Library
  let context: ManagedObjectContext
  let book: Book
  let author: Author

  init() throws {
    library = try Library()
    context = library.container.newContext()
    context.tracksObservation = true
    book = try context.insert(Book.self)
    author = try context.insert(Author.self)
    author.name = "Eco"
    book.title = "one"
    try context.save()
  }

  /// How often `change` fires who tracks what `read` reads.
  private func fires(_ read: () -> Void, _ change: () throws -> Void) rethrows -> Int {
    let count = Mutex(0)
    withObservationTracking(read) { count.withLock { $0 += 1 } }
    try change()
    return count.withLock { $0 }
  }

  @Test("A typed key, a name and an accessor fire at a change of that property, once")
  func attributes() throws {
    #expect(fires({ _ = book.title }, { book.title = "two" }) == 1)
    #expect(fires({ _ = book["title"] }, { book["title"] = "three" }) == 1)
    #expect(fires({ _ = book[Book.pages] }, { for n in 5..<9 { book.pages = n } }) == 1)
    #expect(
      try fires({ _ = try? book.value(forKey: "pages") }, { try book.setValue(1, forKey: "pages") })
        == 1)
    // Another property, another object, the same value, nothing read.
    #expect(fires({ _ = book.title }, { book.pages = 77 }) == 0)
    #expect(fires({ _ = author.name }, { book.title = "four" }) == 0)
    #expect(fires({ _ = book.title }, { book.title = "four" }) == 0)
    #expect(fires({}, { book.title = "five" }) == 0)
  }

  @Test("Who is told sees the old value, and the new one when looking again")
  func order() {
    let seen = Mutex<[String]>([])
    nonisolated(unsafe) let book = book
    withObservationTracking {
      _ = book.title
    } onChange: {
      seen.withLock { $0.append(book.title) }
    }
    book.title = "two"
    seen.withLock { $0.append(book.title) }
    #expect(seen.withLock { $0 } == ["one", "two"])
  }

  @Test("Relationships fire at both ends")
  func relationships() throws {
    #expect(fires({ _ = author.books.count }, { book.author = author }) == 1)
    #expect(fires({ _ = book.author }, { author.books.remove(book) }) == 1)
    #expect(fires({ _ = author.books.contains(book) }, { author.books = [book] }) == 1)
    let tag = try context.insert(Tag.self)
    #expect(fires({ for tag in book.tags { _ = tag } }, { tag[Tag.books].insert(book) }) == 1)
    #expect(fires({ _ = book["author"] }, { context.delete(author) }) == 1)
    let chapters = try (0..<2).map { _ in try context.insert(Chapter.self) }
    book.chapters = RelatedObjects(chapters)
    #expect(
      fires({ _ = book.chapters.array }, { book.chapters = RelatedObjects(chapters.reversed()) })
        == 1)
  }

  @Test("Undo, redo and rollback fire")
  func undo() throws {
    context.undoManager = UndoManager()
    book.title = "two"
    context.processPendingChanges()
    #expect(fires({ _ = book.title }, { context.undo() }) == 1)
    #expect(fires({ _ = book.title }, { context.redo() }) == 1)
    #expect(fires({ _ = book.title }, { context.rollback() }) == 1)
    #expect(book.title == "one")
  }

  @Test("A merge, a refresh and a save's merge policy fire for what they change")
  func merges() throws {
    context.automaticallyMergesChangesFromParent = true
    let other = library.container.newContext()
    let theirs = try #require(try other.existingObject(with: book.objectID) as? Book)
    try fires({ _ = book.title }) {
      theirs.title = "theirs"
      try other.save()
      context.processPendingChanges()
    }.expect(1)
    #expect(book.title == "theirs")
    // An object with changes of its own: only what they changed, beneath them.
    book.pages = 2
    try fires({ _ = book.pages }) {
      theirs.title = "again"
      try other.save()
      context.processPendingChanges()
    }.expect(0)
    #expect(book.title == "again")
    try fires({ _ = author.books.count }) {
      theirs.author = try other.fetch(Author.self).first
      try other.save()
      context.processPendingChanges()
    }.expect(1)
    #expect(author.books.count == 1)
    context.automaticallyMergesChangesFromParent = false
    theirs.pages = 9
    try other.save()
    context.mergePolicy = .mergeByPropertyStoreTrump
    try fires({ _ = book.pages }) { try context.save() }.expect(1)
    #expect(book.pages == 9)
    try fires({ _ = book.title }) { try context.refresh(book, mergeChanges: false) }.expect(1)
    // Reading the fault again is no change.
    #expect(fires({ _ = book.title }, { _ = book.pages }) == 0)
  }

  @Test("An object that leaves its context fires, and is not tracked any more")
  func leaves() throws {
    #expect(fires({ _ = book.title }, { context.reset() }) == 1)
    #expect(fires({ _ = book.title }, {}) == 0)
    let other = try #require(try context.fetch(Book.self).first)
    try fires({ _ = other.title }) {
      context.delete(other)
      try context.save()
    }.expect(1)
  }

  @Test("A context that does not track fires nobody; it can begin and stop at any time")
  func switching() throws {
    let context = library.container.newContext()
    #expect(!context.tracksObservation)
    let book = try #require(try context.fetch(Book.self).first)
    #expect(fires({ _ = book.title }, { book.title = "a" }) == 0)
    context.tracksObservation = true
    #expect(fires({ _ = book.title }, { book.title = "b" }) == 1)
    let fetched = try #require(try context.fetch(Author.self).first)
    #expect(fires({ _ = fetched.name }, { fetched.name = "b" }) == 1)
    context.tracksObservation = false
    #expect(fires({ _ = book.title }, { book.title = "c" }) == 0)
  }
}

extension Int {
  fileprivate func expect(_ count: Int, _ place: SourceLocation = #_sourceLocation) {
    #expect(self == count, sourceLocation: place)
  }

  @Test("Who is told may let go of the objects, in a merge and at the end of the context")
  func letsGo() throws {
    let library = try Library()
    var context: ManagedObjectContext? = library.container.newContext()
    context?.tracksObservation = true
    for number in 0..<200 { try context?.insert(Author.self).name = "\(number)" }
    try context?.save()
    nonisolated(unsafe) var held: [Author] = []
    func watch() throws {
      held = try context?.fetch(Author.self) ?? []
      for author in held {
        withObservationTracking {
          _ = author.books.count
        } onChange: {
          held = []
        }
      }
    }
    try watch()
    context?.automaticallyMergesChangesFromParent = true
    try library.container.performAndWait { other in
      _ = try other.insert(Book.self)
      try other.save()
    }
    context?.processPendingChanges()
    #expect(held.isEmpty && context?.registeredObjects.isEmpty == true)
    try watch()
    context = nil
    #expect(held.isEmpty)
  }
}
