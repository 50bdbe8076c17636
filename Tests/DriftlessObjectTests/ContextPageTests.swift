import Driftless
import Foundation
import TestSupport
import Testing

/// What the pages of Core Data's context and of parts of its model say, where it is easy to get otherwise.
struct ContextPageTests {
  private let library: Library
  private let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  private func saved(_ title: String, _ pages: Int = 1) throws -> Book {
    let book = try context.insert(Book.self)
    book.title = title
    book.pages = pages
    try context.save()
    return book
  }

  @Test("A temporary ID of a child finds the parents' objects, before and after they are saved")
  func temporaryIDsOfChildren() throws {
    let child = ManagedObjectContext(parent: context)
    let grandchild = ManagedObjectContext(parent: child)
    let book = try grandchild.insert(Book.self)
    book.title = "new"
    let id = book.objectID
    #expect(id.isTemporaryID && context.object(with: id) == nil)
    try grandchild.save()
    #expect((try child.existingObject(with: id) as? Book)?.title == "new")
    try child.save()
    let above = try #require(try context.existingObject(with: id) as? Book)
    #expect(above.title == "new" && above.isInserted)
    try context.save()
    #expect(try context.existingObject(with: id) === above)
    #expect(context.registeredObject(for: id) === above && !above.objectID.isTemporaryID)
    #expect(try child.existingObject(with: id).objectID == above.objectID)
    #expect(try grandchild.existingObject(with: id) === book)
  }

  @Test("An object that a child made under a permanent ID is one with the parent's fault of it")
  func permanentIDsOfChildren() throws {
    let child = ManagedObjectContext(parent: context)
    let book = try child.insert(Book.self)
    book.title = "known"
    try child.obtainPermanentIDs(for: [book])
    let early = try #require(context.object(with: book.objectID) as? Book)
    #expect(early.title == "")
    try child.save()
    #expect(early.title == "known" && early.isInserted && early.pages == 1)
    #expect(context.registeredObjects == [early])
    try context.save()
    #expect(try context.fetch(Book.self) == [early] && !early.hasChanges)
    #expect(try library.container.newContext().fetch(Book.self).map(\.title) == ["known"])
  }

