/// A part of a staged migration.
public protocol MigrationStage: Sendable {
  /// What the stage is called in messages.
  var label: String? { get set }
}

/// Versions of a model that follow each other, each of which follows from the one before without a mapping.
public struct LightweightMigrationStage: MigrationStage {
  /// What the stage is called in messages; nil for none.
  public var label: String?
  /// The checksums of the models, oldest first.
  public let versionChecksums: [String]

  /// - Parameters:
  ///   - versionChecksums: The checksums of the models (``ManagedObjectModel/versionChecksum``), oldest first.
  ///   - label: What the stage is called in messages.
  public init(_ versionChecksums: [String], label: String? = nil) {
    self.versionChecksums = versionChecksums
    self.label = label
  }
}

/// A step from one version of a model to the next, with work on the objects before or after it.
///
/// The step itself follows from the two models. To split what one attribute holds, say, the first model's successor has
/// the new attributes beside the old one, the handler after the step fills them, and a later stage drops the old one.
public struct CustomMigrationStage: MigrationStage {
  /// Work on the objects, beside a step. What it throws ends the migration, and the store is as it was.
  public typealias Handler =
    @Sendable (StagedMigrationManager, CustomMigrationStage) throws -> Void

  /// What the stage is called in messages; nil for none.
  public var label: String?
  /// The model before the step.
  public let currentModel: ModelReference
  /// The model after the step.
  public let nextModel: ModelReference
  /// Before the step: `manager.container` has the store with ``currentModel``.
  public var willMigrateHandler: Handler?
  /// After the step: `manager.container` has the store with ``nextModel``.
  public var didMigrateHandler: Handler?

  /// A step with work before it, after it, or both.
  public init(
    migratingFrom currentModel: ModelReference, to nextModel: ModelReference, label: String? = nil,
    willMigrate: Handler? = nil, didMigrate: Handler? = nil
  ) {
    self.currentModel = currentModel
    self.nextModel = nextModel
    self.label = label
    willMigrateHandler = willMigrate
    didMigrateHandler = didMigrate
  }
}
