import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Rows that another process made rows of another entity of their hierarchy, under the same key and version.
struct ChangedEntityTests {
  private let library: Library
  private let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  private func file(_ url: URL?) throws -> SQLiteConnection {
    try SQLiteConnection(path: try #require(url).path, mode: .readWrite)
  }

  private var path: URL? { library.container.storeURL }

  /// Makes the row one of another entity.
  private func turn(_ object: ManagedObject, into name: String) throws {
    let file = try file(path)
    defer { file.close() }
    try file.execute(
      """
      UPDATE ZBOOK SET Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = '\(name)')
      WHERE Z_PK = \(object.objectID.key.key)
      """)
  }

  /// Of each row the title, the entity's name and the version, and how many changes the history has.
  private func rows() throws -> [[SQLiteValue]] {
    let file = try file(path)
    defer { file.close() }
    return try file.rows(
      """
      SELECT ZTITLE, (SELECT Z_NAME FROM Z_PRIMARYKEY p WHERE p.Z_ENT = b.Z_ENT), Z_OPT,
      (SELECT count(*) FROM ACHANGE) FROM ZBOOK b ORDER BY Z_PK
      """)
  }

  private func book(_ title: String) throws -> Book {
    let book = try context.insert(Book.self)
    book.title = title
    return book
  }

  // MARK: Writes

  @Test("A save writes nothing into the row of another entity")
  func update() throws {
    let book = try book("b")
    try context.save()
    try turn(book, into: "Novel")
    let before = try rows()
    book.title = "mine"
    let error = #expect(throws: SaveConflictError.self) { try context.save() }
    #expect(error?.conflicts.first?.newVersionNumber == 0)
    #expect(try rows() == before)
  }

  @Test(
    "By the store's side of a merge policy the object is gone; it cannot be made anew, since its key is taken",
    arguments: [
      MergePolicyType.mergeByPropertyStoreTrump, .rollback, .mergeByPropertyObjectTrump, .overwrite,
    ])
  func policies(_ policy: MergePolicyType) throws {
    let book = try book("b")
    try context.save()
    try turn(book, into: "Novel")
    let before = try rows()
    book.title = "mine"
    context.mergePolicy = MergePolicy(merge: policy)
    if policy == .mergeByPropertyStoreTrump || policy == .rollback {
      try context.save()
      #expect(book.managedObjectContext == nil && book.isDeleted)
      #expect(try context.fetch(Book.self).first is Novel)
    } else {
      let error = #expect(throws: ObjectError.self) { try context.save() }
      #expect(error?.code == .unreadable)
      context.rollback()
      #expect(!context.hasChanges)
    }
    #expect(try rows() == before)
  }

  @Test("A delete leaves the row of another entity, and its pairs", arguments: [false, true])
  func delete(isFault: Bool) throws {
    let book = try book("b")
    let tag = try context.insert(Tag.self)
    tag[Tag.books].insert(book)
    try context.save()
    if isFault { try context.refresh(book, mergeChanges: false) }
    try turn(book, into: "Novel")
    let before = try rows()
    // Not by the object, whose deletion the tag would be told of.
    let key = book.objectKey
    _ = try library.container.persistentStoreCoordinator.persistentStores[0].write(
      TransactionInfo()
    ) { transaction in
      var writer = SaveWriter(context: context, plan: context.stores.plans[0])
      try writer.delete(book, transaction)
      #expect(writer.deleted.isEmpty && writer.staleDeletes == [book])
      #expect(try transaction.toManyKeys(of: key, Book.tagsRelationship(book)).count == 1)
    }
    #expect(try rows() == before)
    context.delete(book)
    context.delete(tag)
    try? context.save()
    #expect(try rows().count == 1)
  }

  @Test("A change of a to-many relationship alone is none of an object of another entity")
  func toMany() throws {
    let book = try book("b")
    let tag = try context.insert(Tag.self)
    try context.save()
    try turn(book, into: "Novel")
    let before = try rows()
    book.tags.insert(tag)
    #expect(throws: SaveConflictError.self) { try context.save() }
    #expect(try rows() == before)
  }

  @Test("A child's changes go into no object of another entity that the parent has")
  func child() throws {
    let novel = try context.insert(Novel.self)
    (novel.title, novel[Novel.hero]) = ("n", "h")
    let neighbours = try (0..<8).map { try book("neighbour \($0)") }
    try context.save()
    let child = ManagedObjectContext(parent: context)
    let own = try #require(try child.existingObject(with: novel.objectID) as? Novel)
    try turn(novel, into: "Book")
    let id = novel.objectID
    context.reset()
    let books = try context.fetch(Book.self)
    #expect(books.count == 9 && !books.contains { $0 is Novel })
    own[Novel.hero] = String(repeating: "x", count: 40)
    #expect(throws: SaveConflictError.self) { try child.save() }
    child.rollback()
    child.delete(own)
    try child.save()
    #expect(!context.hasChanges && context.registeredObject(for: id)?.isDeleted == false)
    #expect(books.allSatisfy { $0.title.count < 20 } && neighbours.count == 8)
  }

  // MARK: Pages

  @Test("A page does not take an object of another entity for one of the asked class")
  func batches() throws {
    for number in 0..<3 { try context.insert(Novel.self).title = "\(number)" }
    try context.save()
    let novels = try context.fetch(Novel.self)
    let fresh = library.container.newContext()
    var request = FetchRequest<Novel>(entityName: "Novel", sort: [FetchSort("title")])
    request.fetchBatchSize = 3
    let batches = try fresh.fetchBatches(request)
    try turn(novels[1], into: "Book")
    let books = try fresh.fetch(Book.self)
    #expect(books.filter { !($0 is Novel) }.count == 1)
    #expect(throws: ObjectError.self) { try batches.object(at: 1) }
    #expect(batches[0].title == "0" && batches[2].title == "2")
    let standIn = batches[1]
    #expect(standIn.managedObjectContext == nil && standIn[Novel.hero] == nil)
    #expect(fresh.accessorErrors.count == 1)
    #expect(books.allSatisfy { $0.managedObjectContext === fresh })
    fresh.clearAccessorErrors()
    #expect(try fresh.fetchBatches(request).map(\.title) == ["0", "2"])
  }

  @Test("A page that finds a row of another entity as it reads says so of its place alone")
  func readBatches() throws {
    for number in 0..<3 { try context.insert(Novel.self).title = "\(number)" }
    try context.save()
    let novels = try context.fetch(Novel.self)
    let fresh = library.container.newContext()
    let batches = try fresh.fetchBatches(
      FetchRequest<Novel>(entityName: "Novel", sort: [FetchSort("title")]))
    try turn(novels[1], into: "Book")
    #expect(throws: ObjectError.self) { try batches.object(at: 1) }
    #expect(try batches.object(at: 2).title == "2" && batches[0].title == "0")
    #expect(fresh.accessorErrors.isEmpty)
  }

  // MARK: Derived values

  @Test("Derived values of a row go into no object of another entity")
  func derived() throws {
    let shelf = EntityDescription("Shelf")
    shelf.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("parts", to: "Part", inverse: "shelf", toMany: true),
    ]
    let large = EntityDescription("Large")
    large.superentityName = "Shelf"
    let total = DerivedAttributeDescription()
    (total.name, total.type, total.derivationExpressionFormat) = (
      "total", .integer64, "parts.weight.@sum"
    )
    large.properties =
      (0..<6).map { AttributeDescription("a\($0)", .string) } + [total]
    let part = EntityDescription("Part")
    part.properties = [
      AttributeDescription("weight", .integer64),
      RelationshipDescription("shelf", to: "Shelf", inverse: "parts"),
    ]
    let url = library.directory.file("shelves.sqlite")
    let container = PersistentContainer(
      name: "Shelves", model: ManagedObjectModel(entities: [shelf, large, part]), storeURL: url)
    try container.loadPersistentStores()
    let context = container.newContext()
    for number in 0..<40 {
      let shelf = try context.insert(entityNamed: number % 2 == 0 ? "Large" : "Shelf")
      let part = try context.insert(entityNamed: "Part")
      (shelf["name"], part["shelf"]) = ("shelf \(number)", shelf)
    }
    try context.save()
    let shelves = try context.fetch(FetchRequest<ManagedObject>(entityName: "Shelf"))
    let parts = try context.fetch(FetchRequest<ManagedObject>(entityName: "Part"))
    let file = try file(url)
    try file.execute(
      "UPDATE ZSHELF SET Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Large')")
    file.close()
    for part in parts { part["weight"] = Int64(7) }
    try context.save()
    for shelf in shelves {
      #expect((shelf["name"] as? String)?.hasPrefix("shelf ") == true)
      if shelf.entity.name == "Large" { #expect(shelf["total"] as? Int64 == 7) }
    }
  }
}

extension Book {
  fileprivate static func tagsRelationship(_ book: Book) throws -> RelationshipDescription {
    try #require(book.entity.relationshipsByName["tags"])
  }
}
