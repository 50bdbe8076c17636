import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Stores that go through several versions of a model.
struct StagedMigrationTests {
  /// Users with the name of their pet; then pets beside it; then pets alone, and at last ages.
  private func model(_ version: Int) throws -> ManagedObjectModel {
    let user = EntityDescription("User")
    user.properties = [AttributeDescription("name", .string)]
    let picture = AttributeDescription("picture", .binaryData)
    picture.allowsExternalBinaryDataStorage = true
    user.properties += [picture]
    if version < 3 { user.properties += [AttributeDescription("petName", .string)] }
    if version == 4 { user.properties += [AttributeDescription("age", .integer16)] }
    var entities = [user]
    if version > 1 {
      user.properties += [RelationshipDescription("pet", to: "Pet", inverse: "owner")]
      let pet = EntityDescription("Pet")
      pet.properties = [
        AttributeDescription("name", .string),
        RelationshipDescription("owner", to: "User", inverse: "pet"),
      ]
      entities.append(pet)
    }
    let model = ManagedObjectModel(entities: entities)
    try model.freeze()
    return model
  }

  /// Fills the pets after the step from the first version to the second.
  private func stages(
    willMigrate: CustomMigrationStage.Handler? = nil, failing: Bool = false
  ) throws -> [any MigrationStage] {
    struct Trouble: Error {}
    let split = CustomMigrationStage(
      migratingFrom: try ModelReference(model: model(1)), to: try ModelReference(model: model(2)),
      label: "pets", willMigrate: willMigrate,
      didMigrate: { manager, stage in
        #expect(stage.label == "pets")
        let container = try #require(manager.container)
        let context = container.newContext()
        for user in try context.fetch(FetchRequest<ManagedObject>(entityName: "User")) {
          guard let name = user["petName"] as? String else { continue }
          let pet = try context.insert(entityNamed: "Pet")
          pet["name"] = name
          pet["owner"] = user
        }
        context.transactionAuthor = "stage"
        try context.save()
        if failing { throw Trouble() }
      })
    return [
      split,
      LightweightMigrationStage([try model(2).versionChecksum, try model(3).versionChecksum]),
    ]
  }

  private let large = Data(repeating: 3, count: StoreTuning.externalBytes + 1)

  private func fill(_ url: URL) throws -> [ObjectKey] {
    let store = try PersistentStore.open(url: url, model: model(1))
    let users = try ["Rex", "Tom"].map {
      try store.insert(
        "User", ["name": .string("of \($0)"), "petName": .string($0), "picture": .data(large)])
    }
    try store.insert("User", ["name": .string("nobody")])
    store.close()
    return users
  }

  private func open(
    _ url: URL, _ version: Int, _ stages: [any MigrationStage], modelURLs: [URL] = []
  ) throws -> PersistentStore {
    try PersistentStore.open(
      url: url, model: model(version),
      options: StoreOptions(
        stagedMigration: StagedMigrationManager(stages, modelURLs: modelURLs)))
  }

