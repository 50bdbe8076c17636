public import Driftless
public import Foundation

/// A store that an application keeps in a form of its own and reads and writes as a whole: a subclass loads nodes of all
/// objects, and saves them.
///
/// A store in memory of the library stands for it: fetches, faults, relationships and conflicts between contexts are those of
/// any store. Register the class with `NSPersistentStoreCoordinator/registerStoreClass(_:forStoreType:)`; override `load()`,
/// `save()`, `newReferenceObject(for:)`, `metadataForPersistentStore(with:)`, `type` and `metadata`.
///
/// Methods are called one at a time, on the thread that adds the store or saves.
open class NSAtomicStore: PersistentStore,
  @unchecked Sendable  // what changes is behind a lock, or belongs to the save that goes on
{
  private let lock = NSRecursiveLock()
  private var nodes: [ObjectKey: NSAtomicStoreCacheNode] = [:]
  private var references = ReferenceTable()
  private var given: [String: Any] = [:]
  private weak let root: PersistentStoreCoordinator?
  private let givenOptions: [AnyHashable: Any]?
  private let isForReading: Bool

  /// A store that is not open yet: coordinators make it. A model that no store can have is a precondition failure.
  ///
  /// - Parameters:
  ///   - root: Whose store it is to be.
  ///   - name: The configuration of the model whose entities it has; nil for all.
  ///   - url: Where its data are, or will be.
  ///   - options: As the coordinator was given them.
  public required init(
    persistentStoreCoordinator root: NSPersistentStoreCoordinator?,
    configurationName name: String?, at url: URL, options: [AnyHashable: Any]? = nil
  ) {
    self.root = root
    givenOptions = options
    isForReading = (options?[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue ?? false
    do {
      try super.init(
        Beginning(model: root?.managedObjectModel ?? NSManagedObjectModel(), configuration: name))
    } catch {
      preconditionFailure("No store can be made at \(url.path): \(error)")
    }
    stand(for: url)
  }

  // MARK: What a subclass overrides

  /// The type that the class is registered for.
  open var type: String {
    StoreClasses.all.first { $0.value == Swift.type(of: self) }?.key ?? "\(Swift.type(of: self))"
  }

  /// What the store says of itself: what was set, with its type, its UUID and the hashes of its model. A subclass writes it in
  /// `save()`, and sets what it has read in `load()` or before.
  open var metadata: [String: Any]! {
    get {
      knownMetadata.values.filter { $0.key.hasPrefix("NSStoreModel") }
        .merging(lock.withLock { given }) { $1 }
        .merging([NSStoreUUIDKey: identifier, NSStoreTypeKey: type]) { $1 }
    }
    set {
      let values = newValue ?? [:]
      lock.withLock { given = values.filter { !$0.key.hasPrefix("NSStoreModel") } }
      // Objects are known by it once the coordinator has the store.
      guard let uuid = values[NSStoreUUIDKey] as? String, !isAttached else { return }
      do { try become(identifier: uuid) } catch {
        preconditionFailure("The store in memory cannot be written: \(error)")
      }
    }
  }

  /// How the store was opened.
  open var options: [AnyHashable: Any]? { givenOptions }

  /// What lies at a URL says of itself: with `NSStoreUUIDKey`, and with `NSStoreModelVersionHashesKey` it is checked against
  /// the model. Nothing, unless overridden.
  /// - Throws: what kept it from being read.
  open class func metadataForPersistentStore(with url: URL) throws -> [String: Any] { [:] }

  /// Sets what lies at a URL says of itself. It fails, unless overridden.
  /// - Throws: 134060 where the class does not do it.
  open class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    throw CocoaError(
      .coreData,
      userInfo: [
        NSLocalizedDescriptionKey:
          "\(self) does not set metadata of a store that is not open: override setMetadata."
      ])
  }

  /// Reads the metadata before `load()`: by `metadataForPersistentStore(with:)`, unless overridden.
  /// - Throws: what kept them from being read.
  open func loadMetadata() throws {
    guard let url, PersistentStoreCoordinator.isThere(url) else { return }
    let read = try Swift.type(of: self).metadataForPersistentStore(with: url)
    if !read.isEmpty { metadata = read }
  }

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
      node.setValue(managedObject.value(forKey: name), forKey: name)
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

  /// The store is a coordinator's now.
  open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}

  /// The store will be no more a coordinator's.
  open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  /// What migrates stores of the class: it is never asked, as such stores are not migrated.
  open class func migrationManagerClass() -> AnyClass { NSMigrationManager.self }

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
    let name = entity.knownName
    guard let own = model.entitiesByName[name], schema.entityNumber(of: own) > 0 else {
      preconditionFailure("The store at \(url?.path ?? "") has no entity \(name)")
    }
    let key = lock.withLock { references.key(of: data, own) }
    return ManagedObjectID(
      entity: own, storeIdentifier: identifier,
      key: ObjectKey(entity: schema.entityNumber(of: own), key: key))
  }

  /// What the store knows an object by. One that it does not know is a precondition failure.
  public final func referenceObject(for objectID: NSManagedObjectID) -> Any {
    guard let reference = lock.withLock({ references.reference(of: objectID) }) else {
      preconditionFailure("\(objectID) is of no object of the store")
    }
    return reference
  }

  private var isAttached: Bool { root?.persistentStores.contains { $0 === self } ?? false }
}

extension NSAtomicStore: OwnStore {
  final var ownType: String { type }
  final var ownOptions: [AnyHashable: Any]? { options }
  final var ownCoordinator: PersistentStoreCoordinator? { root }
  final var ownMetadata: [String: Any]! {
    get { metadata }
    set { metadata = newValue }
  }

  static func make(
    _ coordinator: PersistentStoreCoordinator, _ configuration: String?, _ url: URL,
    _ options: [AnyHashable: Any]?
  ) -> Self {
    Self(
      persistentStoreCoordinator: coordinator, configurationName: configuration, at: url,
      options: options)
  }

  static func metadata(at url: URL) throws -> [String: Any] {
    try metadataForPersistentStore(with: url)
  }

  static func setMetadata(_ metadata: [String: Any]?, at url: URL) throws {
    try setMetadata(metadata, forPersistentStoreAt: url)
  }

  final func open(in coordinator: PersistentStoreCoordinator) throws {
    try loadMetadata()
    try load()
    try fill(with: cacheNodes().map(content))
    if isForReading { seal() }
  }

  final func wasAdded(to coordinator: PersistentStoreCoordinator) { didAdd(to: coordinator) }

  final func willBeRemoved(from coordinator: PersistentStoreCoordinator) {
    willRemove(from: coordinator)
  }

  private final func content(of node: NSAtomicStoreCacheNode) throws -> OutsideObject {
    let entity = node.objectID.entity
    var object = OutsideObject(node.objectID)
    for (name, attribute) in entity.attributesByName where !attribute.isTransient {
      object.attributes[name] = node.value(forKey: name)
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
