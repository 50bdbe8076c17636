import CoreData
import Synchronization
import TestSupport
import Testing

/// Options of migration: what finds a mapping, what may be inferred, and who keeps a manager of stages.
struct MigrationOptionTests {
  private let folder: TemporaryDirectory
  private let url: URL

  init() throws {
    folder = try TemporaryDirectory()
    url = folder.file("a.sqlite")
    let coordinator = try open(model("name"), nil)
    let context = Albums.context(coordinator)
    try context.performAndWait {
      let person = NSEntityDescription.insertNewObject(forEntityName: "Migrant", into: context)
      person.setValue("Ada Lovelace", forKey: "name")
      try context.save()
    }
    for store in coordinator.persistentStores { store.close() }
  }

  private func model(_ names: String...) -> NSManagedObjectModel {
    let person = NSEntityDescription()
    person.name = "Migrant"
    person.properties = names.map { Shop.attribute($0, .stringAttributeType) }
    let model = NSManagedObjectModel()
    model.entities = [person]
    return model
  }

  private func open(
    _ model: NSManagedObjectModel, _ options: [AnyHashable: Any]?
  ) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
    return coordinator
  }

  @Test("Migration without inference asks for a mapping model, whichever way it is said")
  func noInference() throws {
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true,
      NSInferMappingModelAutomaticallyOption: false,
    ]
    let error = #expect(throws: CocoaError.self) { try open(model("name", "city"), options) }
    #expect(error?.code == .migrationMissingMappingModel)
    let description = NSPersistentStoreDescription(url: url)
    description.shouldInferMappingModelAutomatically = false
    description.setOption(true as NSNumber, forKey: NSMigratePersistentStoresAutomaticallyOption)
    let container = NSPersistentContainer(
      name: "a", managedObjectModel: model("name", "city"))
    container.persistentStoreDescriptions = [description]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    #expect((failure as? CocoaError)?.code == .migrationMissingMappingModel)
    let refused = #expect(throws: CocoaError.self) {
      try open(
        model("name", "city"),
        [
          NSMigratePersistentStoresAutomaticallyOption: false,
          NSInferMappingModelAutomaticallyOption: true,
        ])
    }
    #expect(refused?.code == .persistentStoreIncompatibleVersionHash)
    _ = try open(model("name", "city"), [NSMigratePersistentStoresAutomaticallyOption: true])
  }

  private func stage(
    _ one: NSManagedObjectModel, _ two: NSManagedObjectModel
  ) -> NSCustomMigrationStage {
    let stage = NSCustomMigrationStage(
      migratingFrom: NSManagedObjectModelReference(
        model: one, versionChecksum: one.versionChecksum),
      to: NSManagedObjectModelReference(model: two, versionChecksum: two.versionChecksum))
    stage.didMigrateHandler = { manager, _ in
      guard let context = manager.container?.newBackgroundContext() else { return }
      try context.performAndWait {
        for person in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Migrant")) {
          #expect(person.managedObjectContext === context)
          person.setValue("moved", forKey: "city")
        }
        try context.save()
      }
    }
    return stage
  }

  @Test("Handlers of stages run when the description is all that keeps their manager")
  func keptManager() throws {
    let (one, two) = (model("name"), model("name", "city"))
    try one.freeze()
    try two.freeze()
    weak var manager: NSStagedMigrationManager?
    func description() -> NSPersistentStoreDescription {
      let description = NSPersistentStoreDescription(url: url)
      let made = NSStagedMigrationManager([stage(one, two)])
      manager = made
      description.setOption(made, forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
      return description
    }
    var container: NSPersistentContainer? = NSPersistentContainer(
      name: "a", managedObjectModel: two)
    container?.persistentStoreDescriptions = [description()]
    #expect(manager != nil)
    let options = container?.persistentStoreDescriptions.first?.options
    #expect(options?[NSPersistentStoreStagedMigrationManagerOptionKey] === manager)
    nonisolated(unsafe) var failure: (any Error)?
    container?.loadPersistentStores { _, error in failure = error }
    #expect(failure == nil)
    let context = container?.newBackgroundContext()
    try context?.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Migrant")
      let people = try context?.fetch(request) ?? []
      #expect(people.map { $0.value(forKey: "city") as? String } == ["moved"])
    }
    let store = container?.persistentStoreCoordinator.persistentStores.first
    #expect(
      store?.options?[NSPersistentStoreStagedMigrationManagerOptionKey] as AnyObject === manager)
    withExtendedLifetime(container) {}
    container = nil
  }

  @Test(
    "Values that a new constraint has unique are an error of migration, with the violation beneath")
  func duplicates() throws {
    let coordinator = try open(model("name"), nil)
    let context = Albums.context(coordinator)
    try context.performAndWait {
      let twin = NSEntityDescription.insertNewObject(forEntityName: "Migrant", into: context)
      twin.setValue("Ada Lovelace", forKey: "name")
      try context.save()
    }
    for store in coordinator.persistentStores { store.close() }
    let unique = model("name")
    unique.entitiesByName["Migrant"]?.uniquenessConstraints = [["name"]]
    for deferred in [false, true] {
      let error = #expect(throws: CocoaError.self) {
        try open(
          unique,
          [
            NSMigratePersistentStoresAutomaticallyOption: true,
            NSPersistentStoreDeferredLightweightMigrationOptionKey: deferred,
          ])
      }
      #expect(error?.code == .migration)
      #expect((error?.userInfo["reason"] as? String)?.contains("Ada Lovelace") == true)
      let beneath = error?.userInfo[NSUnderlyingErrorKey] as? NSError
      #expect(beneath?.code == NSMigrationConstraintViolationError)
    }
    // By a mapping, object by object, too.
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: model("name"), destinationModel: unique)
    let manager = NSMigrationManager(sourceModel: model("name"), destinationModel: unique)
    let error = #expect(throws: CocoaError.self) {
      try manager.migrateStore(
        from: url, sourceType: NSSQLiteStoreType, options: nil, with: mapping,
        toDestinationURL: folder.file("b.sqlite"), destinationType: NSSQLiteStoreType,
        destinationOptions: nil)
    }
    #expect(error?.code == .migration)
    _ = try open(model("name"), nil)
  }

  @Test(
    "What cannot be inferred is an error of migration when a store is added: which, with the reason"
  )
  func refusedMigration() throws {
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true,
      NSInferMappingModelAutomaticallyOption: true,
    ]
    let required = model("name", "city")
    required.entitiesByName["Migrant"]?.attributesByName["city"]?.isOptional = false
    let lacking = #expect(throws: CocoaError.self) { try open(required, options) }
    #expect(lacking?.code == .migration && lacking?.userInfo["attribute"] as? String == "city")
    #expect(lacking?.userInfo["entity"] as? String == "Migrant")
    #expect((lacking?.userInfo["reason"] as? String)?.contains("Migrant.city") == true)
    let other = model("name")
    other.entitiesByName["Migrant"]?.attributesByName["name"]?.attributeType = .dateAttributeType
    let refused = #expect(throws: CocoaError.self) { try open(other, options) }
    #expect(refused?.code == .migrationMissingMappingModel)
    let reason = refused?.userInfo[NSUnderlyingErrorKey] as? NSError
    #expect(reason?.code == NSInferredMappingModelError)
  }

  @Test("An object of a migration is in a context while a policy works on it")
  func policyContext() throws {
    let (old, new) = (model("name"), model("name", "city"))
    let mappings = try NSMappingModel.inferredMappingModel(
      forSourceModel: old, destinationModel: new)
    mappings.entityMappings[0].mappingType = .customEntityMappingType
    mappings.entityMappings[0].entityMigrationPolicyClassName = NSStringFromClass(
      ContextPolicy.self)
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    try manager.migrateStore(
      from: url, sourceType: NSSQLiteStoreType, with: mappings,
      toDestinationURL: folder.file("b.sqlite"), destinationType: NSSQLiteStoreType)
    #expect(ContextPolicy.counts.withLock { $0 } == [1], "asked once, and found one object")
  }
}

/// Asks the object for its context, and nothing else before.
final class ContextPolicy: NSEntityMigrationPolicy {
  /// How many objects each context had.
  static let counts = Mutex<[Int]>([])

  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let context = try #require(sInstance.managedObjectContext)
    let count = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Migrant"))
    Self.counts.withLock { $0.append(count) }
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
  }
}
