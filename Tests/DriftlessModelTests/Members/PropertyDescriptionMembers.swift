import Foundation
import Testing

@testable import Driftless

/// Each member of `NSPropertyDescription`, by an attribute.
struct PropertyDescriptionMembers {
  @Test("A new property is optional, not transient, not indexed, and belongs to no entity")
  func defaults() {
    let property = AttributeDescription()
    #expect(property.name == "" && property.entity == nil)
    #expect(property.isOptional && !property.isTransient && !property.isIndexed)
    #expect(!property.isIndexedBySpotlight && !property.isStoredInExternalRecord)
    #expect(property.validationPredicates.isEmpty && property.validationWarnings.isEmpty)
    #expect(property.userInfo.isEmpty && property.versionHashModifier == nil)
  }

  @Test("What is set is kept, copied, written to a model file and read back")
  func kept() throws {
    let property = AttributeDescription("title", .string)
    property.isOptional = false
    property.isTransient = true
    property.isIndexed = true
    property.isIndexedBySpotlight = true
    property.isStoredInExternalRecord = true
    property.userInfo = ["k": "v"]
    property.versionHashModifier = "v2"
    property.renamingIdentifier = "name"
    let entity = EntityDescription("Book")
    entity.properties = [property]
    let model = ManagedObjectModel(entities: [entity])
    for copy in [try model.copy(), try ManagedObjectModel(xml: ModelDocument.xml(of: model))] {
      let twin = try #require(copy.entities[0].propertiesByName["title"])
      #expect(!twin.isOptional && twin.isTransient && twin.isIndexed)
      #expect(twin.isIndexedBySpotlight && twin.isStoredInExternalRecord)
      #expect(twin.userInfo == ["k": "v"] && twin.versionHashModifier == "v2")
      #expect(twin.renamingIdentifier == "name" && twin.entity === copy.entities[0])
    }
    property.isIndexedBySpotlight = false
    property.isStoredInExternalRecord = false
    #expect(!property.isIndexedBySpotlight && !property.isStoredInExternalRecord)
  }

  @Test("A property's renaming identifier is its name until one is set")
  func renamingIdentifier() {
    let property = AttributeDescription("title", .string)
    #expect(property.renamingIdentifier == "title")
    property.renamingIdentifier = "name"
    #expect(property.renamingIdentifier == "name")
    property.renamingIdentifier = nil
    #expect(property.renamingIdentifier == "title")
  }

  @Test("A property has a hash of its own, of what a store depends on")
  func versionHash() {
    func hash(_ change: (AttributeDescription) -> Void = { _ in }) -> Data {
      let property = AttributeDescription("title", .string)
      change(property)
      return property.versionHash
    }
    #expect(hash().count == 32)
    #expect(hash() != hash { $0.name = "name" })
    #expect(hash() != hash { $0.isOptional = false })
    #expect(hash() != hash { $0.versionHashModifier = "2" })
    #expect(hash() == hash { $0.defaultValue = .string("x") })
  }

  @Test("Validation predicates look at the value as SELF; a warning is the message or the code")
  func validation() throws {
    let pages = AttributeDescription("pages", .integer32)
    pages.setValidationPredicates(
      [try FetchPredicate(format: "SELF > 0"), try FetchPredicate(format: "SELF != 13")],
      withValidationWarnings: ["A book has pages", 1620])
    #expect(pages.validationPredicates.count == 2)
    #expect(pages.validationWarnings == [.message("A book has pages"), .code(1620)])
    try pages.validate(.integer(12))
    try pages.validate(.null)
    let none = #expect(throws: ValidationError.self) { try pages.validate(.integer(0)) }
    #expect(none?.code == 1550 && none?.localizedDescription == "A book has pages")
    #expect(none?.predicate == pages.validationPredicates[0])
    let unlucky = #expect(throws: ValidationError.self) { try pages.validate(.integer(13)) }
    #expect(unlucky?.code == 1620 && unlucky?.localizedDescription == "pages is too small.")
    pages.setValidationPredicates(nil, withValidationWarnings: nil)
    try pages.validate(.integer(0))
  }

  @Test("Texts are tested by their length and by patterns; a predicate of another kind is an error")
  func textValidation() throws {
    let title = AttributeDescription("title", .string)
    func check(_ format: String, _ text: String) throws -> Int? {
      title.setValidationPredicates(
        [try FetchPredicate(format: format)], withValidationWarnings: nil)
      do {
        try title.validate(.string(text))
        return nil
      } catch {
        return error.code
      }
    }
    #expect(try check("length >= 2", "ab") == nil)
    #expect(try check("length >= 2", "a") == 1550)
    #expect(try check("SELF.length < 3", "abc") == 1550)
    #expect(try check(#"SELF MATCHES "[a-z]+""#, "abc") == nil)
    #expect(try check(#"SELF MATCHES "[a-z]+""#, "abC") == 1550)
    #expect(try check(#"SELF IN {"a", "b"}"#, "b") == nil)
    #expect(try check(#"SELF IN {"a", "b"}"#, "c") == 1550)
    #expect(try check("author.name == nil", "a") == 1550)
  }

