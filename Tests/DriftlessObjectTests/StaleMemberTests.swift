import Driftless
import TestSupport
import Testing

/// Members of a relationship that were read before another context put them into it, or took them out: what their own end says is
/// older than what is read of the relationship.
@Suite("Members that were read before they came or went")
struct StaleMemberTests {
  let library: Library
  /// Changes things behind the back of the other.
  let other: ManagedObjectContext
  let context: ManagedObjectContext
  let book: Book
  let author: Author

  init() throws {
    library = try Library()
    other = library.container.newContext()
    context = library.container.newContext()
    book = try other.insert(Book.self)
    for title in ["a", "b", "c"] {
      let chapter = try other.insert(Chapter.self)
      chapter.title = title
      book.chapters.insert(chapter)
    }
    author = try other.insert(Author.self)
    author.name = "Eco"
    try other.save()
  }

  private func same<Object: ManagedObject>(_ object: Object) throws -> Object {
    try #require(context.object(with: object.objectID) as? Object)
  }

  private static func titles(_ book: Book) -> String {
    book.chapters.map { $0.title ?? "-" }.joined()
  }

  /// What a context sees that is made now.
  private func stored() throws -> (chapters: String, books: [String]) {
    let fresh = library.container.newContext()
    let author = try #require(fresh.object(with: author.objectID) as? Author)
    let store = library.container.persistentStoreCoordinator.persistentStores[0]
    #expect(try store.check().findings == [])
    return (
      Self.titles(try #require(fresh.object(with: book.objectID) as? Book)),
      author.books.map(\.title).sorted()
    )
  }

  /// A chapter "x", as the context read it before the other put it into the book, behind "a".
  private func lateChapter() throws -> Chapter {
    let chapter = try other.insert(Chapter.self)
    chapter.title = "x"
    try other.save()
    let seen = try same(chapter)
    #expect(seen.title == "x" && seen.book == nil)
    book.chapters.insert(chapter, at: 1)
    try other.save()
    return seen
  }

  /// A book "late", as the context read it before the other gave it to the author.
  private func lateBook() throws -> Book {
    let late = try other.insert(Book.self)
    late.title = "late"
    try other.save()
    let seen = try same(late)
    #expect(seen.title == "late" && seen.author == nil)
    late.author = author
    try other.save()
    return seen
  }

  @Test("One that came is taken out of an order, unless the policy says that this is a conflict")
  func removed() throws {
    let seen = try lateChapter()
    let read = try same(book)
    #expect(Self.titles(read) == "axbc" && read.chapters.contains(seen))
    read.chapters.remove(seen)
    #expect(Self.titles(read) == "abc" && seen.book == nil && !read.chapters.contains(seen))
    let error = #expect(throws: SaveConflictError.self) { try context.save() }
    #expect(error?.conflicts.map(\.objectID) == [seen.objectID])
    #expect(error?.conflicts.first?.changedProperties == ["book"])
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    #expect(try stored().chapters == "abc")
    #expect(Self.titles(read) == "abc")
  }

  @Test("One that came is taken out of a set, or stays where the policy drops what was changed")
  func removedFromSet() throws {
    let seen = try lateBook()
    let read = try same(author)
    #expect(read.books.array == [seen])
    read.books.remove(seen)
    #expect(read.books.isEmpty)
    context.mergePolicy = .rollback
    try context.save()
    #expect(read.books.array == [seen] && seen.author === read)
    read.books.remove(seen)
    try context.save()
    #expect(try stored().books == [])
  }

  @Test("A relationship that was never read takes out what came")
  func removedUnread() throws {
    let seen = try lateBook()
    let read = try same(author)
    read.books.remove(seen)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try stored().books == [])
  }

