import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A file that Core Data wrote, opened with a model whose compiled form nobody has: what the file knows decides.
struct ModelFitTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func copy(_ path: String) throws -> URL {
    let url = directory.file("\(UUID().uuidString).sqlite")
    try Data(contentsOf: SharedData.url(path)).write(to: url)
    return url
  }

  /// The model that a file tells of, without the hashes of Core Data's compiler.
  private func told(by url: URL) throws -> ManagedObjectModel {
    let store = try PersistentStore.open(url: url, options: .inspecting(url))
    defer { store.close() }
    return try store.model.copy()
  }

  private func model(_ text: String) throws -> ManagedObjectModel {
    let folder = directory.file("\(UUID().uuidString).xcdatamodel")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: folder.appendingPathComponent("contents"))
    return try ManagedObjectModel(contentsOf: folder)
  }

  private func refusal(
    _ url: URL, _ told: ManagedObjectModel, isReadOnly: Bool = false,
    _ change: (ManagedObjectModel) -> Void = { _ in }
  ) throws -> StoreError? {
    let model = try told.copy()
    model.recordedHashes = [:]
    change(model)
    do {
      let options = isReadOnly ? StoreOptions.inspecting(url) : StoreOptions()
      try PersistentStore.open(url: url, model: model, options: options).close()
      return nil
    } catch let error as StoreError {
      return error
    }
  }

  private func refusal(_ url: URL, _ text: String, isReadOnly: Bool = false) throws -> StoreError? {
    try refusal(url, model(text), isReadOnly: isReadOnly)
  }

  @Test(
    "What a file was written with is taken, for reading and for writing",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"), arguments: SharedData.stores)
  func right(path: String) throws {
    let url = try copy(path)
    let model = try told(by: url)
    #expect(try refusal(url, model, isReadOnly: true) == nil)
    #expect(try refusal(url, model) == nil)
    // Once more, when it has our tables and our model.
    #expect(try refusal(url, model) == nil)
  }

  private static let cars = "core-data-stores/SampleModel/SampleModel_V2.sqlite"

  /// A change of the model, and what the refusal names.
  private struct Change {
    let told: [String]
    let make: (ManagedObjectModel) -> Void
  }

  private static func set(
    _ type: AttributeType, _ name: String, in model: ManagedObjectModel
  ) {
    for entity in model.entities {
      for case let attribute as AttributeDescription in entity.ownProperties
      where attribute.name == name {
        attribute.type = type
        attribute.defaultValue = .null
      }
    }
  }

  private static var changes: [Change] {
    [
      Change(told: ["Car.maker", "String", "Integer 64"]) { set(.integer64, "maker", in: $0) },
      Change(told: ["isLimitedEdition", "Boolean", "Integer 16"]) {
        set(.integer16, "isLimitedEdition", in: $0)
      },
      Change(told: ["Car", "maker"]) {
        $0.entitiesByName["Car"]?.uniquenessConstraints = [["maker"]]
      },
      Change(told: ["LuxuryCar", "SportCar"]) {
        $0.entitiesByName["LuxuryCar"]?.superentityName = "Car"
      },
    ]
  }

  @Test(
    "What Core Data's copy of the model says otherwise is refused by name",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"), arguments: 0..<4)
  func byCopy(number: Int) throws {
    let url = try copy(Self.cars)
    let change = Self.changes[number]
    let model = try told(by: url)
    let before = try Data(contentsOf: url)
    for isReadOnly in [true, false] where number != 2 || !isReadOnly {
      let error = try refusal(url, model, isReadOnly: isReadOnly, change.make)
      #expect(error?.code == .incompatibleModel)
      for word in change.told {
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "it was taken")")
      }
    }
    #expect(try Data(contentsOf: url) == before)
  }

  @Test(
    "Where there is no copy, the tables tell what they can",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"), arguments: [0, 2, 3])
  func byTables(number: Int) throws {
    let url = try copy(Self.cars)
    let change = Self.changes[number]
    let model = try told(by: url)
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    try raw.execute("DELETE FROM Z_MODELCACHE")
    raw.close()
    let error = try refusal(url, model, change.make)
    #expect(error?.code == .incompatibleModel)
    #expect(
      error?.message.contains(change.told[0]) == true, "\(error?.message ?? "it was taken")")
    // The right one is taken.
    #expect(try refusal(url, model) == nil)
    // What it was opened with before tells from then on what the tables do not.
    let other = try refusal(url, model, Self.changes[1].make)
    #expect(other?.code == .incompatibleModel)
    #expect(
      other?.message.contains("isLimitedEdition is Boolean") == true, "\(other?.message ?? "")")
  }

  /// Shelves with books, and readers, without Core Data's copy of the model.
  private func shelves(_ sql: String = "") throws -> URL {
    let url = directory.file("shelves.sqlite")
    let store = try PersistentStore.open(url: url, model: try model(Self.shelves))
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    for _ in 0..<5 { _ = try context.insert(entityNamed: "Shelf") }
    try context.save()
    for shelf in try context.fetch(FetchRequest<ManagedObject>(entityName: "Shelf")) {
      try context.insert(entityNamed: "Book").setValue(shelf, forKey: "shelf")
    }
    try context.save()
    store.close()
    try StrippedFile.make(at: url, sql)
    return url
  }

  private static let shelves = """
    <model><entity name="Shelf"><attribute name="label" optional="YES" attributeType="String"/>\
    <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Book" inverseName="shelf" inverseEntity="Book"/></entity>\
    <entity name="Reader"><attribute name="label" optional="YES" attributeType="String"/>\
    <relationship name="read" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Book" inverseName="readers" inverseEntity="Book"/></entity>\
    <entity name="Book"><relationship name="shelf" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Shelf" inverseName="books" inverseEntity="Shelf"/>\
    <relationship name="readers" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Reader" inverseName="read" inverseEntity="Reader"/></entity></model>
    """

  @Test("Keys that are all of another entity are no references to the one that a model names")
  func destination() throws {
    let url = try shelves()
    let other = Self.shelves
      .replacing(
        "destinationEntity=\"Shelf\" inverseName=\"books\" inverseEntity=\"Shelf\"",
        with: "destinationEntity=\"Reader\" inverseName=\"books\" inverseEntity=\"Reader\""
      )
      .replacing(
        "<relationship name=\"books\" optional=\"YES\" toMany=\"YES\" deletionRule=\"Nullify\" destinationEntity=\"Book\" inverseName=\"shelf\" inverseEntity=\"Book\"/>",
        with: ""
      )
      .replacing(
        "<relationship name=\"read\"",
        with:
          "<relationship name=\"books\" optional=\"YES\" toMany=\"YES\" deletionRule=\"Nullify\" destinationEntity=\"Book\" inverseName=\"shelf\" inverseEntity=\"Book\"/><relationship name=\"read\""
      )
    let error = try refusal(url, other)
    #expect(error?.code == .incompatibleModel)
    #expect(error?.message.contains("Book.shelf") == true, "\(error?.message ?? "it was taken")")
    #expect(error?.message.contains("Reader") == true)
    #expect(error?.suggestion.contains("Shelf") == true)
    #expect(try refusal(url, Self.shelves) == nil)
  }

  @Test(
    "A table of a relationship that a model does not have is told, and so is a rule that it does not keep"
  )
  func lessKnown() throws {
    let url = try shelves()
    let less = Self.shelves
      .replacing(
        "<relationship name=\"read\" optional=\"YES\" toMany=\"YES\" deletionRule=\"Nullify\" destinationEntity=\"Book\" inverseName=\"readers\" inverseEntity=\"Book\"/>",
        with: ""
      )
      .replacing(
        "<relationship name=\"readers\" optional=\"YES\" toMany=\"YES\" deletionRule=\"Nullify\" destinationEntity=\"Reader\" inverseName=\"read\" inverseEntity=\"Reader\"/>",
        with: "")
    let error = try refusal(url, less)
    #expect(error?.message.contains("READERS") == true, "\(error?.message ?? "it was taken")")
    #expect(error?.suggestion.contains("ignoresVersioning") == false)
    // Who only reads may know less.
    #expect(try refusal(url, less, isReadOnly: true) == nil)
    let unique = Self.shelves.replacing(
      "<relationship name=\"books\"",
      with:
        "<uniquenessConstraints><uniquenessConstraint><constraint value=\"label\"/></uniquenessConstraint></uniquenessConstraints><relationship name=\"books\""
    )
    let missing = try refusal(url, unique)
    #expect(missing?.message.contains("Shelf is unique by (label)") == true)
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    try raw.execute("CREATE UNIQUE INDEX Z_Shelf_UNIQUE_label ON ZSHELF (ZLABEL)")
    raw.close()
    #expect(try refusal(url, unique, isReadOnly: true) == nil)
    let unkept = try refusal(url, Self.shelves)
    #expect(unkept?.message.contains("ZLABEL") == true, "\(unkept?.message ?? "it was taken")")
  }

  @Test("A compiled or own model that differs says in what")
  func byHashes() throws {
    let url = directory.file("own.sqlite")
    try PersistentStore.open(url: url, model: try model(Self.shelves)).close()
    let error = try refusal(
      url,
      Self.shelves.replacing(
        "name=\"label\" optional=\"YES\" attributeType=\"String\"",
        with: "name=\"label\" optional=\"YES\" attributeType=\"Date\""))
    #expect(error?.message.contains("Reader.label is String, optional in the file") == true)
  }
}
