import Foundation
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

extension PersistentStore: CustomStringConvertible {
  /// Which store it is, and where; nothing of what it holds.
  public var description: String {
    let place = url.map { "at \($0.path)" } ?? "in memory"
    return "<\(type(of: self)) \(identifier) \(place)>"
  }
}
