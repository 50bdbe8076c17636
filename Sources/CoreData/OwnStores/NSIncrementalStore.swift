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
  /// A save that goes on: its thread reads rows that were written a moment ago, and others do not.
  private struct Save {
    let thread = pthread_self()
    let transaction: WriteTransaction
    var written: Set<ObjectKey>
  }

  private var save: Save?
  /// The newest transaction of rows that is known here.
  private var newestTransaction: Int64 = 0

  // MARK: What a subclass overrides

  /// Carries a request out.
  ///
  /// - Parameters:
  ///   - request: An `NSFetchRequest<any NSFetchRequestResult>` with its entity, to be answered with an array of objects or of
  ///     their IDs, or of dictionaries where its `resultType` asks for those; or an `NSSaveChangesRequest`, to be answered with an
  ///     empty array. The objects of a save are those of the context that saves, with their unsaved changes; what is read of them, or
  ///     of others, asks the store, and what cannot be read fails the save.
  ///   - context: The context that fetches or saves. Objects of the answer are to be there, by `object(with:)`.
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
    let written = changes.writtenKeys
    lock.withLock { save?.written = written }
    _ = try execute(
      NSSaveChangesRequest(
        inserted: Set(changes.insertedObjects), updated: Set(changes.updatedObjects),
        deleted: Set(changes.deletedObjects), locked: Set(changes.watchedObjects)),
      with: context(of: changes.context))
  }

  package final func didBegin(_ transaction: WriteTransaction, changing keys: Set<ObjectKey>) {
    lock.withLock { save = Save(transaction: transaction, written: keys) }
  }

  package final func didEnd() {
    // Another thread may save by now.
    lock.withLock { if ownSave != nil { save = nil } }
  }

  package final func didCommit(_ transaction: Int64) { note(transaction) }

  private final func note(_ transaction: Int64?) {
    guard let transaction else { return }
    lock.withLock { newestTransaction = max(newestTransaction, transaction) }
  }

  /// The save that goes on, on its own thread.
  private final var ownSave: Save? {
    lock.withLock { save.flatMap { pthread_equal($0.thread, pthread_self()) != 0 ? $0 : nil } }
  }

  package final func prepareRow(
    of id: ManagedObjectID, for base: ManagedObjectContext
  ) throws {
    let context = context(of: base)
    if let ownSave {
      // The store has what was before.
      guard !ownSave.written.contains(id.key) else { return }
      return try put([content(of: id, context)], ownSave.transaction)
    }
    let before = lock.withLock { newestTransaction }
    let object = try content(of: id, context)
    note(try put([object], askedAfter: before))
  }

  package final func prepareObjects(
    of relationship: RelationshipDescription, of id: ManagedObjectID,
    for base: ManagedObjectContext
  ) throws -> [ObjectKey]? {
    let context = context(of: base)
    let before = lock.withLock { newestTransaction }
    let value = try newValue(forRelationship: relationship, forObjectWith: id, with: context)
    let ids = try Self.ids(value, relationship)
    // The context that saves has its changes upon what was before.
    if ownSave != nil { return ids.map(\.key) }
    let missing = try ids.filter { try !hasRow($0) }
    note(try put(try missing.map { try content(of: $0, context) }, askedAfter: before))
    note(try put(ids, as: relationship, of: id, askedAfter: before))
    return nil
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
      object.attributes[name] = attribute.archived(node.value(for: attribute))
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
