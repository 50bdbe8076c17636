public import Driftless
public import Foundation
import Synchronization

/// What the members of `NSPersistentStore` are declared in, so that `NSAtomicStore` and `NSIncrementalStore` have some of the
/// same names to override.
public protocol NSPersistentStoring: PersistentStore {}

extension PersistentStore: NSPersistentStoring {}

extension NSPersistentStoring {
  /// `NSSQLiteStoreType`, `NSInMemoryStoreType`, or what the store's class is registered for.
  public var type: String {
    (self as? any OwnStore)?.ownType ?? (url == nil ? NSInMemoryStoreType : NSSQLiteStoreType)
  }

  /// The name of the configuration whose entities the store has; `PF_DEFAULT_CONFIGURATION_NAME` for all entities.
  public var configurationName: String {
    knownConfigurationName ?? "PF_DEFAULT_CONFIGURATION_NAME"
  }

  /// What the store says of itself. What is set takes the place of all but the store's own, at once; values that cannot be
  /// written leave it as it is: a coordinator's `setMetadata(_:for:)` says so.
  public var metadata: [String: Any]! {
    get {
      if let own = self as? any OwnStore { return own.ownMetadata }
      return knownMetadata.values
        .merging([NSStoreUUIDKey: identifier, NSStoreTypeKey: type]) { $1 }
    }
    set {
      if let own = self as? any OwnStore {
        own.ownMetadata = newValue
        return
      }
      try? setKnownMetadata(newValue ?? [:])
    }
  }

  /// How the store was opened, by Core Data's keys.
  public var options: [AnyHashable: Any]? {
    if let own = self as? any OwnStore { return own.ownOptions }
    let options = knownOptions
    var given: [AnyHashable: Any] = [
      NSReadOnlyPersistentStoreOption: NSNumber(value: options.isReadOnly),
      NSMigratePersistentStoresAutomaticallyOption: NSNumber(value: options.migratesAutomatically),
      NSInferMappingModelAutomaticallyOption: NSNumber(value: options.infersMappingModel),
      NSPersistentHistoryTrackingKey: NSNumber(value: true),
      NSPersistentStoreTimeoutOption: NSNumber(
        value: Double(options.busyTimeoutMilliseconds) / 1000),
      NSPersistentStoreConnectionPoolMaxSizeKey: NSNumber(value: options.readersMax),
    ]
    given[NSPersistentStoreStagedMigrationManagerOptionKey] = options.stagedMigration?.counterpart
    return given
  }

  /// The coordinator that the store is attached to.
  public var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    (self as? any OwnStore)?.ownCoordinator ?? StoreOwners.coordinator(of: self)
  }

  /// Reads the metadata: those of an open store are there.
  /// - Throws: nothing, of a store of this module.
  public func loadMetadata() throws {}

  /// The store is a coordinator's now: nothing is to be done.
  public func didAdd(to coordinator: NSPersistentStoreCoordinator) {}

  /// The store will be no more a coordinator's: nothing is to be done.
  public func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  /// What migrates stores of the class.
  public static func migrationManagerClass() -> AnyClass { NSMigrationManager.self }

  /// What the store in a file says of itself.
  /// - Throws: 260 when there is no file, and what tells that it is no store.
  public static func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try requireFile(at: url)
    do { return try PersistentStoreCoordinator.metadataForPersistentStore(at: url) } catch {
      throw cocoaError(error)
    }
  }

  /// Sets what the store in a file says of itself; keys that are missing go, except the store's own.
  /// - Throws: 134060 for values that no property list can have, or what kept the file from being written.
  public static func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreAt url: URL
  ) throws {
    do {
      try PersistentStoreCoordinator.setMetadata(metadata ?? [:], forPersistentStoreAt: url)
    } catch { throw cocoaError(error) }
  }
}

extension ManagedObjectID {
  /// The store that the object is in, as long as a coordinator has it; nil for a temporary ID.
  public var persistentStore: NSPersistentStore? {
    isTemporaryID ? nil : StoreOwners.store(withIdentifier: storeIdentifier)
  }
}

/// - Throws: 260 where there is no file.
func requireFile(at url: URL) throws {
  guard !FileManager.default.fileExists(atPath: url.path) else { return }
  throw CocoaError(
    .fileReadNoSuchFile,
    userInfo: [
      NSFilePathErrorKey: url.path, NSURLErrorKey: url,
      NSLocalizedDescriptionKey: "There is no file \(url.lastPathComponent) at \(url.path).",
    ])
}

/// Which coordinators were given stores by this module.
enum StoreOwners {
  private static let coordinators = Mutex<[WeakReference<PersistentStoreCoordinator>]>([])
  private static let queues = Mutex<
    [(coordinator: WeakReference<PersistentStoreCoordinator>, queue: ContextQueue)]
  >([])

  static func note(_ coordinator: PersistentStoreCoordinator) {
    coordinators.withLock { all in
      all.removeAll { $0.object == nil || $0.object === coordinator }
      all.append(WeakReference(coordinator))
    }
  }

  /// The queue of a coordinator's blocks, made at first use.
  static func queue(of coordinator: PersistentStoreCoordinator) -> ContextQueue {
    queues.withLock { queues in
      queues.removeAll { $0.coordinator.object == nil }
      if let known = queues.first(where: { $0.coordinator.object === coordinator }) {
        return known.queue
      }
      let made = ContextQueue(label: "coredata.coordinator")
      queues.append((WeakReference(coordinator), made))
      return made
    }
  }

  static func coordinator(of store: PersistentStore) -> PersistentStoreCoordinator? {
    all.last { $0.persistentStores.contains { $0 === store } }
  }

  static func store(withIdentifier identifier: String) -> PersistentStore? {
    for coordinator in all.reversed() {
      if let store = coordinator.persistentStore(withIdentifier: identifier) { return store }
    }
    return nil
  }

  private static var all: [PersistentStoreCoordinator] {
    coordinators.withLock { $0.compactMap(\.object) }
  }
}
