package import Foundation

/// What options say of migration.
struct MigrationChoice: StoreMigrating {
  var isAutomatic = false
  /// Whether what becomes of the objects may follow from the two models, where no mapping model is for them.
  var mayInfer = true
  /// The first that is for the two models says what becomes of the objects.
  var mappingModels: [MappingModel] = []
  /// Folders whose `.cdm` files are looked at when none of these is.
  var mappingFolders: [URL] = []
  var defersCleanup = false
  var keepsCopy = true
  /// Comes before a single step.
  var route: (any MigrationRoute)?

  var isWanted: Bool { isAutomatic || route != nil }

  func migrate(
    at url: URL, to model: ManagedObjectModel, _ configuration: String?, options: StoreOptions
  ) throws {
    try StoreMigration(
      url: url, configuration: configuration, destination: model,
      busyTimeoutMilliseconds: options.busyTimeoutMilliseconds,
      steps: { try steps(from: $0, to: model) }, progress: { _ in }
    ).run()
  }

  private func steps(
    from store: PersistentStore, to model: ManagedObjectModel
  ) throws -> [StoreMigration.Step] {
    if let steps = try route?.steps(from: store, to: model) { return steps }
    let mapping = try mapping(from: store.model, to: model)
    return [
      StoreMigration.Step(
        destination: model, mapping: mapping, defersCleanup: defersCleanup,
        isUnasked: mapping == nil, keepsCopy: keepsCopy && mapping == nil)
    ]
  }

  private func mapping(
    from current: ManagedObjectModel, to model: ManagedObjectModel
  ) throws -> MappingModel? {
    if let given = mappingModels.first(where: { $0.isFor(current, model) }) { return given }
    if let found = try MappingModel(
      from: mappingFolders, forSourceModel: current, destinationModel: model)
    {
      return found
    }
    guard mayInfer else {
      throw StoreError(
        .missingMapping, "There is no mapping model from the store's model to the program's.",
        suggestion: "Add one to the program, or let the mapping be inferred.")
    }
    return nil
  }

  static func == (left: Self, right: Self) -> Bool {
    left.isAutomatic == right.isAutomatic && left.mayInfer == right.mayInfer
      && left.mappingModels == right.mappingModels && left.mappingFolders == right.mappingFolders
      && left.defersCleanup == right.defersCleanup && left.keepsCopy == right.keepsCopy
      && left.route === right.route
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(isAutomatic)
    hasher.combine(mayInfer)
    hasher.combine(mappingFolders)
    hasher.combine(mappingModels)
    hasher.combine(defersCleanup)
    hasher.combine(keepsCopy)
    hasher.combine(route.map { ObjectIdentifier($0) })
  }
}

/// An application's own way from a store's model to another one, in several steps.
protocol MigrationRoute: AnyObject, Sendable {
  /// The steps that a store still has before it.
  func steps(
    from store: PersistentStore, to destination: ManagedObjectModel
  ) throws -> [StoreMigration.Step]
}

extension StoreOptions {
  var migrationChoice: MigrationChoice {
    get { migration?.migrating as? MigrationChoice ?? MigrationChoice() }
    set { migration = newValue == MigrationChoice() ? nil : StoreMigrator(migrating: newValue) }
  }

  /// Whether a store of another model is brought to the one that it is opened with, by a model of
  /// ``mappingModels`` or, with ``infersMappingModel``, by what follows from the two models
  /// (Core Data's `NSMigratePersistentStoresAutomaticallyOption` with `NSInferMappingModelAutomaticallyOption`).
  public var migratesAutomatically: Bool {
    get { migrationChoice.isAutomatic }
    set { migrationChoice.isAutomatic = newValue }
  }

  /// Whether a migration may follow from the two models alone where no mapping model is for them; true at first. Otherwise
  /// it fails with the code `missingMapping` (Core Data's `NSInferMappingModelAutomaticallyOption`).
  public var infersMappingModel: Bool {
    get { migrationChoice.mayInfer }
    set { migrationChoice.mayInfer = newValue }
  }

  /// Where `.cdm` files are looked for that are for the two models, when none of ``mappingModels`` is.
  package var mappingFolders: [URL] {
    get { migrationChoice.mappingFolders }
    set { migrationChoice.mappingFolders = newValue }
  }

  /// For migration: the first that is for the two models says what becomes of the objects.
  public var mappingModels: [MappingModel] {
    get { migrationChoice.mappingModels }
    set { migrationChoice.mappingModels = newValue }
  }

  /// Whether a migration without a mapping model or stages leaves what nobody reads any more in the file, where that makes it
  /// cheap: columns and tables that went stay until
  /// ``PersistentStoreCoordinator/finishDeferredLightweightMigration()``, and the rest is changed in the file itself, without
  /// another beside it (Core Data's `NSPersistentStoreDeferredLightweightMigrationOptionKey`, which stands in the metadata as
  /// long as something is left). A change that needs new rows is done at once, as without the option.
  public var defersMigrationCleanup: Bool {
    get { migrationChoice.defersCleanup }
    set { migrationChoice.defersCleanup = newValue }
  }

  /// Whether a migration that follows from the two models keeps what the store was beside it, as `NAME-before-CHECKSUM`, where it takes
  /// away what the store holds: objects of an entity, or values of a property, that the new model has no more. True at first: nothing
  /// says then that the program is not an older one. It has no need of that where the model is one of several versions in a bundle: the
  /// store's is among them, or the migration is refused with `newerModel`.
  ///
  /// False for a program that knows that its model is the newer one, or where there is no room for a copy. With
  /// ``defersMigrationCleanup`` what goes stays in the file at first, and no copy is made. Neither has the store of a newer program
  /// migrated where the bundle tells that it is one.
  public var keepsCopyBeforeDropping: Bool {
    get { migrationChoice.keepsCopy }
    set { migrationChoice.keepsCopy = newValue }
  }
}
