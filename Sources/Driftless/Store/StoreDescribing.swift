import Synchronization

/// What every store answers. The module `CoreData` has subclasses with members of these names, which no class could have
/// beside one that it inherits.
public protocol StoreDescribing: PersistentStore {}

extension PersistentStore: StoreDescribing {}

extension StoreDescribing {
  /// How it was opened.
  @_disfavoredOverload
  public var options: StoreOptions { givenOptions }

  /// What the store says of itself, as last read or written here.
  @_disfavoredOverload
  public var metadata: StoreMetadata { storedMetadata.withLock { $0 } }
}
