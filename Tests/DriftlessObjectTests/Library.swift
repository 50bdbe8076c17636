import Driftless
import Foundation
import TestSupport

/// The model that the tests share, and a store of it in a directory of its own.
struct Library {
  let directory: TemporaryDirectory
  let container: PersistentContainer

  init() throws {
    ManagedObject.register(Author.self, Book.self, Tag.self, Chapter.self, Novel.self, Link.self)
    directory = try TemporaryDirectory()
    container = PersistentContainer(
      name: "Library", model: Self.model(),
      storeURL: directory.url.appendingPathComponent("library.sqlite"))
    try container.loadPersistentStores()
  }

  /// A second stack on the same file, as another process would have it.
  func another() throws -> PersistentContainer {
    let other = PersistentContainer(
      name: "Other", model: Self.model(), storeURL: container.storeURL)
    try other.loadPersistentStores()
    return other
  }

  static func model() -> ManagedObjectModel {
    let author = EntityDescription("Author")
    author.managedObjectClassName = "Author"
    author.properties = [
      AttributeDescription("name", .string, isOptional: false),
      RelationshipDescription("books", to: "Book", inverse: "author", toMany: true),
      RelationshipDescription("master", to: "Author", inverse: "pupil"),
      RelationshipDescription("pupil", to: "Author", inverse: "master"),
    ]
    let pages = AttributeDescription("pages", .integer32, defaultValue: .integer(1))
    pages.minimum = .integer(0)
    let book = EntityDescription("Book")
    book.managedObjectClassName = "Book"
    book.properties = [
      AttributeDescription("title", .string, isOptional: false, defaultValue: .string("?")),
      pages,
      AttributeDescription("price", .decimal), AttributeDescription("weight", .double),
      AttributeDescription("isRead", .boolean), AttributeDescription("printed", .date),
      AttributeDescription("cover", .binaryData), AttributeDescription("code", .uuid),
      AttributeDescription("page", .uri), AttributeDescription("genre", .string),
      RelationshipDescription("author", to: "Author", inverse: "books"),
      RelationshipDescription("tags", to: "Tag", inverse: "books", toMany: true),
      RelationshipDescription(
        "chapters", to: "Chapter", inverse: "book", toMany: true, isOrdered: true,
        deleteRule: .cascade),
    ]
    let novel = EntityDescription("Novel")
    novel.managedObjectClassName = "Novel"
    novel.properties = [AttributeDescription("hero", .string)]
    book.subentities = [novel]
    let tag = EntityDescription("Tag")
    tag.managedObjectClassName = "Tag"
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "books", to: "Book", inverse: "tags", toMany: true, deleteRule: .deny),
    ]
    let chapter = EntityDescription("Chapter")
    chapter.managedObjectClassName = "Chapter"
    chapter.properties = [
      AttributeDescription("title", .string),
      RelationshipDescription("book", to: "Book", inverse: "chapters"),
    ]
    let link = EntityDescription("Link")
    link.managedObjectClassName = "Link"
    link.properties = [
      RelationshipDescription("next", to: "Link", inverse: "previous", deleteRule: .cascade),
      RelationshipDescription("previous", to: "Link", inverse: "next"),
    ]
    return ManagedObjectModel(entities: [author, book, novel, tag, chapter, link])
  }
}

enum Genre: String, AttributeConvertible { case novel, essay }

final class Author: ManagedObject {
  static let name = Attribute<Author, String>("name")
  static let books = ToMany<Author, Book>("books")
  static let master = ToOne<Author, Author>("master")
  static let pupil = ToOne<Author, Author>("pupil")

  var name: String {
    get { self[Author.name] }
    set { self[Author.name] = newValue }
  }
  var books: RelatedObjects<Book> {
    get { self[Author.books] }
    set { self[Author.books] = newValue }
  }
}

class Book: ManagedObject {
  static let title = Attribute<Book, String>("title")
  static let pages = Attribute<Book, Int>("pages")
  static let price = Attribute<Book, Decimal?>("price")
  static let weight = Attribute<Book, Double?>("weight")
  static let isRead = Attribute<Book, Bool>("isRead")
  static let printed = Attribute<Book, Date?>("printed")
  static let cover = Attribute<Book, Data?>("cover")
  static let code = Attribute<Book, UUID?>("code")
  static let page = Attribute<Book, URL?>("page")
  static let genre = Attribute<Book, Genre>("genre", default: .essay)
  static let author = ToOne<Book, Author>("author")
  static let tags = ToMany<Book, Tag>("tags")
  static let chapters = ToMany<Book, Chapter>("chapters")

  var title: String {
    get { self[Book.title] }
    set { self[Book.title] = newValue }
  }
  var pages: Int {
    get { self[Book.pages] }
    set { self[Book.pages] = newValue }
  }
  var author: Author? {
    get { self[Book.author] }
    set { self[Book.author] = newValue }
  }
  var tags: RelatedObjects<Tag> {
    get { self[Book.tags] }
    set { self[Book.tags] = newValue }
  }
  var chapters: RelatedObjects<Chapter> {
    get { self[Book.chapters] }
    set { self[Book.chapters] = newValue }
  }

  /// What happened to it.
  var log: [String] = []

  override func awakeFromInsert() { log.append("awakeFromInsert") }
  override func awakeFromFetch() { log.append("awakeFromFetch") }
  /// Whether its next `willSave` makes another book.
  var insertsAtSave = false

  override func willSave() {
    log.append("willSave")
    guard insertsAtSave else { return }
    insertsAtSave = false
    try? managedObjectContext?.insert(Book.self).title = "clone"
  }
  override func didSave() { log.append("didSave") }
  override func prepareForDeletion() { log.append("prepareForDeletion") }
  override func willTurnIntoFault() { log.append("willTurnIntoFault") }
  override func didTurnIntoFault() { log.append("didTurnIntoFault") }
}

final class Novel: Book {
  static let hero = Attribute<Novel, String?>("hero")
}

final class Tag: ManagedObject {
  static let name = Attribute<Tag, String?>("name")
  static let books = ToMany<Tag, Book>("books")

  var name: String? {
    get { self[Tag.name] }
    set { self[Tag.name] = newValue }
  }
}

final class Chapter: ManagedObject {
  static let title = Attribute<Chapter, String?>("title")
  static let book = ToOne<Chapter, Book>("book")

  var title: String? {
    get { self[Chapter.title] }
    set { self[Chapter.title] = newValue }
  }
  var book: Book? {
    get { self[Chapter.book] }
    set { self[Chapter.book] = newValue }
  }
}

final class Link: ManagedObject {
  static let next = ToOne<Link, Link>("next")
}

/// Calls `body` for each such notification of an object, on the thread that posts it.
func observe(
  _ name: Notification.Name, of object: AnyObject, _ body: @escaping () -> Void
) -> any NSObjectProtocol {
  nonisolated(unsafe) let body = body  // a context posts where it is used
  return NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) { _ in
    body()
  }
}
