import Foundation
import Testing

@testable import Driftless

/// A model in use: nothing in it changes, and the error is typed.
struct FrozenModelTests {
  private struct Parts {
    let model = ManagedObjectModel()
    let base = EntityDescription("Base")
    let book = EntityDescription("Book")
    let title = AttributeDescription("title", .string)
    let derived = DerivedAttributeDescription()
    let place = CompositeAttributeDescription()
    let lat = AttributeDescription("lat", .double)
    let twin = RelationshipDescription("twin", to: "Book", inverse: nil)
    let fetched = FetchedPropertyDescription()
    let element = FetchIndexElementDescription(propertyName: "title")
    let index: FetchIndexDescription

    init() throws {
      index = FetchIndexDescription(name: "byTitle", elements: [element])
      (derived.name, derived.type, derived.derivationExpressionFormat) = ("d", .string, "title")
      place.name = "place"
      place.elements = [lat]
      (fetched.name, fetched.fetchEntityName) = ("fetched", "Book")
      book.properties = [title, derived, place, twin, fetched]
      book.indexes = [index]
      book.superentityName = "Base"
      model.entities = [base, book]
      try model.freeze()
    }
  }

  /// Every setter, with the element that the error names.
  private static let changes: [(String, @Sendable (Parts) -> Void)] = [
    ("the model", { $0.model.entities = [] }),
    ("the model", { $0.model.setEntities([], forConfigurationName: "Local") }),
    ("the model", { $0.model.fetchRequestTemplatesByName = [:] }),
    ("the model", { $0.model.setFetchRequestTemplate(nil, forName: "t") }),
    ("the model", { $0.model.versionIdentifiers = ["2"] }),
    ("the model", { $0.model.localizationDictionary = ["Entity/Book": "Buch"] }),
    ("Book", { $0.book.name = "Volume" }),
    ("Book", { $0.book.managedObjectClassName = "Volume" }),
    ("Book", { $0.book.isAbstract = true }),
    ("Book", { $0.book.properties = [] }),
    ("Base", { $0.base.subentities = [] }),
    ("Book", { $0.book.superentityName = nil }),
    ("Book", { $0.book.uniquenessConstraints = [["title"]] }),
    ("Book", { $0.book.indexes = [] }),
    ("Book", { $0.book.userInfo = ["k": "v"] }),
    ("Book", { $0.book.conflictPolicy = .serverWins }),
    ("Book", { $0.book.deletePolicy = .editWins }),
    ("Book", { $0.book.versionHashModifier = "2" }),
    ("Book", { $0.book.renamingIdentifier = "Volume" }),
    ("Book", { $0.book.coreSpotlightDisplayNameExpression = .keyPath(["title"]) }),
    ("Book", { $0.book.coreSpotlightDisplayNameFormat = "title" }),
    ("Book.title", { $0.title.name = "name" }),
    ("Book.title", { $0.title.isOptional = false }),
    ("Book.title", { $0.title.isTransient = true }),
    ("Book.title", { $0.title.userInfo = ["k": "v"] }),
    ("Book.title", { $0.title.conflictPolicy = .max }),
    ("Book.title", { $0.title.versionHashModifier = "2" }),
    ("Book.title", { $0.title.renamingIdentifier = "name" }),
    ("Book.title", { $0.title.isIndexed = true }),
    ("Book.title", { $0.title.isIndexedBySpotlight = true }),
    ("Book.title", { $0.title.isStoredInExternalRecord = true }),
    (
      "Book.title",
      { $0.title.setValidationPredicates([.constant(true)], withValidationWarnings: [1550]) }
    ),
    (
      "Book.twin",
      { $0.twin.setValidationPredicates([.constant(true)], withValidationWarnings: [1550]) }
    ),
    ("Book.title", { $0.title.type = .uri }),
    ("Book.title", { $0.title.attributeType = .uri }),
    ("Book.title", { $0.title.defaultValue = .string("x") }),
    ("Book.title", { $0.title.valueTransformerName = "T" }),
    ("Book.title", { $0.title.attributeValueClassName = "C" }),
    ("Book.title", { $0.title.allowsExternalBinaryDataStorage = true }),
    ("Book.title", { $0.title.preservesValueInHistoryOnDeletion = true }),
    ("Book.title", { $0.title.allowsCloudEncryption = true }),
    ("Book.title", { $0.title.minimum = .integer(1) }),
    ("Book.title", { $0.title.maximum = .integer(1) }),
    ("Book.title", { $0.title.regularExpression = "x" }),
    ("Book.d", { $0.derived.derivationExpression = .keyPath(["title"]) }),
    ("Book.d", { $0.derived.derivationExpressionFormat = "x" }),
    ("Book.place", { $0.place.elements = [] }),
    ("Book.place.lat", { $0.lat.type = .float }),
    ("Book.twin", { $0.twin.destinationEntity = nil }),
    ("Book.twin", { $0.twin.inverseRelationship = nil }),
    ("Book.twin", { $0.twin.destinationEntityName = "Base" }),
    ("Book.twin", { $0.twin.inverseRelationshipName = "twin" }),
    ("Book.twin", { $0.twin.minCount = 1 }),
    ("Book.twin", { $0.twin.maxCount = 7 }),
    ("Book.twin", { $0.twin.deleteRule = .deny }),
    ("Book.twin", { $0.twin.isOrdered = true }),
    ("Book.fetched", { $0.fetched.fetchRequest = nil }),
    ("Book.fetched", { $0.fetched.fetchEntityName = "Base" }),
    ("Book.fetched", { $0.fetched.fetchPredicate = "title == nil" }),
    ("Book.fetched", { $0.fetched.fetchSort = [FetchSort("title")] }),
    ("Book.byTitle", { $0.index.name = "i" }),
    ("Book.byTitle", { $0.index.elements = [] }),
    ("Book.byTitle", { $0.index.partialIndexPredicate = .constant(true) }),
    ("Book.byTitle", { $0.index.partialIndexPredicateFormat = "TRUEPREDICATE" }),
    ("Book.byTitle", { $0.element.isAscending = false }),
    ("Book.byTitle", { $0.element.collationType = .rTree }),
  ]

