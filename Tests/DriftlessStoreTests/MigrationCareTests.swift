import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What a migration does to those who have the store open, and to files of values that go.
struct MigrationCareTests {
  private static let migrating = StoreOptions(migratesAutomatically: true)
  private static let large = PropertyValue.data(Data(repeating: 7, count: 300_000))
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("album.sqlite")
  }

  /// Photos with images in files.
  private func model(_ attributes: String...) -> ManagedObjectModel {
    let photo = EntityDescription("Photo")
    photo.properties =
      [AttributeDescription("name", .string)]
      + attributes.map { name in
        let image = AttributeDescription(name, .binaryData)
        image.allowsExternalBinaryDataStorage = true
        return image
      }
    return ManagedObjectModel(entities: [photo])
  }

  private var files: [String] { ExternalDataFolder(store: url.path).names }

  @Test("A store that is open elsewhere is not copied first, and is used on")
  func openElsewhere() throws {
    let store = try PersistentStore.open(url: url, model: model("image"))
    try store.insert("Photo", ["name": .string("a")])
    var parts: [Double] = []
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.migrate(at: url, to: model("image", "second")) { parts.append($0) }
    }
    #expect(error?.code == .busy)
    #expect(parts.isEmpty, "nothing was written")
    try store.insert("Photo", ["name": .string("b")])
    #expect(try store.check().isSound)
    store.close()
    try PersistentStore.migrate(at: url, to: model("image", "second"))
    let again = try PersistentStore.open(url: url)
    #expect(
      try again.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZPHOTO") } == .integer(2))
    #expect(try again.read { try $0.connection.scalar("PRAGMA journal_mode") } == .text("wal"))
  }

  @Test("Files of an attribute that the new model does not have go, and those of others stay")
  func droppedFiles() throws {
    let store = try PersistentStore.open(url: url, model: model("image", "second"))
    let key = try store.insert("Photo", ["image": Self.large, "second": Self.large])
    store.close()
    #expect(files.count == 2)
    try PersistentStore.migrate(at: url, to: model("second"))
    let second = try PersistentStore.open(url: url)
    #expect(files.count == 1)
    #expect(try second.values(key)?["second"] == Self.large)
    second.close()
    // The last such attribute: the store knows of no files any more.
    try PersistentStore.migrate(at: url, to: model())
    let last = try PersistentStore.open(url: url)
    #expect(files.isEmpty)
    #expect(try last.check().isSound)
  }

  @Test("Files that were left while another one had the store open go with the next who opens it")
  func droppedWhileOpen() throws {
    let store = try PersistentStore.open(url: url, model: model("image"))
    try store.insert("Photo", ["image": Self.large])
    store.close()
    try PersistentStore.migrate(at: url, to: model())
    // Somebody writes as it is opened.
    let lock = try FileLock(path: url.path + "-driftless-lock")
    try lock.lock(.shared)
    var next = try PersistentStore.open(url: url)
    #expect(files.count == 1)
    next.close()
    lock.unlock()
    next = try PersistentStore.open(url: url)
    #expect(files.isEmpty)
    next.close()
  }
}
