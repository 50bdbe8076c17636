import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Files that Core Data wrote on a Mac.
struct CoreDataFileTests {
  @Test(
    "A file of Core Data's is read, written and given a history, and its rows stay as they were",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func cars() throws {
    let original = SharedData.url("core-data-stores/SampleModel/SampleModel_V2.sqlite")
    let source = SharedData.url(
      "xcdatamodel/CoreDataPlus/SampleModel.xcdatamodeld/SampleModel2.xcdatamodel")
    let directory = try TemporaryDirectory()
    let url = directory.file("cars.sqlite")
    try Data(contentsOf: original).write(to: url)
    // The file is of the version before an entity got its present name.
    let model = directory.file("Cars.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    let text = try String(contentsOf: source.appendingPathComponent("contents"), encoding: .utf8)
    try text.replacingOccurrences(of: "LuxuryCar", with: "ExpensiveSportCar")
      .write(to: model.appendingPathComponent("contents"), atomically: true, encoding: .utf8)
    let store = try PersistentStore.open(url: url, model: ManagedObjectModel(contentsOf: model))
    let car = try #require(store.model.entitiesByName["Car"])
    let first = try #require(
      try store.read { try $0.concreteKey(root: ObjectKey(entity: 1, key: 1)) })
    let values = try #require(try store.values(first))
    let raw = try store.read {
      try $0.connection.rows("SELECT ZMAKER, ZNUMBERPLATE, ZOWNER FROM ZCAR WHERE Z_PK = 1")
    }[0]
    guard case .text(let maker) = raw[0], case .text(let plate) = raw[1] else {
      Issue.record("the first car has no maker or plate")
      return
    }
    #expect(values["maker"] == .string(maker))
    #expect(values["numberPlate"] == .string(plate))
    if case .integer(let owner) = raw[2] {
      #expect(values["owner"] == .reference(ObjectKey(entity: 4, key: owner)))
    }
    let new = try store.insert("SportCar", ["maker": .string("ours")])
    #expect(new == ObjectKey(entity: 2, key: 126), "keys go on from Core Data's")
    try store.update(first, "maker", .string("changed"))
    #expect(try store.fetchHistory(.fetchHistory(after: Date.distantPast)).count == 2)
    #expect(try store.read { try $0.key(of: $0.identity(of: first)) } == first)
    let query = try QueryCompiler(schema: store.schema).compile(entity: car, predicate: nil)
    var count = 0
    try store.read { try $0.forEachRow(of: query) { _ in count += 1 } }
    #expect(count == 126)
    store.close()
    let again = try PersistentStore.open(url: url)
    #expect(try again.values(first)?["maker"] == .string("changed"))
    #expect(again.identifier == store.identifier)
  }

  @Test(
    "A model that does not fit the tables of such a file is refused by name, and the file stays",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func misfit() throws {
    let original = SharedData.url("core-data-stores/SampleModel/SampleModel_V2.sqlite")
    let directory = try TemporaryDirectory()
    let url = directory.file("cars.sqlite")
    try Data(contentsOf: original).write(to: url)
    let person = EntityDescription("Person")
    person.properties = [AttributeDescription("height", .double)]
    #expect {
      _ = try PersistentStore.open(url: url, model: ManagedObjectModel(entities: [person]))
    } throws: { error in
      guard let error = error as? StoreError else { return false }
      return error.code == .incompatibleModel && error.message.contains("ZPERSON.ZHEIGHT")
    }
    #expect(try Data(contentsOf: url) == Data(contentsOf: original))
  }
}
