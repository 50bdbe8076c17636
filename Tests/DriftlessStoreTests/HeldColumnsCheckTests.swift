import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What a check finds in columns of to-many relationships without inverse, and which programs may read such a file.
@Suite("Files with columns of to-many relationships")
struct HeldColumnsCheckTests {
  private let directory: TemporaryDirectory
  private let url: URL

  /// A folder of number 1 and a binder of number 2, which hold papers of numbers 1 to 3 in order; labels are no papers.
  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("desk.sqlite")
    var options = StoreOptions()
    options.holdsToManyInColumns = true
    let store = try PersistentStore.open(url: url, model: Self.model(), options: options)
    let keys = try ["Folder", "Binder", "Paper", "Paper", "Paper", "Label"].map {
      try store.insert($0)
    }
    let papers = try #require(store.model.entitiesByName["Folder"]?.relationshipsByName["papers"])
    _ = try store.write(TransactionInfo()) {
      try $0.addPairs(papers, keys[0], [keys[2], keys[3]])
      try $0.addPairs(papers, keys[1], [keys[4]])
    }
    #expect(try store.check().findings == [])
    store.close()
  }

  private static func model() -> ManagedObjectModel {
    let folder = EntityDescription("Folder")
    folder.properties = [
      RelationshipDescription("papers", to: "Paper", inverse: nil, toMany: true, isOrdered: true)
    ]
    let binder = EntityDescription("Binder")
    binder.superentityName = "Folder"
    let thing = EntityDescription("Thing")
    thing.properties = [AttributeDescription("text", .string)]
    let paper = EntityDescription("Paper")
    paper.superentityName = "Thing"
    let label = EntityDescription("Label")
    label.superentityName = "Thing"
    return ManagedObjectModel(entities: [folder, binder, thing, paper, label])
  }

  private func change(_ sql: String) throws {
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    defer { raw.close() }
    try raw.execute(sql)
  }

  @Test(
    "Each column names who is there and of the right entity; place and entity are of a holder",
    arguments: [
      ("UPDATE ZTHING SET Z1PAPERS = 9 WHERE Z_PK = 1", "is not there"),
      ("UPDATE ZTHING SET Z1PAPERS = 0, Z1_1PAPERS = 1 WHERE Z_PK = 1", "no whole number"),
      ("UPDATE ZTHING SET Z1PAPERS = 'x' WHERE Z_PK = 1", "no whole number"),
      ("UPDATE ZTHING SET Z1PAPERS = 2 WHERE Z_PK = 1", "says another entity"),
      ("UPDATE ZTHING SET Z1_1PAPERS = NULL WHERE Z_PK = 1", "says another entity"),
      ("UPDATE ZTHING SET Z1_1PAPERS = 'x' WHERE Z_PK = 1", "Z1_1PAPERS is no whole number"),
      (
        "UPDATE ZTHING SET Z_FOK_1PAPERS = x'00' WHERE Z_PK = 1", "Z_FOK_1PAPERS is no whole number"
      ),
      ("UPDATE ZTHING SET Z1PAPERS = NULL, Z1_1PAPERS = NULL WHERE Z_PK = 1", "nobody holds it"),
      ("UPDATE ZTHING SET Z1PAPERS = NULL, Z_FOK_1PAPERS = NULL WHERE Z_PK = 1", "nobody holds it"),
      (
        "UPDATE ZTHING SET Z1PAPERS = 1, Z1_1PAPERS = 1 WHERE Z_PK = 4",
        "holds an object of another"
      ),
    ])
  func findings(_ sql: String, _ message: String) throws {
    try change(sql)
    let store = try PersistentStore.open(url: url, model: Self.model())
    let findings = try store.check().findings
    #expect(!findings.isEmpty && findings.allSatisfy { $0.table == "ZTHING" }, "\(findings)")
    #expect(findings.contains { $0.message.contains(message) }, "\(findings)")
    #expect(findings.allSatisfy { $0.message.contains(sql.hasSuffix("= 4") ? "Z_PK 4" : "Z_PK 1") })
  }

  @Test("A file says that programs which know no columns cannot read it")
  func mark() throws {
    let store = try PersistentStore.open(url: url, model: Self.model())
    #expect(store.metadata.format == 2)
    store.close()
    let (_, metadata) = try PersistentStore.metadata(at: url)
    #expect(metadata.values["DriftlessFormat"] as? Int == 2)
    let pairs = directory.file("pairs.sqlite")
    #expect(try PersistentStore.open(url: pairs, model: Self.model()).metadata.format == 1)
  }

  @Test("One that an earlier program made without saying so says it when it is opened for writing")
  func unmarked() throws {
    let store = try PersistentStore.open(url: url, model: Self.model())
    try store.setMetadata(1, forKey: StoreMetadata.formatKey)
    store.close()
    let reading = try PersistentStore.open(url: url, options: StoreOptions(isReadOnly: true))
    #expect(reading.metadata.format == 1)
    reading.close()
    #expect(try PersistentStore.open(url: url, model: Self.model()).metadata.format == 2)
    #expect(try PersistentStore.metadata(at: url).1.format == 2)
  }

  @Test("A file of Core Data's stays without the mark, and opens")
  func coreData() throws {
    try StrippedFile.make(at: url)
    let store = try PersistentStore.open(url: url, model: Self.model())
    #expect(store.metadata.format == 0 && store.schema.holdsInColumns)
    #expect(try store.check().findings == [])
  }
}
