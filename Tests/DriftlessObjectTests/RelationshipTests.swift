import Driftless
import Foundation
import Testing

@Suite("Relationships")
struct RelationshipTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  func author(_ name: String) throws -> Author {
    let author = try context.insert(Author.self)
    author.name = name
    return author
  }

  func book(_ title: String) throws -> Book {
    let book = try context.insert(Book.self)
    book.title = title
    return book
  }

  func titles(_ author: Author) -> [String] { author.books.map(\.title).sorted() }

  @Test("Setting one end sets the other, before and after a save")
  func oneToMany() throws {
    let eco = try author("Eco")
    let calvino = try author("Calvino")
    let a = try book("A")
    let b = try book("B")
    a.author = eco
    eco.books.insert(b)
    #expect(titles(eco) == ["A", "B"] && b.author === eco)
    try context.save()

    let other = library.container.newContext()
    let again = try #require(try other.fetch(Author.self, where: Author.name == "Eco").first)
    #expect(titles(again) == ["A", "B"])

    b.author = calvino
    #expect(titles(eco) == ["A"] && titles(calvino) == ["B"])
    calvino.books = [a]
    #expect(titles(eco) == [] && titles(calvino) == ["A"] && b.author == nil)
    try context.save()
    try other.refreshAllObjects()
    #expect(titles(again) == [])
  }

  @Test("The other end that was not read shows what was added and removed")
  func unreadCollection() throws {
    let eco = try author("Eco")
    for title in ["A", "B"] { try book(title).author = eco }
    try context.save()
    let other = library.container.newContext()
    let books = try other.fetch(Book.self, order: Book.title.ascending)
    let new = try other.insert(Book.self)
    new.title = "C"
    new.author = books[0].author
    books[0].author = nil
    #expect(titles(try #require(new.author)) == ["B", "C"])
    other.rollback()
    #expect(titles(try #require(books[0].author)) == ["A", "B"])
  }

  @Test("One to one moves, it does not share")
  func oneToOne() throws {
    let a = try author("A")
    let b = try author("B")
    let c = try author("C")
    a[Author.master] = b
    #expect(b[Author.pupil] === a)
    c[Author.master] = b
    #expect(a[Author.master] == nil && b[Author.pupil] === c)
    try context.save()
    let names = try library.container.performAndWait { other in
      try other.fetch(Author.self, where: Author.master.isNotNull).map(\.name)
    }
    #expect(names == ["C"])
  }

  @Test("Many to many is the same from both ends, and element-wise in the store")
  func manyToMany() throws {
    let a = try book("A")
    let b = try book("B")
    let tags = try (0..<3).map { number in
      let tag = try context.insert(Tag.self)
      tag[Tag.name] = "t\(number)"
      return tag
    }
    a.tags = [tags[0], tags[1]]
    tags[1][Tag.books].insert(b)
    #expect(b.tags.array == [tags[1]])
    try context.save()
    a.tags.remove(tags[1])
    b.tags.insert(tags[2])
    try context.save()

    let other = library.container.newContext()
    let seen = try other.fetch(Tag.self, order: Tag.name.ascending).map { tag in
      tag[Tag.books].map(\.title).sorted()
    }
    #expect(seen == [["A"], ["B"], ["B"]])
  }

  @Test("Two contexts add to one many-to-many relationship, and both stay")
  func concurrentPairs() throws {
    let a = try book("A")
    let tags = try (0..<2).map { _ in try context.insert(Tag.self) }
    try context.save()
    let other = library.container.newContext()
    let same = try #require(other.object(with: a.objectID) as? Book)
    same.tags.insert(try #require(other.object(with: tags[0].objectID) as? Tag))
    a.tags.insert(tags[1])
    try other.save()
    try context.save()
    #expect(try library.container.performAndWait { try $0.fetch(Book.self)[0].tags.count } == 2)
  }

  @Test("An ordered relationship keeps its order")
  func ordered() throws {
    let a = try book("A")
    let chapters = try ["one", "two", "three"].map { title in
      let chapter = try context.insert(Chapter.self)
      chapter[Chapter.title] = title
      return chapter
    }
    a.chapters = [chapters[2], chapters[0], chapters[1]]
    try context.save()
    func stored() throws -> [String?] {
      try library.container.performAndWait {
        try $0.fetch(Book.self)[0].chapters.map { $0[Chapter.title] }
      }
    }
    #expect(try stored() == ["three", "one", "two"])
    a.chapters.sort { ($0[Chapter.title] ?? "") < ($1[Chapter.title] ?? "") }
    let last = try context.insert(Chapter.self)
    last[Chapter.title] = "last"
    last[Chapter.book] = a
    try context.save()
    #expect(try stored() == ["one", "three", "two", "last"])
  }

  @Test("Nullify frees the other end, cascade takes it along, deny keeps the object")
  func deleteRules() throws {
    let eco = try author("Eco")
    let a = try book("A")
    a.author = eco
    let chapter = try context.insert(Chapter.self)
    a.chapters = [chapter]
    let tag = try context.insert(Tag.self)
    a.tags = [tag]
    try context.save()

    context.delete(eco)
    #expect(a.author == nil && a.isUpdated)
    try context.save()

    context.delete(tag)
    let failure = #expect(throws: ValidationFailure.self) { try context.save() }
    #expect((failure?.items.first?.error as? ValidationError)?.code == 1600)
    context.rollback()

    context.delete(a)
    #expect(chapter.isDeleted && a.isDeleted)
    context.delete(tag)
    try context.save()
    let left = try library.container.performAndWait { other in
      try [
        other.count(Author.self), other.count(Book.self), other.count(Chapter.self),
        other.count(Tag.self),
      ]
    }
    #expect(left == [0, 0, 0, 0])
  }

  @Test("A new object just goes, with what it cascades to")
  func deletingNewObjects() throws {
    let a = try book("A")
    a.chapters = RelatedObjects(try (0..<50).map { _ in try context.insert(Chapter.self) })
    context.delete(a)
    #expect(!context.hasChanges && a.managedObjectContext == nil)
    try context.save()
    #expect(try context.count(Chapter.self) == 0)
  }

  @Test("An object of another context is refused")
  func foreignObjects() throws {
    let a = try book("A")
    let other = library.container.newContext()
    let stranger = try other.insert(Author.self)
    a.author = stranger
    #expect(a.author == nil)
    let error = #expect(throws: ObjectError.self) { try context.save() }
    #expect(error?.code == .foreignObject)
  }
}
