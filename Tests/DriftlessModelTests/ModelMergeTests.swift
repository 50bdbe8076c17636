import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Merged models, and models that are looked for by a store's metadata.
struct ModelMergeTests {
  private func model(
    _ name: String, _ properties: [PropertyDescription] = []
  ) -> ManagedObjectModel {
    let entity = EntityDescription(name)
    entity.properties = properties
    return ManagedObjectModel(entities: [entity])
  }

  private func metadata(_ models: ManagedObjectModel...) -> [String: Any] {
    let hashes = models.reduce(into: [:]) { hashes, model in
      hashes.merge(model.entityVersionHashesByName) { $1 }
    }
    return [StoreMetadata.versionHashesKey: hashes]
  }

  @Test("Merging nothing gives a model without entities")
  func nothing() throws {
    #expect(try ManagedObjectModel(byMerging: []).entities.isEmpty)
  }

  @Test("A relationship into another model finds its destination by name")
  func acrossModels() throws {
    let books = model("Book", [RelationshipDescription("author", to: "Author", inverse: "books")])
    let authors = model(
      "Author", [RelationshipDescription("books", to: "Book", inverse: "author", toMany: true)])
    let merged = try ManagedObjectModel(byMerging: [books, authors])
    try merged.freeze()
    let author = try #require(merged.entitiesByName["Book"]?.relationshipsByName["author"])
    #expect(author.destinationEntity === merged.entitiesByName["Author"])
    #expect(author.inverseRelationship?.name == "books")
    #expect(books.entities[0].managedObjectModel === books && !books.isFrozen)
  }

