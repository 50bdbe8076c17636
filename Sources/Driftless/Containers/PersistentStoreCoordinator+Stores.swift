public import Foundation

/// Stores by description, and what a store says of itself.
extension PersistentStoreCoordinator {
  /// Opens the store that is described, or makes it, and attaches it; the description's `shouldAddStoreAsynchronously` is
  /// for containers.
  ///
  /// - Throws: as ``addPersistentStore(at:configuration:options:)``, and `StoreError` with code `invalidArgument` for an
  ///   option that a store cannot have. Nothing is left open then, so that the file may be deleted and the store added anew.
  @discardableResult
  public func addPersistentStore(
    with description: PersistentStoreDescription
  ) throws -> PersistentStore {
    let (url, options) = try description.resolved()
    let store = try addPersistentStore(
      at: url, configuration: description.configuration, options: options)
    if description.vacuums, !store.isReadOnly {
      do { try store.vacuum() } catch {
        remove(store)
        throw error
      }
    }
    return store
  }

  /// The file of a store; nil for one in memory.
  @_disfavoredOverload
  public func url(for store: PersistentStore) -> URL? { store.url }

  /// What a store says of itself, by Core Data's keys, with its type and UUID.
  @_disfavoredOverload
  public func metadata(for store: PersistentStore) -> [String: Any] {
    store.metadata.described(identifier: store.identifier)
  }

  /// Sets what a store says of itself, at once: see ``setMetadata(_:forPersistentStoreAt:)``.
  ///
  /// - Throws: `StoreError` for values that no property list holds, and where the store cannot be written.
  @_disfavoredOverload
  public func setMetadata(_ metadata: [String: Any], for store: PersistentStore) throws {
    try store.setMetadata(metadata)
  }

  /// What the store in a file says of itself, without a model and without opening it for work: nothing in the file or beside
  /// it changes.
  ///
  /// - Throws: `StoreError` when there is no store.
  public static func metadataForPersistentStore(at url: URL) throws -> [String: Any] {
    let (identifier, metadata) = try PersistentStore.metadata(at: url)
    return metadata.described(identifier: identifier)
  }

  /// Sets what the store in a file says of itself. Keys that are missing go, except the store's own: type, UUID, and what
  /// says which model it was written with.
  ///
  /// - Parameters:
  ///   - metadata: Values are those of a property list.
  ///   - url: The store's file.
  /// - Throws: `StoreError`: `invalidArgument` for other values, or what SQLite says of the file.
  public static func setMetadata(
    _ metadata: [String: Any], forPersistentStoreAt url: URL
  ) throws {
    try PersistentStore.setMetadata(metadata, at: url)
  }
}
