import Driftless
import Foundation
import TestSupport
import Testing

/// The same random work in one context, and spread over three levels of contexts, leaves the same store.
struct ChildContextRandomTests {
  /// What may be done, with numbers that choose among the objects there are.
  private enum Step {
    case insertBook, insertAuthor, insertTag, insertChapter(book: Int)
    case title(Int), author(book: Int, author: Int), noAuthor(book: Int)
    case tag(book: Int, tag: Int), untag(book: Int, tag: Int)
    case reverse(book: Int), deleteBook(Int), deleteAuthor(Int)
  }

  @Test("Random work over three levels equals the same work in one context", arguments: 0..<20)
  func levels(seed: UInt64) throws {
    var random = SeededNumbers(seed: seed)
    let flat = try Library()
    let deep = try Library()
    let single = flat.container.newContext()
    var levels = [deep.container.newContext()]
    for _ in 0..<2 { levels.append(ManagedObjectContext(parent: levels[levels.count - 1])) }
    for context in levels { context.retainsRegisteredObjects = Bool.random(using: &random) }
    for round in 0..<12 {
      let level = Int.random(in: 0..<3, using: &random)
      let steps = (0..<8).map { _ in Self.step(&random) }
      for (index, step) in steps.enumerated() {
        let name = "\(round).\(index)"
        try Self.take(step, name, in: single)
        try Self.take(step, name, in: levels[level])
      }
      // What was done becomes the fact of the level above, now or at the end of the round.
      for context in levels[1...].reversed() { try context.save() }
      if Bool.random(using: &random) {
        try levels[0].save()
        try single.save()
      }
      for context in levels[1...] { try context.refreshAllObjects() }
      #expect(
        try Self.picture(levels[level]) == Self.picture(single), "seed \(seed), round \(round)")
    }
    try levels[0].save()
    try single.save()
    let stored = try Self.picture(flat.container.newContext())
    #expect(try Self.picture(deep.container.newContext()) == stored, "seed \(seed)")
    for context in levels { #expect(try Self.picture(context) == stored) }
  }

  private static func step(_ random: inout SeededNumbers) -> Step {
    func pick() -> Int { Int.random(in: 0..<1000, using: &random) }
    switch Int.random(in: 0..<16, using: &random) {
    case 0, 1: return .insertBook
    case 2: return .insertAuthor
    case 3: return .insertTag
    case 4, 5: return .insertChapter(book: pick())
    case 6: return .title(pick())
    case 7, 8: return .author(book: pick(), author: pick())
    case 9: return .noAuthor(book: pick())
    case 10, 11: return .tag(book: pick(), tag: pick())
    case 12: return .untag(book: pick(), tag: pick())
    case 13: return .reverse(book: pick())
    case 14: return .deleteBook(pick())
    default: return .deleteAuthor(pick())
    }
  }

  private static func take(_ step: Step, _ name: String, in context: ManagedObjectContext) throws {
    let books = try context.fetch(Book.self, order: Book.title.ascending)
    let authors = try context.fetch(Author.self, order: Author.name.ascending)
    let tags = try context.fetch(Tag.self, order: Tag.name.ascending)
    func book(_ pick: Int) -> Book? { books.isEmpty ? nil : books[pick % books.count] }
    func author(_ pick: Int) -> Author? { authors.isEmpty ? nil : authors[pick % authors.count] }
    func tag(_ pick: Int) -> Tag? { tags.isEmpty ? nil : tags[pick % tags.count] }
    switch step {
    case .insertBook: try context.insert(Book.self).title = name
    case .insertAuthor: try context.insert(Author.self).name = name
    case .insertTag: try context.insert(Tag.self).name = name
    case .insertChapter(let pick):
      let chapter = try context.insert(Chapter.self)
      chapter.title = name
      chapter.book = book(pick)
    case .title(let pick): book(pick)?.pages += 1
    case .author(let pick, let other): book(pick)?.author = author(other)
    case .noAuthor(let pick): book(pick)?.author = nil
    case .tag(let pick, let other): if let tag = tag(other) { book(pick)?.tags.insert(tag) }
    case .untag(let pick, let other): if let tag = tag(other) { book(pick)?.tags.remove(tag) }
    case .reverse(let pick): book(pick)?.chapters.sort { ($0.title ?? "") > ($1.title ?? "") }
    case .deleteBook(let pick):
      guard let book = book(pick) else { return }
      // Its tags deny it as long as they have it.
      book.tags.removeAll()
      context.delete(book)
    case .deleteAuthor(let pick): if let author = author(pick) { context.delete(author) }
    }
  }

  /// All that there is, without keys.
  private static func picture(_ context: ManagedObjectContext) throws -> String {
    let books = try context.fetch(Book.self, order: Book.title.ascending).map { book in
      "\(book.title) \(book.pages) by \(book.author?.name ?? "-")"
        + " tags \(book.tags.compactMap(\.name).sorted())"
        + " chapters \(book.chapters.map { $0.title ?? "" })"
    }
    let authors = try context.fetch(Author.self, order: Author.name.ascending).map { author in
      "\(author.name): \(author.books.map(\.title).sorted())"
    }
    let chapters = try context.fetch(Chapter.self).map {
      "\($0.title ?? "") of \($0.book?.title ?? "-")"
    }
    return (books + authors + chapters.sorted()).joined(separator: "\n")
  }
}
