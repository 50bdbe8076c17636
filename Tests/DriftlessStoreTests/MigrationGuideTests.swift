import Foundation
import TestSupport
import Testing

@testable import Driftless

/// The code of the catalogue's page `Migration.md`, as it stands there, at work.
struct MigrationGuideTests {
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

  private func model(_ properties: PropertyDescription...) throws -> ManagedObjectModel {
    let person = EntityDescription("Person")
    person.properties = properties
    let model = ManagedObjectModel(entities: [person])
    try model.freeze()
    return model
  }

  @Test("A renamed attribute by itself, a computed one by a mapping and a policy")
  func mapping() throws {
    let oldModel = try model(AttributeDescription("name", .string))
    let title = AttributeDescription("title", .string)
    title.renamingIdentifier = "name"
    let newModel = try model(title, AttributeDescription("initial", .string))
    let directory = try TemporaryDirectory()
    func fill(_ name: String) throws -> (URL, ObjectKey) {
      let store = try PersistentStore.open(url: directory.file(name), model: oldModel)
      defer { store.close() }
      return (directory.file(name), try store.insert("Person", ["name": .string("ann")]))
    }
    do {
      let (url, key) = try fill("plain.sqlite")
      let options = StoreOptions(migratesAutomatically: true)
      let store = try PersistentStore.open(url: url, model: newModel, options: options)
      #expect(try store.values(key)?["title"] == .string("ann"))
    }
    do {
      let (url, key) = try fill("deferred.sqlite")
      let coordinator = PersistentStoreCoordinator(managedObjectModel: newModel)
      let options = StoreOptions(migratesAutomatically: true, defersMigrationCleanup: true)
      let store = try coordinator.addPersistentStore(at: url, options: options)
      try coordinator.finishDeferredLightweightMigration()
      #expect(try store.values(key)?["title"] == .string("ann"))
    }
    var mapping = try MappingModel.inferredMappingModel(
      forSourceModel: oldModel, destinationModel: newModel)
    mapping["Person"]?.attributeMappings["title"]?.valueExpression =
      try FetchExpression(format: "uppercase:($source.name)")
    EntityMigrationPolicy.register(NamePolicy.self)
    mapping["Person"]?.entityMigrationPolicyClassName = "NamePolicy"
    let options = StoreOptions(migratesAutomatically: true, mappingModels: [mapping])
    let (url, key) = try fill("mapped.sqlite")
    let store = try PersistentStore.open(url: url, model: newModel, options: options)
    #expect(try store.values(key)?["title"] == .string("ANN"))
    #expect(try store.values(key)?["initial"] == .string("a"))
  }

  private func users(_ version: Int) throws -> ManagedObjectModel {
    let user = EntityDescription("User")
    if version < 3 { user.properties = [AttributeDescription("petName", .string)] }
    guard version > 1 else { return ManagedObjectModel(entities: [user]) }
    user.properties += [RelationshipDescription("pet", to: "Pet", inverse: "owner")]
    let pet = EntityDescription("Pet")
    pet.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("owner", to: "User", inverse: "pet"),
    ]
    return ManagedObjectModel(entities: [user, pet])
  }

  @Test("An attribute becomes an object by stages")
  func stages() throws {
    let (v1, v2, v3) = try (users(1), users(2), users(3))
    let directory = try TemporaryDirectory()
    let url = directory.file("users.sqlite")
    let first = try PersistentStore.open(url: url, model: v1)
    try first.insert("User", ["petName": .string("Rex")])
    first.close()
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
    let store = try PersistentStore.open(url: url, model: v3, options: options)
    let pet = try #require(store.model.entitiesByName["Pet"])
    let key = ObjectKey(entity: store.schema.entityNumber(of: pet), key: 1)
    #expect(try store.values(key)?["name"] == .string("Rex"))
  }

  @Test("Every line of code in the guide stands in these tests")
  func guide() throws {
    let file = URL(fileURLWithPath: #filePath)
    var root = file
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let guide = try String(
      contentsOf: root.appendingPathComponent("Sources/Driftless/Driftless.docc/Migration.md"),
      encoding: .utf8)
    func lines(_ text: some StringProtocol) -> [String] {
      text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }
    let here = Set(lines(try String(contentsOf: file, encoding: .utf8)))
    let blocks = guide.components(separatedBy: "```swift\n").dropFirst()
    #expect(blocks.count == 7)
    for block in blocks {
      for line in lines(block.components(separatedBy: "```")[0]) {
        #expect(here.contains(line), "\(line)")
      }
    }
  }
}