  @Test("Equal entities are merged, different ones of one name are refused by name")
  func sameNames() throws {
    let (one, two) = (model("Book"), model("Book"))
    two.entities[0].fileAttributes["syncable"] = "YES"
    #expect(try ManagedObjectModel(byMerging: [one, two]).entities.count == 1)
    two.entities[0].properties = [AttributeDescription("title", .string)]
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(byMerging: [one, two])
    }
    #expect(error?.code == .duplicateName && error?.element == "Book")
    let (left, right) = (model("A"), model("B"))
    left.setFetchRequestTemplate(FetchRequestTemplate(name: "t", entityName: "A"), forName: "t")
    right.setFetchRequestTemplate(FetchRequestTemplate(name: "t", entityName: "B"), forName: "t")
    let templates = #expect(throws: ModelError.self) {
      try ManagedObjectModel(byMerging: [left, right])
    }
    #expect(templates?.element == "t")
  }

  @Test("Of several versions the one that fits a store's metadata is found, and no other")
  func byMetadata() throws {
    let old = model("Book", [AttributeDescription("title", .string)])
    let new = model("Book", [AttributeDescription("name", .string)])
    let tags = model("Tag")
    let versions = [new, tags, old]
    let found = try #require(
      try ManagedObjectModel(byMerging: versions, forStoreMetadata: metadata(old)))
    #expect(found == old)
    let both = try #require(
      try ManagedObjectModel(byMerging: versions, forStoreMetadata: metadata(new, tags)))
    #expect(both.entities.map(\.name).sorted() == ["Book", "Tag"])
    #expect(both.entitiesByName["Book"]?.propertiesByName["name"] != nil)
    #expect(
      try ManagedObjectModel(byMerging: [new, tags], forStoreMetadata: metadata(old)) == nil)
    #expect(try ManagedObjectModel(byMerging: [old], forStoreMetadata: metadata(old, tags)) == nil)
    #expect(try ManagedObjectModel(byMerging: versions, forStoreMetadata: [:]) == nil)
  }

  /// A folder that is a bundle: models at its top, and in the resource bundle of a package.
  private func bundle(_ folder: TemporaryDirectory) throws -> Bundle {
    func write(_ model: ManagedObjectModel, _ path: String) throws {
      let url = folder.url.appendingPathComponent(path)
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      try ModelDocument.xml(of: model).write(to: url.appendingPathComponent("contents"))
    }
    try write(model("Book"), "Shop.xcdatamodeld/Shop.xcdatamodel")
    try write(
      model("Book", [AttributeDescription("title", .string)]),
      "Shop.xcdatamodeld/Shop 2.xcdatamodel")
    try write(model("Tag"), "Tags_Tags.resources/Tags.xcdatamodel")
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Shop 2.xcdatamodel"], format: .xml, options: 0)
    try marker.write(to: folder.file("Shop.xcdatamodeld/.xccurrentversion"))
    return try #require(Bundle(path: folder.url.path))
  }

  @Test("Bundles give one model of the current versions of all that they hold")
  func bundles() throws {
    let folder = try TemporaryDirectory()
    let merged = try #require(try ManagedObjectModel.mergedModel(from: [bundle(folder)]))
    #expect(merged.entities.map(\.name).sorted() == ["Book", "Tag"])
    #expect(merged.entitiesByName["Book"]?.properties.map(\.name) == ["title"])
    let empty = try TemporaryDirectory()
    #expect(
      try ManagedObjectModel.mergedModel(from: [#require(Bundle(path: empty.url.path))]) == nil)
    #expect(try ManagedObjectModel.mergedModel(from: []) == nil)
    // Those of the main bundle, and of packages' bundles beside it: the plugin's tests have one.
    let main = try ManagedObjectModel.mergedModel()
    #expect(main == nil || main?.entitiesByName["Shelf"] != nil)
    #expect(main?.entitiesByName["Book"] == nil)
  }

  @Test("Bundles give the version of a model that fits a store's metadata")
  func bundlesByMetadata() throws {
    let folder = try TemporaryDirectory()
    let bundle = try bundle(folder)
    let old = try #require(
      try ManagedObjectModel.mergedModel(
        from: [bundle], forStoreMetadata: metadata(model("Book"))))
    #expect(old.entities.map(\.name) == ["Book"] && old.entities[0].properties.isEmpty)
    #expect(
      try ManagedObjectModel.mergedModel(from: [bundle], forStoreMetadata: metadata(model("X")))
        == nil)
  }

  @Test("The versions of a bundle are listed, with the current one and their checksums")
  func versions() throws {
    let folder = try TemporaryDirectory()
    _ = try bundle(folder)
    let url = folder.file("Shop.xcdatamodeld")
    let versions = try ManagedObjectModel.versions(at: url)
    #expect(versions.map(\.name) == ["Shop", "Shop 2"])
    #expect(versions.map(\.isCurrent) == [false, true])
    #expect(try versions[0].model() == model("Book"))
    #expect(
      try ManagedObjectModel.checksumsForVersionedModel(at: url) == [
        "Shop": model("Book").versionChecksum,
        "Shop 2": model("Book", [AttributeDescription("title", .string)]).versionChecksum,
      ])
    #expect(throws: ModelError.self) {
      try ManagedObjectModel.versions(at: folder.file("None.momd"))
    }
    try FileManager.default.createDirectory(
      at: folder.file("Empty.momd"), withIntermediateDirectories: true)
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(contentsOf: folder.file("Empty.momd"))
    }
    #expect(error?.code == .unreadable)
  }

  @Test("A compiled bundle gives the hashes and checksums that are written in it")
  func compiledBundle() throws {
    let folder = try TemporaryDirectory()
    let url = folder.file("Shop.momd")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let mom = ArchiveBuilder.model(["Book": ArchiveBuilder.entity("Book", [:])])
    for version in ["Shop", "Shop 2"] {
      try mom.write(to: url.appendingPathComponent("\(version).mom"))
    }
    #expect(throws: ModelError.self) { try ManagedObjectModel(contentsOf: url) }
    let hash = Data(repeating: 5, count: 32)
    func write(_ info: [String: Any]) throws {
      try PropertyListSerialization.data(fromPropertyList: info, format: .binary, options: 0)
        .write(to: url.appendingPathComponent("VersionInfo.plist"))
    }
    var info: [String: Any] = [
      "NSManagedObjectModel_CurrentVersionName": "Shop 2",
      "NSManagedObjectModel_VersionHashes": ["Shop 2": ["Book": hash]],
      "NSManagedObjectModel_VersionChecksums": ["Shop 2": "c2hvcA=="],
    ]
    try write(info)
    let model = try ManagedObjectModel(contentsOf: url)
    #expect(model.entityVersionHashesByName == ["Book": hash])
    #expect(
      model.versionChecksum == Data(SHA256Digest.hash(Array(hash))).base64EncodedString())
    // One version alone knows its bundle, too.
    let single = try ManagedObjectModel(contentsOf: url.appendingPathComponent("Shop 2.mom"))
    #expect(single.entityVersionHashesByName == ["Book": hash])
    let checksums = try ManagedObjectModel.checksumsForVersionedModel(at: url)
    #expect(checksums["Shop 2"] == "c2hvcA==")
    #expect(checksums["Shop"] == self.model("Book").versionChecksum)
    let optimised = #expect(throws: ModelError.self) {
      try mom.write(to: url.appendingPathComponent("Shop.omo"))
      _ = try ManagedObjectModel(contentsOf: url.appendingPathComponent("Shop.omo"))
    }
    #expect(optimised?.code == .unsupportedFormat)
    info["NSManagedObjectModel_CurrentVersionName"] = "../Shop"
    try write(info)
    let error = #expect(throws: ModelError.self) { try ManagedObjectModel(contentsOf: url) }
    #expect(error?.message.contains("../Shop") == true)
  }
}
