import Driftless
public import Foundation

/// Migrates a store by a mapping model, object by object. It is used in one thread, that of the call that migrates.
open class NSMigrationManager: NSObject {
  /// Does the work.
  let known: MigrationManager
  private var mapping: NSMappingModel?
  private var contexts: (source: NSManagedObjectContext, destination: NSManagedObjectContext)?

  /// A manager for one step from a model to another.
  public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) {
    known = MigrationManager(sourceModel: sourceModel, destinationModel: destinationModel)
    super.init()
    known.userInfo[Self.key] = WeakReference(self)
  }

  /// One that there is already, of a migration that a store begins by itself.
  init(_ known: MigrationManager) { self.known = known }

  /// Whether a store may migrate by a way of its own where that is shorter. Without effect: a manager goes object by object, and
  /// stores that a coordinator migrates by itself choose the shorter way.
  open var usesStoreSpecificMigrationManager = true

  private static let key = "CoreData.manager"

  /// The manager that an application made for one of the library's.
  static func standing(for known: MigrationManager) -> NSMigrationManager? {
    (known.userInfo[key] as? WeakReference<NSMigrationManager>)?.object
  }

  /// The model of the store that is read.
  public var sourceModel: NSManagedObjectModel { known.sourceModel }
  /// The model of the store that is made.
  public var destinationModel: NSManagedObjectModel { known.destinationModel }
  /// What becomes of the objects; empty before a migration.
  public var mappingModel: NSMappingModel { mapping ?? NSMappingModel(known.mappingModel) }
  /// The objects of the source, plain ones, to be read only.
  public var sourceContext: NSManagedObjectContext { standing.source }
  /// Where new objects are made.
  public var destinationContext: NSManagedObjectContext { standing.destination }

  /// Contexts that stand for those of the migration, which come and go with its parts.
  private var standing: (source: NSManagedObjectContext, destination: NSManagedObjectContext) {
    if let contexts, contexts.source.base === known.sourceContext,
      contexts.destination.base === known.destinationContext
    {
      return contexts
    }
    let made = (
      source: NSManagedObjectContext(known.sourceContext),
      destination: NSManagedObjectContext(known.destinationContext)
    )
    contexts = made
    return made
  }

  /// For policies, to pass things on.
  open var userInfo: [AnyHashable: Any]? {
    get { known.userInfo.filter { !($0.key.base as? String ?? "").hasPrefix(Self.key) } }
    set {
      let own = known.userInfo.filter { ($0.key.base as? String ?? "").hasPrefix(Self.key) }
      known.userInfo = (newValue ?? [:]).merging(own) { $1 }
    }
  }

  /// The part that is done, 0 … 1.
  open var migrationProgress: Float { Float(known.migrationProgress) }

  /// The mapping that is worked on. Outside of a migration it is a precondition failure.
  open var currentEntityMapping: NSEntityMapping {
    guard let current = known.currentEntityMapping else {
      preconditionFailure("No migration goes on")
    }
    return NSEntityMapping(current)
  }

  /// Writes what a store becomes by the mapping to a file of SQLite; the source stays as it is. A store of the destination model that
  /// is there is appended to, in one transaction: a large store goes in several passes, each with the mappings of some entities.
  /// Options are checked; of the destination's the pragmas take effect, and what else would make another file is refused.
  ///
  /// - Throws: 134000 for a type and 134060 for an option that there is not, or that the destination cannot have; 134190 when the mapping does not fit; 134100 when the destination is there and of another model; what the stores met; what a policy or
  ///   `cancelMigrationWithError(_:)` gave. There is no new file then, and one that was there is as it was.
  open func migrateStore(
    from sourceURL: URL, sourceType sStoreType: String, options sOptions: [AnyHashable: Any]? = nil,
    with mappings: NSMappingModel?, toDestinationURL dURL: URL, destinationType dStoreType: String,
    destinationOptions dOptions: [AnyHashable: Any]? = nil
  ) throws {
    do {
      try StoreTypes.check(sStoreType, sOptions)
      try StoreTypes.check(dStoreType, dOptions)
      let options = try Self.destinationOptions(dStoreType, dOptions)
      let used =
        try mappings
        ?? NSMappingModel.inferredMappingModel(
          forSourceModel: sourceModel, destinationModel: destinationModel)
      mapping = used
      defer { mapping = nil }
      if FileManager.default.fileExists(atPath: dURL.path) {
        try known.migrateStore(from: sourceURL, mapping: try used.known(), appendingTo: dURL)
      } else {
        try known.migrateStore(from: sourceURL, mapping: try used.known(), to: dURL)
      }
      // Which journal a file has it says itself, once it was opened so and closed.
      if let options { try PersistentStore.open(url: dURL, options: options).close() }
    } catch { throw cocoaError(error) }
  }

  /// How the new file is opened, where that makes a difference to it; nil where it makes none.
  private static func destinationOptions(
    _ type: String, _ options: [AnyHashable: Any]?
  ) throws -> StoreOptions? {
    guard type == NSSQLiteStoreType else {
      throw CocoaError(
        .persistentStoreInvalidType,
        userInfo: [
          NSLocalizedDescriptionKey: "A migration writes stores of type SQLite, not \(type)."
        ])
    }
    guard let options else { return nil }
    let known = try StoreOptions().with(options)
    let refused =
      options[DriftlessToManyPairsOption] != nil
      ? DriftlessToManyPairsOption : known.isReadOnly ? NSReadOnlyPersistentStoreOption : nil
    if let refused {
      throw StoreError(
        .invalidArgument, "The destination of a migration does not take the option \(refused).",
        suggestion: "Leave it out: the file is written, and keeps to-many relationships as the "
          + "source does.")
    }
    return options[NSSQLitePragmasOption] != nil ? known : nil
  }

  /// Writes what a store becomes by the mapping to a file; the source stays as it is.
  /// - Throws: as the one that takes names of types.
  public func migrateStore(
    from sourceURL: URL, type sourceType: NSPersistentStore.StoreType,
    options sourceOptions: [AnyHashable: Any]? = nil, mapping: NSMappingModel,
    to destinationURL: URL, type destinationType: NSPersistentStore.StoreType,
    options destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    try migrateStore(
      from: sourceURL, sourceType: sourceType.rawValue, options: sourceOptions, with: mapping,
      toDestinationURL: destinationURL, destinationType: destinationType.rawValue,
      destinationOptions: destinationOptions)
  }

  /// Ends the migration with this error at the next object.
  open func cancelMigrationWithError(_ error: any Error) { known.cancelMigrationWithError(error) }

  /// Forgets what became of objects, and lets go of the stores.
  open func reset() { known.reset() }

  /// The entity of the source that a mapping is from.
  open func sourceEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    mEntity.sourceEntityName.flatMap { sourceModel.entitiesByName[$0] }
  }

  /// The entity of the destination that a mapping is to.
  open func destinationEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    mEntity.destinationEntityName.flatMap { destinationModel.entitiesByName[$0] }
  }

  /// Notes what became of an object. What goes wrong ends the migration.
  open func associate(
    sourceInstance: NSManagedObject, withDestinationInstance destinationInstance: NSManagedObject,
    for entityMapping: NSEntityMapping
  ) {
    do {
      try known.associate(
        sourceInstance: sourceInstance, withDestinationInstance: destinationInstance,
        for: try entityMapping.known())
    } catch { cancelMigrationWithError(error) }
  }

  /// What became of objects by a mapping, in their order.
  open func destinationInstances(
    forEntityMappingName mappingName: String, sourceInstances: [NSManagedObject]?
  ) -> [NSManagedObject] {
    known.destinationInstances(
      forEntityMappingName: mappingName, sourceInstances: sourceInstances ?? [])
  }

  /// What objects were before the mapping, in their order.
  open func sourceInstances(
    forEntityMappingName mappingName: String, destinationInstances: [NSManagedObject]?
  ) -> [NSManagedObject] {
    known.sourceInstances(
      forEntityMappingName: mappingName, destinationInstances: destinationInstances ?? [])
  }
}
