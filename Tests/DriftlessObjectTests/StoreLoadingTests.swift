import Driftless
import Foundation
import Synchronization
import TestSupport
import Testing

/// Descriptions of stores, loading them, and what to do when one cannot be loaded.
struct StoreLoadingTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Configurations “Cloud” with Note and “Local” with Draft.
  private func model(_ more: AttributeDescription...) -> ManagedObjectModel {
    let note = EntityDescription("Note")
    note.properties = [AttributeDescription("text", .string)] + more
    let draft = EntityDescription("Draft")
    draft.properties = [AttributeDescription("text", .string)]
    let model = ManagedObjectModel(entities: [note, draft])
    model.setEntities([note], forConfigurationName: "Cloud")
    model.setEntities([draft], forConfigurationName: "Local")
    return model
  }

  private func description(_ name: String, _ configuration: String?) -> PersistentStoreDescription {
    let description = PersistentStoreDescription(url: directory.file(name))
    description.configuration = configuration
    return description
  }

  /// The files of a store that this process has open.
  private func openFiles(_ url: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }.filter { $0.hasPrefix(url.resolvingSymlinksInPath().path) }
  }

  private func code(_ error: (any Error)?) -> StoreError.Code? { (error as? StoreError)?.code }

  // MARK: Remove and retry

  @Test(
    "A file that is no store, or of another model: adding it fails, nothing stays open, and once it is deleted the same coordinator makes it anew",
    arguments: ["garbage", "another model", "another model, with its log", "another database"])
  func removeAndRetry(what: String) throws {
    let url = directory.file("DTDownload.cache")
    let manager = FileManager.default
    let expected: StoreError.Code
    switch what {
    case "garbage":
      try Data(repeating: 65, count: 10_000).write(to: url)
      expected = .notADatabase
    case "another database":
      let program = try ProgramRun([
        "python3", "-c",
        "import sqlite3,sys; sqlite3.connect(sys.argv[1]).execute('create table t (x)')", url.path,
      ])
      try #require(program.status == 0)
      expected = .notAStore
    default:
      let place = what == "another model" ? url : directory.file("old.sqlite")
      let old = try PersistentStore.open(
        url: place, model: model(AttributeDescription("more", .date)))
      let context = ManagedObjectContext(PersistentStoreCoordinator(store: old))
      for _ in 0..<50 { try context.insert(entityNamed: "Note") }
      try context.save()
      if place != url {
        // As a process leaves it that did not close.
        for suffix in ["", "-wal"] {
          try manager.copyItem(atPath: place.path + suffix, toPath: url.path + suffix)
        }
      }
      old.close()
      expected = .incompatibleModel
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model())
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try coordinator.addPersistentStore(at: url) }
      #expect(error?.code == expected)
      #expect(error?.suggestion.isEmpty == false)
      #expect(coordinator.persistentStores.isEmpty)
      #expect(try openFiles(url) == [])
    }
    // What the article deletes: the file alone, whatever lies beside it.
    try manager.removeItem(at: url)
    let store = try coordinator.addPersistentStore(at: url)
    let context = ManagedObjectContext(coordinator)
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Note")) == 0)
    try context.insert(entityNamed: "Note")
    try context.save()
    #expect(try store.check().isSound)
  }

  // MARK: Containers

  @Test(
    "A container loads the stores of its descriptions, and a second call those that were not loaded"
  )
  func several() throws {
    let container = PersistentContainer(name: "Notes", managedObjectModel: model())
    #expect(
      container.persistentStoreDescriptions.map { $0.url?.lastPathComponent } == ["Notes.sqlite"])
    let (cloud, local) = (
      description("cloud.sqlite", "Cloud"), description("local.sqlite", "Local")
    )
    container.persistentStoreDescriptions = [cloud, local]
    let localURL = try #require(local.url)
    try Data(repeating: 65, count: 10_000).write(to: localURL)
    let heard = Mutex<[String]>([])
    let listen: @Sendable (PersistentStoreDescription, (any Error)?) -> Void = { store, error in
      let outcome = (error as? StoreError)?.code.description ?? "\(error == nil ? "loaded" : "?")"
      heard.withLock { $0.append("\(store.configuration ?? ""): \(outcome)") }
    }
    container.loadPersistentStores(completionHandler: listen)
    #expect(heard.withLock { $0 } == ["Cloud: loaded", "Local: notADatabase"])
    #expect(throws: StoreError.self) { try container.loadPersistentStores() }
    #expect(
      container.persistentStoreCoordinator.persistentStores.map(\.configurationName) == ["Cloud"])
    try FileManager.default.removeItem(at: localURL)
    heard.withLock { $0 = [] }
    container.loadPersistentStores(completionHandler: listen)
    #expect(heard.withLock { $0 } == ["Local: loaded"])
    try container.loadPersistentStores()
    let context = container.newContext()
    try context.insert(entityNamed: "Note")
    try context.insert(entityNamed: "Draft")
    try context.save()
    for (store, names) in zip(
      container.persistentStoreCoordinator.persistentStores, [["Note"], ["Draft"]])
    {
      #expect(Set(store.metadata.versionHashes.keys) == Set(names))
    }
  }

  @Test(
    "A store that is loaded asynchronously tells from a thread of the container; async loading waits for all"
  )
  func asynchronous() async throws {
    let container = PersistentContainer(name: "Notes", managedObjectModel: model())
    let cloud = description("cloud.sqlite", "Cloud")
    cloud.shouldAddStoreAsynchronously = true
    container.persistentStoreDescriptions = [cloud]
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      container.loadPersistentStores { store, error in
        #expect(store === cloud && error == nil)
        done.resume()
      }
    }
    #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
    container.persistentStoreDescriptions.append(description("local.sqlite", "Local"))
    try await container.loadPersistentStoresInBackground()
    #expect(container.persistentStoreCoordinator.persistentStores.count == 2)
    container.persistentStoreDescriptions.append(description("x.sqlite", "Unknown"))
    await #expect(throws: StoreError.self) {
      try await container.loadPersistentStoresInBackground()
    }
  }

  @MainActor @Test("The view context is one, and on the container's stores")
  func viewContext() throws {
    let container = PersistentContainer(name: "Notes", model: model(), storeURL: nil)
    try container.loadPersistentStores()
    #expect(container.viewContext === container.viewContext)
    #expect(container.viewContext.name == "viewContext")
    try container.viewContext.insert(entityNamed: "Note")
    try container.viewContext.save()
    #expect(
      try container.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Note")) == 1)
  }

  @Test("A container finds its model by name, and says where it looked when there is none")
  func modelByName() throws {
    let error = #expect(throws: ModelError.self) { try PersistentContainer(name: "NoSuchModel") }
    #expect("\(try #require(error))".contains("NoSuchModel"))
    #expect(PersistentContainer.defaultDirectoryURL().isFileURL)
  }

  // MARK: Descriptions

  @Test("A description has Core Data's defaults, and a copy is one of its own")
  func defaults() throws {
    let description = PersistentStoreDescription(url: directory.file("notes.sqlite"))
    #expect(description.type == .sqlite && description.type.rawValue == "SQLite")
    #expect(description.configuration == nil && !description.isReadOnly)
    #expect(description.shouldMigrateStoreAutomatically)
    #expect(description.shouldInferMappingModelAutomatically)
    #expect(!description.shouldAddStoreAsynchronously)
    #expect(description.options.isEmpty && description.sqlitePragmas.isEmpty)
    let copy = description.copy()
    (copy.isReadOnly, copy.timeout, copy.configuration) = (true, 2.5, "Local")
    #expect(!description.isReadOnly && description.configuration == nil)
    #expect(copy.storeOptions.busyTimeoutMilliseconds == 2500 && copy.timeout == 2.5)
    #expect(copy.url == description.url)
  }

  @Test(
    "Options by Core Data's keys do what they say; one that a store cannot have is named when it is loaded"
  )
  func options() throws {
    let url = directory.file("notes.sqlite")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model())
    let description = PersistentStoreDescription(url: url)
    description.setOption(true, forKey: "NSPersistentHistoryTrackingKey")
    description.setOption(true, forKey: "NSPersistentStoreRemoteChangeNotificationOptionKey")
    description.setOption(3, forKey: "NSPersistentStoreTimeoutOption")
    description.setValue("NORMAL", forPragmaNamed: "synchronous")
    let store = try coordinator.addPersistentStore(with: description)
    #expect(store.options.durability == .normal && store.options.postsRemoteChanges)
    #expect(store.options.busyTimeoutMilliseconds == 3000)
    #expect(description.sqlitePragmas["synchronous"] as? String == "NORMAL")
    coordinator.remove(store)
    store.close()
    for (key, value) in [
      ("NSPersistentHistoryTrackingKey", false),
      ("NSPersistentStoreUbiquitousContentNameKey", true),
      ("NSReadOnlyPersistentStoreOption", "perhaps"),
    ] as [(String, any Sendable)] {
      let wrong = PersistentStoreDescription(url: url)
      wrong.setOption(value, forKey: key)
      let error = #expect(throws: StoreError.self) {
        try coordinator.addPersistentStore(with: wrong)
      }
      #expect(error?.code == .invalidArgument && error?.message.contains(key) == true)
      wrong.setOption(nil, forKey: key)
      coordinator.remove(try coordinator.addPersistentStore(with: wrong))
    }
    // A file that is closed is whole without a log anyway.
    let journal = PersistentStoreDescription(url: url)
    journal.setValue("DELETE", forPragmaNamed: "journal_mode")
    coordinator.remove(try coordinator.addPersistentStore(with: journal))
    let pragma = PersistentStoreDescription(url: url)
    pragma.setValue("OFF", forPragmaNamed: "synchronous")
    #expect(throws: StoreError.self) { try coordinator.addPersistentStore(with: pragma) }
    for type in ["Binary", "XML", "nonsense"] {
      let other = PersistentStoreDescription(url: url)
      other.type = StoreType(rawValue: type)
      let error = #expect(throws: StoreError.self) {
        try coordinator.addPersistentStore(with: other)
      }
      #expect(error?.code == .invalidArgument && error?.message.contains(type) == true)
    }
    for url in [nil, URL(fileURLWithPath: "/dev/null")] {
      let nowhere = PersistentStoreDescription()
      nowhere.url = url
      let store = try coordinator.addPersistentStore(with: nowhere)
      #expect(store.url == nil)
      coordinator.remove(store)
    }
    let readOnly = PersistentStoreDescription(url: url)
    readOnly.setOption(true, forKey: "NSReadOnlyPersistentStoreOption")
    #expect(try coordinator.addPersistentStore(with: readOnly).isReadOnly)
  }

  @Test("A store of an older model is migrated, unless its description says not to")
  func migration() throws {
    let url = directory.file("notes.sqlite")
    try PersistentStore.open(url: url, model: model()).close()
    let newer = model(AttributeDescription("more", .date))
    let description = PersistentStoreDescription(url: url)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: newer)
    for (setting, code) in [
      (\PersistentStoreDescription.shouldInferMappingModelAutomatically, .missingMapping),
      (\.shouldMigrateStoreAutomatically, StoreError.Code.incompatibleModel),
    ] {
      description[keyPath: setting] = false
      let error = #expect(throws: StoreError.self) {
        try coordinator.addPersistentStore(with: description)
      }
      #expect(error?.code == code)
      description[keyPath: setting] = true
    }
    #expect(try coordinator.addPersistentStore(with: description).check().isSound)
  }

  // MARK: Metadata

  @Test(
    "Metadata are read and set without a stack; a store's own keys stay, and what is no property list is refused"
  )
  func metadata() throws {
    let url = directory.file("notes.sqlite")
    let store = try PersistentStore.open(url: url, model: model())
    let coordinator = PersistentStoreCoordinator(store: store)
    try coordinator.setMetadata(["app": "7", "seen": Date(timeIntervalSince1970: 5)], for: store)
    #expect(coordinator.url(for: store) == url)
    let own = coordinator.metadata(for: store)
    #expect(own["NSStoreUUID"] as? String == store.identifier)
    store.close()
    let read = try PersistentStoreCoordinator.metadataForPersistentStore(at: url)
    #expect(read["NSStoreType"] as? String == "SQLite")
    #expect(read["NSStoreUUID"] as? String == store.identifier)
    #expect(read["app"] as? String == "7")
    #expect(read["seen"] as? Date == Date(timeIntervalSince1970: 5))
    #expect(try model().copy().isConfiguration(withName: nil, compatibleWithStoreMetadata: read))
    try PersistentStoreCoordinator.setMetadata(
      ["other": [1, 2], "NSStoreUUID": "x"], forPersistentStoreAt: url)
    let again = try PersistentStoreCoordinator.metadataForPersistentStore(at: url)
    #expect(again["app"] == nil && again["other"] as? [Int] == [1, 2])
    #expect(again["NSStoreUUID"] as? String == store.identifier)
    #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator.setMetadata(["bad": url as NSURL], forPersistentStoreAt: url)
    }
    #expect(try PersistentStore.open(url: url, model: model()).identifier == store.identifier)
    let nothing = directory.file("nothing.sqlite")
    #expect(
      code(
        #expect(throws: StoreError.self) {
          try PersistentStoreCoordinator.metadataForPersistentStore(at: nothing)
        }) == .cannotOpen)
  }
}
