import Foundation
import Testing

@testable import Driftless

/// What is in an entity's version hash, and what is not: one change at a time.
struct VersionHashTests {
  /// A model with everything in it that a change below touches.
  private func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      xml: Data(
        """
        <model>
        <entity name="Base"/>
        <entity name="Book" parentEntity="Base">
          <attribute name="title" optional="YES" attributeType="String"/>
          <attribute name="cover" optional="YES" attributeType="Transformable"/>
          <attribute name="count" optional="YES" attributeType="Integer 64" derived="YES"
            derivationExpression="pages.@count"/>
          <attribute name="place" optional="YES" attributeType="Composite" composite="Place"/>
          <relationship name="pages" optional="YES" toMany="YES" destinationEntity="Page"
            inverseName="book"/>
          <fetchedProperty name="twins" optional="YES"><fetchRequest name="r" entity="Book"/>
          </fetchedProperty>
        </entity>
        <entity name="Page"><relationship name="book" optional="YES" maxCount="1"
          destinationEntity="Book" inverseName="pages"/></entity>
        <composite name="Place"><attribute name="lat" attributeType="Double"/></composite>
        <fetchRequest name="all" entity="Book"/>
        </model>
        """.utf8))
  }

  private struct Parts {
    let model: ManagedObjectModel
    let base: EntityDescription
    let book: EntityDescription
    let title: AttributeDescription
    let cover: AttributeDescription
    let derived: DerivedAttributeDescription
    let place: CompositeAttributeDescription
    let pages: RelationshipDescription
    let twins: FetchedPropertyDescription
  }

  private func hash(_ change: (Parts) throws -> Void = { _ in }) throws -> Data {
    let model = try model()
    let book = try #require(model.entitiesByName["Book"])
    let properties = book.propertiesByName
    try change(
      Parts(
        model: model, base: try #require(model.entitiesByName["Base"]), book: book,
        title: try #require(properties["title"] as? AttributeDescription),
        cover: try #require(properties["cover"] as? AttributeDescription),
        derived: try #require(properties["count"] as? DerivedAttributeDescription),
        place: try #require(properties["place"] as? CompositeAttributeDescription),
        pages: try #require(properties["pages"] as? RelationshipDescription),
        twins: try #require(properties["twins"] as? FetchedPropertyDescription)))
    try model.freeze()
    return try #require(model.entityVersionHashesByName[book.name])
  }

  @Test("Each of these changes the hash")
  func included() throws {
    let changes: [String: (Parts) throws -> Void] = [
      "entity name": {
        $0.book.name = "Volume"; $0.model.rename("Book", "Volume")
      },
      "abstract": { $0.book.isAbstract = true },
      "entity modifier": { $0.book.versionHashModifier = "2" },
      "superentity": { $0.book.superentityName = nil },
      "the superentity's hash": { $0.base.versionHashModifier = "2" },
      "uniqueness constraints": { $0.book.uniquenessConstraints = [["title"]] },
      "a new attribute": { $0.book.properties.append(AttributeDescription("more", .string)) },
      "an attribute less": { parts in
        parts.book.properties = parts.book.ownProperties.filter { $0.name != "cover" }
      },
      "property name": { $0.title.name = "name" },
      "optional": { $0.title.isOptional = false },
      "transient": { $0.title.isTransient = true },
      "property modifier": { $0.title.versionHashModifier = "2" },
      "attribute type": { $0.title.type = .uri },
      "derivation": { $0.derived.derivationExpressionFormat = "pages.@max.number" },
      "elements of a composite": {
        $0.place.elements.append(AttributeDescription("lon", .double))
      },
      "type in a composite": { $0.place.elements[0].type = .float },
      "destination": { parts in
        parts.pages.inverseRelationshipName = nil
        parts.pages.destinationEntityName = "Base"
        parts.model.entitiesByName["Page"]?.properties = []
      },
      "inverse": { parts in
        parts.pages.inverseRelationshipName = nil
        parts.model.entitiesByName["Page"]?.properties = []
      },
      "minimum count": { $0.pages.minCount = 2 },
      "maximum count": { $0.pages.maxCount = 9 },
      "order": { $0.pages.isOrdered = true },
      "a fetched property's flags": { $0.twins.isOptional = false },
    ]
    let before = try hash()
    for (name, change) in changes {
      #expect(try hash(change) != before, "\(name) is not in the hash")
    }
  }

  @Test("None of these changes the hash")
  func excluded() throws {
    let changes: [String: (Parts) throws -> Void] = [
      "class name": { $0.book.managedObjectClassName = "Volume" },
      "default value": { $0.title.defaultValue = .string("Untitled") },
      "bounds": {
        $0.title.minimum = .integer(1); $0.title.maximum = .integer(80)
      },
      "pattern": { $0.title.regularExpression = "[A-Z].*" },
      "validation predicates": {
        $0.title.setValidationPredicates(
          [try FetchPredicate(format: #"SELF != "x""#)], withValidationWarnings: ["no x"])
      },
      "user info": {
        $0.book.userInfo["k"] = "v"; $0.title.userInfo["k"] = "v"
      },
      "policies": {
        $0.book.conflictPolicy = .serverWins; $0.title.conflictPolicy = .max
      },
      "indexes": {
        $0.book.indexes = [
          FetchIndexDescription(
            name: "i", elements: [FetchIndexElementDescription(propertyName: "title")])
        ]
      },
      "the old index switch": { $0.title.isIndexed = true },
      "renaming identifiers": {
        $0.book.renamingIdentifier = "Volume"
        $0.title.renamingIdentifier = "name"
      },
      "localization": { $0.model.localizationDictionary["Entity/Book"] = "Buch" },
      "templates": {
        $0.model.setFetchRequestTemplate(
          FetchRequestTemplate(name: "t", entityName: "Book"), forName: "t")
      },
      "configurations": { $0.model.setEntities([$0.book], forConfigurationName: "Local") },
      "version identifiers": { $0.model.versionIdentifiers = ["9"] },
      "Spotlight": {
        $0.title.isIndexedBySpotlight = true
        $0.title.isStoredInExternalRecord = true
        $0.book.coreSpotlightDisplayNameFormat = "title"
      },
      "external storage": { $0.cover.allowsExternalBinaryDataStorage = true },
      "history": { $0.title.preservesValueInHistoryOnDeletion = true },
      "encryption": { $0.title.allowsCloudEncryption = true },
      "transformer": { $0.cover.valueTransformerName = "T" },
      "value class": { $0.cover.attributeValueClassName = "C" },
      "delete rule": { $0.pages.deleteRule = .cascade },
      "what a fetched property fetches": { $0.twins.fetchPredicate = "title != nil" },
      "the order of properties": { $0.book.properties = $0.book.ownProperties.reversed() },
    ]
    let before = try hash()
    for (name, change) in changes {
      #expect(try hash(change) == before, "\(name) is in the hash")
    }
  }

  @Test("A changed hash keeps a store from opening, a changed default does not")
  func storesDependOnIt() throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("driftless-hash-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = folder.appendingPathComponent("a.sqlite")
    func open(_ change: (ManagedObjectModel) -> Void) throws {
      let model = try model()
      change(model)
      try model.freeze()
      try PersistentStore.open(url: url, model: model, options: StoreOptions()).close()
    }
    try open { _ in }
    try open { $0.entitiesByName["Book"]?.attributesByName["title"]?.defaultValue = .string("x") }
    #expect(throws: StoreError.self) {
      try open { $0.entitiesByName["Book"]?.attributesByName["title"]?.isOptional = false }
    }
    try open { $0.entitiesByName["Book"]?.attributesByName["title"]?.minimum = .integer(1) }
  }

  @Test("What Core Data's compiler recorded stands until something changes that a store depends on")
  func recordedHashes() throws {
    let recorded = Data(repeating: 7, count: 32)
    let model = try model()
    let own = model.ownVersionHashesByName
    model.recordedHashes = own.mapValues { RecordedHash(own: $0, recorded: recorded) }
    #expect(model.entityVersionHashesByName["Book"] == recorded)
    let title = try #require(model.entitiesByName["Book"]?.attributesByName["title"])
    title.defaultValue = .string("x")
    #expect(model.entityVersionHashesByName["Book"] == recorded)
    title.isOptional = false
    #expect(model.entityVersionHashesByName["Book"] != recorded)
    #expect(model.entityVersionHashesByName["Page"] == recorded)
    // A store keeps both hashes, so that a model from another source opens it too.
    title.isOptional = true
    try model.freeze()
    let metadata = StoreMetadata(model: model).values
    let plain = try self.model()
    #expect(plain.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    try plain.freeze()
    let other = StoreMetadata(model: plain).values
    #expect(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: other))
  }
}

extension ManagedObjectModel {
  /// Follows a new name of an entity wherever the old one is named.
  fileprivate func rename(_ old: String, _ new: String) {
    for entity in entities {
      for property in entity.ownProperties {
        if let relationship = property as? RelationshipDescription,
          relationship.destinationEntityName == old
        {
          relationship.destinationEntityName = new
        }
        if let fetched = property as? FetchedPropertyDescription, fetched.fetchEntityName == old {
          fetched.fetchEntityName = new
        }
      }
    }
    fetchRequestTemplatesByName = [:]
  }
}
