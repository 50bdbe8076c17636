import Driftless
import Foundation
import TestSupport
import Testing

/// Random work on all kinds of relationships: every step of undo and redo leads to the state that was there.
@Suite("Undo of random work")
struct UndoRandomTests {
  /// All objects by the name they were given, with their values and links.
  private static func picture(_ context: ManagedObjectContext) throws -> [String] {
    var lines: [String] = []
    for book in try context.fetch(Book.self) {
      let tags = book.tags.map { $0.name ?? "-" }.sorted().joined(separator: " ")
      let chapters = book.chapters.map { $0.title ?? "-" }.joined(separator: " ")
      lines.append(
        "book \(book.title) \(book.pages) by \(book.author?.name ?? "-") [\(tags)] (\(chapters))")
    }
    for author in try context.fetch(Author.self) {
      let books = author.books.map(\.title).sorted().joined(separator: " ")
      lines.append(
        "author \(author.name) [\(books)] of \(author[Author.master]?.name ?? "-"), "
          + "to \(author[Author.pupil]?.name ?? "-")")
    }
    for tag in try context.fetch(Tag.self) {
      lines.append(
        "tag \(tag.name ?? "-") [\(tag[Tag.books].map(\.title).sorted().joined(separator: " "))]")
    }
    for chapter in try context.fetch(Chapter.self) {
      lines.append("chapter \(chapter.title ?? "-") of \(chapter.book?.title ?? "-")")
    }
    return lines.sorted()
  }

  private static func step(
    _ context: ManagedObjectContext, _ name: String, _ random: inout SeededNumbers
  ) throws {
    let books = try context.fetch(Book.self, order: Book.title.ascending)
    let authors = try context.fetch(Author.self, order: Author.name.ascending)
    let tags = try context.fetch(Tag.self, order: Tag.name.ascending)
    let chapters = try context.fetch(Chapter.self, order: Chapter.title.ascending)
    Mark().register(with: try #require(context.undoManager))
    func pick<T>(_ all: [T]) -> T? { all.isEmpty ? nil : all[random.number(below: all.count)] }
    switch random.number(below: 16) {
    case 0, 1: try context.insert(Book.self).title = "b" + name
    case 2: try context.insert(Author.self).name = "a" + name
    case 3: try context.insert(Tag.self).name = "t" + name
    case 4, 5:
      let chapter = try context.insert(Chapter.self)
      chapter.title = "c" + name
      chapter.book = pick(books)
    case 6: pick(books)?.pages = random.number(below: 900)
    case 7: pick(books)?.author = random.chance(30) ? nil : pick(authors)
    case 8, 9: if let book = pick(books), let tag = pick(tags) { book.tags.insert(tag) }
    case 10: if let book = pick(books), let tag = pick(book.tags.array) { book.tags.remove(tag) }
    case 11:
      if let book = pick(books) {
        book.chapters = RelatedObjects(book.chapters.array.shuffled(using: &random))
      }
    case 12:
      if let book = pick(books), let chapter = pick(chapters) { book.chapters.insert(chapter) }
    case 13:
      if let book = pick(books), let chapter = pick(book.chapters.array) {
        book.chapters.remove(chapter)
      }
    case 14:
      if let a = pick(authors), let b = pick(authors) {
        a[Author.pupil] = random.chance(30) ? nil : b
      }
    default:
      switch random.number(below: 4) {
      case 0: if let book = pick(books) { context.delete(book) }
      case 1: if let author = pick(authors) { context.delete(author) }
      case 2: if let chapter = pick(chapters) { context.delete(chapter) }
      default: if let tag = pick(tags), tag[Tag.books].isEmpty { context.delete(tag) }
      }
    }
  }

  @Test(
    "Every step back and forth is the state that was there, across saves and refreshes",
    arguments: 0..<40)
  func steps(seed: UInt64) throws {
    var random = SeededNumbers(seed: seed)
    let library = try Library()
    let context = library.container.newContext()
    context.undoManager = UndoManager()
    let saves = seed % 2 == 0
    var states: [[String]] = [try Self.picture(context)]
    for number in 0..<60 {
      try Self.step(context, "\(number)", &random)
      context.processPendingChanges()
      states.append(try Self.picture(context))
      if saves, random.chance(15) { try context.save() }
      if saves, random.chance(10) { try context.refreshAllObjects() }
    }
    let end = try Self.picture(context)
    for (index, state) in states.dropLast().enumerated().reversed() {
      context.undo()
      let now = try Self.picture(context)
      try #require(now == state, "seed \(seed), undo to \(index): \(Self.difference(now, state))")
      if saves, random.chance(15) { try context.save() }
      if saves, random.chance(10) { try context.refreshAllObjects() }
    }
    for (index, state) in states.enumerated().dropFirst() {
      context.redo()
      let now = try Self.picture(context)
      try #require(now == state, "seed \(seed), redo to \(index): \(Self.difference(now, state))")
      if saves, random.chance(15) { try context.save() }
    }
    #expect(try Self.picture(context) == end)
    try context.save()
    #expect(try Self.picture(library.container.newContext()) == end, "seed \(seed), saved")
  }

  /// Makes each event one that can be undone, whatever it did.
  private final class Mark {
    func register(with undo: UndoManager) {
      undo.registerUndo(withTarget: self) { $0.register(with: undo) }
    }
  }

  private static func difference(_ now: [String], _ then: [String]) -> String {
    "is \(Set(now).subtracting(then).sorted()), was \(Set(then).subtracting(now).sorted())"
  }
}