  @Test(
    "Every setter of a model in use changes nothing and leaves a typed error that names the element",
    arguments: changes.indices)
  func setters(number: Int) throws {
    let (element, change) = Self.changes[number]
    let parts = try Parts()
    let before = try ModelArchive.encode(parts.model)
    #expect(parts.model.refusedChange == nil)
    change(parts)
    #expect(try ModelArchive.encode(parts.model) == before)
    let error = try #require(parts.model.refusedChange)
    #expect(error.code == .inUse && error.element == element)
    #expect(error.suggestion.contains("copy"))
  }

  @Test("A model can be asked whether it can be changed, and its copy can")
  func checkEditable() throws {
    let parts = try Parts()
    let error = #expect(throws: ModelError.self) { try parts.model.checkEditable() }
    #expect(error?.code == .inUse)
    let copy = try parts.model.copy()
    try copy.checkEditable()
    copy.entitiesByName["Book"]?.attributesByName["title"]?.defaultValue = .string("x")
    #expect(copy.refusedChange == nil)
    #expect(copy != parts.model)
  }

  @Test("A model is in use once a store is opened with it, and not before")
  func freezesWithAStore() throws {
    let entity = EntityDescription("A")
    let model = ManagedObjectModel(entities: [entity])
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    entity.properties = [AttributeDescription("x", .string)]
    try model.checkEditable()
    try coordinator.addPersistentStore(at: nil)
    entity.properties = []
    #expect(entity.properties.map(\.name) == ["x"])
    #expect(model.refusedChange?.element == "A")
  }

  @Test("An element cannot leave a model in use for another one")
  func elementsStay() throws {
    let parts = try Parts()
    let thief = EntityDescription("Thief")
    thief.properties = [parts.title]
    #expect(parts.title.entity === parts.book)
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(entities: [thief]).freeze()
    }
    #expect(error?.code == .sharedElement)
  }
}
