public import Foundation

/// Migrates a store by a mapping model, object by object: a stack for the source, one for the destination, and what became
/// of each object.
///
/// It is used in one thread, that of the call that migrates. What is made is saved in parts, so that memory does not grow with
/// the store: of the objects those stay that somebody holds. A uniqueness constraint is therefore checked when a part is saved;
/// everything else that the model demands, at the end.
///
/// ```swift
/// let manager = MigrationManager(sourceModel: old, destinationModel: new)
/// try manager.migrateStore(from: oldURL, mapping: mapping, to: newURL)
/// ```
public final class MigrationManager {
  /// The model of the store that is read.
  public let sourceModel: ManagedObjectModel
  /// The model of the store that is made.
  public let destinationModel: ManagedObjectModel
  /// What becomes of the objects; empty before a migration.
  public internal(set) var mappingModel = MappingModel()
  /// The objects of the source, plain ones, to be read only. Without a store before and after a migration.
  public internal(set) var sourceContext: ManagedObjectContext
  /// Where new objects are made. Without a store before and after a migration.
  public internal(set) var destinationContext: ManagedObjectContext
  /// For policies, to pass things on.
  public var userInfo: [AnyHashable: Any] = [:]
  /// The part that is done, 0 … 1.
  public private(set) var migrationProgress = 0.0
  /// The mapping that is worked on.
  public internal(set) var currentEntityMapping: EntityMapping?
  /// Called when there is progress; it may cancel.
  public var progressHandler: ((MigrationManager) throws -> Void)?

  static let byMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
  static let fetchRequest = "fetchRequestForSourceEntityNamed:predicateString:"
  static let byRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"

  /// How many objects with unsaved changes are saved.
  static let unsavedMax = 2_000

  /// During a migration.
  var associations: MigrationAssociations?
  var isSavedInParts = false
  private var cancellation: (any Error)?
  /// What an object's key becomes when the new object is what the old one was.
  var successor: ((ManagedObject, ManagedObject) throws -> UUID?)?

  /// A manager for one step from a model to another.
  public init(sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel) {
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
    sourceContext = Self.context(sourceModel)
    destinationContext = Self.context(destinationModel)
  }

  private static func context(_ model: ManagedObjectModel) -> ManagedObjectContext {
    ManagedObjectContext(PersistentStoreCoordinator(managedObjectModel: model))
  }

  /// Writes what a store becomes by the mapping to a new file. History, identities and the state of sync are carried
  /// over; the source stays as it is.
  ///
  /// - Throws: `StoreError`: `cannotMigrate` when the mapping does not fit or the destination is there, or what the stores
  ///   met; what a policy or ``cancelMigrationWithError(_:)`` gave; ``ValidationFailure`` when the result breaks the
  ///   model's rules. There is no new file then.
  public func migrateStore(
    from source: URL, mapping: MappingModel, to destination: URL
  ) throws {
    guard !FileManager.default.fileExists(atPath: destination.path) else {
      throw StoreError(
        .cannotMigrate, "\(destination.path) is there already.",
        suggestion: "Give the path of a file that is to be made.")
    }
    mappingModel = mapping
    try StoreMigration.write(from: source, to: destination, by: self)
  }

  /// Ends the migration with this error at the next object.
  public func cancelMigrationWithError(_ error: any Error) { cancellation = error }

  /// Forgets what became of objects, and lets go of the stores.
  public func reset() {
    associations = nil
    isSavedInParts = false
    successor = nil
    currentEntityMapping = nil
    sourceContext = Self.context(sourceModel)
    destinationContext = Self.context(destinationModel)
  }

  func report(_ progress: Double) throws {
    migrationProgress = progress
    try progressHandler?(self)
    try checkCancelled()
  }

  func checkCancelled() throws {
    guard let cancellation else { return }
    self.cancellation = nil
    throw cancellation
  }

  /// The entity of the source that a mapping is from.
  public func sourceEntity(for mapping: EntityMapping) -> EntityDescription? {
    mapping.sourceEntityName.flatMap { sourceModel.entitiesByName[$0] }
  }

  /// The entity of the destination that a mapping is to.
  public func destinationEntity(for mapping: EntityMapping) -> EntityDescription? {
    mapping.destinationEntityName.flatMap { destinationModel.entitiesByName[$0] }
  }

  // MARK: What became of objects

  /// Notes that an object of the source became one of the destination.
  ///
  /// The first object of the entity that the source's is mapped to takes over key, identity and history.
  ///
  /// - Throws: `StoreError` where what is noted during the migration cannot be read or written.
  public func associate(
    sourceInstance source: ManagedObject, withDestinationInstance destination: ManagedObject,
    for mapping: EntityMapping
  ) throws {
    guard let associations else { return }
    let key = source.objectKey
    let isFirst = try associations.destinations(of: key).allSatisfy { place in
      switch place {
      case .saved(let other): other.entity != destination.shape.number
      case .unsaved(let other): other.entity !== destination.entity
      }
    }
    if isFirst, let identity = try successor?(source, destination) {
      destinationContext.graph.keys.give(identity, to: destination.key)
    }
    associations.add(mapping: mapping.name, source: key, destination: destination)
  }

  /// What became of objects by a mapping, in their order.
  public func destinationInstances(
    forEntityMappingName name: String, sourceInstances: [ManagedObject]
  ) -> [ManagedObject] {
    found { associations in
      try sourceInstances.flatMap { source in
        try associations.destinations(of: source.objectKey, mapping: name).compactMap(destination)
      }
    }
  }

  /// What became of objects by any mapping, in their order.
  func destinationInstances(of sourceInstances: [ManagedObject]) -> [ManagedObject] {
    found { associations in
      try sourceInstances.flatMap { source in
        try associations.destinations(of: source.objectKey).compactMap(destination)
      }
    }
  }

  /// What objects were before the mapping, in their order.
  public func sourceInstances(
    forEntityMappingName name: String, destinationInstances: [ManagedObject]
  ) -> [ManagedObject] {
    found { associations in
      try destinationInstances.flatMap { destination in
        try associations.sources(of: destination, mapping: name).compactMap(source)
      }
    }
  }

  /// A failure to look up ends the migration at the next object.
  private func found(
    _ body: (MigrationAssociations) throws -> [ManagedObject]
  ) -> [ManagedObject] {
    guard let associations else { return [] }
    do {
      return try body(associations)
    } catch {
      cancelMigrationWithError(error)
      return []
    }
  }
}