  @Test("Bounds and patterns are validation predicates, and come back from them")
  func bounds() throws {
    let title = AttributeDescription("title", .string)
    (title.minimum, title.maximum) = (.integer(2), .integer(80))
    title.regularExpression = "[A-Z].*"
    #expect(
      title.validationPredicates.map(\.description)
        == ["length >= 2", "length <= 80", #"SELF MATCHES "[A-Z].*""#])
    #expect(title.validationWarnings == [1670, 1660, 1680])
    let copy = AttributeDescription("title", .string)
    copy.setValidationPredicates(
      title.validationPredicates, withValidationWarnings: title.validationWarnings)
    #expect(copy.minimum == .integer(2) && copy.maximum == .integer(80))
    #expect(copy.regularExpression == "[A-Z].*" && copy.ownPredicates.isEmpty)
    let price = AttributeDescription("price", .decimal)
    price.setValidationPredicates(
      [try FetchPredicate(format: "SELF >= 0"), try FetchPredicate(format: "SELF <= 9.5")],
      withValidationWarnings: [1620, "Too dear"])
    #expect(price.minimum == .decimal(0) && price.maximum == nil)
    #expect(price.validationWarnings == [1620, "Too dear"])
    let day = AttributeDescription("day", .date)
    day.minimum = .date(Date(timeIntervalSinceReferenceDate: 0))
    day.setValidationPredicates(
      day.validationPredicates, withValidationWarnings: day.validationWarnings)
    #expect(day.minimum == .date(Date(timeIntervalSinceReferenceDate: 0)))
    #expect(day.validationWarnings == [1640] && day.ownPredicates.isEmpty)
  }

  @Test("Predicates of one's own are copied with a model; a model file has no place for them")
  func predicatesAreKept() throws {
    let pages = AttributeDescription("pages", .integer32)
    pages.setValidationPredicates(
      [try FetchPredicate(format: "SELF > 0")], withValidationWarnings: ["A book has pages"])
    let entity = EntityDescription("Book")
    entity.properties = [pages]
    let model = ManagedObjectModel(entities: [entity])
    let twin = try #require(try model.copy().entities[0].propertiesByName["pages"])
    #expect(twin.validationPredicates == pages.validationPredicates)
    #expect(twin.validationWarnings == pages.validationWarnings)
    let hash = model.entityVersionHashesByName
    let error = #expect(throws: ModelError.self) { try ModelDocument.xml(of: model) }
    #expect(error?.element == "Book.pages")
    pages.setValidationPredicates(nil, withValidationWarnings: nil)
    #expect(model.entityVersionHashesByName == hash)
  }

  @Test("Predicates and warnings come in pairs, or the model is refused")
  func pairs() throws {
    let pages = AttributeDescription("pages", .integer32)
    pages.setValidationPredicates(
      [try FetchPredicate(format: "SELF > 0"), try FetchPredicate(format: "SELF < 9")],
      withValidationWarnings: ["Too few"])
    let entity = EntityDescription("Book")
    entity.properties = [pages]
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(entities: [entity]).freeze()
    }
    #expect(error?.element == "Book.pages")
  }

  @Test("An attribute's predicate that looks at more than the value is refused with the model")
  func predicatesOfOtherThings() throws {
    func failure(_ format: String, _ type: AttributeType) throws -> ModelError? {
      let attribute = AttributeDescription("x", type)
      attribute.setValidationPredicates(
        [try FetchPredicate(format: format)], withValidationWarnings: nil)
      let entity = EntityDescription("A")
      entity.properties = [attribute]
      do {
        try ManagedObjectModel(entities: [entity]).freeze()
        return nil
      } catch {
        return error
      }
    }
    #expect(try failure("SELF != nil", .integer16) == nil)
    #expect(try failure("length > 3", .string) == nil)
    #expect(try failure("length > 3", .integer16)?.code == .unknownProperty)
    #expect(try failure("author.name == nil", .string)?.element == "A.x")
  }

  @Test("A save checks predicates of attributes and of relationships")
  func savesCheckPredicates() throws {
    let shelf = EntityDescription("Shelf")
    let books = RelationshipDescription("books", to: "Book", inverse: "shelf", toMany: true)
    books.setValidationPredicates(
      [try FetchPredicate(format: "SELF.@count < 3")], withValidationWarnings: ["The shelf is full"]
    )
    shelf.properties = [AttributeDescription("name", .string), books]
    let book = EntityDescription("Book")
    let home = RelationshipDescription("shelf", to: "Shelf", inverse: "books")
    home.setValidationPredicates(
      [try FetchPredicate(format: #"name != "attic""#)], withValidationWarnings: ["Not up there"])
    let title = AttributeDescription("title", .string)
    title.setValidationPredicates(
      [try FetchPredicate(format: #"SELF != "?""#)], withValidationWarnings: ["A real title"])
    book.properties = [title, home]
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel(entities: [shelf, book]))
    try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    func failures() -> Set<String> {
      do {
        try context.save()
        return []
      } catch {
        let items = (error as? ValidationFailure)?.items ?? []
        return Set(items.map { $0.error.localizedDescription })
      }
    }
    let attic = try context.insert(entityNamed: "Shelf")
    try attic.setValue("attic", forKey: "name")
    for _ in 0..<3 {
      let one = try context.insert(entityNamed: "Book")
      try one.setValue("?", forKey: "title")
      try one.setValue(attic, forKey: "shelf")
    }
    #expect(failures() == ["The shelf is full", "Not up there", "A real title"])
    try attic.setValue("hall", forKey: "name")
    for (number, object) in context.insertedObjects.filter({ $0.entity.name == "Book" })
      .enumerated()
    {
      try object.setValue("\(number)", forKey: "title")
      if number == 0 { try object.setValue(nil, forKey: "shelf") }
    }
    #expect(failures() == [])
  }
}
