public import Driftless
import Foundation

/// A store that an application keeps in a form of its own and reads and writes as a whole: a subclass loads nodes of all
/// objects, and saves them.
///
/// A store in memory of the library stands for it: fetches, faults, relationships and conflicts between contexts are those of
/// any store. Register the class with `NSPersistentStoreCoordinator/registerStoreClass(_:forStoreType:)`; override `load()`,
/// `save()`, `newReferenceObject(for:)`, `metadataForPersistentStore(with:)`, `type` and `metadata`.
///
/// Methods are called one at a time, on the thread that adds the store or saves.
open class NSAtomicStore: NSCustomPersistentStore,
  @unchecked Sendable  // as its superclass
{
  private var nodes: [ObjectKey: NSAtomicStoreCacheNode] = [:]

  // MARK: What a subclass overrides

  /// Makes a node for each object that the store has, and gives them to `addCacheNodes(_:)`. There may be no file yet.
  /// - Throws: what kept it from being read: the store is not added then.
  open func load() throws {}

  /// Writes all nodes, and `metadata`. Called for each save of a context, after nodes were made, changed and taken out.
  /// - Throws: what kept it from being written: the context's save fails with it and nothing is saved.
  open func save() throws {
    throw CocoaError(
      .persistentStoreSave,
      userInfo: [NSLocalizedDescriptionKey: "\(Swift.type(of: self)) does not override save()."])
  }

  /// What the store will know a new object by: a number, a text, a UUID. A UUID in words, unless overridden.
  open func newReferenceObject(for managedObject: NSManagedObject) -> Any { UUID().uuidString }

  /// A node for a new object. Its ID is the one that it has for good.
  open func newCacheNode(for managedObject: NSManagedObject) -> NSAtomicStoreCacheNode {
    let node = NSAtomicStoreCacheNode(objectID: managedObject.objectID)
    updateCacheNode(node, from: managedObject)
    return node
  }

  /// Brings a node to an object's values. For a new object it is called twice, the second time when all new nodes are there.
  open func updateCacheNode(
    _ node: NSAtomicStoreCacheNode, from managedObject: NSManagedObject
  ) {
    for (name, attribute) in managedObject.entity.attributesByName where !attribute.isTransient {
      node.setValue(managedObject.storedValue(name), forKey: name)
    }
    for (name, relationship) in managedObject.entity.relationshipsByName {
      let ids = managedObject.objectIDs(forRelationshipNamed: name)
      let others = ids.compactMap(cacheNode(for:))
      node.setValue(
        !relationship.isToMany
          ? others.first
          : relationship.isOrdered ? NSOrderedSet(array: others) : NSSet(array: others),
        forKey: name)
    }
  }

  /// Nodes of deleted objects go with the save.
  open func willRemoveCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {}

  // MARK: What a subclass uses

  /// The nodes of all objects.
  public final func cacheNodes() -> Set<NSAtomicStoreCacheNode> {
    lock.withLock { Set(nodes.values) }
  }

  /// Adds nodes, in `load()`.
  public final func addCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {
    lock.withLock { for node in cacheNodes { nodes[node.objectID.key] = node } }
  }

  /// The node of an object; nil when there is none.
  public final func cacheNode(for objectID: NSManagedObjectID) -> NSAtomicStoreCacheNode? {
    lock.withLock { nodes[objectID.key] }
  }

  /// The ID of the object that the store knows by a reference object. An entity that the store does not have is a
  /// precondition failure.
  public final func objectID(
    for entity: NSEntityDescription, withReferenceObject data: Any
  ) -> NSManagedObjectID {
    knownID(of: entity, data)
  }

  // MARK: Opening

  final override func open(in coordinator: PersistentStoreCoordinator) throws {
    try super.open(in: coordinator)
    try load()
    try fill(with: cacheNodes().map(content))
    if isForReading { seal() }
  }

  private final func content(of node: NSAtomicStoreCacheNode) throws -> OutsideObject {
    let entity = node.objectID.entity
    var object = OutsideObject(node.objectID)
    for (name, attribute) in entity.attributesByName where !attribute.isTransient {
      object.attributes[name] = attribute.archived(node.value(forKey: name))
    }
    for name in entity.relationshipsByName.keys {
      object.related[name] = try Self.nodes(of: node.value(forKey: name), name, entity)
    }
    return object
  }

  private static func nodes(
    of value: Any?, _ name: String, _ entity: EntityDescription
  ) throws -> [ManagedObjectID] {
    let elements: [Any]
    switch value {
    case nil: return []
    case let node as NSAtomicStoreCacheNode: return [node.objectID]
    case let set as NSOrderedSet: elements = set.array
    case let set as NSSet: elements = set.allObjects
    case let set as Set<NSAtomicStoreCacheNode>: elements = Array(set)
    case let array as [Any]: elements = array
    default: elements = [value as Any]
    }
    return try elements.map { element in
      if let node = element as? NSAtomicStoreCacheNode { return node.objectID }
      throw ObjectError(
        .typeMismatch,
        "\(entity.knownName).\(name) of a cache node holds \(Swift.type(of: element))",
        suggestion: "Relationships of nodes hold nodes, or sets of them.")
    }
  }
}

extension NSAtomicStore: StandInStore {
  package final func keys(forNew objects: [ManagedObject]) throws -> [Int64] {
    objects.map { object in
      objectID(for: object.entity, withReferenceObject: newReferenceObject(for: object)).key.key
    }
  }

  package final func willCommit(
    _ changes: StoreChanges, _ coordinator: PersistentStoreCoordinator
  ) throws {
    let former = lock.withLock { nodes }
    let touched = changes.updated.compactMap { id in cacheNode(for: id).map { ($0, id) } }
    let values = touched.map { $0.0.propertyCache?.mutableCopy() as? NSMutableDictionary }
    do {
      try take(changes, touched, coordinator)
      try save()
    } catch {
      lock.withLock { nodes = former }
      for ((node, _), values) in zip(touched, values) { node.propertyCache = values }
      throw error
    }
  }

  /// Brings the nodes to what the rows have now: objects of a context of its own give it.
  private final func take(
    _ changes: StoreChanges, _ touched: [(NSAtomicStoreCacheNode, ManagedObjectID)],
    _ coordinator: PersistentStoreCoordinator
  ) throws {
    let base = ManagedObjectContext(coordinator)
    let context = NSManagedObjectContext(base)
    var made: [(NSAtomicStoreCacheNode, ManagedObject)] = []
    for id in changes.inserted {
      let object = try base.existingObject(with: id)
      let node = newCacheNode(for: object)
      guard node.objectID == id else {
        throw ObjectError(
          .typeMismatch, "newCacheNode(for:) made a node of \(node.objectID) for \(id)",
          suggestion: "Make the node with the object's objectID.")
      }
      addCacheNodes([node])
      made.append((node, object))
    }
    for (node, object) in made { updateCacheNode(node, from: object) }
    for (node, id) in touched { updateCacheNode(node, from: try base.existingObject(with: id)) }
    let gone = changes.deleted.compactMap(cacheNode(for:))
    if !gone.isEmpty {
      willRemoveCacheNodes(Set(gone))
      lock.withLock { for node in gone { nodes[node.objectID.key] = nil } }
    }
    withExtendedLifetime(context) {}
  }
}
