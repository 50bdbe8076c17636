import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Members of to-many relationships without inverse survive migrations, whatever the layout before and after.
@Suite("Migrations of to-many relationships without inverse")
struct ToManyLayoutMigrationTests {
  /// What becomes of the model.
  enum Change: String, CaseIterable {
    case none, attribute, relationship, holder, member, movesUp, movesDown, inverses, ordered
  }

  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("desk.sqlite")
  }

  /// Folders, and binders among them, hold papers, and letters among these; a folder has a pile of them.
  private static func model(_ change: Change = .none) -> ManagedObjectModel {
    let member = change == .member ? "Sheet" : "Paper"
    let folder = EntityDescription(change == .holder ? "Holder" : "Folder")
    if change == .holder { folder.renamingIdentifier = "Folder" }
    let papers = RelationshipDescription(
      change == .relationship ? "sheets" : "papers", to: member,
      inverse: change == .inverses ? "holders" : nil, toMany: true, isOrdered: change == .ordered)
    if change == .relationship { papers.renamingIdentifier = "papers" }
    let pile = RelationshipDescription(
      "pile", to: member, inverse: nil, toMany: true, isOrdered: true)
    folder.properties = [AttributeDescription("name", .string), pile]
    let binder = EntityDescription("Binder")
    binder.superentityName = folder.name
    let paper = EntityDescription(member)
    if change == .member { paper.renamingIdentifier = "Paper" }
    paper.properties = [AttributeDescription("text", .string)]
    let letter = EntityDescription("Letter")
    letter.superentityName = member
    var entities = [folder, binder, paper, letter]
    switch change {
    case .movesUp:
      let thing = EntityDescription("Thing")
      thing.isAbstract = true
      thing.properties = [papers]
      folder.superentityName = "Thing"
      entities.append(thing)
    case .movesDown: binder.properties = [papers]
    default: folder.properties.append(papers)
    }
    if change == .attribute { paper.properties.append(AttributeDescription("pages", .integer32)) }
    if change == .inverses {
      paper.properties.append(
        RelationshipDescription("holders", to: folder.name, inverse: "papers", toMany: true))
    }
    return ManagedObjectModel(entities: entities)
  }

  /// What holders hold, by their names and the relationships' former ones.
  private func held(_ store: PersistentStore) throws -> [String: [String]] {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    var held: [String: [String]] = [:]
    for entity in store.model.entities where entity.superentity == nil {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity.name)) {
        for (name, relationship) in object.entity.relationshipsByName
        where relationship.isToMany && name != "holders" {
          let members = object[ToMany<ManagedObject, ManagedObject>(name)].array
            .compactMap { $0["text"] as? String }
          let label = "\(object["name"] as? String ?? "").\(name == "sheets" ? "papers" : name)"
          held[label] = name == "pile" ? members : members.sorted()
        }
      }
    }
    return held
  }

  /// - Parameter isShared: Whether two hold one.
  private func make(_ layout: ToManyLayout, isShared: Bool = false) throws {
    var options = StoreOptions()
    options.holdsToManyInColumns = layout == .columns
    let store = try PersistentStore.open(url: url, model: Self.model(), options: options)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    func insert(_ entity: String, _ key: String, _ label: String) throws -> ManagedObject {
      let object = try context.insert(entityNamed: entity)
      object[key] = label
      return object
    }
    let folder = try insert("Folder", "name", "folder")
    let binder = try insert("Binder", "name", "binder")
    let papers = try ["x", "y", "z"].map { try insert("Paper", "text", $0) }
    let letter = try insert("Letter", "text", "letter")
    func hold(_ holder: ManagedObject, _ name: String, _ members: [ManagedObject]) throws {
      try holder.setValue(members, forKey: name)
    }
    try hold(folder, "papers", [papers[0]])
    try hold(binder, "papers", [papers[1], letter] + (isShared ? [papers[0]] : []))
    try hold(binder, "pile", [papers[2], letter, papers[0]])
    try context.save()
    store.close()
  }

  private func expected(_ change: Change, isShared: Bool = false) -> [String: [String]] {
    var expected = [
      "folder.papers": ["x"], "binder.papers": ["letter", "y"], "folder.pile": [],
      "binder.pile": ["z", "letter", "x"],
    ]
    if isShared { expected["binder.papers"] = ["letter", "x", "y"] }
    if change == .movesDown { expected["folder.papers"] = nil }
    return expected
  }

  @Test(
    "Each change of the model keeps members, in the layout that there was, and what else there is",
    arguments: ToManyLayout.allCases, Change.allCases)
  func changes(_ layout: ToManyLayout, _ change: Change) throws {
    for defersCleanup in [false, true] {
      try? PersistentStore.destroy(at: url)
      try? FileManager.default.removeItem(at: url)
      let isShared = layout == .pairs
      try make(layout, isShared: isShared)
      let store = try PersistentStore.open(
        url: url, model: Self.model(change),
        options: StoreOptions(migratesAutomatically: true, defersMigrationCleanup: defersCleanup))
      #expect(try held(store) == expected(change, isShared: isShared), "\(defersCleanup)")
      #expect(try store.check().findings == [], "\(defersCleanup)")
      #expect(store.schema.heldRelationships.isEmpty == (layout == .pairs))
      store.close()
    }
  }

  @Test(
    "The layout is another one on demand, with another model or the same",
    arguments: ToManyLayout.allCases, Change.allCases)
  func layouts(_ layout: ToManyLayout, _ change: Change) throws {
    try make(layout)
    let other: ToManyLayout = layout == .pairs ? .columns : .pairs
    for wanted in [other, other, layout] {
      try PersistentStore.migrate(at: url, to: Self.model(change), toManyLayout: wanted)
      let store = try PersistentStore.open(url: url, model: Self.model(change))
      #expect(try held(store) == expected(change))
      #expect(!store.schema.differs(from: wanted))
      #expect(store.metadata.format == (wanted == .columns ? 2 : 1))
      #expect(try store.check().findings == [])
      store.close()
    }
  }

  @Test("The history and the identities of a store that gets another layout stay")
  func memory() throws {
    try make(.columns)
    func memory() throws -> [[SQLiteValue]] {
      let raw = try SQLiteConnection(path: url.path, mode: .readOnly)
      defer { raw.close() }
      return try raw.rows("SELECT Z_PK, ZENTITY, ZENTITYPK, ZCHANGETYPE, ZCOLUMNS FROM ACHANGE")
        + raw.rows("SELECT Z_UUID FROM Z_METADATA")
        + raw.rows("SELECT key, value FROM ZDL_STORE WHERE key = 'mintPrefix'")
    }
    let before = try memory()
    try PersistentStore.migrate(at: url, to: Self.model(), toManyLayout: .pairs)
    #expect(try memory() == before)
  }

  @Test("Columns are refused where several hold one, and the store stays as it was")
  func shared() throws {
    try make(.pairs, isShared: true)
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.migrate(at: url, to: Self.model(), toManyLayout: .columns)
    }
    #expect(error?.code == .cannotMigrate && error?.message.contains("Folder.papers") == true)
    let store = try PersistentStore.open(url: url, model: Self.model())
    #expect(try held(store) == expected(.none, isShared: true))
  }

  @Test("A replica keeps pairs: columns are refused, and those of an earlier program become pairs")
  func replica() throws {
    try make(.columns)
    let store = try PersistentStore.open(url: url, model: Self.model())
    _ = try store.write(TransactionInfo()) { try $0.setSyncing(true) }
    store.close()
    #expect(throws: StoreError.self) {
      try PersistentStore.migrate(at: url, to: Self.model(.attribute), toManyLayout: .columns)
    }
    try PersistentStore.migrate(at: url, to: Self.model(.attribute))
    let migrated = try PersistentStore.open(url: url, model: Self.model(.attribute))
    #expect(try held(migrated) == expected(.attribute) && !migrated.schema.holdsInColumns)
  }

  /// Two relationships without inverse that become the two ends of one.
  private static func apart(_ isOne: Bool, toMany: Bool) -> ManagedObjectModel {
    let folder = EntityDescription("Folder")
    folder.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "papers", to: "Paper", inverse: isOne ? "holders" : nil, toMany: true),
    ]
    let paper = EntityDescription("Paper")
    paper.properties = [
      AttributeDescription("text", .string),
      RelationshipDescription(
        "holders", to: "Folder", inverse: isOne ? "papers" : nil, toMany: toMany),
    ]
    return ManagedObjectModel(entities: [folder, paper])
  }

  @Test(
    "Two relationships that become two ends of one have what either had",
    arguments: ToManyLayout.allCases, [false, true])
  func twoEnds(_ layout: ToManyLayout, toMany: Bool) throws {
    var options = StoreOptions()
    options.holdsToManyInColumns = layout == .columns
    let store = try PersistentStore.open(
      url: url, model: Self.apart(false, toMany: toMany), options: options)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let folder = try context.insert(entityNamed: "Folder")
    folder["name"] = "a"
    let papers = try ["x", "y"].map { text in
      let paper = try context.insert(entityNamed: "Paper")
      paper["text"] = text
      return paper
    }
    try folder.setValue([papers[0]], forKey: "papers")
    if toMany {
      try papers[1].setValue([folder], forKey: "holders")
    } else {
      papers[1][ToOne<ManagedObject, ManagedObject>("holders")] = folder
    }
    try context.save()
    store.close()
    let migrated = try PersistentStore.open(
      url: url, model: Self.apart(true, toMany: toMany),
      options: StoreOptions(migratesAutomatically: true))
    #expect(try held(migrated)["a.papers"] == ["x", "y"])
    #expect(try migrated.check().findings == [])
  }

  @Test("Two ends that say different things of an object are refused")
  func differentEnds() throws {
    let store = try PersistentStore.open(url: url, model: Self.apart(false, toMany: false))
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let folders = try (0..<2).map { _ in try context.insert(entityNamed: "Folder") }
    let paper = try context.insert(entityNamed: "Paper")
    try folders[0].setValue([paper], forKey: "papers")
    paper[ToOne<ManagedObject, ManagedObject>("holders")] = folders[1]
    try context.save()
    store.close()
    let error = #expect(throws: StoreError.self) {
      _ = try PersistentStore.open(
        url: url, model: Self.apart(true, toMany: false),
        options: StoreOptions(migratesAutomatically: true))
    }
    #expect(error?.code == .cannotMigrate && error?.message.contains("Paper.holders") == true)
  }

  @Test("A mapping model keeps members, in either layout", arguments: ToManyLayout.allCases)
  func mapping(_ layout: ToManyLayout) throws {
    try make(layout)
    let new = Self.model(.attribute)
    let mapping = try MappingModel.inferredMappingModel(
      forSourceModel: Self.model(), destinationModel: new)
    try PersistentStore.migrate(at: url, to: new, mapping: mapping)
    let store = try PersistentStore.open(url: url, model: new)
    #expect(try held(store) == expected(.attribute))
    #expect(store.schema.heldRelationships.isEmpty == (layout == .pairs))
    #expect(try store.check().findings == [])
  }

  @Test("A mapping model brings members into columns, and is refused where several hold one")
  func mappingToColumns() throws {
    let new = Self.model(.attribute)
    let mapping = try MappingModel.inferredMappingModel(
      forSourceModel: Self.model(), destinationModel: new)
    try make(.pairs, isShared: true)
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.migrate(at: url, to: new, mapping: mapping, toManyLayout: .columns)
    }
    #expect(error?.code == .cannotMigrate && error?.message.contains("Folder.papers") == true)
    var store = try PersistentStore.open(url: url, model: Self.model())
    #expect(try held(store) == expected(.none, isShared: true))
    store.close()
    try PersistentStore.destroy(at: url)
    try? FileManager.default.removeItem(at: url)
    try make(.pairs)
    try PersistentStore.migrate(at: url, to: new, mapping: mapping, toManyLayout: .columns)
    store = try PersistentStore.open(url: url, model: new)
    #expect(try held(store) == expected(.attribute))
    #expect(!store.schema.heldRelationships.isEmpty)
    #expect(try store.check().findings == [])
  }

  @Test("A store that is saved as another keeps the layout", arguments: ToManyLayout.allCases)
  func savedAs(_ layout: ToManyLayout) throws {
    try make(layout)
    let store = try PersistentStore.open(url: url, model: Self.model())
    let coordinator = PersistentStoreCoordinator(store: store)
    let memory = try coordinator.migratePersistentStore(store, to: nil)
    #expect(try held(memory) == expected(.none))
    let file = try coordinator.migratePersistentStore(memory, to: directory.file("other.sqlite"))
    #expect(try held(file) == expected(.none))
    #expect(file.schema.heldRelationships.isEmpty == (layout == .pairs))
  }
}
