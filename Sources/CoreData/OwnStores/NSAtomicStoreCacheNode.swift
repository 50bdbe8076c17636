public import Driftless
public import Foundation

/// One object of an atomic store, in memory: values of its properties by name. A to-one relationship holds a node, a to-many
/// one a set of nodes, an ordered one an `NSOrderedSet` or an array.
open class NSAtomicStoreCacheNode: NSObject {
  /// The object that it is.
  public let objectID: NSManagedObjectID
  /// The values; nil until one is set. A subclass that keeps them elsewhere leaves it nil.
  open var propertyCache: NSMutableDictionary?

  /// A node without values.
  ///
  /// - Parameter moid: Of `NSAtomicStore/objectID(for:withReferenceObject:)`.
  public init(objectID moid: NSManagedObjectID) { objectID = moid }

  /// The value of a property; nil for none.
  open func value(forKey key: String) -> Any? {
    let value = propertyCache?.object(forKey: key)
    return value is NSNull ? nil : value
  }

  /// Sets the value of a property; nil takes it away.
  open func setValue(_ value: Any?, forKey key: String) {
    let cache = propertyCache ?? NSMutableDictionary()
    propertyCache = cache
    if let value {
      cache.setObject(value, forKey: key as NSString)
    } else {
      cache.removeObject(forKey: key)
    }
  }
}
