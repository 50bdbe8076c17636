import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Of the versions of a model, the one that a file was written with is found without touching the file.
struct WritingVersionTests {
  /// Two versions, the second of them current, and one that was made for no file here.
  private func bundle(
    in directory: TemporaryDirectory, _ versions: [(name: String, model: ManagedObjectModel)],
    current: String
  ) throws -> URL {
    let bundle = directory.file("Shop.xcdatamodeld")
    for (name, model) in versions {
      let folder = bundle.appendingPathComponent("\(name).xcdatamodel")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try ModelDocument.xml(of: model).write(to: folder.appendingPathComponent("contents"))
    }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "\(current).xcdatamodel"], format: .xml,
      options: 0)
    try marker.write(to: bundle.appendingPathComponent(".xccurrentversion"))
    return bundle
  }

  private func model(_ names: String..., configuration: String? = nil) -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.properties = names.map { AttributeDescription($0, .string) }
    let other = EntityDescription("Other")
    other.properties = [AttributeDescription("note", .string)]
    let model = ManagedObjectModel(entities: [item, other])
    if let configuration { model.setEntities([item], forConfigurationName: configuration) }
    return model
  }

  @Test("A store of an older version is recognised, one of none is not")
  func own() throws {
    let directory = try TemporaryDirectory()
    let bundle = try bundle(
      in: directory,
      [("Shop", model("name")), ("Shop 2", model("name", "size")), ("Shop 3", model("x"))],
      current: "Shop 2")
    let versions = try ManagedObjectModel.versions(at: bundle)
    for version in versions {
      let url = directory.file("\(version.name).sqlite")
      try PersistentStore.open(url: url, model: version.model()).close()
      let bytes = try Data(contentsOf: url)
      let found = try #require(try WritingVersion.find(among: versions, for: url))
      #expect(found.version.name == version.name)
      #expect(try Data(contentsOf: url) == bytes)
      let store = try PersistentStore.open(
        url: url, model: found.model, options: .inspecting(url))
      #expect(store.model.entitiesByName.count == 2)
    }
    let foreign = directory.file("foreign.sqlite")
    try PersistentStore.open(url: foreign, model: model("name", "weight")).close()
    #expect(try WritingVersion.find(among: versions, for: foreign) == nil)
  }

  @Test("A store of one configuration of an older version is recognised as such")
  func configuration() throws {
    let directory = try TemporaryDirectory()
    let bundle = try bundle(
      in: directory,
      [
        ("Shop", model("name", configuration: "Items")),
        ("Shop 2", model("name", "size", configuration: "Items")),
      ], current: "Shop 2")
    let versions = try ManagedObjectModel.versions(at: bundle)
    let url = directory.file("items.sqlite")
    try PersistentStore.open(
      url: url, model: model("name", configuration: "Items"), configuration: "Items"
    ).close()
    let found = try #require(try WritingVersion.find(among: versions, for: url))
    #expect(found.version.name == "Shop" && found.configuration == "Items")
    let store = try PersistentStore.open(
      url: url, model: found.model, configuration: found.configuration,
      options: .inspecting(url))
    #expect(store.schema.entities.map(\.name) == ["Item"])
    // Core Data's files do not name theirs.
    let unnamed = try PersistentStore.open(url: url)
    try unnamed.setMetadata(nil, forKey: StoreMetadata.configurationKey)
    unnamed.close()
    let again = try #require(try WritingVersion.find(among: versions, for: url))
    #expect(again.version.name == "Shop" && again.configuration == "Items")
  }

  @Test(
    "A file of Core Data's is recognised by the hashes of a compiled version",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func compiled() throws {
    let url = SharedData.url("core-data-stores/SampleModel/SampleModel_V2.sqlite")
    let bundle = SharedData.url("core-data-stores/SampleModel/SampleModel.momd")
    let versions = try ManagedObjectModel.versions(at: bundle)
    let found = try #require(try WritingVersion.find(among: versions, for: url))
    #expect(found.version.name == "SampleModel2" && !found.version.isCurrent)
    #expect(
      try PersistentStore.open(url: url, model: found.model, options: .inspecting(url))
        .check().isSound)
  }

  @Test(
    "A file of Core Data's is recognised by its tables where the versions have no hashes",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func tables() throws {
    let url = SharedData.url("core-data-stores/SampleModel/SampleModel_V2.sqlite")
    let directory = try TemporaryDirectory()
    let inside = try PersistentStore.open(url: url, options: .inspecting(url)).model.copy()
    let lesser = try inside.copy()
    lesser.entitiesByName["Car"]?.properties.removeAll { $0.name == "markedForDeletionAsOf" }
    let greater = try inside.copy()
    greater.entitiesByName["Car"]?.properties.append(AttributeDescription("color", .string))
    let wrong = try inside.copy()
    wrong.entitiesByName["Car"]?.properties.removeAll { $0.name == "numberPlate" }
    let bundle = try bundle(
      in: directory,
      [("Cars", lesser), ("Cars 2", inside), ("Cars 3", greater), ("Cars 4", wrong)],
      current: "Cars 4")
    let versions = try ManagedObjectModel.versions(at: bundle)
    let found = try #require(try WritingVersion.find(among: versions, for: url))
    #expect(found.version.name == "Cars 2")
  }
}
