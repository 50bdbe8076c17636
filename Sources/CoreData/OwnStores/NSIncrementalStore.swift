public import Driftless
public import Foundation

/// A store that an application keeps elsewhere and reads object by object, as objects are fetched and faults are filled.
///
/// A store in memory of the library holds the rows that were read. Register the class with
/// `NSPersistentStoreCoordinator/registerStoreClass(_:forStoreType:)`; override `loadMetadata()`, `execute(_:with:)`,
/// `newValuesForObject(with:with:)`, `newValue(forRelationship:forObjectWith:with:)`, `obtainPermanentIDs(for:)` and `type`.
///
/// A fetch asks the store, and the context adds its unsaved changes. Each fault that is filled asks the store anew.
open class NSIncrementalStore: NSCustomPersistentStore,
  @unchecked Sendable  // as its superclass
{
  /// Rows are read that this save has just written.
  private var isSaving = false

  // MARK: What a subclass overrides

  /// Carries a request out.
  ///
  /// - Parameters:
  ///   - request: An `NSFetchRequest<any NSFetchRequestResult>` with its entity, to be answered with an array of objects or of
  ///     their IDs, or of dictionaries where its `resultType` asks for those; or an `NSSaveChangesRequest`, to be answered with an
  ///     empty array.
  ///   - context: Where objects of the answer are to be, by `object(with:)`.
  /// - Throws: what kept it from being done: the fetch or the save fails with it. 134091, unless overridden.
  open func execute(
    _ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?
  ) throws -> Any {
    throw CocoaError(
      .persistentStoreUnsupportedRequestType,
      userInfo: [
        NSLocalizedDescriptionKey: "\(Swift.type(of: self)) does not override execute(_:with:)."
      ])
  }

  /// The values of an object whose fault is filled.
  /// - Throws: what kept them from being read, 133000 for an object that is gone.
  open func newValuesForObject(
    with objectID: NSManagedObjectID, with context: NSManagedObjectContext
  ) throws -> NSIncrementalStoreNode {
    throw CocoaError(
      .managedObjectReferentialIntegrity,
      userInfo: [NSLocalizedDescriptionKey: "The store has no values of \(objectID)."])
  }

  /// What a relationship holds: the ID of an object or `NSNull`; of a to-many relationship an array of IDs.
  /// - Throws: what kept it from being read.
  open func newValue(
    forRelationship relationship: NSRelationshipDescription,
    forObjectWith objectID: NSManagedObjectID, with context: NSManagedObjectContext?
  ) throws -> Any {
    relationship.isToMany ? [NSManagedObjectID]() as Any : NSNull()
  }

  /// The IDs that new objects get for good, in their order. IDs of UUIDs, unless overridden.
  /// - Throws: what kept IDs from being had: the save fails with it.
  open func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    array.map { newObjectID(for: $0.entity, referenceObject: UUID().uuidString) }
  }

  /// A UUID for a store whose metadata name none.
  open class func identifierForNewStore(at storeURL: URL) -> Any { UUID().uuidString }

  /// A context has the objects of these IDs by a fetch now.
  open func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {}

  /// For source that calls or overrides it. Nothing calls it here: a context lets go of objects without being told.
  open func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {}

  // MARK: What a subclass uses

  /// The ID of the object that the store knows by a reference object. An entity that the store does not have is a
  /// precondition failure.
  public final func newObjectID(
    for entity: NSEntityDescription, referenceObject data: Any
  ) -> NSManagedObjectID {
    knownID(of: entity, data)
  }

  // MARK: Opening

  final override func open(in coordinator: PersistentStoreCoordinator) throws {
    if let url, let known = Swift.type(of: self).identifierForNewStore(at: url) as? String {
      try become(identifier: known)
    }
    try super.open(in: coordinator)
    readsOutside = true
  }
}

extension NSIncrementalStore: StandInStore {
  package final func keys(forNew objects: [ManagedObject]) throws -> [Int64] {
    let ids = try obtainPermanentIDs(for: objects)
    guard ids.count == objects.count, zip(ids, objects).allSatisfy({ $0.entity === $1.entity })
    else {
      throw ObjectError(
        .typeMismatch,
        "obtainPermanentIDs(for:) gave \(ids.count) IDs for \(objects.count) objects",
        suggestion: "Give an ID of each object's entity, in the order of the objects.")
    }
    return ids.map(\.key.key)
  }

  package final func willCommit(
    _ changes: StoreChanges, _ coordinator: PersistentStoreCoordinator
  ) throws {
    guard !isForReading else {
      throw StoreError(
        .readOnly, "\(url?.path ?? "The store") was opened for reading only.",
        suggestion: "Open it without the read-only option.")
    }
    lock.withLock { isSaving = true }
    defer { lock.withLock { isSaving = false } }
    let context = NSManagedObjectContext(ManagedObjectContext(coordinator))
    func objects(_ ids: [ManagedObjectID]) -> Set<NSManagedObject> {
      Set(ids.map { context.object(with: $0) })
    }
    _ = try execute(
      NSSaveChangesRequest(
        inserted: objects(changes.inserted), updated: objects(changes.updated),
        deleted: objects(changes.deleted), locked: nil),
      with: context)
  }

  package final func prepareRow(
    of id: ManagedObjectID, for base: ManagedObjectContext
  ) throws {
    guard !lock.withLock({ isSaving }) else { return }
    let context = context(of: base)
    try put([content(of: id, context)])
  }

  package final func prepareObjects(
    of relationship: RelationshipDescription, of id: ManagedObjectID,
    for base: ManagedObjectContext
  ) throws {
    guard !lock.withLock({ isSaving }) else { return }
    let context = context(of: base)
    let value = try newValue(forRelationship: relationship, forObjectWith: id, with: context)
    let ids = try Self.ids(value, relationship)
    let missing = try ids.filter { try !hasRow($0) }
    try put(try missing.map { try content(of: $0, context) })
    try put(ids, as: relationship, of: id)
  }

  private final func context(of base: ManagedObjectContext) -> NSManagedObjectContext {
    NSManagedObjectContext.standing(for: base)
      ?? NSManagedObjectContext(ManagedObjectContext(base.persistentStoreCoordinator))
  }

  private final func content(
    of id: ManagedObjectID, _ context: NSManagedObjectContext
  ) throws -> OutsideObject {
    let node = try newValuesForObject(with: id, with: context)
    var object = OutsideObject(id)
    for (name, attribute) in id.entity.attributesByName where !attribute.isTransient {
      object.attributes[name] = node.value(for: attribute)
    }
    for (name, relationship) in id.entity.relationshipsByName where !relationship.isToMany {
      let value =
        try node.value(for: relationship)
        ?? newValue(forRelationship: relationship, forObjectWith: id, with: context)
      object.related[name] = try Self.ids(value, relationship)
    }
    return object
  }

  private static func ids(
    _ value: Any, _ relationship: RelationshipDescription
  ) throws -> [ManagedObjectID] {
    switch value {
    case is NSNull: return []
    case let id as ManagedObjectID: return [id]
    case let ids as [ManagedObjectID]: return ids
    case let ids as Set<NSManagedObjectID>: return Array(ids)
    default:
      throw ObjectError(
        .typeMismatch, "The store gave \(Swift.type(of: value)) for \(relationship.name)",
        suggestion: "Give object IDs: one or NSNull, or an array of them.")
    }
  }
}
