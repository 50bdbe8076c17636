import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Stores of one configuration of a model.
struct ConfigurationTests {
  /// “Library” has a hierarchy and a many-to-many relationship, “Local” an entity that has nothing to do with them.
  static func model(_ change: (ManagedObjectModel) -> Void = { _ in }) throws -> ManagedObjectModel
  {
    let work = EntityDescription("Work")
    work.properties = [
      AttributeDescription("title", .string),
      RelationshipDescription("people", to: "Person", inverse: "works", toMany: true),
    ]
    let book = EntityDescription("Book")
    book.superentityName = "Work"
    book.properties = [AttributeDescription("pages", .integer32)]
    let film = EntityDescription("Film")
    film.superentityName = "Work"
    film.properties = [AttributeDescription("minutes", .integer32)]
    let person = EntityDescription("Person")
    person.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("works", to: "Work", inverse: "people", toMany: true),
    ]
    let draft = EntityDescription("Draft")
    draft.properties = [
      AttributeDescription("text", .string), AttributeDescription("bookCode", .uuid),
    ]
    let model = ManagedObjectModel(entities: [work, book, film, person, draft])
    model.setEntities([book, person], forConfigurationName: "Library")
    model.setEntities([draft], forConfigurationName: "Local")
    change(model)
    try model.freeze()
    return model
  }

  private func numbers(_ url: URL) throws -> [String] {
    let file = try SQLiteConnection(path: url.path, mode: .readOnly)
    defer { file.close() }
    return try file.rows(
      "SELECT Z_ENT || Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT < 100 ORDER BY Z_ENT"
    )
    .compactMap { if case .text(let text) = $0[0] { text } else { nil } }
  }

  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch { return (error as? StoreError)?.code }
    return nil
  }

  @Test("A store of a configuration has its entities alone, with what they inherit from")
  func layout() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("library.sqlite")
    let store = try PersistentStore.open(url: url, model: Self.model(), configuration: "Library")
    #expect(store.configurationName == "Library")
    #expect(Set(store.metadata.versionHashes.keys) == ["Book", "Person", "Work"])
    #expect(store.model.entities.count == 5)
    try store.insert("Book", ["title": .string("Emma"), "pages": .integer(474)])
    #expect(try store.check().isSound)
    #expect(code { try store.insert("Draft") } == .invalidArgument)
    #expect(code { try store.insert("Film") } == .invalidArgument)
    store.close()
    #expect(try numbers(url) == ["1Person", "2Work", "3Book"])
    let file = try SQLiteConnection(path: url.path, mode: .readOnly)
    let tables = try file.rows(
      """
      SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'Z*'
      AND name NOT GLOB 'ZDL_*' AND name NOT IN ('Z_METADATA', 'Z_MODELCACHE', 'Z_PRIMARYKEY')
      ORDER BY name
      """)
    #expect(tables == [[.text("ZPERSON")], [.text("ZWORK")], [.text("Z_1WORKS")]])
    let columns = try file.rows("SELECT name FROM pragma_table_info('ZWORK')")
    #expect(columns.map { $0[0] }.suffix(2) == [.text("ZPAGES"), .text("ZTITLE")])
    file.close()
  }

  @Test("Opened without a model, a store knows which entities it has; the model inside is whole")
  func withoutModel() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("library.sqlite")
    let key = try {
      let store = try PersistentStore.open(url: url, model: Self.model(), configuration: "Library")
      return try store.insert("Book", ["title": .string("Emma")])
    }()
    let again = try PersistentStore.open(url: url)
    #expect(again.configurationName == "Library")
    #expect(again.model.configurations == ["Library", "Local"])
    #expect(Set(again.schema.entities.map(\.name)) == ["Work", "Book", "Person"])
    #expect(again.model.entitiesByName["Draft"].map(again.schema.entityNumber(of:)) == 0)
    #expect(try again.values(key)?["title"] == .string("Emma"))
    #expect(try again.check().isSound)
    #expect(
      code { _ = try PersistentStore.open(url: url, configuration: "Local") }
        == .incompatibleModel)
    again.close()
    #expect(
      try PersistentStore.open(url: url, configuration: "Library").identifier
        == again.identifier)
  }

  @Test("An unknown configuration is refused, and no file is made")
  func unknown() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("library.sqlite")
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.open(url: url, model: Self.model(), configuration: "Cloud")
    }
    #expect(error?.code == .unknownConfiguration)
    #expect(error?.suggestion.contains("“Library”, “Local”") == true)
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test("A configuration that a relationship leads out of is refused, with what to do about it")
  func leaving() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("library.sqlite")
    let model = try Self.model { model in
      // The relationship is one that Book inherits.
      let book = model.entities.filter { $0.name == "Book" }
      model.setEntities(book, forConfigurationName: "Books")
    }
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.open(url: url, model: model, configuration: "Books")
    }
    #expect(error?.code == .relationshipLeavesConfiguration)
    #expect(error?.message.contains("Work.people, which leads to Person") == true)
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test(
    "What changes in other configurations does not concern a store; what changes in its own does")
  func compatibility() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("library.sqlite")
    try PersistentStore.open(url: url, model: Self.model(), configuration: "Library").close()
    let other = try Self.model { model in
      model.entities[4].properties.append(AttributeDescription("started", .date))
    }
    let store = try PersistentStore.open(url: url, model: other, configuration: "Library")
    let metadata = store.metadata.values
    #expect(store.model.entitiesByName["Draft"]?.attributesByName["started"] != nil)
    store.close()
    #expect(try PersistentStore.open(url: url).model == other)
    #expect(other.isConfiguration(withName: "Library", compatibleWithStoreMetadata: metadata))
    #expect(!other.isConfiguration(withName: "Local", compatibleWithStoreMetadata: metadata))
    #expect(!other.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))

    let own = try Self.model { model in
      model.entities[3].properties.append(AttributeDescription("born", .date))
    }
    #expect(
      code { _ = try PersistentStore.open(url: url, model: own, configuration: "Library") }
        == .incompatibleModel)
    let migrated = try PersistentStore.open(
      url: url, model: own, configuration: "Library",
      options: StoreOptions(migratesAutomatically: true))
    try migrated.insert("Person", ["name": .string("Jane"), "born": .date(Date())])
    #expect(migrated.configurationName == "Library")
    #expect(Set(migrated.metadata.versionHashes.keys) == ["Book", "Person", "Work"])
    migrated.close()
    #expect(try numbers(url) == ["1Person", "2Work", "3Book"])
  }

  @Test("A store is not taken to another configuration by itself, but when it is asked for")
  func otherConfiguration() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("all.sqlite")
    let whole = try PersistentStore.open(url: url, model: Self.model())
    let draft = try whole.insert("Draft", ["text": .string("Once")])
    try whole.insert("Book", ["title": .string("Emma")])
    whole.close()
    for configuration in ["Local", "Library"] {
      let error = #expect(throws: StoreError.self) {
        try PersistentStore.open(
          url: url, model: Self.model(), configuration: configuration,
          options: StoreOptions(migratesAutomatically: true))
      }
      #expect(error?.code == .incompatibleModel)
      #expect(error?.message.contains("the configuration “\(configuration)”") == true)
    }
    #expect(try PersistentStore.open(url: url, model: Self.model()).values(draft) != nil)
    try PersistentStore.migrate(at: url, to: Self.model(), configuration: "Local")
    let local = try PersistentStore.open(url: url, model: Self.model(), configuration: "Local")
    #expect(try local.values(draft)?["text"] == .string("Once"))
    #expect(local.schema.entities.map(\.name) == ["Draft"])
    #expect(try local.check().isSound)
  }

  @Test("A configuration may get another name, as long as its entities stay")
  func renamed() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("local.sqlite")
    try PersistentStore.open(url: url, model: Self.model(), configuration: "Local").close()
    let model = try Self.model { model in
      model.setEntities([model.entities[4]], forConfigurationName: "Drafts")
    }
    try PersistentStore.open(url: url, model: model, configuration: "Drafts").close()
    #expect(try PersistentStore.open(url: url).configurationName == "Drafts")
  }

  @Test("A store of a configuration in memory")
  func memory() throws {
    let store = try PersistentStore.open(url: nil, model: Self.model(), configuration: "Local")
    let key = try store.insert("Draft", ["text": .string("Once")])
    #expect(try store.values(key)?["text"] == .string("Once"))
    #expect(code { try store.insert("Person") } == .invalidArgument)
  }
}
