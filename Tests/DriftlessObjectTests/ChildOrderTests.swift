import Driftless
import Foundation
import TestSupport
import Testing

/// The order that a child gives an ordered relationship is that of its parent, and of the store.
struct ChildOrderTests {
  private static let ways:
    [(String, @Sendable (ManagedObjectContext, Book, Chapter) throws -> Void)] = [
      (
        "known, then new, by the to-one end",
        {
          $2.book = $1; try chapter("d", $0).book = $1
        }
      ),
      (
        "new, then known, by the to-one end",
        {
          try chapter("d", $0).book = $1; $2.book = $1
        }
      ),
      (
        "known, then new, by the list",
        {
          $1.chapters.insert($2); $1.chapters.insert(try chapter("d", $0))
        }
      ),
      (
        "known by its place at the end, then new",
        {
          $1.chapters.insert($2, at: 2); try chapter("d", $0).book = $1
        }
      ),
      (
        "new ones, known between",
        { context, book, known in
          try chapter("d", context).book = book
          known.book = book
          try chapter("e", context).book = book
        }
      ),
      (
        "known first, then new",
        {
          $1.chapters.insert($2, at: 0); try chapter("d", $0).book = $1
        }
      ),
    ]

  private static func chapter(_ title: String, _ context: ManagedObjectContext) throws -> Chapter {
    let chapter = try context.insert(Chapter.self)
    chapter.title = title
    return chapter
  }

  private static func titles(_ book: Book) -> String {
    book.chapters.map { $0.title ?? "-" }.joined()
  }

  @Test("What a child adds, known or new, has its order in the parent", arguments: ways.indices)
  func order(_ way: Int) throws {
    let library = try Library()
    let parent = library.container.newContext()
    let book = try parent.insert(Book.self)
    for title in ["a", "b"] { try Self.chapter(title, parent).book = book }
    let known = try Self.chapter("c", parent)
    try parent.save()
    let child = ManagedObjectContext(parent: parent)
    let here = try #require(child.object(with: book.objectID) as? Book)
    try Self.ways[way].1(
      child, here, try #require(child.object(with: known.objectID) as? Chapter))
    let wanted = Self.titles(here)
    try child.save()
    #expect(Self.titles(book) == wanted, "\(Self.ways[way].0)")
    try parent.save()
    let reader = library.container.newContext()
    let stored = reader.object(with: book.objectID) as? Book
    #expect(Self.titles(try #require(stored)) == wanted, "\(Self.ways[way].0)")
  }

  @Test("What the parent has besides keeps its place, and its undo takes the child's save back")
  func parentsOwn() throws {
    let library = try Library()
    let parent = library.container.newContext()
    let book = try parent.insert(Book.self)
    for title in ["a", "b"] { try Self.chapter(title, parent).book = book }
    let known = try Self.chapter("c", parent)
    try parent.save()
    let child = ManagedObjectContext(parent: parent)
    let here = try #require(child.object(with: book.objectID) as? Book)
    try #require(child.object(with: known.objectID) as? Chapter).book = here
    try Self.chapter("d", child).book = here
    #expect(Self.titles(here) == "abcd")
    parent.undoManager = UndoManager()
    try Self.chapter("x", parent).book = book
    parent.processPendingChanges()
    try child.save()
    #expect(Self.titles(book) == "abxcd")
    parent.undo()
    #expect(Self.titles(book) == "abx")
    parent.redo()
    #expect(Self.titles(book) == "abxcd")
  }
}
