import Foundation
import Testing

@testable import Driftless

/// Copies, merges, versions and fetch request templates.
struct ModelCopyTests {
  private func library() -> ManagedObjectModel {
    let book = EntityDescription("Book")
    book.properties = [
      AttributeDescription("title", .string), AttributeDescription("pages", .integer32),
    ]
    let model = ManagedObjectModel(entities: [book])
    model.setEntities([book], forConfigurationName: "Local")
    model.setFetchRequestTemplate(
      FetchRequestTemplate(
        name: "long", entityName: "Book", predicate: "pages > $least", options: ["fetchLimit": "5"]),
      forName: "long")
    return model
  }

  @Test("A copy of a frozen model can be changed, and the original stays")
  func copies() throws {
    let model = library()
    try model.freeze()
    let copy = try model.copy()
    #expect(!copy.isFrozen)
    copy.entities[0].name = "Volume"
    copy.set(configuration: "Local", entityNames: ["Volume"])
    copy.setFetchRequestTemplate(nil, forName: "long")
    try copy.freeze()
    #expect(model.entities.map(\.name) == ["Book"])
    #expect(copy.entities.map(\.name) == ["Volume"])
    #expect(model.entityVersionHashesByName["Book"] != copy.entityVersionHashesByName["Volume"])
  }

  @Test("Merging takes equal entities once, unites configurations, and leaves the originals")
  func merges() throws {
    let (first, second) = (library(), library())
    let author = EntityDescription("Author")
    second.entities.append(author)
    second.setEntities([author], forConfigurationName: "Local")
    let merged = try ManagedObjectModel(byMerging: [first, second])
    try merged.freeze()
    #expect(Set(merged.entities.map(\.name)) == ["Author", "Book"])
    #expect(merged.entities(forConfigurationName: "Local")?.map(\.name) == ["Book", "Author"])
    #expect(first.entities[0].managedObjectModel === first)
    #expect(second.entities.count == 2)
    second.entities[0].isAbstract = true
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(byMerging: [first, second])
    }
    #expect(error?.element == "Book")
    #expect(try ManagedObjectModel(byMerging: []).entities.isEmpty)
  }

  @Test("A model is compatible with the hashes of its like, of all entities or a configuration")
  func compatibility() throws {
    let (model, twin) = (library(), library())
    try model.freeze()
    twin.entities[0].attributesByName["title"]?.defaultValue = .string("Untitled")
    try twin.freeze()
    let hashes = twin.entityVersionHashesByName
    #expect(model.isConfiguration(withName: nil, compatibleWithVersionHashes: hashes))
    #expect(model.isConfiguration(withName: "Local", compatibleWithVersionHashes: hashes))
    #expect(!model.isConfiguration(withName: "Other", compatibleWithVersionHashes: hashes))
    #expect(!model.isConfiguration(withName: nil, compatibleWithVersionHashes: [:]))
    #expect(model.versionChecksum == twin.versionChecksum)
    #expect(Data(base64Encoded: model.versionChecksum)?.count == 32)
    #expect(model.entities[0].versionHash == hashes["Book"])
  }

  @Test("A template gives a fetch request with its variables replaced")
  func templates() throws {
    let model = library()
    let request = try #require(
      try model.fetchRequestFromTemplate(
        withName: "long", substitutionVariables: ["least": 300]))
    #expect(request.entityName == "Book" && request.limit == 5)
    #expect(request.predicate == (try FetchPredicate(format: "pages > 300")))
    #expect(throws: FetchError.self) { try model.fetchRequestFromTemplate(withName: "long") }
    #expect(try model.fetchRequestFromTemplate(withName: "none") == nil)
  }

  @Test("Texts that hold what parts texts do not run together in a hash")
  func hashesKeepTextsApart() throws {
    func hash(_ expression: String, _ more: [PropertyDescription]) throws -> Data? {
      let derived = DerivedAttributeDescription()
      derived.name = "x"
      derived.type = .string
      derived.derivationExpressionFormat = expression
      let entity = EntityDescription("A")
      entity.properties = [derived] + more
      let model = ManagedObjectModel(entities: [entity])
      try model.freeze()
      return model.entityVersionHashesByName["A"]
    }
    let two = try hash("e", [AttributeDescription("y", .string)])
    for separator in ["", ",", "\n", "\0", "\u{1}", "|"] {
      let second = ["e", "y", "", "true", "false", "attribute", "700"]
      let one = try hash(second.joined(separator: separator), [])
      #expect(one != two)
    }
  }
}
