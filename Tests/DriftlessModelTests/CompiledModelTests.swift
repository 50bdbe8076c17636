import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Compiled models: `.mom` and `.momd`.
struct CompiledModelTests {
  private typealias Value = ArchiveBuilder.Value

  @Test(
    "Every real compiled model is equal to its XML source, where both are there",
    .enabled(if: RealModels.compiledAreHere, "no ../shared"))
  func realModelsEqualTheirSources() throws {
    var compared = 0
    for url in try RealModels.compiled() {
      let compiled = try ManagedObjectModel(contentsOf: url)
      let version = url.deletingPathExtension().lastPathComponent
      let bundle = url.deletingLastPathComponent().deletingPathExtension().lastPathComponent
      #expect(!compiled.entities.isEmpty, "\(url.path)")
      if let source = try RealModels.source(bundle, version) {
        let written = try ManagedObjectModel(contentsOf: source)
        #expect(
          try ModelArchive.meaning(of: compiled) == ModelArchive.meaning(of: written),
          "\(url.path)")
        #expect(compiled == written)
        compared += 1
      }
      try compiled.freeze()
      let again = try ManagedObjectModel(xml: ModelDocument.xml(of: compiled))
      #expect(again == compiled, "\(url.path) through XML")
    }
    #expect(compared == 2)
  }

  @Test(
    "A compiled model has the hashes that Core Data wrote, as its stores do",
    .enabled(if: RealModels.compiledAreHere, "no ../shared"))
  func realHashes() throws {
    for bundle in try RealModels.compiledBundles() {
      let info = try #require(
        try ModelFile.propertyList(bundle.appendingPathComponent("VersionInfo.plist")))
      let hashes = try #require(
        info["NSManagedObjectModel_VersionHashes"] as? [String: [String: Data]])
      let versions = try ManagedObjectModel.versions(at: bundle)
      #expect(versions.count == hashes.count)
      for version in versions {
        let model = try version.model()
        #expect(model.entityVersionHashesByName == hashes[version.name], "\(version.name)")
        try model.freeze()
        #expect(model.entityVersionHashesByName == hashes[version.name], "\(version.name)")
        #expect(try model.copy().entityVersionHashesByName == hashes[version.name])
      }
      let current = info["NSManagedObjectModel_CurrentVersionName"] as? String
      #expect(versions.filter(\.isCurrent).map(\.name) == [current])
      #expect(
        try ManagedObjectModel(contentsOf: bundle)
          == versions.first { $0.isCurrent }?.model())
    }
  }

  @Test(
    "A store that Core Data wrote is recognised by its own version's model alone",
    .enabled(if: RealModels.compiledAreHere, "no ../shared"))
  func realStoreMetadata() throws {
    let url = SharedData.url("core-data-stores/SampleModel/SampleModel_V2.sqlite")
    let bundle = SharedData.url("core-data-stores/SampleModel/SampleModel.momd")
    let versions = try ManagedObjectModel.versions(at: bundle)
    let metadata = try storeMetadata(url, versions)
    let matching = try versions.filter {
      try $0.model().isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
    }
    #expect(matching.map(\.name) == ["SampleModel2"])
    let models = try versions.map { try $0.model() }
    let found = try #require(
      try ManagedObjectModel(byMerging: models, forStoreMetadata: metadata))
    #expect(try found == matching.first?.model())
    #expect(
      try ManagedObjectModel(byMerging: [models[0], models[2]], forStoreMetadata: metadata) == nil)
  }

  /// Opens a copy of the file with the right version, and refuses the others.
  private func storeMetadata(_ url: URL, _ versions: [ModelVersion]) throws -> [String: Any] {
    let folder = try TemporaryDirectory()
    var metadata: [String: Any] = [:]
    for version in versions {
      let copy = folder.file("\(version.name).sqlite")
      try FileManager.default.copyItem(at: url, to: copy)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy.path)
      let model = try version.model()
      try model.freeze()
      let options = StoreOptions(isReadOnly: true)
      if version.name == "SampleModel2" {
        let store = try PersistentStore.open(url: copy, model: model, options: options)
        metadata = store.metadata.values
        store.close()
      } else {
        let error = #expect(throws: StoreError.self) {
          try PersistentStore.open(url: copy, model: model, options: options)
        }
        #expect(error?.code == .incompatibleModel, "\(version.name)")
      }
    }
    return metadata
  }

  @Test("Default values of every type come out of an archive")
  func defaultValues() throws {
    let moment = Date(timeIntervalSinceReferenceDate: 400_000.5)
    let uuid = UUID()
    let cases: [(Int, Value, PropertyValue)] = [
      (100, .integer(-7), .integer(-7)), (200, .real(3), .integer(3)),
      (300, .integer(.max), .integer(.max)), (500, .integer(2), .double(2)),
      (600, .real(0.5), .double(0.5)), (700, .text("ß𝄞"), .string("ß𝄞")),
      (700, .object("NSMutableString", ["NS.string": .text("m")]), .string("m")),
      (800, .bool(true), .bool(true)), (800, .integer(1), .bool(true)),
      (900, .object("NSDate", ["NS.time": .real(400_000.5)]), .date(moment)),
      (1000, .data(Data([1, 2])), .data(Data([1, 2]))),
      (1000, .object("NSMutableData", ["NS.data": .data(Data([3]))]), .data(Data([3]))),
      (
        1100,
        .object("NSUUID", ["NS.uuidbytes": .data(withUnsafeBytes(of: uuid.uuid) { Data($0) })]),
        .uuid(uuid)
      ),
      (
        1200, .object("NSURL", ["NS.base": .null, "NS.relative": .text("https://example.org/a")]),
        .uri(try #require(URL(string: "https://example.org/a")))
      ),
      (
        400,
        .object(
          "NSDecimalNumber",
          [
            "NS.mantissa": .data(Data([0x39, 0x30] + [UInt8](repeating: 0, count: 14))),
            "NS.exponent": .integer(-2), "NS.negative": .bool(true), "NS.length": .integer(1),
            "NS.mantissa.bo": .integer(1), "NS.compact": .bool(true),
          ]), .decimal(try #require(Decimal(string: "-123.45")))
      ),
      (400, .integer(5), .decimal(5)), (300, .null, .null),
    ]
    for (type, archived, expected) in cases {
      let bytes = ArchiveBuilder.model([
        "A": ArchiveBuilder.entity(
          "A", ["x": ArchiveBuilder.attribute("x", type, ["NSDefaultValue": archived])])
      ])
      let model = try ManagedObjectModel(compiled: bytes)
      try model.freeze()
      #expect(model.entities[0].attributesByName["x"]?.defaultValue == expected, "\(archived)")
      #expect(model.entities[0].attributesByName["x"]?.isOptional == false)
    }
    let wrong = ArchiveBuilder.model([
      "A": ArchiveBuilder.entity(
        "A", ["x": ArchiveBuilder.attribute("x", 300, ["NSDefaultValue": .text("many")])])
    ])
    let error = #expect(throws: ModelError.self) { try ManagedObjectModel(compiled: wrong) }
    #expect(error?.element == "A.x" && error?.code == .invalidValue)
  }
}
