import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import TestSupport
import Testing

@testable import SyncControl

/// Stores that keep to-many relationships without inverse in columns, from the command line.
@Suite struct ToManyLayoutCommandTests {
  private let directory: TemporaryDirectory
  private let url: URL

  /// A folder that holds a paper, in columns.
  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("desk.sqlite")
    let folder = EntityDescription("Folder")
    folder.properties = [
      RelationshipDescription("papers", to: "Paper", inverse: nil, toMany: true)
    ]
    let model = ManagedObjectModel(entities: [folder, EntityDescription("Paper")])
    var options = StoreOptions()
    options.holdsToManyInColumns = true
    let store = try PersistentStore.open(url: url, model: model, options: options)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    try context.insert(entityNamed: "Folder")
      .setValue([try context.insert(entityNamed: "Paper")], forKey: "papers")
    try context.save()
    store.close()
  }

  private func held() throws -> (layout: ToManyLayout, count: Int) {
    let store = try PersistentStore.open(url: url)
    defer { store.close() }
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let folder = try #require(
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Folder")).first)
    return (
      store.schema.holdsInColumns ? .columns : .pairs,
      try folder.objectIDs(forRelationshipNamed: "papers").count
    )
  }

  @Test("enroll refuses it before it asks for a token, and names the command that leads out")
  func enroll() async throws {
    let command = try EnrollCommand.parse([
      "--store", url.path, "--server", "http://127.0.0.1:9", "--zone", "desk",
    ])
    let error = await #expect(throws: SyncError.self) { try await command.perform() }
    #expect(error?.code == .unsuitableLayout)
    #expect(error?.suggestion.contains("syncctl migrate \(url.path) --to-many pairs") == true)
  }

  @Test("migrate --to-many brings it to pairs and back, and leaves one that has them as it is")
  func migrate() async throws {
    for layout in [ToManyLayout.columns, .pairs, .pairs, .columns] {
      try await MigrateCommand.parse([url.path, "--to-many", layout.rawValue]).run()
      let held = try held()
      #expect(held.layout == layout && held.count == 1)
    }
  }

  @Test("migrate wants a model or a layout")
  func nothing() throws {
    #expect(throws: (any Error).self) { try MigrateCommand.parse([url.path]) }
  }

  @Test("import into it holds what it names, one holder each")
  func importing() async throws {
    let lines = directory.file("lines.jsonl")
    try Data(
      """
      {"op":"insert","entity":"Folder","id":"a","set":{"papers":["p","q"]}}
      {"op":"insert","entity":"Paper","id":"p"}
      {"op":"save"}
      {"op":"insert","entity":"Paper","id":"q"}
      {"op":"insert","entity":"Folder","id":"b","set":{"papers":["p"]}}
      """.utf8
    ).write(to: lines)
    try await ImportCommand.parse(["--store", url.path, lines.path]).run()
    let store = try PersistentStore.open(url: url)
    defer { store.close() }
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let counts = try context.fetch(FetchRequest<ManagedObject>(entityName: "Folder"))
      .map { try $0.objectIDs(forRelationshipNamed: "papers").count }
    #expect(counts == [1, 1, 1])
    #expect(try store.check().findings == [])
  }
}