  @Test("An object is made in no context, has its attributes there, and is taken in later")
  func looseObjects() throws {
    let entity = try #require(library.container.managedObjectModel.entitiesByName["Book"])
    let book = try Book(entity: entity, insertInto: nil)
    let other = try Book(entity: entity, insertInto: nil)
    #expect(book.managedObjectContext == nil && book.entity === entity && book.title == "?")
    #expect(!book.isInserted && !book.isFault && book.objectID != other.objectID)
    book.title = "draft"
    book["pages"] = 7
    try book.validateForInsert()
    #expect(try book.value(forKey: "pages") as? Int64 == 7 && book.author == nil)
    let author = try context.insert(Author.self)
    author.name = "Eco"
    try book.setValue(author, forKey: "author")
    #expect(throws: ObjectError.self) { try author.setValue([book], forKey: "books") }
    try context.insert(book)
    #expect(book.isInserted && book.managedObjectContext === context)
    book.author = author
    try context.insert(book)
    try context.save()
    let reader = library.container.newContext()
    #expect(try reader.fetch(Book.self).map(\.title) == ["draft"])
    #expect(try reader.fetch(Author.self).first?.books.first?.pages == 7)
    #expect(throws: ObjectError.self) { try reader.insert(book) }
    #expect(throws: ObjectError.self) {
      try ManagedObject(entity: EntityDescription("Book"), insertInto: nil)
    }
    #expect(throws: ObjectError.self) { try Author(entity: entity, insertInto: nil) }
    // What was in a context and is no more is taken in anew, unless it is related to others.
    context.delete(book)
    try context.save()
    #expect(throws: ObjectError.self) { try context.insert(book) }
    context.delete(author)
    try context.save()
    try context.insert(author)
    try context.save()
    #expect(try reader.fetch(Author.self).map(\.name) == ["Eco"])
  }

  @Test("A relationship that awakeFromFetch sets changes nothing, at either end")
  func awakening() throws {
    ManagedObject.register(Waking.self)
    let entity = EntityDescription("Waking")
    entity.managedObjectClassName = "Waking"
    entity.properties = [
      RelationshipDescription("next", to: "Waking", inverse: "former"),
      RelationshipDescription("former", to: "Waking", inverse: "next"),
      RelationshipDescription("parts", to: "Waking", inverse: "whole", toMany: true),
      RelationshipDescription("whole", to: "Waking", inverse: "parts"),
      RelationshipDescription(
        "friends", to: "Waking", inverse: "friends", toMany: true, isOrdered: true),
    ]
    let container = PersistentContainer(
      name: "Waking", model: ManagedObjectModel(entities: [entity]),
      storeURL: library.directory.file("waking.sqlite"))
    try container.loadPersistentStores()
    let writer = container.newContext()
    let ids = try [
      writer.insert(Waking.self), writer.insert(Waking.self), writer.insert(Waking.self),
    ]
    try ids[0].setValue([ids[2]], forKey: "parts")
    try ids[0].setValue([ids[2]], forKey: "friends")
    try writer.save()

    let reader = container.newContext()
    let other = try #require(try reader.existingObject(with: ids[1].objectID) as? Waking)
    let third = try #require(try reader.existingObject(with: ids[2].objectID) as? Waking)
    reader.userInfo["other"] = other
    let waking = try #require(try reader.existingObject(with: ids[0].objectID) as? Waking)
    #expect(try waking.value(forKey: "next") as? Waking === other)
    #expect(try other.value(forKey: "former") as? Waking == nil)
    #expect(try waking.value(forKey: "parts") as? [Waking] == [third])
    #expect(try waking.value(forKey: "friends") as? [Waking] == [third])
    #expect(!reader.hasChanges && reader.updatedObjects.isEmpty)
    for object in [waking, other, third] { #expect(object.changedValues().isEmpty) }
  }

  @Test("A fetched property gives by its name what its request finds, for the object that is asked")
  func fetchedProperties() throws {
    let model = Library.model()
    let similar = FetchedPropertyDescription()
    similar.name = "similar"
    similar.fetchRequest = FetchRequest<ManagedObject>(
      entityName: "Book",
      predicate: try FetchPredicate(
        format: "genre == $FETCH_SOURCE.genre AND SELF != $FETCH_SOURCE"),
      sort: [FetchSort("title")])
    model.entitiesByName["Book"]?.properties.append(similar)
    let container = PersistentContainer(
      name: "Fetched", model: model, storeURL: library.directory.file("fetched.sqlite"))
    try container.loadPersistentStores()
    let context = container.newContext()
    let books = try ["c", "a", "b"].map { title in
      let book = try context.insert(Book.self)
      book.title = title
      try book.setValue(title == "b" ? "poem" : "novel", forKey: "genre")
      return book
    }
    #expect(try books[0].value(forKey: "similar") as? [Book] == [books[1]])
    try context.save()
    try books[2].setValue("novel", forKey: "genre")
    #expect(try books[0].value(forKey: "similar") as? [Book] == [books[1], books[2]])
    #expect(throws: ObjectError.self) { try books[0].setValue([], forKey: "similar") }
  }

  @Test("A template keeps all of its request, through a model file too")
  func templates() throws {
    var request = FetchRequest<FetchedRow>(
      entityName: "Book", predicate: try FetchPredicate(format: "pages > $LEAST"),
      sort: [FetchSort("title")], limit: 7, offset: 1)
    request.propertiesToFetch = [
      "genre", "author.name",
      .expression("sum", try FetchExpression(format: "sum:(pages)"), .integer64),
    ]
    request.propertiesToGroupBy = ["genre", "author.name"]
    request.havingPredicate = try FetchPredicate(format: "sum > $SUM")
    request.relationshipKeyPathsForPrefetching = ["author", "author.books"]
    request.shouldRefreshRefetchedObjects = true
    request.returnsObjectsAsFaults = false
    request.includesSubentities = false
    request.returnsDistinctResults = true
    request.fetchBatchSize = 20
    let model = Library.model()
    model.setFetchRequestTemplate(request, forName: "long")
    #expect(try model.fetchRequestTemplate(forName: "long")?.fetchRequest().sort == request.sort)
    // A model file has no place for an order.
    request.sort = []
    model.setFetchRequestTemplate(request, forName: "long")
    let read = try ManagedObjectModel(xml: try ModelDocument.xml(of: model))
    for kept in [model, read] {
      let made = try #require(
        try kept.fetchRequestFromTemplate(
          withName: "long", substitutionVariables: ["LEAST": 3, "SUM": 100]))
      #expect(made.predicate?.description == "pages > 3")
      #expect(made.havingPredicate?.description == "sum > 100")
      #expect(made.propertiesToFetch == request.propertiesToFetch)
      #expect(made.propertiesToGroupBy == request.propertiesToGroupBy)
      #expect(made.relationshipKeyPathsForPrefetching == ["author", "author.books"])
      #expect(made.shouldRefreshRefetchedObjects && !made.returnsObjectsAsFaults)
      #expect(!made.includesSubentities && made.returnsDistinctResults)
      #expect(made.limit == 7 && made.offset == 1 && made.fetchBatchSize == 20)
      #expect(made.resultType == .dictionary)
    }
    var template = try #require(model.fetchRequestTemplate(forName: "long"))
    template.options["propertiesToFetch"] = "genre, pages"
    #expect(throws: FetchError.self) { try template.fetchRequest() }
  }
}

private final class Waking: ManagedObject {
  override func awakeFromFetch() {
    guard let other = managedObjectContext?.userInfo["other"] as? Waking else { return }
    try? setValue(other, forKey: "next")
    try? setValue([other], forKey: "parts")
    try? setValue([other], forKey: "friends")
  }
}
