import Driftless
public import Foundation
import Synchronization

/// A version of a model, by itself or by where it is found, with the checksum that it must have.
public final class NSManagedObjectModelReference: NSObject, Sendable {
  let known: ModelReference

  /// A model that is at hand. It is frozen; one that is wrong is a precondition failure.
  public init(model: NSManagedObjectModel, versionChecksum: String) {
    do { known = try ModelReference(model: model, versionChecksum: versionChecksum) } catch {
      preconditionFailure("\(error)")
    }
  }

  /// A model file, such as one version of a `.momd`.
  public init(fileURL: URL, versionChecksum: String) {
    known = ModelReference(fileURL: fileURL, versionChecksum: versionChecksum)
  }

  /// The version of that name among the models of a bundle, the main one for nil.
  public convenience init(name modelName: String, in bundle: Bundle?, versionChecksum: String) {
    let found = Self.versions(in: bundle).first { $0.name == modelName }
    let missing = (bundle ?? .main).bundleURL.appendingPathComponent("\(modelName).mom")
    self.init(fileURL: found?.url ?? missing, versionChecksum: versionChecksum)
  }

  /// The version among the models of a bundle, the main one for nil, whose entities have these hashes, in `Data`.
  public convenience init(
    entityVersionHashes versionHash: [AnyHashable: Any], in bundle: Bundle?,
    versionChecksum: String
  ) {
    let metadata: [String: Any] = [NSStoreModelVersionHashesKey: versionHash]
    let found = Self.versions(in: bundle).first { version in
      guard let model = try? version.model() else { return false }
      return model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
    }
    let missing = (bundle ?? .main).bundleURL.appendingPathComponent("\(versionChecksum).mom")
    self.init(fileURL: found?.url ?? missing, versionChecksum: versionChecksum)
  }

  private static func versions(in bundle: Bundle?) -> [ModelVersion] {
    ManagedObjectModel.modelURLs(in: bundle.map { [$0] })
      .flatMap { (try? ManagedObjectModel.versions(at: $0)) ?? [] }
  }

  /// Base64 of the model's hash.
  public var versionChecksum: String { known.versionChecksum }

  /// The model, frozen. One that is not to be found, or that has another checksum, is a precondition failure.
  public var resolvedModel: NSManagedObjectModel {
    do { return try known.resolvedModel } catch { preconditionFailure("\(error)") }
  }
}

/// A part of a staged migration.
open class NSMigrationStage: NSObject, @unchecked Sendable {  // set up before its manager is made
  /// What the stage is called in messages.
  open var label: String!

  func known(_ manager: NSStagedMigrationManager) -> (any MigrationStage)? { nil }
}

/// Versions of a model that follow each other, each of which follows from the one before without a mapping.
public final class NSLightweightMigrationStage: NSMigrationStage,
  @unchecked Sendable  // set up before its manager is made
{
  /// The checksums of the models, oldest first.
  public let versionChecksums: [String]

  /// - Parameter checksums: The checksums of the models, oldest first.
  public init(_ checksums: [String]) { versionChecksums = checksums }

  override func known(_ manager: NSStagedMigrationManager) -> (any MigrationStage)? {
    LightweightMigrationStage(versionChecksums, label: label)
  }
}

/// A step from one version of a model to the next, with work on the objects before or after it.
public final class NSCustomMigrationStage: NSMigrationStage,
  @unchecked Sendable  // set up before its manager is made
{
  /// Work on the objects, beside a step. What it throws ends the migration, and the store is as it was.
  public typealias Handler = (NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void

  /// The model before the step.
  public let currentModel: NSManagedObjectModelReference
  /// The model after the step.
  public let nextModel: NSManagedObjectModelReference
  /// Before the step: `manager.container` has the store with `currentModel`.
  public var willMigrateHandler: Handler?
  /// After the step: `manager.container` has the store with `nextModel`.
  public var didMigrateHandler: Handler?

  /// - Parameters:
  ///   - currentModel: The model before the step.
  ///   - nextModel: The model after the step.
  public init(
    migratingFrom currentModel: NSManagedObjectModelReference,
    to nextModel: NSManagedObjectModelReference
  ) {
    self.currentModel = currentModel
    self.nextModel = nextModel
  }

  override func known(_ manager: NSStagedMigrationManager) -> (any MigrationStage)? {
    func handler(
      _ body: @escaping @Sendable (NSCustomMigrationStage) -> Handler?
    ) -> CustomMigrationStage.Handler {
      // The manager lives as long as what was made of it, which it does not hold.
      { known, _ in
        try manager.work(in: known.container) { try body(self)?(manager, self) }
      }
    }
    return CustomMigrationStage(
      migratingFrom: currentModel.known, to: nextModel.known, label: label,
      willMigrate: handler { $0.willMigrateHandler }, didMigrate: handler { $0.didMigrateHandler })
  }
}

/// Brings a store through the versions of a model, one after another, with work on its objects in between: the value of the
/// option `NSPersistentStoreStagedMigrationManagerOptionKey`.
public final class NSStagedMigrationManager: NSObject, Sendable {
  /// In the order in which they are taken.
  public let stages: [NSMigrationStage]
  /// The containers of the handlers that run: one a store that is migrated.
  private let containers = Mutex<[NSPersistentContainer]>([])
  /// That of the handler that runs here.
  @TaskLocal private static var own: NSPersistentContainer?

  /// - Parameter stages: In the order in which they are taken.
  public init(_ stages: [NSMigrationStage]) { self.stages = stages }

  /// The store as it is between two steps, inside of a handler; nil outside. Where one manager migrates several stores at
  /// once, each handler has its own here, on the thread that it was called on.
  public var container: NSPersistentContainer? {
    containers.withLock { containers in
      containers.first { $0 === Self.own } ?? (containers.count == 1 ? containers[0] : nil)
    }
  }

  /// As the library has it. The models of lightweight stages are those of the main bundle.
  var known: StagedMigrationManager {
    StagedMigrationManager(
      stages.compactMap { $0.known(self) }, modelURLs: ManagedObjectModel.modelURLs(in: nil),
      counterpart: self)
  }

  func work(in container: PersistentContainer?, _ body: () throws -> Void) rethrows {
    guard let container = container.map(NSPersistentContainer.init) else { return try body() }
    containers.withLock { $0.append(container) }
    defer { containers.withLock { $0.removeAll { $0 === container } } }
    try Self.$own.withValue(container) { try body() }
  }
}
