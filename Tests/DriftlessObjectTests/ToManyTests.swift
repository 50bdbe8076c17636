import Driftless
import Foundation
import TestSupport
import Testing

/// Objects that come to a to-many relationship and go again, many times before a save.
struct ToManyTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  @Test("What comes and goes before a save leaves the rest, in the order of a plain array")
  func comeAndGo() throws {
    let book = try context.insert(Book.self)
    let tag = try context.insert(Tag.self)
    let chapters = try (0..<60).map { number in
      let chapter = try context.insert(Chapter.self)
      chapter[Chapter.title] = "\(number)"
      return chapter
    }
    let books = try (0..<60).map { _ in try context.insert(Book.self) }
    var order: [Chapter] = []
    var members: Set<ManagedObject> = []
    var numbers = SeededNumbers(seed: 7)
    for step in 0..<3000 {
      let place = numbers.number(below: 60)
      if order.contains(chapters[place]) {
        book.chapters.remove(chapters[place])
        order.removeAll { $0 === chapters[place] }
      } else {
        book.chapters.insert(chapters[place])
        order.append(chapters[place])
      }
      if members.remove(books[place]) != nil {
        tag[Tag.books].remove(books[place])
      } else {
        tag[Tag.books].insert(books[place])
        members.insert(books[place])
      }
      let other = numbers.number(below: 60)
      #expect(tag[Tag.books].contains(books[other]) == members.contains(books[other]))
      #expect(book.chapters.contains(chapters[other]) == order.contains(chapters[other]))
      if step % 50 == 0 {
        #expect(book.chapters.array == order)
        #expect(Set(tag[Tag.books].array) == members)
        #expect(book.chapters.count == order.count && tag[Tag.books].count == members.count)
      }
    }
    try context.save()
    let other = library.container.newContext()
    let saved = try #require(other.object(with: book.objectID) as? Book)
    #expect(saved.chapters.map { $0[Chapter.title] } == order.map { $0[Chapter.title] })
    let savedTag = try #require(other.object(with: tag.objectID) as? Tag)
    #expect(Set(savedTag[Tag.books].map(\.objectID)) == Set(members.map(\.objectID)))
  }

  @Test("An object that is taken out of an ordered relationship and put in again comes to its end")
  func comesBack() throws {
    let book = try context.insert(Book.self)
    let chapters = try ["a", "b", "c", "d"].map { title in
      let chapter = try context.insert(Chapter.self)
      chapter.title = title
      chapter.book = book
      return chapter
    }
    try context.save()
    // By the relationship, and by its other end; one of them before what the store holds was read.
    try context.refresh(book, mergeChanges: false)
    chapters[0].book = nil
    chapters[0].book = book
    #expect(book.chapters.map(\.title) == ["b", "c", "d", "a"])
    book.chapters.remove(chapters[2])
    book.chapters.insert(chapters[2])
    #expect(book.chapters.map(\.title) == ["b", "d", "a", "c"])
    try context.save()
    let other = library.container.newContext()
    let saved = try #require(other.object(with: book.objectID) as? Book)
    #expect(saved.chapters.map(\.title) == ["b", "d", "a", "c"])
  }
}
