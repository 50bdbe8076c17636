import Driftless
import Foundation
import TestSupport
import Testing

@Suite("Undo")
struct UndoTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
    context.undoManager = UndoManager()
  }

  private func titles() throws -> [String] {
    try library.container.newContext().fetch(Book.self, order: Book.title.ascending).map(\.title)
  }

  @Test("Without an undo manager there is nothing to take back")
  func without() throws {
    context.undoManager = nil
    let book = try context.insert(Book.self)
    book.title = "kept"
    context.undo()
    context.redo()
    #expect(book.title == "kept" && book.isInserted)
  }

  @Test("Each event is taken back as one, and done again; a new change leaves nothing to do again")
  func events() throws {
    let book = try context.insert(Book.self)
    try context.save()
    book.title = "one"
    book[Book.pages] = 10
    context.processPendingChanges()
    book.title = "two"
    context.undo()
    #expect(book.title == "one" && book[Book.pages] == 10)
    context.undo()
    #expect(book.title == "?" && book[Book.pages] == 1)
    #expect(!book.hasChanges && !context.hasChanges, "nothing differs from what was saved")
    context.redo()
    #expect(book.title == "one" && book[Book.pages] == 10 && book.hasChanges)
    context.redo()
    #expect(book.title == "two")
    context.redo()
    #expect(book.title == "two")
    context.undo()
    book.title = "three"
    context.processPendingChanges()
    #expect(context.undoManager?.canRedo == false)
    try context.save()
    #expect(try titles() == ["three"])
  }

  @Test("An insert goes and comes again with its values and links")
  func insert() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    context.processPendingChanges()
    let book = try context.insert(Book.self)
    book.title = "Baudolino"
    book.author = author
    context.undo()
    #expect(context.insertedObjects == [author])
    #expect(author[Author.books].isEmpty)
    context.redo()
    #expect(book.title == "Baudolino" && book.author === author)
    #expect(Array(author[Author.books]) == [book])
    try context.save()
    #expect(try titles() == ["Baudolino"])
  }

  @Test("A delete with its cascade is taken back, both ends of all links included")
  func delete() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    let book = try context.insert(Book.self)
    book.title = "Baudolino"
    book.author = author
    let chapters = try (0..<3).map { _ in try context.insert(Chapter.self) }
    for chapter in chapters { book[Book.chapters].insert(chapter) }
    try context.save()
    context.delete(book)
    context.processPendingChanges()
    #expect(author[Author.books].isEmpty && chapters.allSatisfy(\.isDeleted))
    context.undo()
    #expect(!book.isDeleted && !chapters.contains { $0.isDeleted })
    #expect(Array(author[Author.books]) == [book] && book.author === author)
    #expect(Array(book[Book.chapters]) == chapters)
    #expect(!context.hasChanges)
    context.redo()
    #expect(book.isDeleted && chapters.allSatisfy(\.isDeleted))
    try context.save()
    #expect(try titles() == [])
  }

  @Test("A delete that was saved comes back as the same object to the other replicas")
  func deleteAcrossSave() throws {
    let tag = try context.insert(Tag.self)
    let book = try context.insert(Book.self)
    book.title = "Baudolino"
    book[Book.tags].insert(tag)
    try context.save()
    let identity = try book.identity
    context.delete(book)
    try context.save()
    #expect(try titles() == [])
    context.undo()
    #expect(book.isInserted && book.title == "Baudolino")
    try context.save()
    #expect(try titles() == ["Baudolino"])
    #expect(try book.identity == identity)
    let other = library.container.newContext()
    #expect(try other.fetch(Book.self).first?[Book.tags].count == 1)
    context.undo()
    try context.save()
    #expect(try titles() == [])
  }

  @Test("An insert that was saved is taken back by a delete")
  func insertAcrossSave() throws {
    try context.insert(Book.self).title = "short lived"
    try context.save()
    context.undo()
    #expect(context.deletedObjects.count == 1)
    try context.save()
    #expect(try titles() == [])
  }

  @Test("The order of an ordered relationship is taken back")
  func order() throws {
    let book = try context.insert(Book.self)
    let chapters = try (0..<4).map { _ in try context.insert(Chapter.self) }
    book[Book.chapters] = RelatedObjects(chapters)
    try context.save()
    book[Book.chapters] = RelatedObjects(chapters.reversed())
    context.processPendingChanges()
    book[Book.chapters].remove(chapters[2])
    context.undo()
    #expect(Array(book[Book.chapters]) == chapters.reversed())
    context.undo()
    #expect(Array(book[Book.chapters]) == chapters)
  }

  @Test("Changes can be left out, grouped and named, and old groups go")
  func groups() throws {
    let undo = try #require(context.undoManager)
    let book = try context.insert(Book.self)
    context.processPendingChanges()
    undo.disableUndoRegistration()
    book.title = "not registered"
    undo.enableUndoRegistration()
    undo.beginUndoGrouping()
    book[Book.pages] = 2
    undo.setActionName("Count pages")
    undo.endUndoGrouping()
    context.processPendingChanges()
    #expect(undo.undoActionName == "Count pages")
    context.undo()
    #expect(book.title == "not registered" && book[Book.pages] == 1)
    #expect(undo.redoActionName == "Count pages")
    undo.levelsOfUndo = 2
    for page in 3...9 {
      book[Book.pages] = page
      context.processPendingChanges()
    }
    for _ in 0..<5 { context.undo() }
    #expect(book[Book.pages] == 7)
  }

  @Test("What was taken back can be done again after a save of that")
  func redoAcrossSave() throws {
    let book = try context.insert(Book.self)
    book.title = "one"
    try context.save()
    book.title = "two"
    try context.save()
    context.undo()
    try context.save()
    #expect(try titles() == ["one"])
    context.redo()
    #expect(book.title == "two" && book.hasChanges)
    try context.save()
    #expect(try titles() == ["two"])
  }

  @Test("A rollback and a reset leave nothing to take back")
  func rollback() throws {
    let book = try context.insert(Book.self)
    try context.save()
    book.title = "x"
    context.rollback()
    #expect(context.undoManager?.canUndo == false && book.title == "?")
    book.title = "y"
    context.reset()
    #expect(context.undoManager?.canUndo == false)
  }

  @Test("Random changes, taken back to the beginning and done again, lead to both states")
  func random() throws {
    var generator = SeededNumbers(seed: 11)
    let authors = try (0..<4).map { number in
      let author = try context.insert(Author.self)
      author.name = "\(number)"
      return author
    }
    try context.save()
    context.undoManager?.removeAllActions()
    var books: [Book] = []
    var steps = 0
    for _ in 0..<300 {
      switch Int.random(in: 0..<6, using: &generator) {
      case 0, 1:
        let book = try context.insert(Book.self)
        book.author = authors.randomElement(using: &generator)
        books.append(book)
      case 2: books.randomElement(using: &generator)?.title = "\(generator.next() % 1000)"
      case 3:
        books.randomElement(using: &generator)?.author = authors.randomElement(using: &generator)
      case 4:
        guard let book = books.randomElement(using: &generator), books.count > 5 else { continue }
        context.delete(book)
        books.removeAll { $0 === book }
      default:
        if Int.random(in: 0..<10, using: &generator) == 0 { try context.save() }
        continue
      }
      context.processPendingChanges()
      steps += 1
    }
    try context.save()
    let end = try state()
    for _ in 0..<steps { context.undo() }
    try context.save()
    #expect(try library.container.newContext().count(Book.self) == 0)
    for _ in 0..<steps { context.redo() }
    try context.save()
    #expect(try state() == end)
  }

  /// All books with their authors, as the store has them.
  private func state() throws -> [String] {
    try library.container.newContext().fetch(Book.self)
      .map { "\($0.title) by \($0.author?.name ?? "nobody")" }.sorted()
  }

  @Test("To forget all lets changes be registered again; to forget those of a target does not")
  func enabledAgain() throws {
    let undo = try #require(context.undoManager)
    let book = try context.insert(Book.self)
    try context.save()
    undo.disableUndoRegistration()
    undo.disableUndoRegistration()
    undo.removeAllActions(withTarget: book)
    #expect(!undo.isUndoRegistrationEnabled)
    undo.removeAllActions()
    #expect(undo.isUndoRegistrationEnabled)
    book.title = "changed"
    context.undo()
    #expect(book.title == "?")
  }
}
