import CoreData
import Synchronization
import TestSupport
import Testing

/// Splits a name into two.
final class NamePolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping,
    manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    let made = manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [sInstance])
    let parts = (sInstance.value(forKey: "name") as? String ?? "").split(separator: " ")
    made.first?.setValue(parts.first.map(String.init), forKey: "first")
    made.first?.setValue(parts.last.map(String.init), forKey: "last")
  }
}

/// Migrations: inferred, by a mapping model with a policy, and in stages.
struct MigrationTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private func context(
    _ model: NSManagedObjectModel, _ options: [AnyHashable: Any]? = nil, file: String = "a.sqlite"
  ) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.file(file), options: options)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private func fill(_ model: NSManagedObjectModel, file: String = "a.sqlite") throws {
    let context = try context(model, file: file)
    try context.performAndWait {
      let person = NSEntityDescription.insertNewObject(forEntityName: "Person", into: context)
      person.setValue("Ada Lovelace", forKey: "name")
      try context.save()
    }
    for store in context.persistentStoreCoordinator?.persistentStores ?? [] { store.close() }
  }

  private func values(_ context: NSManagedObjectContext, _ names: String...) throws -> [String?] {
    try context.performAndWait {
      let person = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Person")).first
      return names.map { person?.value(forKey: $0) as? String }
    }
  }

  @Test("A store of another model is refused without the options, and migrated with them")
  func inferred() throws {
    try fill(Shop.person("name"))
    let error = #expect(throws: (any Error).self) { try context(Shop.person("name", "city")) }
    #expect((error as NSError?)?.code == NSPersistentStoreIncompatibleVersionHashError)
    let migrated = try context(
      Shop.person("name", "city"),
      [
        NSMigratePersistentStoresAutomaticallyOption: true,
        NSInferMappingModelAutomaticallyOption: true,
      ])
    #expect(try values(migrated, "name", "city") == ["Ada Lovelace", nil])
  }

  @Test("A mapping model with a policy of the application's own")
  func policy() throws {
    let (old, new) = (Shop.person("name"), Shop.person("first", "last"))
    try fill(old)
    let mapping = NSEntityMapping()
    mapping.name = "PersonToPerson"
    mapping.mappingType = .customEntityMappingType
    mapping.sourceEntityName = "Person"
    mapping.destinationEntityName = "Person"
    mapping.attributeMappings = ["first", "last"].map {
      let property = NSPropertyMapping()
      property.name = $0
      return property
    }
    mapping.entityMigrationPolicyClassName = NSStringFromClass(NamePolicy.self)
    let mappings = NSMappingModel()
    mappings.entityMappings = [mapping]
    #expect(mappings.entityMappingsByName["PersonToPerson"] === mapping)
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    try manager.migrateStore(
      from: folder.file("a.sqlite"), sourceType: NSSQLiteStoreType, with: mappings,
      toDestinationURL: folder.file("b.sqlite"), destinationType: NSSQLiteStoreType)
    #expect(manager.migrationProgress == 1)
    #expect(
      try values(context(new, file: "b.sqlite"), "first", "last") == ["Ada", "Lovelace"])
  }

  @Test("An inferred mapping model names what becomes of each entity")
  func inferredMapping() throws {
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: Shop.person("name"), destinationModel: Shop.person("name", "city"))
    let person = try #require(mapping.entityMappings.first)
    #expect(person.mappingType == .transformEntityMappingType)
    #expect(Set(person.attributeMappings?.map(\.name) ?? []) == ["name", "city"])
    let renamed = Shop.person("called")
    renamed.entities[0].attributesByName["called"]?.renamingIdentifier = "name"
    for (source, destination, properties) in [
      (Shop.person("name"), Shop.person("name", "city"), (["name"], ["city"], [])),
      (Shop.person("name", "city"), Shop.person("name"), (["name"], [], ["city"])),
      (Shop.person("name", "city"), renamed, (["called"], [], ["city"])),
    ] as [(NSManagedObjectModel, NSManagedObjectModel, (Set<String>, Set<String>, Set<String>))] {
      let info = try NSMappingModel.inferredMappingModel(
        forSourceModel: source, destinationModel: destination
      ).entityMappings.first?.userInfo
      #expect(info?["mappedProperties"] as? Set<String> == properties.0)
      #expect(info?["addedProperties"] as? Set<String> == properties.1)
      #expect(info?["removedProperties"] as? Set<String> == properties.2)
    }
  }

  @Test("A policy that is not there ends the migration with an error")
  func unknownPolicy() throws {
    let (old, new) = (Shop.person("name"), Shop.person("name", "city"))
    try fill(old)
    let mappings = try NSMappingModel.inferredMappingModel(
      forSourceModel: old, destinationModel: new)
    mappings.entityMappings[0].entityMigrationPolicyClassName = "Shop.NoSuchPolicy"
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    #expect(throws: CocoaError.self) {
      try manager.migrateStore(
        from: folder.file("a.sqlite"), sourceType: NSSQLiteStoreType, with: mappings,
        toDestinationURL: folder.file("b.sqlite"), destinationType: NSSQLiteStoreType)
    }
  }

  @Test("Stages, with work on the objects between two models")
  func stages() throws {
    let (one, two) = (Shop.person("name"), Shop.person("name", "first"))
    try fill(one)
    let stage = NSCustomMigrationStage(
      migratingFrom: NSManagedObjectModelReference(
        model: one, versionChecksum: one.versionChecksum),
      to: NSManagedObjectModelReference(model: two, versionChecksum: two.versionChecksum))
    stage.label = "first names"
    stage.didMigrateHandler = { manager, stage in
      #expect(stage.label == "first names")
      guard let context = manager.container?.newBackgroundContext() else { return }
      try context.performAndWait {
        for person in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Person")) {
          let name = person.value(forKey: "name") as? String ?? ""
          person.setValue(name.split(separator: " ").first.map(String.init), forKey: "first")
        }
        try context.save()
      }
    }
    let manager = NSStagedMigrationManager([stage])
    let migrated = try context(
      two,
      [
        NSMigratePersistentStoresAutomaticallyOption: true,
        NSInferMappingModelAutomaticallyOption: true,
        NSPersistentStoreStagedMigrationManagerOptionKey: manager,
      ])
    #expect(try values(migrated, "name", "first") == ["Ada Lovelace", "Ada"])
    #expect(manager.container == nil)
  }

  @Test("Stores that one manager migrates at once have each its own container in their handlers")
  func stagesAtOnce() async throws {
    let (one, two) = (Shop.person("name"), Shop.person("name", "first"))
    for number in 0..<2 { try fill(one, file: "\(number).sqlite") }
    let stage = NSCustomMigrationStage(
      migratingFrom: NSManagedObjectModelReference(
        model: one, versionChecksum: one.versionChecksum),
      to: NSManagedObjectModelReference(model: two, versionChecksum: two.versionChecksum))
    let inside = Mutex((arrived: 0, stores: [URL?]()))
    stage.didMigrateHandler = { manager, _ in
      inside.withLock { $0.arrived += 1 }
      let end = Date() + 60
      while inside.withLock({ $0.arrived }) < 2, Date() < end { sched_yield() }
      let container = try #require(manager.container)
      inside.withLock {
        $0.stores.append(container.persistentStoreCoordinator.persistentStores.first?.url)
        $0.arrived += 1
      }
      // Neither goes before both have looked.
      while inside.withLock({ $0.arrived }) < 4, Date() < end { sched_yield() }
    }
    let manager = NSStagedMigrationManager([stage])
    try await onSeveralThreads(2) { number in
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: two)
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: folder.file("\(number).sqlite"),
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true,
          NSPersistentStoreStagedMigrationManagerOptionKey: manager,
        ])
    }
    let stores = inside.withLock { $0.stores }
    #expect(stores.count == 2 && Set(stores).count == 2, "\(stores)")
    #expect(manager.container == nil)
  }

  @Test("A model is found in a bundle by its name and by its hashes")
  func references() throws {
    let text = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Person"><attribute name="name" attributeType="String" optional="YES"/></entity>
      </model>
      """
    let version = folder.file("People.xcdatamodeld").appendingPathComponent("Two.xcdatamodel")
    try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: version.appendingPathComponent("contents"))
    let bundle = try #require(Bundle(path: folder.file("People.xcdatamodeld").path + "/.."))
    let model = Shop.person("name")
    try model.freeze()
    for reference in [
      NSManagedObjectModelReference(
        name: "Two", in: bundle, versionChecksum: model.versionChecksum),
      NSManagedObjectModelReference(
        entityVersionHashes: model.entityVersionHashesByName, in: bundle,
        versionChecksum: model.versionChecksum),
    ] {
      #expect(reference.resolvedModel.entitiesByName["Person"]?.properties.map(\.name) == ["name"])
    }
  }
}
