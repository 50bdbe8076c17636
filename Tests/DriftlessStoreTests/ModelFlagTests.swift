import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What a model may come to say otherwise without being another one: it is in no version hash, and no migration runs.
struct ModelFlagTests {
  private static let small = Data([1, 2, 3])
  private static let large = Data(repeating: 7, count: 300_000)

  private func photos(external: Bool, note: Bool = false) -> ManagedObjectModel {
    let photo = EntityDescription("Photo")
    let image = AttributeDescription("image", .binaryData)
    image.allowsExternalBinaryDataStorage = external
    photo.properties = [image] + (note ? [AttributeDescription("note", .string)] : [])
    return ManagedObjectModel(entities: [photo])
  }

  private func check(_ store: PersistentStore, _ values: [ObjectKey: Data]) throws {
    let photo = try #require(store.model.entitiesByName["Photo"])
    for (key, data) in values {
      let found = try store.values(key)?["image"]
      #expect(found == .data(data), "\(data.count) bytes")
      let query = try QueryCompiler(schema: store.schema).compile(
        entity: photo, predicate: FetchPredicate(format: "image == %@", data))
      #expect(try store.read { try $0.keys(of: query) } == [key])
    }
  }

  @Test(
    "Values read the same after their attribute was allowed external storage, or no longer",
    arguments: [true, false])
  func externalStorage(first: Bool) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    var values: [ObjectKey: Data] = [:]
    for (external, more) in [(first, 0), (!first, 1), (first, 2), (!first, 3)] {
      let store = try PersistentStore.open(url: url, model: photos(external: external))
      try check(store, values)
      for data in [Self.small, Self.large] {
        let data = data + [UInt8(more)]
        values[try store.insert("Photo", ["image": .data(data)])] = data
      }
      try check(store, values)
      store.close()
      // Who opens without the application sees the same.
      let other = try PersistentStore.open(url: url, options: StoreOptions(isReadOnly: true))
      try check(other, values)
      #expect(try other.check().isSound)
    }
    // A migration writes the file anew, and goes by the model.
    let store = try PersistentStore.open(
      url: url, model: photos(external: !first, note: true),
      options: StoreOptions(migratesAutomatically: true))
    try check(store, values)
    let files = ExternalDataFolder(store: url.path).names.count
    let key = try store.insert("Photo", ["image": .data(Self.large)])
    #expect(ExternalDataFolder(store: url.path).names.count == files + (first ? 0 : 1))
    #expect(try store.values(key)?["image"] == .data(Self.large))
  }

  @Test("An attribute whose value is to outlive its object is kept from then on")
  func preservedValues() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("names.sqlite")
    func model(_ preserves: Bool) -> ManagedObjectModel {
      let name = AttributeDescription("name", .string)
      name.preservesValueInHistoryOnDeletion = preserves
      let entity = EntityDescription("Entry")
      entity.properties = [name]
      return ManagedObjectModel(entities: [entity])
    }
    let before = try PersistentStore.open(url: url, model: model(false))
    let key = try before.insert("Entry", ["name": .string("gone")])
    before.close()
    let store = try PersistentStore.open(url: url, model: model(true))
    _ = try store.write(TransactionInfo()) { try $0.delete(key, expectedVersion: nil) }
    let last = try store.fetchHistory(.fetchHistory(after: Date.distantPast)).last
    #expect(last?.changes?.first?.tombstone == ["name": .string("gone")])
  }
}