  @Test("An order is set as a whole without one that came, and with it")
  func set() throws {
    let seen = try lateChapter()
    let read = try same(book)
    read.chapters = RelatedObjects(read.chapters.array.reversed())
    #expect(Self.titles(read) == "cbxa")
    try context.save()
    #expect(try stored().chapters == "cbxa")
    read.chapters = RelatedObjects(read.chapters.filter { $0 !== seen })
    #expect(Self.titles(read) == "cba")
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try stored().chapters == "cba")
    read.chapters.remove(at: 0)
    try context.save()
    #expect(try stored().chapters == "ba")
  }

  @Test("One that went is put back, at its place, and a save meets that it went")
  func putBack() throws {
    let chapter = try #require(book.chapters.first)
    let seen = try same(chapter)
    let read = try same(book)
    #expect(seen.book === read)
    book.chapters.remove(chapter)
    try other.save()
    #expect(Self.titles(read) == "bc")
    read.chapters.insert(seen, at: 1)
    #expect(Self.titles(read) == "bac" && seen.book === read)
    #expect(throws: SaveConflictError.self) { try context.save() }
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try stored().chapters == "bac")
  }

  @Test("One that went to another is not taken from there by who does not show it any more")
  func movedOn() throws {
    let chapter = try #require(book.chapters.first)
    let second = try other.insert(Book.self)
    try other.save()
    let (seen, read, there) = (try same(chapter), try same(book), try same(second))
    #expect(seen.book === read)
    second.chapters.insert(chapter)
    try other.save()
    #expect(Self.titles(read) == "bc" && Self.titles(there) == "a")
    read.chapters.remove(seen)
    try context.save()
    read.chapters.insert(seen)
    #expect(Self.titles(read) == "bca" && Self.titles(there) == "")
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    #expect(try stored().chapters == "bca")
  }

  @Test("What was read of the relationship may be the older one")
  func olderList() throws {
    let (seen, read) = (try lateChapter(), try same(book))
    #expect(Self.titles(read) == "axbc")
    try #require(other.object(with: seen.objectID) as? Chapter).book = nil
    try other.save()
    try context.refresh(seen, mergeChanges: false)
    #expect(seen.book == nil)
    read.chapters.remove(seen)
    #expect(Self.titles(read) == "abc")
    try context.save()
    #expect(try stored().chapters == "abc")
  }

  @Test(
    "One that came and is deleted here is shown no more, and what is edited around it is saved",
    arguments: [false, true])
  func deleted(isRead: Bool) throws {
    let (seen, read) = (try lateChapter(), try same(book))
    if isRead { #expect(Self.titles(read) == "axbc") }
    context.delete(seen)
    #expect(Self.titles(read) == "abc" && !read.chapters.contains(seen))
    context.processPendingChanges()
    #expect(Self.titles(read) == "abc" && read.chapters.count == 3)
    read.chapters = RelatedObjects(read.chapters.array.reversed())
    read.chapters.remove(at: 0)
    #expect(Self.titles(read) == "ba")
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(Self.titles(read) == "ba")
    #expect(try stored().chapters == "ba")
  }

  @Test("A delete that is given up brings it back", arguments: [0, 1, 2])
  func givenUp(way: Int) throws {
    context.undoManager = UndoManager()
    let (seen, read) = (try lateChapter(), try same(book))
    #expect(Self.titles(read) == "axbc")
    context.delete(seen)
    #expect(Self.titles(read) == "abc")
    switch way {
    case 0: context.rollback()
    case 1: context.undo()
    default: try context.insert(seen)
    }
    #expect(Self.titles(read) == "axbc")
  }

  @Test("One that came and is put elsewhere here is shown there alone", arguments: [false, true])
  func movedHere(isRead: Bool) throws {
    let (seen, read) = (try lateChapter(), try same(book))
    let second = try context.insert(Book.self)
    if isRead { #expect(Self.titles(read) == "axbc") }
    seen.book = second
    #expect(Self.titles(read) == "abc" && Self.titles(second) == "x")
    read.chapters = RelatedObjects(read.chapters.array.reversed())
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(Self.titles(read) == "cba" && Self.titles(second) == "x")
    #expect(try stored().chapters == "cba")
  }

  @Test("A child's parent has an older member as well")
  func child() throws {
    let (above, read) = (try lateChapter(), try same(book))
    #expect(Self.titles(read) == "axbc")
    let child = ManagedObjectContext(parent: context)
    let seen = try #require(child.object(with: above.objectID) as? Chapter)
    let own = try #require(child.object(with: book.objectID) as? Book)
    #expect(seen.book == nil && Self.titles(own) == "axbc")
    own.chapters.remove(seen)
    #expect(Self.titles(own) == "abc")
    try child.save()
    #expect(Self.titles(read) == "abc" && above.book == nil)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try stored().chapters == "abc")
  }

  @Test("Who deletes it all meets members that came")
  func ownerDeleted() throws {
    let seen = try lateChapter()
    let read = try same(book)
    #expect(Self.titles(read) == "axbc")
    context.delete(read)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    let fresh = library.container.newContext()
    #expect(try fresh.count(for: FetchRequest<Chapter>(entityName: "Chapter")) == 0)
    #expect(seen.managedObjectContext == nil)
  }
}
