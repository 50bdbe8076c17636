import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What Xcode lets pass in a model, and what archives of models hold that no compiler writes for others.
struct XcodeSlipsTests {
  private typealias Value = ArchiveBuilder.Value

  private func model(_ entities: String) throws -> ManagedObjectModel {
    let model = try ManagedObjectModel(xml: Data("<model>\(entities)</model>".utf8))
    try model.freeze()
    return model
  }

  @Test(
    "A number keeps the truth value that it had as its default",
    arguments: ["Integer 16", "Integer 32", "Integer 64", "Double", "Float", "Boolean"])
  func truthValues(type: String) throws {
    let model = try model(
      """
      <entity name="A">
      <attribute name="no" attributeType="\(type)" defaultValueString="NO"/>
      <attribute name="yes" attributeType="\(type)" defaultValueString="YES"/></entity>
      """)
    let attributes = try #require(model.entitiesByName["A"]?.attributesByName)
    let values = ["no", "yes"].map { attributes[$0]?.defaultValue }
    switch type {
    case "Boolean": #expect(values == [.bool(false), .bool(true)])
    case "Double", "Float": #expect(values == [.double(0), .double(1)])
    default: #expect(values == [.integer(0), .integer(1)])
    }
    #expect(throws: ModelError.self) {
      try self.model(
        """
        <entity name="A"><attribute name="x" attributeType="\(type)" defaultValueString="N"/></entity>
        """)
    }
  }

  @Test("A compiled bundle and a compiled model are told by what they hold, whatever their names")
  func otherNames() throws {
    let directory = try TemporaryDirectory()
    let bundle = directory.file("Shop.momd_precompiled")
    try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
    let bytes = ArchiveBuilder.model(["A": ArchiveBuilder.entity("A", [:])])
    try bytes.write(to: bundle.appendingPathComponent("One.mom"))
    let hash = Data([1, 2, 3])
    let info: [String: Any] = [
      "NSManagedObjectModel_CurrentVersionName": "One",
      "NSManagedObjectModel_VersionHashes": ["One": ["A": hash]],
    ]
    try PropertyListSerialization.data(fromPropertyList: info, format: .binary, options: 0)
      .write(to: bundle.appendingPathComponent("VersionInfo.plist"))
    for url in [bundle, bundle.appendingPathComponent("One.mom")] {
      let model = try ManagedObjectModel(contentsOf: url)
      #expect(model.entityVersionHashesByName == ["A": hash], "\(url.lastPathComponent)")
    }
    let file = directory.file("shop.model")
    try bytes.write(to: file)
    #expect(try ManagedObjectModel(contentsOf: file).entities.map(\.name) == ["A"])
  }

  @Test("A model beside a folder named Resources is found, as one in it is")
  func besideResources() throws {
    for name in ["Resources", "resources"] {
      let directory = try TemporaryDirectory()
      try FileManager.default.createDirectory(
        at: directory.file(name), withIntermediateDirectories: true)
      try ArchiveBuilder.model(["A": ArchiveBuilder.entity("A", [:])])
        .write(to: directory.file("One.mom"))
      let bundle = try #require(Bundle(path: directory.url.path))
      let merged = try ManagedObjectModel.mergedModel(from: [bundle])
      #expect(merged?.entities.map(\.name) == ["A"], "\(name)")
    }
  }

  private let stray = """
    <entity name="A"><relationship name="one" maxCount="1" destinationEntity="B" inverseName="a" inverseEntity="B"/>
    <relationship name="two" maxCount="1" destinationEntity="B" inverseName="a" inverseEntity="B"/></entity>
    <entity name="B" parentEntity="Base"/>
    <entity name="Base"><relationship name="a" toMany="YES" destinationEntity="A" inverseName="one" inverseEntity="A"/>
    </entity>
    """

  @Test("A to-one relationship whose inverse is another's goes without, and is written as it was")
  func strayInverse() throws {
    let model = try model(stray)
    let entity = try #require(model.entitiesByName["A"])
    #expect(entity.relationshipsByName["one"]?.inverseRelationship?.name == "a")
    #expect(entity.relationshipsByName["two"]?.inverseRelationship == nil)
    let written = String(decoding: try ModelDocument.xml(of: model), as: UTF8.self)
    #expect(written.components(separatedBy: "inverseName=\"a\"").count == 3)
    // The file's model travels in the store.
    let archive = try ModelArchive.decode(ModelArchive.encode(model))
    #expect(archive.entitiesByName["A"]?.relationshipsByName["two"]?.inverseRelationship == nil)
  }

  @Test("Of two indexes of one name the first is read")
  func indexesOfOneName() throws {
    let model = try model(
      """
      <entity name="A"><attribute name="x" attributeType="String"/>
      <attribute name="y" attributeType="String"/>
      <fetchIndex name="i"><fetchIndexElement property="x" type="Binary" order="ascending"/></fetchIndex>
      <fetchIndex name="i"><fetchIndexElement property="y" type="Binary" order="ascending"/></fetchIndex>
      </entity>
      """)
    let indexes = try #require(model.entitiesByName["A"]?.indexes)
    #expect(indexes.map { $0.elements.map(\.propertyName) } == [["x"]])
  }

  private static func list(_ values: [Value]) -> Value { CompiledArchiveTests.list(values) }

  @Test("An archive of a model in use opens: inherited properties, expressions, words for a row")
  func archive() throws {
    let expression = Value.object(
      "NSExpressionDescription",
      [
        "NSPropertyName": .text("lower"),
        "NSExpression": .object(
          "NSFunctionExpression",
          [
            "NSExpressionType": .integer(4), "NSSelectorName": .text("lowercase:"),
            "NSArguments": Self.list([
              .object(
                "NSKeyPathExpression",
                ["NSExpressionType": .integer(10), "NSKeyPath": .text("title")])
            ]),
          ]),
      ])
    let index = Value.object(
      "NSFetchIndexDescription",
      [
        "NSIndexName": .text("byLower"),
        "NSIndexElements": Self.list([
          .object(
            "NSFetchIndexElementDescription",
            ["NSIndexedProperty": expression, "NSAscending": .bool(true)])
        ]),
      ])
    let bytes = ArchiveBuilder.model([
      "Base": ArchiveBuilder.entity(
        "Base", ["title": ArchiveBuilder.attribute("title", 700)],
        ["NSFetchIndexDescriptions": Self.list([index])]),
      "Book": ArchiveBuilder.entity(
        "Book",
        [
          "title": .object("_NSPropertyDescriptionProxy", ["NSUnderlying": .text("title")]),
          "pages": ArchiveBuilder.attribute("pages", 300),
        ],
        [
          "NSSuperentity": .reference("Base"),
          "NSCompoundIndexes": Self.list([
            Self.list([.text("self"), .text("entity"), .text("pages")])
          ]),
        ]),
    ])
    let model = try ManagedObjectModel(compiled: bytes)
    try model.freeze()
    let book = try #require(model.entitiesByName["Book"])
    #expect(book.ownProperties.map(\.name) == ["pages"])
    #expect(book.indexes.first?.elements.map(\.propertyName) == ["self", "entity", "pages"])
    #expect(
      model.entitiesByName["Base"]?.indexes.first?.elements.first?.expressionFormat
        == "lowercase:(title)")
    let sql = FetchIndexes(book, StoreSchema(model: model)).statements.map(\.sql)
    #expect(sql.count == 1)
    #expect(sql.joined().contains("Z_PK COLLATE BINARY ASC, Z_ENT COLLATE BINARY ASC, \"ZPAGES\""))
  }

  @Test(
    "Bytes that are no UTF-8 are refused by a typed error, wherever they stand",
    arguments: [
      "<m\u{F6}del/>", "<model><entity n\u{F6}me=\"A\"/></model>", "<model a=\"\u{F6}\"/>",
    ])
  func noUTF8(text: String) throws {
    let data = try #require(text.data(using: .isoLatin1))
    #expect {
      try ManagedObjectModel(xml: data, path: "M.xcdatamodel")
    } throws: {
      let error = $0 as? ModelError
      return error?.code == .malformed && error?.message.contains("UTF-8") == true
    }
  }
}
