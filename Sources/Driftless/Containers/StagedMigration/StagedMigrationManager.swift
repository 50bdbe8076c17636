public import Foundation
import Synchronization

/// Brings a store through the versions of a model, one after another, with work on its objects in between.
///
/// All stages work on a copy, which takes the store's place in one transaction when the last is done: a migration that
/// fails, or is killed, leaves the store as it was, and the next attempt starts over.
///
/// ```swift
/// let stage = CustomMigrationStage(
///   migratingFrom: try ModelReference(model: v1), to: try ModelReference(model: v2),
///   didMigrate: { manager, _ in
///     guard let context = manager.container?.newContext() else { return }
///     for user in try context.fetch(FetchRequest<ManagedObject>(entityName: "User")) {
///       let pet = try context.insert(entityNamed: "Pet")
///       pet["name"] = user["petName"]
///       pet["owner"] = user
///     }
///     try context.save()
///   })
/// let options = StoreOptions(stagedMigration: StagedMigrationManager([stage]))
/// ```
public final class StagedMigrationManager: Sendable {
  /// The stages, in the order in which they are taken.
  public let stages: [any MigrationStage]
  /// Where the models of lightweight stages are looked for: `.momd`, `.xcdatamodeld` or single models.
  public let modelURLs: [URL]
  /// What stands for the manager under other names; the manager keeps it.
  package let counterpart: (any Sendable)?
  /// The containers of the handlers that run: one a store that is migrated.
  private let containers = Mutex<[PersistentContainer]>([])
  /// That of the handler that runs here.
  @TaskLocal private static var own: PersistentContainer?

  /// - Parameters:
  ///   - stages: In the order in which they are taken.
  ///   - modelURLs: Where the models of lightweight stages are looked for.
  public init(_ stages: [any MigrationStage], modelURLs: [URL] = []) {
    self.stages = stages
    self.modelURLs = modelURLs
    counterpart = nil
  }

  /// One that stands for another.
  package init(
    _ stages: [any MigrationStage], modelURLs: [URL], counterpart: any Sendable
  ) {
    self.stages = stages
    self.modelURLs = modelURLs
    self.counterpart = counterpart
  }

  /// The store as it is between two steps, inside of a handler; nil outside. Its objects are plain ones: the application's
  /// classes are made for the newest model.
  ///
  /// One manager may migrate several stores at once: each handler has its own store here. On a thread that a handler hands work
  /// to it is nil then, as nothing says whose handler that is: hand the container over with the work.
  public var container: PersistentContainer? {
    containers.withLock { containers in
      containers.first { $0 === Self.own } ?? (containers.count == 1 ? containers[0] : nil)
    }
  }

  /// A version on the way.
  private struct Node {
    let checksum: String
    let reference: ModelReference?
    /// The stage whose step leads here.
    var stage: CustomMigrationStage?
  }

  // MARK: The way

  /// The steps that a store still has before it.
  ///
  /// - Throws: `StoreError`: `newerModel` when the store is past the model, `cannotMigrate` when its model is none of the
  ///   stages', `modelNotFound`.
  func steps(
    from store: PersistentStore, to destination: ManagedObjectModel
  ) throws -> [StoreMigration.Step] {
    var nodes = nodes
    let written = store.metadata.values[StoreMetadata.versionChecksumKey] as? String
    let checksums = [store.model.versionChecksum, written].compactMap { $0 }
    guard let start = nodes.lastIndex(where: { checksums.contains($0.checksum) }) else {
      throw StoreError(
        .cannotMigrate,
        "The store's model, \(checksums[0]), is none of those of the stages.",
        suggestion: "Add a stage that begins with the model that the store was written with.")
    }
    if let end = nodes.lastIndex(where: { $0.checksum == destination.versionChecksum }) {
      guard end >= start else {
        throw StoreError(
          .newerModel, "The store is at a later stage than the model that it is opened with.",
          suggestion:
            "The file was not changed: use a newer version of the program, or give the newer model; "
            + "to go back to the older one, put a copy from before the migration in its place.")
      }
      nodes.removeLast(nodes.count - 1 - end)
    } else {
      nodes.append(Node(checksum: destination.versionChecksum, reference: nil))
    }
    return try nodes[(start + 1)...].map { node in
      try step(to: node, model(of: node, destination), store.configurationName)
    }
  }

  private var nodes: [Node] {
    var nodes: [Node] = []
    func add(_ checksum: String, _ reference: ModelReference?) {
      if nodes.last?.checksum != checksum {
        nodes.append(Node(checksum: checksum, reference: reference))
      }
    }
    for stage in stages {
      if let stage = stage as? LightweightMigrationStage {
        for checksum in stage.versionChecksums { add(checksum, nil) }
      } else if let stage = stage as? CustomMigrationStage {
        add(stage.currentModel.versionChecksum, stage.currentModel)
        nodes.append(
          Node(
            checksum: stage.nextModel.versionChecksum, reference: stage.nextModel, stage: stage))
      }
    }
    return nodes
  }

  private func model(of node: Node, _ destination: ManagedObjectModel) throws -> ManagedObjectModel
  {
    if node.checksum == destination.versionChecksum { return destination }
    if let reference = node.reference { return try reference.resolvedModel }
    for case let stage as CustomMigrationStage in stages {
      for reference in [stage.currentModel, stage.nextModel]
      where reference.versionChecksum == node.checksum {
        return try reference.resolvedModel
      }
    }
    for url in modelURLs {
      for version in try ManagedObjectModel.versions(at: url) {
        let model = try version.model()
        try model.freeze()
        if model.versionChecksum == node.checksum { return model }
      }
    }
    throw StoreError(
      .modelNotFound, "There is no model with the checksum \(node.checksum), which a stage names.",
      suggestion: "Give the folder of the model's versions in modelURLs.")
  }

  private func step(
    to node: Node, _ model: ManagedObjectModel, _ configuration: String?
  ) throws -> StoreMigration.Step {
    guard let stage = node.stage else { return StoreMigration.Step(destination: model) }
    var step = StoreMigration.Step(destination: model)
    if let handler = stage.willMigrateHandler {
      let current = try stage.currentModel.resolvedModel
      step.willMigrate = {
        try self.work(on: $0, current, configuration) { try handler(self, stage) }
      }
    }
    if let handler = stage.didMigrateHandler {
      step.didMigrate = { try self.work(on: $0, model, configuration) { try handler(self, stage) } }
    }
    return step
  }

  // MARK: Handlers

  private func work(
    on url: URL, _ model: ManagedObjectModel, _ configuration: String?, _ body: () throws -> Void
  ) throws {
    let options = StoreOptions(durability: .normal, createsFile: false)
    let container = PersistentContainer(
      name: "migration", model: try MigrationFile.plain(model), storeURL: url, options: options)
    try container.persistentStoreCoordinator.addPersistentStore(
      at: url, configuration: configuration, options: options)
    containers.withLock { $0.append(container) }
    defer {
      containers.withLock { $0.removeAll { $0 === container } }
      for store in container.persistentStoreCoordinator.persistentStores { store.close() }
    }
    try Self.$own.withValue(container) { try body() }
  }
}

extension StagedMigrationManager: MigrationRoute {}

extension StagedMigrationManager: Hashable {
  public static func == (left: StagedMigrationManager, right: StagedMigrationManager) -> Bool {
    left === right
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
