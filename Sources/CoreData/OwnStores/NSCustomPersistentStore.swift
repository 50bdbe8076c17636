public import Driftless
public import Foundation

/// What `NSAtomicStore` and `NSIncrementalStore` have in common: a store whose class an application declares. A store in memory
/// of the library stands for it.
open class NSCustomPersistentStore: PersistentStore,
  @unchecked Sendable  // what changes is behind a lock, or belongs to the save that goes on
{
  let lock = NSRecursiveLock()
  private var references = ReferenceTable()
  private var given: [String: Any] = [:]
  private weak let root: PersistentStoreCoordinator?
  private let givenOptions: [AnyHashable: Any]?
  let isForReading: Bool

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

  /// The store is a coordinator's now.
  open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}

  /// The store will be no more a coordinator's.
  open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  /// What migrates stores of the class: it is never asked, as such stores are not migrated.
  open class func migrationManagerClass() -> AnyClass { NSMigrationManager.self }

  /// Makes the store ready for use, before a coordinator has it.
  func open(in coordinator: PersistentStoreCoordinator) throws { try loadMetadata() }

  // MARK: Objects

  /// The ID of the object that the store knows by a reference object. An entity that the store does not have is a
  /// precondition failure.
  final func knownID(
    of entity: NSEntityDescription, _ data: Any
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

extension NSCustomPersistentStore: OwnStore {
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

  final func wasAdded(to coordinator: PersistentStoreCoordinator) { didAdd(to: coordinator) }

  final func willBeRemoved(from coordinator: PersistentStoreCoordinator) {
    willRemove(from: coordinator)
  }
}
