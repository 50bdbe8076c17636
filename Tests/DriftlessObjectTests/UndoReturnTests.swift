import Driftless
import Foundation
import TestSupport
import Testing

/// What an undo brings back has everything that it had.
@Suite("What an undo brings back")
struct UndoReturnTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
    context.undoManager = UndoManager()
  }

  @Test("An object that was deleted as a fault, and saved, comes back with its values")
  func fault() throws {
    try library.container.performAndWait { other in
      try other.insert(Tag.self).name = "precious"
      try other.save()
    }
    let id = try #require(try context.fetchIDs(FetchRequest<Tag>(entityName: "Tag")).first)
    let tag = try #require(context.object(with: id) as? Tag)
    #expect(tag.isFault)
    context.delete(tag)
    try context.save()
    context.undo()
    #expect(tag.name == "precious")
    try context.save()
    let other = library.container.newContext()
    #expect(try other.fetch(Tag.self).map(\.name) == ["precious"])
  }

  @Test("A new object that comes back finds the objects that were saved while it was away")
  func references() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    author[Author.master] = author
    let tag = try context.insert(Tag.self)
    let book = try context.insert(Book.self)
    book.author = author
    book.tags.insert(tag)
    context.processPendingChanges()
    context.delete(book)
    context.processPendingChanges()
    try context.save()
    context.undo()
    #expect(book.author === author && book.tags.array == [tag])
    #expect(author.books.array == [book] && author[Author.pupil] === author)
    try context.save()
    let other = library.container.newContext()
    let saved = try #require(try other.fetch(Book.self).first)
    #expect(saved.author?.name == "Eco" && saved.tags.count == 1)
  }

  @Test("An object that comes back twice, with a save each time, is found by what refers to it")
  func twice() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    let book = try context.insert(Book.self)
    book.author = author
    try context.save()
    for _ in 0..<3 {
      context.delete(author)
      try context.save()
      #expect(book.author == nil)
      context.undo()
      #expect(book.author === author)
      try context.save()
      context.undo()
      #expect(author.isDeleted && book.author == nil)
      context.redo()
      #expect(book.author === author)
      try context.save()
    }
    let other = library.container.newContext()
    #expect(try other.fetch(Book.self).first?.author?.name == "Eco")
  }

  @Test("A new object keeps the identity that it was given")
  func identity() throws {
    let identity = UUID()
    let book = try context.insert(Book.self, identity: identity)
    context.processPendingChanges()
    context.delete(book)
    context.processPendingChanges()
    #expect(try context.object(withIdentity: identity) == nil)
    context.undo()
    #expect(try context.object(withIdentity: identity) === book)
    try context.save()
    #expect(try book.identity == identity)
  }

  @Test("A deleted object that a refresh went over before the save comes back with its members")
  func refreshed() throws {
    let book = try context.insert(Book.self)
    let chapters = try (0..<3).map { _ in try context.insert(Chapter.self) }
    book.chapters = RelatedObjects(chapters)
    try context.save()
    context.processPendingChanges()
    context.delete(book)
    context.processPendingChanges()
    try context.refreshAllObjects()
    try context.save()
    context.undo()
    #expect(book.chapters.array == chapters)
  }

  @Test("What the application groups is one step, though events end in between")
  func groups() throws {
    let undo = try #require(context.undoManager)
    let book = try context.insert(Book.self)
    try context.save()
    undo.removeAllActions()
    undo.beginUndoGrouping()
    book.title = "changed"
    _ = try context.fetch(Book.self)
    book.pages = 9
    undo.endUndoGrouping()
    context.undo()
    #expect(book.title == "?" && book.pages == 1 && !undo.canUndo)
    context.redo()
    #expect(book.title == "changed" && book.pages == 9)
    // A group that nobody closed does not keep the rest from being taken back.
    undo.beginUndoGrouping()
    book.pages = 10
    context.undo()
    #expect(book.pages == 9 && undo.groupingLevel == 0)
  }

  @Test("Thousands of objects of an ordered relationship go and come again")
  func manyOrdered() throws {
    let book = try context.insert(Book.self)
    let chapters = try (0..<4000).map { _ in try context.insert(Chapter.self) }
    book.chapters = RelatedObjects(chapters)
    try context.save()
    for chapter in chapters { book.chapters.remove(chapter) }
    context.undo()
    #expect(book.chapters.array == chapters && !context.hasChanges)
    context.redo()
    #expect(book.chapters.isEmpty)
    context.undo()
    context.undoManager = nil
    for chapter in chapters {
      book.chapters.remove(chapter)
      book.chapters.insert(chapter)
    }
    #expect(book.chapters.array == chapters)
    book.chapters = []
    book.chapters = RelatedObjects(chapters.reversed())
    #expect(book.chapters.array == chapters.reversed())
    try context.save()
    let other = library.container.newContext()
    let saved = try #require(try other.fetch(Book.self).first)
    #expect(saved.chapters.map(\.objectID) == chapters.reversed().map(\.objectID))
  }
}
