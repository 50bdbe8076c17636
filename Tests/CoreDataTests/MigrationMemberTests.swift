import CoreData
import Synchronization
import TestSupport
import Testing

/// What a migration calls of a policy, in order, and what its manager says meanwhile.
struct MigrationMemberTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private func fill(_ model: NSManagedObjectModel, _ name: String, at url: URL) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let person = NSEntityDescription.insertNewObject(forEntityName: "Person", into: context)
      person.setValue(name, forKey: "name")
      try context.save()
    }
    try coordinator.remove(store)
  }

  @Test("A policy is called in Core Data's order, and may end the migration")
  func policy() throws {
    let (old, new) = (Shop.person("name"), Shop.person("name", "city"))
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: old, destinationModel: new)
    for entity in mapping.entityMappings {
      entity.mappingType = .customEntityMappingType
      entity.entityMigrationPolicyClassName = NSStringFromClass(Recorder.self)
    }
    let source = folder.file("a.sqlite")
    try fill(old, "Ada", at: source)
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    manager.usesStoreSpecificMigrationManager = false
    try manager.migrateStore(
      from: source, sourceType: NSSQLiteStoreType, options: nil, with: mapping,
      toDestinationURL: folder.file("b.sqlite"), destinationType: NSSQLiteStoreType,
      destinationOptions: nil)
    #expect(
      Recorder.calls.withLock { $0 } == [
        "begin", "create", "end of instances", "relationships", "end of relationships",
        "validation", "end",
      ])
    let stopped = folder.file("c.sqlite")
    try fill(old, "stop", at: stopped)
    let second = NSMigrationManager(sourceModel: old, destinationModel: new)
    #expect(throws: CocoaError.self) {
      try second.migrateStore(
        from: stopped, type: .sqlite, options: nil, mapping: mapping,
        to: folder.file("d.sqlite"), type: .sqlite, options: nil)
    }
    #expect(!FileManager.default.fileExists(atPath: folder.file("d.sqlite").path))
  }

  @Test(
    "A policy answers what expressions of its mapping ask, with numbers and objects as arguments")
  func answers() throws {
    let old = Shop.person("name")
    let new = Shop.person("name", "city")
    let source = folder.file("a.sqlite")
    try fill(old, "Ada", at: source)
    func migrate(_ format: String, to file: String) throws {
      let mapping = NSEntityMapping()
      mapping.name = "PersonToPerson"
      mapping.mappingType = .customEntityMappingType
      mapping.sourceEntityName = "Person"
      mapping.destinationEntityName = "Person"
      mapping.attributeMappings = ["name", "city"].map { name in
        let property = NSPropertyMapping()
        property.name = name
        property.valueExpression = NSExpression(format: format)
        return property
      }
      mapping.entityMigrationPolicyClassName = NSStringFromClass(Answering.self)
      let mappings = NSMappingModel()
      mappings.entityMappings = [mapping]
      try NSMigrationManager(sourceModel: old, destinationModel: new).migrateStore(
        from: source, type: .sqlite, mapping: mappings, to: folder.file(file), type: .sqlite)
    }
    try migrate("FUNCTION($entityPolicy, 'text:of:', 3, $source)", to: "b.sqlite")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    try coordinator.addPersistentStore(type: .sqlite, at: folder.file("b.sqlite"))
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let person = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Person")).first
      #expect(person?.value(forKey: "name") as? String == "Ada 3")
      #expect(person?.value(forKey: "city") as? String == "Ada 3")
    }
    let error = #expect(throws: (any Error).self) {
      try migrate("FUNCTION($entityPolicy, 'nothing:', 3)", to: "c.sqlite")
    }
    #expect("\(String(describing: error))".contains("nothing:"))
    #expect(!FileManager.default.fileExists(atPath: folder.file("c.sqlite").path))
  }

  @Test("What is not there is no mapping model, and a stage keeps its checksums")
  func absent() throws {
    #expect(NSMappingModel(contentsOf: folder.file("none.cdm")) == nil)
    let models = (Shop.person("name"), Shop.person("city"))
    #expect(
      NSMappingModel(from: nil, forSourceModel: models.0, destinationModel: models.1) == nil)
    let stage = NSLightweightMigrationStage(["one", "two"])
    let any: NSMigrationStage = stage
    #expect(stage.versionChecksums == ["one", "two"] && any === stage)
    let reference = NSManagedObjectModelReference(
      fileURL: folder.file("none.mom"), versionChecksum: "x")
    #expect(reference !== NSManagedObjectModelReference(fileURL: folder.url, versionChecksum: "x"))
    let metadata = [NSStoreModelVersionHashesKey: models.0.entityVersionHashesByName]
    let merged = NSManagedObjectModel(byMerging: [models.0], forStoreMetadata: metadata)
    #expect(merged?.entities.map(\.name) == ["Person"])
  }
}

/// Notes what a migration calls.
final class Recorder: NSEntityMigrationPolicy {
  static let calls = Mutex<[String]>([])

  private func note(_ call: String, _ manager: NSMigrationManager) {
    let mapping = manager.currentEntityMapping
    #expect(manager.sourceEntity(for: mapping)?.name == "Person")
    #expect(manager.destinationEntity(for: mapping)?.name == "Person")
    #expect(manager.mappingModel.entityMappings.count == 1)
    Self.calls.withLock { $0.append(call) }
  }

  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
    note("begin", manager)
    try super.begin(mapping, with: manager)
  }
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping,
    manager: NSMigrationManager
  ) throws {
    note("create", manager)
    if sInstance.value(forKey: "name") as? String == "stop" {
      return manager.cancelMigrationWithError(CocoaError(.userCancelled))
    }
    let made = NSEntityDescription.insertNewObject(
      forEntityName: "Person", into: manager.destinationContext)
    made.setValue(sInstance.value(forKey: "name"), forKey: "name")
    manager.associate(
      sourceInstance: sInstance, withDestinationInstance: made, for: mapping)
  }
  override func endInstanceCreation(
    forMapping mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    note("end of instances", manager)
  }
  override func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping,
    manager: NSMigrationManager
  ) throws {
    let sources = manager.sourceInstances(
      forEntityMappingName: mapping.name, destinationInstances: [dInstance])
    #expect(sources.count == 1)
    note("relationships", manager)
  }
  override func endRelationshipCreation(
    forMapping mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    note("end of relationships", manager)
  }
  override func performCustomValidation(
    forMapping mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    note("validation", manager)
  }
  override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    note("end", manager)
  }
}

/// Answers one of the two questions that it is asked.
final class Answering: NSEntityMigrationPolicy {
  override func perform(
    _ selector: String, _ arguments: [Any?], manager: NSMigrationManager
  ) throws -> Any? {
    guard selector == "text:of:", let number = arguments[0] as? NSNumber,
      let source = arguments[1] as? NSManagedObject
    else { return try super.perform(selector, arguments, manager: manager) }
    #expect(manager.sourceModel.entities.count == 1)
    return NSString(string: "\(source.value(forKey: "name") ?? "") \(number)")
  }
}
