import CoreData
import TestSupport
import Testing

/// Relationships of every kind, subentities, composite and transformable attributes in a binary store.
struct BinaryStoreGraphTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private static func model() -> NSManagedObjectModel {
    let (shelf, book, comic) = (
      NSEntityDescription(), NSEntityDescription(), NSEntityDescription()
    )
    (shelf.name, book.name, comic.name) = ("Shelf", "Book", "Comic")
    let row = Shop.relationship("row", to: book, max: 0)
    row.isOrdered = true
    let place = Shop.relationship("place", to: shelf, max: 1)
    (row.inverseRelationship, place.inverseRelationship) = (place, row)
    let readers = Shop.relationship("topics", to: shelf, max: 0)
    let topics = Shop.relationship("covers", to: book, max: 0)
    (readers.inverseRelationship, topics.inverseRelationship) = (topics, readers)
    let size = NSCompositeAttributeDescription()
    size.name = "size"
    size.isOptional = true
    size.elements = [
      Shop.attribute("height", .doubleAttributeType),
      Shop.attribute("width", .doubleAttributeType),
    ]
    let notes = Shop.attribute("notes", .transformableAttributeType)
    notes.valueTransformerName =
      NSValueTransformerName
      .secureUnarchiveFromDataTransformerName.rawValue
    shelf.properties = [Shop.attribute("name", .stringAttributeType), row, topics]
    book.properties = [
      Shop.attribute("name", .stringAttributeType), size, notes, place, readers,
      Shop.attribute("marks", .transformableAttributeType),
      Shop.attribute("price", .decimalAttributeType),
    ]
    book.subentities = [comic]
    let model = NSManagedObjectModel()
    model.entities = [shelf, book, comic]
    return model
  }

  private func context() throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
    try coordinator.addPersistentStore(type: .binary, at: folder.file("a.binary"))
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private func named(
    _ entity: String, _ name: String, _ context: NSManagedObjectContext
  ) -> NSManagedObject {
    let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
    object.setValue(name, forKey: "name")
    return object
  }

  private func names(_ value: Any?) -> [String?]? {
    (value as? NSOrderedSet)?.array.map {
      ($0 as? NSManagedObject)?.value(forKey: "name") as? String
    }
  }

  @Test("Orders, pairs, subentities and composite and transformable values come back")
  func graph() throws {
    let context = try context()
    try context.performAndWait {
      let (shelf, other) = (named("Shelf", "one", context), named("Shelf", "two", context))
      let books = ["c", "a", "b"].map { named($0 == "a" ? "Comic" : "Book", $0, context) }
      shelf.setValue(NSOrderedSet(array: books), forKey: "row")
      books[0].setValue(NSSet(array: [shelf, other]), forKey: "topics")
      books[0].setValue(["height": 2.5, "width": 1], forKey: "size")
      books[1].setValue(["x", "y"], forKey: "notes")
      try context.save()
      shelf.mutableOrderedSetValue(forKey: "row").moveObjects(at: IndexSet(integer: 2), to: 0)
      try context.save()
    }
    let again = try self.context()
    try again.performAndWait {
      let shelves = try again.fetch(NSFetchRequest<NSManagedObject>(entityName: "Shelf"))
      let shelf = try #require(shelves.first { $0.value(forKey: "name") as? String == "one" })
      #expect(names(shelf.value(forKey: "row")) == ["b", "c", "a"])
      let books = try again.fetch(NSFetchRequest<NSManagedObject>(entityName: "Book"))
      let first = try #require(books.first { $0.value(forKey: "name") as? String == "c" })
      #expect((first.value(forKey: "topics") as? Set<NSManagedObject>)?.count == 2)
      let size = first.value(forKey: "size") as? [String: Any]
      #expect(size?["height"] as? Double == 2.5 && size?["width"] as? Double == 1)
      let comics = try again.fetch(NSFetchRequest<NSManagedObject>(entityName: "Comic"))
      #expect(comics.count == 1 && books.count == 3)
      #expect(comics.first?.value(forKey: "notes") as? [String] == ["x", "y"])
    }
  }

  @Test("A transformable value without a transformer and a decimal that is no number come back")
  func oddValues() throws {
    let context = try context()
    try context.performAndWait {
      let book = named("Book", "odd", context)
      book.setValue(["a", "b"], forKey: "marks")
      book.setValue(NSDecimalNumber.notANumber, forKey: "price")
      named("Book", "dear", context).setValue(NSDecimalNumber(string: "12.5"), forKey: "price")
      try context.save()
    }
    let again = try self.context()
    try again.performAndWait {
      let books = try again.fetch(NSFetchRequest<NSManagedObject>(entityName: "Book"))
      let odd = try #require(books.first { $0.value(forKey: "name") as? String == "odd" })
      #expect(odd.value(forKey: "marks") as? [String] == ["a", "b"])
      #expect((odd.value(forKey: "price") as? NSDecimalNumber)?.decimalValue.isNaN == true)
      let dear = try #require(books.first { $0 !== odd })
      #expect(dear.value(forKey: "price") as? NSDecimalNumber == 12.5)
      odd.setValue(nil, forKey: "marks")
      try again.save()
    }
  }

  @Test("The URI of a deleted object is not given again, and is nothing that metadata show")
  func deletedNewest() throws {
    let context = try context()
    let gone = try context.performAndWait {
      _ = named("Book", "kept", context)
      try context.save()
      let newest = named("Comic", "newest", context)
      try context.save()
      let uri = newest.objectID.uriRepresentation()
      context.delete(newest)
      try context.save()
      return uri
    }
    let url = folder.file("a.binary")
    var metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      type: .binary, at: url)
    #expect(!metadata.keys.contains { $0.contains("Next") })
    metadata["own"] = "value"
    try NSPersistentStoreCoordinator.setMetadata(metadata, type: .binary, at: url)
    let again = try self.context()
    try again.performAndWait {
      let book = named("Book", "new", again)
      try again.save()
      #expect(book.objectID.uriRepresentation() != gone)
    }
  }
}
