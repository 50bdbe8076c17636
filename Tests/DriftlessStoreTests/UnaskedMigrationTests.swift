import Foundation
import TestSupport
import Testing

@testable import Driftless

/// An older program opens a store that a newer one made.
struct UnaskedMigrationTests {
  private static let migrating = StoreOptions(migratesAutomatically: true)
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("items.sqlite")
  }

  private func model(_ attributes: String..., tags: Bool = false) -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.properties = attributes.map { AttributeDescription($0, .string) }
    guard tags else { return ManagedObjectModel(entities: [item]) }
    let tag = EntityDescription("Tag")
    tag.properties = [AttributeDescription("name", .string)]
    return ManagedObjectModel(entities: [item, tag])
  }

  private var newer: ManagedObjectModel { model("name", "note", tags: true) }
  private var older: ManagedObjectModel { model("name") }

  private var copies: [URL] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.url.path)) ?? []
    return names.filter { $0.contains("-before-") && $0.hasSuffix(".sqlite") }.sorted()
      .map(directory.file)
  }

  /// A store of the newer model, which was never migrated.
  private func fill(_ model: ManagedObjectModel, note: String? = "kept") throws {
    let store = try PersistentStore.open(url: url, model: model)
    try store.insert("Item", ["name": .string("a"), "note": note.map { .string($0) } ?? .null])
    store.close()
  }

  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch { return (error as? StoreError)?.code }
    return nil
  }

  @Test("What an older program takes away stays beside the store, and the newer one comes back")
  func backAgain() throws {
    try fill(newer)
    try PersistentStore.open(url: url, model: older, options: Self.migrating).close()
    let copy = try #require(copies.first)
    #expect(copies.count == 1)
    let kept = try PersistentStore.open(url: copy, options: StoreOptions(isReadOnly: true))
    #expect(
      try kept.values(ObjectKey(entity: 1, key: 1))
        == ["name": .string("a"), "note": .string("kept")])
    kept.close()

    // The newer program is told how, and goes on.
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.open(url: url, model: newer, options: Self.migrating)
    }
    #expect(error?.code == .newerModel)
    #expect(error?.suggestion.contains("--back") == true)
    #expect(code { try PersistentStore.migrate(at: url, to: newer) } == .newerModel)
    try PersistentStore.migrate(at: url, to: newer, goesBack: true)
    var store = try PersistentStore.open(url: url, model: newer)
    #expect(try store.values(ObjectKey(entity: 1, key: 1))?["name"] == .string("a"))
    store.close()
    // From here on the models are in their order: the older one has come before none.
    #expect(
      code {
        try PersistentStore.open(
          url: url, model: model("name", "note", "third", tags: true), options: Self.migrating
        ).close()
      } == nil)
    #expect(
      code {
        try PersistentStore.open(url: url, model: newer, options: Self.migrating).close()
      } == .newerModel)
    #expect(copies.count == 1)
    // The store that they are of takes them along.
    store = try PersistentStore.open(url: url)
    store.close()
    try PersistentStore.destroy(at: url)
    #expect(copies.isEmpty)
  }

  @Test("Nothing is kept where nothing goes, where it was named, or where the program says so")
  func nothingKept() throws {
    try fill(model("name", "note"), note: nil)
    try PersistentStore.open(url: url, model: older, options: Self.migrating).close()
    #expect(copies.isEmpty, "no object had a note")

    try PersistentStore.destroy(at: url)
    try fill(newer)
    var options = Self.migrating
    options.keepsCopyBeforeDropping = false
    #expect(options != Self.migrating)
    try PersistentStore.open(url: url, model: older, options: options).close()
    #expect(copies.isEmpty)

    try PersistentStore.destroy(at: url)
    try fill(newer)
    try PersistentStore.migrate(at: url, to: older)
    #expect(copies.isEmpty)
  }

  @Test("A migration that fails leaves no copy")
  func failing() throws {
    // Two of one name: that is found out once the copy was made.
    try fill(model("name", "note"))
    try fill(model("name", "note"))
    let destination = model("name")
    destination.entities[0].uniquenessConstraints = [["name"]]
    #expect(
      code {
        try PersistentStore.open(url: url, model: destination, options: Self.migrating).close()
      } == .constraint)
    #expect(copies.isEmpty)
  }

  @Test("What is kept stays the store's own, whatever becomes of copies of the store")
  func copiesOfTheStore() throws {
    try fill(newer)
    let store = try PersistentStore.open(url: url, model: older, options: Self.migrating)
    let (backup, twin) = (directory.file("backup.sqlite"), directory.file("twin.sqlite"))
    try store.backup(to: backup)
    store.close()
    try FileManager.default.copyItem(at: url, to: twin)
    try PersistentStore.replace(at: url, withStoreAt: backup)
    try PersistentStore.destroy(at: backup)
    try PersistentStore.destroy(at: twin)
    #expect(copies.count == 1)
    try PersistentStore.destroy(at: url)
    #expect(copies.isEmpty, "the store names it also after a backup was put in its place")
  }

  /// A bundle with versions of a model, of which the last is the current one.
  private func bundle(_ versions: [[String]]) throws -> ManagedObjectModel {
    let bundle = directory.file("Items.xcdatamodeld")
    try? FileManager.default.removeItem(at: bundle)
    for (number, attributes) in versions.enumerated() {
      let folder = bundle.appendingPathComponent("Items \(number).xcdatamodel")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let text = attributes.map {
        "<attribute name=\"\($0)\" optional=\"YES\" attributeType=\"String\"/>"
      }.joined()
      try Data("<model><entity name=\"Item\">\(text)</entity></model>".utf8)
        .write(to: folder.appendingPathComponent("contents"))
    }
    let current = ["_XCCurrentVersionName": "Items \(versions.count - 1).xcdatamodel"]
    try PropertyListSerialization.data(fromPropertyList: current, format: .xml, options: 0)
      .write(to: bundle.appendingPathComponent(".xccurrentversion"))
    return try ManagedObjectModel(contentsOf: bundle)
  }

  @Test("A program that has the versions of its model knows whether the store's is older or newer")
  func versions() throws {
    // The newer program took an attribute away: the store's model is one of its versions.
    try fill(bundle([["name", "note"]]))
    let next = try bundle([["name", "note"], ["name"]])
    try PersistentStore.open(url: url, model: next, options: Self.migrating).close()
    #expect(copies.isEmpty)

    // The older program has no version with what the store holds.
    try PersistentStore.destroy(at: url)
    try fill(bundle([["name", "note"]]))
    let bytes = try Data(contentsOf: url)
    let former = try bundle([["title"], ["name"]])
    var (deferring, copyless) = (Self.migrating, Self.migrating)
    deferring.defersMigrationCleanup = true
    copyless.keepsCopyBeforeDropping = false
    for options in [Self.migrating, deferring, copyless] {
      let error = #expect(throws: StoreError.self) {
        try PersistentStore.open(url: url, model: former, options: options)
      }
      #expect(error?.code == .newerModel)
      #expect(error?.message.contains("Item.note") == true)
      #expect(try Data(contentsOf: url) == bytes)
      #expect(copies.isEmpty)
    }
  }
}
