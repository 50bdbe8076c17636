import Foundation
import Testing

@testable import Driftless

/// Each member of `NSRelationshipDescription` and `NSFetchedPropertyDescription`.
struct RelationshipDescriptionMembers {
  @Test("A new relationship is to-many without bounds, unordered, and nullifies")
  func defaults() {
    let relationship = RelationshipDescription()
    #expect(relationship.isToMany && relationship.minCount == 0 && relationship.maxCount == 0)
    #expect(!relationship.isOrdered && relationship.deleteRule == .nullify)
    #expect(relationship.destinationEntity == nil && relationship.inverseRelationship == nil)
  }

  @Test("A relationship is to-many unless at most one object is allowed, whatever the least")
  func isToMany() {
    let relationship = RelationshipDescription()
    for (least, most, isToMany) in [(0, 1, false), (1, 1, false), (0, 2, true), (5, 0, true)] {
      (relationship.minCount, relationship.maxCount) = (least, most)
      #expect(relationship.isToMany == isToMany)
    }
  }

  @Test("Destination and inverse are set by description, at both ends")
  func ends() throws {
    let (book, author) = (EntityDescription("Book"), EntityDescription("Author"))
    let (books, writer) = (RelationshipDescription(), RelationshipDescription())
    (books.name, writer.name) = ("books", "author")
    writer.maxCount = 1
    (books.destinationEntity, writer.destinationEntity) = (book, author)
    (books.inverseRelationship, writer.inverseRelationship) = (writer, books)
    book.properties = [writer]
    author.properties = [books]
    #expect(books.destinationEntityName == "Book" && books.inverseRelationshipName == "author")
    try ManagedObjectModel(entities: [book, author]).freeze()
    #expect(books.destinationEntity === book && books.inverseRelationship === writer)
    #expect(writer.inverseRelationship === books && writer.entity === book)
  }

  @Test("Delete rules have Core Data's numbers; counts, order and rule survive a copy and a file")
  func kept() throws {
    let rules: [DeleteRule] = [.noAction, .nullify, .cascade, .deny]
    #expect(rules.map(\.rawValue) == [0, 1, 2, 3])
    for rule in rules {
      let relationship = RelationshipDescription("all", to: "A", inverse: nil, toMany: true)
      relationship.deleteRule = rule
      relationship.isOrdered = true
      (relationship.minCount, relationship.maxCount) = (2, 9)
      let entity = EntityDescription("A")
      entity.properties = [relationship]
      let model = ManagedObjectModel(entities: [entity])
      for copy in [try model.copy(), try ManagedObjectModel(xml: ModelDocument.xml(of: model))] {
        let twin = try #require(copy.entities[0].relationshipsByName["all"])
        #expect(twin.deleteRule == rule && twin.isOrdered)
        #expect(twin.minCount == 2 && twin.maxCount == 9 && twin.isToMany)
      }
    }
  }

  @Test("A relationship's hash has destination, inverse, counts and order, and no delete rule")
  func versionHash() {
    func hash(_ change: (RelationshipDescription) -> Void = { _ in }) -> Data {
      let relationship = RelationshipDescription("x", to: "A", inverse: "y")
      change(relationship)
      return relationship.versionHash
    }
    #expect(hash() == hash { $0.deleteRule = .deny })
    #expect(hash() != hash { $0.destinationEntityName = "B" })
    #expect(hash() != hash { $0.inverseRelationshipName = "z" })
    #expect(hash() != hash { $0.minCount = 1 })
    #expect(hash() != hash { $0.maxCount = 2 })
    #expect(hash() != hash { $0.isOrdered = true })
  }

  @Test("A fetched property has a request, with the object itself as a variable in it")
  func fetchRequest() throws {
    let fetched = FetchedPropertyDescription()
    #expect(fetched.fetchRequest == nil)
    fetched.name = "twins"
    fetched.fetchRequest = FetchRequest(
      entityName: "Book", predicate: try FetchPredicate(format: "$FETCH_SOURCE.title == title"),
      sort: [FetchSort("title")], limit: 4)
    #expect(fetched.fetchEntityName == "Book")
    let entity = EntityDescription("Book")
    entity.properties = [AttributeDescription("title", .string), fetched]
    let model = ManagedObjectModel(entities: [entity])
    let twin = try #require(
      try model.copy().entities[0].propertiesByName["twins"] as? FetchedPropertyDescription)
    let request = try #require(twin.fetchRequest)
    #expect(request.entityName == "Book" && request.limit == 4)
    #expect(request.sort == [FetchSort("title")])
    #expect(request.predicate == fetched.fetchRequest?.predicate)
    let error = #expect(throws: ModelError.self) { try ModelDocument.xml(of: model) }
    #expect(error?.element == "Book.twins")
    fetched.fetchSort = []
    let read = try ManagedObjectModel(xml: ModelDocument.xml(of: model))
    #expect(
      (read.entities[0].propertiesByName["twins"] as? FetchedPropertyDescription)?.fetchRequest?
        .predicate == request.predicate)
    fetched.fetchPredicate = "title =="
    #expect(fetched.fetchRequest == nil)
    fetched.fetchRequest = nil
    #expect(fetched.fetchEntityName == "" && fetched.fetchPredicate == nil)
  }
}
