import Driftless
import DriftlessSQLite
import Foundation

/// `LibraryData` twice: in a store, and as objects in memory.
final class Library {
  static func model() throws -> ManagedObjectModel {
    let author = EntityDescription("Author")
    author.properties = [
      AttributeDescription("name", .string), AttributeDescription("born", .integer64),
      RelationshipDescription("books", to: "Book", inverse: "author", toMany: true),
      RelationshipDescription("edited", to: "Book", inverse: "editor", toMany: true),
    ]
    let book = EntityDescription("Book")
    book.properties = [
      AttributeDescription("title", .string), AttributeDescription("pages", .integer64),
      AttributeDescription("price", .decimal), AttributeDescription("weight", .double),
      AttributeDescription("isRead", .boolean), AttributeDescription("published", .date),
      AttributeDescription("cover", .binaryData), AttributeDescription("isbn", .uuid),
      AttributeDescription("link", .uri),
      RelationshipDescription("author", to: "Author", inverse: "books"),
      RelationshipDescription("editor", to: "Author", inverse: "edited"),
      RelationshipDescription("tags", to: "Tag", inverse: "books", toMany: true),
    ]
    let comic = EntityDescription("Comic")
    comic.superentityName = "Book"
    let tag = EntityDescription("Tag")
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("books", to: "Book", inverse: "tags", toMany: true),
    ]
    let model = ManagedObjectModel(entities: [author, book, comic, tag])
    try model.freeze()
    return model
  }

  let store: PersistentStore
  private(set) var books: [Sample] = []

  init() throws {
    store = try PersistentStore.open(url: nil, model: Self.model(), options: StoreOptions())
    try fillStore()
    fillMemory()
  }

  func entity(_ name: String) throws -> EntityDescription {
    guard let entity = store.schema.model.entitiesByName[name] else {
      throw FetchError(.unknownKey, "No entity \(name)", suggestion: "Add it.")
    }
    return entity
  }

  // MARK: The store

  private func fillStore() throws {
    let (author, book, tag) = (try entity("Author"), try entity("Book"), try entity("Tag"))
    _ = try store.write(TransactionInfo()) { transaction in
      func insert(_ entity: EntityDescription, _ rows: [[String: PropertyValue]]) throws {
        let keys = try transaction.allocateKeys(entity, count: rows.count)
        for (key, row) in zip(keys, rows) {
          let values = entity.layout.slots.map { row[$0.name] ?? .null }
          try transaction.insert(entity, key, values: values)
        }
      }
      try insert(author, LibraryData.authors)
      try insert(tag, LibraryData.tags.map { ["name": $0.map { .string($0) } ?? .null] })
      try insert(
        book,
        LibraryData.books.map { row in
          var values = row.values
          values["author"] = row.author.map { .reference(self.author(Int64($0 + 1))) } ?? .null
          values["editor"] = row.editor.map { .reference(self.author(Int64($0 + 1))) } ?? .null
          return values
        })
      guard let tags = book.relationshipsByName["tags"] else { return }
      for (index, row) in LibraryData.books.enumerated() {
        try transaction.addPairs(
          tags, self.book(Int64(index + 1)),
          row.tags.map { self.tag(Int64($0 + 1)) })
      }
    }
  }

  private func key(_ name: String, _ key: Int64) -> ObjectKey {
    let number = (try? entity(name)).map(store.schema.entityNumber(of:)) ?? 0
    return ObjectKey(entity: number, key: key)
  }

  func author(_ key: Int64) -> ObjectKey { self.key("Author", key) }
  func book(_ key: Int64) -> ObjectKey { self.key("Book", key) }
  func tag(_ key: Int64) -> ObjectKey { self.key("Tag", key) }

  func compile(
    _ predicate: FetchPredicate?, entity name: String = "Book", sort: [FetchSort] = [],
    limit: Int = 0, offset: Int = 0, includesSubentities: Bool = true,
    selection: QuerySelection = .keys
  ) throws -> CompiledQuery {
    try QueryCompiler(schema: store.schema).compile(
      entity: entity(name), predicate: predicate, sort: sort, limit: limit, offset: offset,
      includesSubentities: includesSubentities, selection: selection)
  }

  func compileRows(_ request: FetchRequest<FetchedRow>) throws -> CompiledQuery {
    try QueryCompiler(schema: store.schema).compileRows(request, of: entity("Book")).query
  }

  func rows(_ query: CompiledQuery) throws -> [[SQLiteValue]] {
    try store.read { transaction in
      let statement = try transaction.connection.prepareUncached(query.sql)
      statement.bind(query.bindings)
      var rows: [[SQLiteValue]] = []
      while try statement.step() {
        rows.append((0..<Int32(statement.columnCount)).map(statement.value))
      }
      return rows
    }
  }

  /// The primary keys of the books that the store finds.
  func keys(
    _ predicate: FetchPredicate?, sort: [FetchSort] = [], limit: Int = 0, offset: Int = 0
  ) throws -> [Int64] {
    try rows(compile(predicate, sort: sort, limit: limit, offset: offset)).map { row in
      if case .integer(let key) = row[0] { key } else { 0 }
    }
  }

  // MARK: Memory

  private func fillMemory() {
    let authors = LibraryData.authors.enumerated().map { Sample(author(Int64($0 + 1)), $1) }
    let tags = LibraryData.tags.enumerated().map { index, name in
      Sample(tag(Int64(index + 1)), ["name": name.map { .string($0) } ?? .null])
    }
    func object(_ place: Int?) -> PredicateValue {
      place.map { .object(authors[$0]) } ?? .scalar(.null)
    }
    books = LibraryData.books.enumerated().map { index, row in
      let book = Sample(book(Int64(index + 1)), row.values)
      book.entity = try? entity("Book")
      book.values["author"] = object(row.author)
      book.values["editor"] = object(row.editor)
      book.values["tags"] = .objects(row.tags.map { tags[$0] })
      return book
    }
    let rows = zip(books, LibraryData.books)
    for (place, author) in authors.enumerated() {
      author.values["books"] = .objects(rows.filter { $0.1.author == place }.map(\.0))
      author.values["edited"] = .objects(rows.filter { $0.1.editor == place }.map(\.0))
    }
    for book in books {
      book.fetch = { [unowned self, authors, tags] fetch in
        let all = ["Author": authors, "Tag": tags][fetch.entityName] ?? self.books
        let found = try all.filter { try fetch.predicate?.matches($0) ?? true }
          .sorted { try fetch.sort.areInIncreasingOrder($0, $1) }.dropFirst(fetch.offset)
        return fetch.limit > 0 ? Array(found.prefix(fetch.limit)) : Array(found)
      }
    }
    for (place, tag) in tags.enumerated() {
      tag.values["books"] = .objects(rows.filter { $0.1.tags.contains(place) }.map(\.0))
    }
  }
}
