public import Driftless
import Foundation
import Synchronization

/// A store whose class an application, or this module, declares: `NSAtomicStore` and `NSIncrementalStore`.
protocol OwnStore: PersistentStore {
  /// What the class says: `NSPersistentStore`'s members of these names ask it.
  var ownType: String { get }
  var ownMetadata: [String: Any]! { get set }
  var ownOptions: [AnyHashable: Any]? { get }
  var ownCoordinator: PersistentStoreCoordinator? { get }
  /// Makes the store of a coordinator ready for use.
  func open(in coordinator: PersistentStoreCoordinator) throws
  func wasAdded(to coordinator: PersistentStoreCoordinator)
  func willBeRemoved(from coordinator: PersistentStoreCoordinator)
  static func make(
    _ coordinator: PersistentStoreCoordinator, _ configuration: String?, _ url: URL,
    _ options: [AnyHashable: Any]?
  ) -> Self
  /// What a file says of itself.
  static func metadata(at url: URL) throws -> [String: Any]
  static func setMetadata(_ metadata: [String: Any]?, at url: URL) throws
}

/// The classes of stores by type.
enum StoreClasses {
  private static let known = Mutex<[String: any OwnStore.Type]>([
    NSBinaryStoreType: BinaryStore.self
  ])

  static subscript(type: String) -> (any OwnStore.Type)? {
    get { known.withLock { $0[type] } }
    set { known.withLock { $0[type] = newValue } }
  }

  static var all: [String: any OwnStore.Type] { known.withLock { $0 } }
}

extension PersistentStoreCoordinator {
  /// Registers the class of stores of a type, a subclass of `NSAtomicStore` or `NSIncrementalStore`; nil takes the type out.
  /// Another class, and the types that this module has itself, are a precondition failure.
  public class func registerStoreClass(
    _ storeClass: AnyClass?, forStoreType storeType: String
  ) {
    precondition(
      ![NSSQLiteStoreType, NSInMemoryStoreType, NSBinaryStoreType].contains(storeType),
      "Stores of type \(storeType) have their class; give yours a type of its own")
    guard let storeClass else {
      StoreClasses[storeType] = nil
      return
    }
    guard let known = storeClass as? any OwnStore.Type else {
      preconditionFailure(
        "\(storeClass) is no store: make it a subclass of NSAtomicStore or NSIncrementalStore")
    }
    StoreClasses[storeType] = known
  }

  /// Registers the class of stores of a type: as the one that takes the type's name.
  public class func registerStoreClass(
    _ storeClass: AnyClass?, type storeType: NSPersistentStore.StoreType
  ) {
    registerStoreClass(storeClass, forStoreType: storeType.rawValue)
  }

  /// The classes of stores by type.
  public class var registeredStoreTypes: [String: AnyClass] {
    var classes: [String: AnyClass] = [
      NSSQLiteStoreType: PersistentStore.self, NSInMemoryStoreType: PersistentStore.self,
    ]
    for (type, known) in StoreClasses.all { classes[type] = known }
    return classes
  }

  /// Opens a store of a class of its own, or makes it, and attaches it.
  func attachOwn(
    _ known: any OwnStore.Type, at url: URL?, _ configuration: String?,
    _ options: [AnyHashable: Any]?
  ) throws -> PersistentStore {
    do { return try attached(known, at: url, configuration, options) } catch {
      throw cocoaError(error)
    }
  }

  private func attached(
    _ known: any OwnStore.Type, at url: URL?, _ configuration: String?,
    _ options: [AnyHashable: Any]?
  ) throws -> PersistentStore {
    let ignored = options?[NSIgnorePersistentStoreVersioningOption] as? NSNumber
    let ignoresVersioning = ignored?.boolValue ?? false
    guard let url else {
      throw StoreError(
        .invalidArgument, "A store of class \(known) has no file.",
        suggestion: "Give its description a URL.")
    }
    if Self.isThere(url), !ignoresVersioning {
      try check(try known.metadata(at: url), configuration, url)
    }
    // What the class's initialiser cannot throw is thrown here.
    _ = try PersistentStore.Beginning(model: managedObjectModel, configuration: configuration)
    let store = known.make(self, configuration, url, options)
    try store.open(in: self)
    guard attach(store as PersistentStore) else {
      throw ObjectError(
        .storeRefused, "The coordinator has the store \(store.identifier) already",
        suggestion: "Add a store once; a copy of a file needs a UUID of its own in its metadata.")
    }
    StoreOwners.note(self)
    store.wasAdded(to: self)
    return store
  }

  /// Whether there is more than an empty file.
  static func isThere(_ url: URL) -> Bool {
    let values = try? FileManager.default.attributesOfItem(atPath: url.path)
    return (values?[.size] as? NSNumber)?.int64Value ?? 0 > 0
  }

  private func check(_ metadata: [String: Any], _ configuration: String?, _ url: URL) throws {
    guard metadata[NSStoreModelVersionHashesKey] is [String: Data] else { return }
    try managedObjectModel.freeze()
    guard
      !managedObjectModel.isConfiguration(
        withName: configuration, compatibleWithStoreMetadata: metadata)
    else { return }
    throw StoreError(
      .incompatibleModel, "\(url.path) was written with another model.",
      suggestion: "Open it with that model, save it as an SQLite store with "
        + "migratePersistentStore(_:to:options:type:), and migrate that.")
  }
}
