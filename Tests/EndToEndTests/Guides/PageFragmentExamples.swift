import Driftless
import Foundation

// The pieces of code that the other pages show, in functions that give them what they take as given.

// MARK: Driftless.md

func openLibrary(_ model: ManagedObjectModel, _ url: URL) async throws {
  let container = PersistentContainer(name: "Library", model: model, storeURL: url)
  try container.loadPersistentStores()
  try await container.perform { context in
    try context.insert(Book.self).title = "Persuasion"
    try context.save()
  }
}

// MARK: Contexts.md

extension Book {
  var pages: Int64 {
    get { self[Book.pages] }
    set { self[Book.pages] = newValue }
  }
}

func sumPages(of books: [Book], in context: ManagedObjectContext) throws -> Int64 {
  let sum = try context.accessing { books.reduce(0) { $0 + $1.pages } }
  return sum
}

private func importBooks(into context: ManagedObjectContext) throws {
  try context.insert(Book.self).title = "Emma"
}

@MainActor func editInChild(of container: PersistentContainer) async throws {
  let edit = BackgroundContext(parent: container.viewContext)
  try await edit.perform { context in
    try importBooks(into: context)
    try context.save()  // into the view context, which saves it into the store
  }
}

func addStores(to coordinator: PersistentStoreCoordinator, _ libraryURL: URL) throws {
  try coordinator.addPersistentStore(at: libraryURL, configuration: "Library")
  try coordinator.addPersistentStore(at: nil, configuration: "Session")
}

// MARK: Migration.md

func migrateByItself(_ url: URL, to newModel: ManagedObjectModel) throws -> PersistentStore {
  let options = StoreOptions(migratesAutomatically: true)
  let store = try PersistentStore.open(url: url, model: newModel, options: options)
  return store
}

func rename(_ title: AttributeDescription) {
  title.renamingIdentifier = "name"
}

func putCleaningOff(_ url: URL, _ coordinator: PersistentStoreCoordinator) throws -> PersistentStore
{
  let options = StoreOptions(migratesAutomatically: true, defersMigrationCleanup: true)
  let store = try coordinator.addPersistentStore(at: url, options: options)
  try coordinator.finishDeferredLightweightMigration()
  return store
}

func mapNames(from oldModel: ManagedObjectModel, to newModel: ManagedObjectModel) throws
  -> StoreOptions
{
  var mapping = try MappingModel.inferredMappingModel(
    forSourceModel: oldModel, destinationModel: newModel)
  mapping["Person"]?.attributeMappings["title"]?.valueExpression =
    try FetchExpression(format: "uppercase:($source.name)")
  let options = StoreOptions(migratesAutomatically: true, mappingModels: [mapping])
  return options
}

final class NamePolicy: EntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let made = manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    made.first?["initial"] = (source["name"] as? String).map { String($0.prefix(1)) }
  }
}

func useNamePolicy(in mapping: inout MappingModel) {
  EntityMigrationPolicy.register(NamePolicy.self)
  mapping["Person"]?.entityMigrationPolicyClassName = "NamePolicy"
}

func migrateInStages(
  _ v1: ManagedObjectModel, _ v2: ManagedObjectModel, _ v3: ManagedObjectModel
) throws -> StoreOptions {
  let pets = CustomMigrationStage(
    migratingFrom: try ModelReference(model: v1), to: try ModelReference(model: v2),
    didMigrate: { manager, stage in
      guard let context = manager.container?.newContext() else { return }
      for user in try context.fetch(FetchRequest<ManagedObject>(entityName: "User")) {
        let pet = try context.insert(entityNamed: "Pet")
        pet["name"] = user["petName"]
        pet["owner"] = user
      }
      try context.save()
    })
  let rest = LightweightMigrationStage([v2.versionChecksum, v3.versionChecksum])
  let manager = StagedMigrationManager([pets, rest])
  let options = StoreOptions(stagedMigration: manager)
  return options
}