  @Test("All stages are gone through, with the work of their handlers; history goes on")
  func whole() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("users.sqlite")
    let users = try fill(url)
    // The third model is found by its checksum, the fourth is the one that the store is opened with.
    let versions = directory.file("three.xcdatamodel")
    try FileManager.default.createDirectory(at: versions, withIntermediateDirectories: true)
    try ModelDocument.xml(of: model(3)).write(to: versions.appendingPathComponent("contents"))
    let store = try open(url, 4, stages(), modelURLs: [versions])
    store.checkpointNow(sweeps: true)
    #expect(try store.check().findings == [])
    #expect(store.model.entitiesByName["User"]?.managedObjectClassName != ObjectClasses.plain)
    for (user, name) in zip(users, ["Rex", "Tom"]) {
      let values = try #require(try store.values(user))
      #expect(values["petName"] == nil)
      #expect(values["picture"] == .data(large))
      guard case .reference(let pet)? = values["pet"] else {
        Issue.record("\(name) is gone")
        continue
      }
      #expect(try store.values(pet)?["name"] == .string(name))
    }
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    #expect(history.map(\.author) == [nil, nil, nil, "stage"])
    store.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
    #expect(!names.contains { $0.contains("partial") })
    let inside = try PersistentStore.open(url: url)
    #expect(inside.model == (try model(4)))
  }

  @Test("Stores that one manager migrates at once have each its own container in their handlers")
  func atOnce() async throws {
    let directory = try TemporaryDirectory()
    let meeting = Meeting()
    let manager = StagedMigrationManager(
      try stages(willMigrate: { manager, _ in
        meeting.waitForBoth()
        meeting.note(try #require(manager.container))
        meeting.waitForBoth()
      }))
    let urls = (0..<2).map { directory.file("users\($0).sqlite") }
    for url in urls { _ = try fill(url) }
    let model = try model(3)
    try await onSeveralThreads(2) { number in
      let store = try PersistentStore.open(
        url: urls[number], model: model, options: StoreOptions(stagedMigration: manager))
      defer { store.close() }
      let pet = try #require(model.entitiesByName["Pet"])
      try store.read { transaction in
        var pets = 0
        try transaction.forEachKey(of: pet) { _ in pets += 1 }
        #expect(pets == 2)
      }
    }
    #expect(meeting.containers.count == 2)
    #expect(meeting.containers.first !== meeting.containers.last)
    #expect(manager.container == nil)
  }

  /// Two handlers that are inside at once.
  private final class Meeting: @unchecked Sendable {
    private let condition = NSCondition()
    private var arrived = 0
    private(set) var containers: [PersistentContainer] = []

    func note(_ container: PersistentContainer) {
      condition.withLock { containers.append(container) }
    }

    func waitForBoth() {
      condition.lock()
      defer { condition.unlock() }
      arrived += 1
      condition.broadcast()
      let needed = (arrived + 1) / 2 * 2
      while arrived < needed {
        guard condition.wait(until: Date() + 60) else {
          Issue.record("the other handler did not come")
          return
        }
      }
    }
  }

  @Test("A handler before the step works on the old model; a store in the middle skips what it has")
  func before() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("users.sqlite")
    let users = try fill(url)
    let stages = try stages(willMigrate: { manager, _ in
      let context = try #require(manager.container?.newContext())
      for user in try context.fetch(FetchRequest<ManagedObject>(entityName: "User")) {
        user["petName"] = (user["petName"] as? String)?.uppercased()
      }
      try context.save()
    })
    let custom = try #require(stages.first as? CustomMigrationStage)
    #expect(custom.willMigrateHandler != nil && custom.didMigrateHandler != nil)
    #expect(try custom.currentModel.versionChecksum == model(1).versionChecksum)
    #expect(try custom.nextModel.versionChecksum == model(2).versionChecksum)
    let light = try #require(stages.last as? LightweightMigrationStage)
    #expect(
      light.versionChecksums == [try model(2).versionChecksum, try model(3).versionChecksum])
    var store = try open(url, 2, stages)
    func petName() throws -> PropertyValue? {
      guard case .reference(let pet)? = try store.values(users[0])?["pet"] else { return nil }
      return try store.values(pet)?["name"]
    }
    #expect(try petName() == .string("REX"))
    store.close()
    store = try open(url, 3, stages)
    #expect(try petName() == .string("REX"))
    #expect(try store.fetchHistory(.fetchHistory(after: Date.distantPast)).count == 5)
  }

  @Test("A handler that fails, a model that is missing, a way back: the store stays as it is")
  func failures() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("users.sqlite")
    _ = try fill(url)
    let bytes = try Data(contentsOf: url)
    #expect { _ = try open(url, 3, stages(failing: true)) } throws: { "\($0)".contains("Trouble") }
    #expect { _ = try open(url, 4, stages()) } throws: {
      ($0 as? StoreError)?.code == .modelNotFound
    }
    let late: [any MigrationStage] = [
      LightweightMigrationStage([try model(2).versionChecksum, try model(3).versionChecksum])
    ]
    #expect { _ = try open(url, 3, late) } throws: { ($0 as? StoreError)?.code == .cannotMigrate }
    #expect(try Data(contentsOf: url) == bytes)
    try open(url, 2, stages()).close()
    #expect { _ = try open(url, 1, stages()) } throws: {
      ($0 as? StoreError)?.code == .newerModel
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
    #expect(!names.contains { $0.contains("partial") })
  }

  @Test("A reference finds its model by name, hashes or file, and insists on the checksum")
  func references() throws {
    let directory = try TemporaryDirectory()
    let bundle = directory.file("Users.xcdatamodeld")
    for version in [1, 2] {
      let folder = bundle.appendingPathComponent("Users\(version).xcdatamodel")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try ModelDocument.xml(of: model(version)).write(
        to: folder.appendingPathComponent("contents"))
    }
    let second = try model(2)
    let checksum = second.versionChecksum
    let file = bundle.appendingPathComponent("Users2.xcdatamodel")
    #expect(
      try ModelReference(named: "Users2", in: bundle, versionChecksum: checksum).resolvedModel
        .versionChecksum == checksum)
    #expect(
      try ModelReference(fileURL: file, versionChecksum: checksum).resolvedModel.isFrozen)
    #expect(
      try ModelReference(
        entityVersionHashes: second.entityVersionHashesByName, in: bundle,
        versionChecksum: checksum
      ).resolvedModel.entitiesByName["Pet"] != nil)
    #expect(try ModelReference(model: second).versionChecksum == checksum)
    for reference in [
      ModelReference(named: "Users1", in: bundle, versionChecksum: checksum),
      ModelReference(named: "Users9", in: bundle, versionChecksum: checksum),
    ] {
      #expect { _ = try reference.resolvedModel } throws: {
        ($0 as? StoreError)?.code == .modelNotFound
      }
    }
  }
}
