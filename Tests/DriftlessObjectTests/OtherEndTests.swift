import Driftless
import Foundation
import TestSupport
import Testing

/// What becomes of the other ends of relationships when one object's changes are given up.
struct OtherEndTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  private func authors(_ names: String...) throws -> [Author] {
    try names.map { name in
      let author = try context.insert(Author.self)
      author.name = name
      return author
    }
  }

  /// Who has whom as master, by name, in a context of its own.
  private func stored() throws -> [String] {
    try library.container.performAndWait { reader in
      try reader.fetch(Author.self, order: Author.name.ascending).map {
        "\($0.name)<\($0[Author.master]?.name ?? "-") >\($0[Author.pupil]?.name ?? "-")"
      }
    }
  }

  @Test("One to one: an object whose change is given up is not the other's any more")
  func takenAway() throws {
    let all = try authors("a", "b", "c")
    let (a, b, c) = (all[0], all[1], all[2])
    a[Author.pupil] = b
    try context.save()
    a[Author.pupil] = c
    #expect(c[Author.master] === a && b[Author.master] == nil)
    try context.refresh(a, mergeChanges: false)
    #expect(a[Author.pupil] === b)
    #expect(b[Author.master] === a && c[Author.master] == nil)
    try context.save()
    #expect(try stored() == ["a<- >b", "b<a >-", "c<- >-"])
  }

  @Test("One to one: who was taken from another goes back to it")
  func takenFromAnother() throws {
    let all = try authors("a", "b", "c", "d")
    let (a, b, c, d) = (all[0], all[1], all[2], all[3])
    a[Author.pupil] = b
    c[Author.pupil] = d
    try context.save()
    a[Author.pupil] = d
    #expect(c[Author.pupil] == nil && d[Author.master] === a)
    try context.refresh(a, mergeChanges: false)
    #expect(a[Author.pupil] === b && b[Author.master] === a)
    #expect(c[Author.pupil] === d && d[Author.master] === c)
    try context.save()
    #expect(try stored() == ["a<- >b", "b<a >-", "c<- >d", "d<c >-"])
  }

  @Test("One to one: whom another took comes back, and the other has it no more")
  func takenByAnother() throws {
    let all = try authors("a", "b", "c")
    let (a, b, c) = (all[0], all[1], all[2])
    a[Author.pupil] = b
    try context.save()
    c[Author.pupil] = b
    #expect(a[Author.pupil] == nil)
    try context.refresh(a, mergeChanges: false)
    #expect(a[Author.pupil] === b && b[Author.master] === a && c[Author.pupil] == nil)
    try context.save()
    #expect(try stored() == ["a<- >b", "b<a >-", "c<- >-"])
  }

  @Test("Many to many: an object whose change is given up is not among the other's")
  func manyToMany() throws {
    let (book, first, second) = (
      try context.insert(Book.self), try context.insert(Tag.self), try context.insert(Tag.self)
    )
    book.tags.insert(first)
    try context.save()
    book.tags.insert(second)
    book.tags.remove(first)
    try context.refresh(book, mergeChanges: false)
    #expect(book.tags.map { $0 } == [first])
    #expect(first[Tag.books].map { $0 } == [book] && second[Tag.books].isEmpty)
    try context.save()
    let reader = library.container.newContext()
    let read = try #require(try reader.existingObject(with: book.objectID) as? Book)
    #expect(read.tags.map(\.objectID) == [first.objectID])
  }

  @Test("One to many: members that say so themselves stay when their owner is refreshed")
  func ownMembers() throws {
    let author = try authors("a")[0]
    let (old, book) = (try context.insert(Book.self), try context.insert(Book.self))
    old.author = author
    try context.save()
    #expect(author.books.count == 1)
    let new = try context.insert(Book.self)
    (book.author, new.author, old.author) = (author, author, nil)
    author.name = "given up"
    try context.refresh(author, mergeChanges: false)
    #expect(author.name == "a" && book.author === author && old.author == nil)
    #expect(Set(author.books) == [book, new])
    try context.save()
    #expect(Set(author.books) == [book, new] && !author.hasChanges)
    let reader = library.container.newContext()
    #expect(try reader.fetch(Author.self).first?.books.count == 2)
  }

  @Test("A reference that a conflict was settled by stands in the relationship of whom it names")
  func settledReference() throws {
    let all = try authors("mine", "theirs")
    let (mine, theirs) = (all[0], all[1])
    let book = try context.insert(Book.self)
    try context.save()
    #expect(mine.books.isEmpty && theirs.books.isEmpty)
    let other = library.container.newContext()
    let same = try #require(try other.existingObject(with: book.objectID) as? Book)
    same.author = try other.existingObject(with: theirs.objectID) as? Author
    try other.save()
    context.mergePolicy = .mergeByPropertyStoreTrump
    book.author = mine
    try context.save()
    #expect(book.author === theirs)
    #expect(theirs.books.map { $0 } == [book] && mine.books.isEmpty)
  }

  @Test("A delete that is given up is given up at the other ends", arguments: [false, true])
  func deleteGivenUp(byInsert: Bool) throws {
    let author = try authors("a")[0]
    let book = try context.insert(Book.self)
    book.author = author
    try context.save()
    context.delete(author)
    context.processPendingChanges()
    #expect(book.author == nil)
    if byInsert {
      try context.insert(author)
    } else {
      try context.refresh(author, mergeChanges: false)
    }
    #expect(!author.isDeleted && book.author === author && author.books.array == [book])
    try context.save()
    let reader = library.container.newContext()
    #expect(try reader.fetch(Book.self).first?.author != nil)
  }

  @Test("A member that comes back to where it was read is there once")
  func comesBack() throws {
    let all = try authors("a", "b")
    let book = try context.insert(Book.self)
    book.author = all[0]
    try context.save()
    #expect(all[0].books.count == 1)
    let other = library.container.newContext()
    let same = try #require(try other.existingObject(with: book.objectID) as? Book)
    same.author = try other.existingObject(with: all[1].objectID) as? Author
    try other.save()
    try context.refresh(book, mergeChanges: false)
    book.author = all[0]
    #expect(all[0].books.array == [book] && all[0].books.count == 1)
    book.author = nil
    #expect(all[0].books.count == 0)
    book.author = all[0]
    try context.save()
    #expect(all[0].books.array == [book])
  }

  @Test("A delete that is given up is given up after a merge, and is back when that is undone")
  func deleteGivenUpLater() throws {
    context.undoManager = UndoManager()
    let author = try authors("a")[0]
    let book = try context.insert(Book.self)
    book.author = author
    try context.save()
    context.undoManager?.removeAllActions()
    context.automaticallyMergesChangesFromParent = true
    context.delete(author)
    context.processPendingChanges()
    let other = library.container.newContext()
    try other.insert(Book.self).title = "another"
    try other.save()
    context.processPendingChanges()
    try context.insert(author)
    context.processPendingChanges()
    #expect(book.author === author && author.books.array == [book])
    context.undo()
    #expect(author.isDeleted && book.author == nil)
    try context.save()
    #expect(try library.container.newContext().fetch(Author.self).isEmpty)
  }
}
