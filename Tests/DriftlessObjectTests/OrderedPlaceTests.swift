import Driftless
import Foundation
import TestSupport
import Testing

/// Places in ordered relationships.
@Suite("Places in ordered relationships")
struct OrderedPlaceTests {
  let library: Library
  let context: ManagedObjectContext
  let book: Book

  init() throws {
    library = try Library()
    context = library.container.newContext()
    book = try context.insert(Book.self)
    for title in ["a", "b", "c", "d"] { book.chapters.insert(try chapter(title)) }
    try context.save()
  }

  private func chapter(_ title: String) throws -> Chapter {
    let chapter = try context.insert(Chapter.self)
    chapter.title = title
    return chapter
  }

  private var titles: String { Self.titles(book) }

  private static func titles(_ book: Book) -> String {
    book.chapters.map { $0.title ?? "-" }.joined()
  }

  private func stored() throws -> String {
    let other = library.container.newContext()
    return Self.titles(try #require(other.object(with: book.objectID) as? Book))
  }

  @Test("An object is put at a place, moves to another, and is taken out by its place")
  func places() throws {
    book.chapters.insert(try chapter("x"), at: 0)
    book.chapters.insert(try chapter("y"), at: 5)
    book.chapters.insert(try chapter("z"), at: 3)
    #expect(titles == "xabzcdy")
    #expect(book.chapters[3]?.title == "z" && book.chapters[7] == nil && book.chapters[-1] == nil)
    #expect(book.chapters.first?.title == "x" && book.chapters.last?.title == "y")
    let b = try #require(book.chapters[2])
    #expect(book.chapters.firstIndex(of: b) == 2)
    book.chapters.insert(b, at: 6)
    #expect(titles == "xazcdyb")
    book.chapters.insert(b, at: 0)
    #expect(titles == "bxazcdy")
    #expect(book.chapters.remove(at: 1)?.title == "x" && book.chapters.remove(at: 9) == nil)
    #expect(titles == "bazcdy" && book.chapters.count == 6)
    try context.save()
    #expect(try stored() == "bazcdy")
  }

  @Test("Moves are taken back and done again")
  func undo() throws {
    context.undoManager = UndoManager()
    let d = try #require(book.chapters.last)
    book.chapters.insert(d, at: 0)
    context.processPendingChanges()
    book.chapters.insert(try chapter("x"), at: 2)
    #expect(titles == "daxbc")
    context.undo()
    #expect(titles == "dabc")
    context.undo()
    #expect(titles == "abcd" && !context.hasChanges)
    context.redo()
    context.redo()
    #expect(titles == "daxbc")
    try context.save()
    #expect(try stored() == "daxbc")
  }

  @Test("Random moves leave the order of a plain array")
  func random() throws {
    var numbers = SeededNumbers(seed: 3)
    var order = book.chapters.array
    for step in 0..<400 {
      let object =
        numbers.chance(10) || order.isEmpty
        ? try chapter("\(step)") : order[numbers.number(below: order.count)]
      order.removeAll { $0 === object }
      let place = numbers.number(below: order.count + 1)
      order.insert(object, at: place)
      book.chapters.insert(object, at: place)
      if numbers.chance(20), let last = order.popLast() { book.chapters.remove(last) }
      if numbers.chance(5) { try context.save() }
      #expect(book.chapters.count == order.count)
      #expect(book.chapters.first === order.first && book.chapters.last === order.last)
      if numbers.chance(30) { #expect(book.chapters.array == order) }
    }
    try context.save()
    #expect(try stored() == order.map { $0.title ?? "-" }.joined())
  }

  @Test("A place that there is not, and places without an order, are errors")
  func refused() throws {
    let wrong: [() throws -> Void] = [
      { book.chapters.insert(try chapter("x"), at: 5) },
      { book.chapters.insert(try chapter("x"), at: -1) },
      { book.tags.insert(try context.insert(Tag.self), at: 0) },
    ]
    for (body, code) in zip(wrong, [ObjectError.Code.outOfRange, .outOfRange, .typeMismatch]) {
      try body()
      let error = #expect(throws: ObjectError.self) { try context.save() }
      #expect(error?.code == code)
      context.rollback()
    }
    #expect(titles == "abcd" && book.tags.isEmpty)
  }

  @Test("An order that is not saved takes in what others added, and loses what they deleted")
  func merging() throws {
    book.chapters = RelatedObjects(book.chapters.array.reversed())
    let other = library.container.newContext()
    let theirs = try #require(other.object(with: book.objectID) as? Book)
    let new = try other.insert(Chapter.self)
    new.title = "n"
    theirs.chapters.insert(new)
    other.delete(try #require(theirs.chapters[1]))
    context.automaticallyMergesChangesFromParent = true
    try other.save()
    context.processPendingChanges()
    #expect(titles == "dcan")
    try context.save()
    #expect(titles == "dcan")
    #expect(try stored() == "dcan")
  }

  @Test("What was added here and by another save is one, and goes as one")
  func addedTwice() throws {
    let chapter = try chapter("x")
    try context.save()
    let other = library.container.newContext()
    let theirs = try #require(other.object(with: book.objectID) as? Book)
    theirs.chapters.insert(try #require(other.object(with: chapter.objectID) as? Chapter))
    context.mergePolicy = .mergeByPropertyObjectTrump
    chapter.book = book
    context.automaticallyMergesChangesFromParent = true
    try other.save()
    context.processPendingChanges()
    #expect(titles == "abcdx" && book.chapters.count == 5)
    book.chapters.remove(chapter)
    #expect(titles == "abcd" && book.chapters.count == 4)
    try context.save()
    #expect(try stored() == "abcd")
  }

  @Test("An order tells nothing of what another save deleted")
  func orderOfGone() throws {
    let d = try #require(book.chapters.last)
    book.chapters.insert(d, at: 0)
    let other = library.container.newContext()
    other.delete(try #require(other.object(with: d.objectID)))
    try other.save()
    try context.save()
    let store = library.container.persistentStoreCoordinator.persistentStores[0]
    #expect(try store.check().findings == [])
    #expect(try stored() == "abc")
  }

  @Test("A member whose removal is given up is in a changed order again")
  func removalGivenUp() throws {
    let (a, d) = (try #require(book.chapters.first), try #require(book.chapters.last))
    book.chapters.insert(d, at: 0)
    a.book = nil
    #expect(titles == "dbc")
    try context.refresh(a, mergeChanges: false)
    #expect(a.book === book && titles == "adbc")
    try context.save()
    #expect(try stored() == "adbc")
  }

  @Test("A hundred thousand at once are saved in their order", .timeLimit(.minutes(2)))
  func many() throws {
    let large = try context.insert(Book.self)
    large.title = "large"
    for number in 0..<100_000 { try chapter("\(number)").book = large }
    try context.save()
    let other = library.container.newContext()
    let read = try #require(other.object(with: large.objectID) as? Book)
    #expect(read.chapters.count == 100_000)
    #expect(read.chapters.first?.title == "0" && read.chapters.last?.title == "99999")
  }
}
