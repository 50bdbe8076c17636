public import Driftless
import Foundation

/// The values of one object of an incremental store, with a version.
open class NSIncrementalStoreNode: NSObject {
  /// The object that it is.
  public let objectID: NSManagedObjectID
  /// What the store counts versions by.
  public private(set) var version: UInt64
  private var values: [String: Any]

  /// A node with values.
  ///
  /// - Parameters:
  ///   - objectID: Of `NSIncrementalStore/newObjectID(for:referenceObject:)`.
  ///   - values: Attributes by name; of to-one relationships IDs, or `NSNull`. A to-one relationship that is left out is asked
  ///     for by `newValue(forRelationship:forObjectWith:with:)`.
  ///   - version: What the store counts versions by.
  public init(
    objectID: NSManagedObjectID, withValues values: [String: Any], version: UInt64
  ) {
    self.objectID = objectID
    self.values = values
    self.version = version
  }

  /// Takes other values.
  open func update(withValues values: [String: Any], version: UInt64) {
    self.values = values
    self.version = version
  }

  /// The value of a property; `NSNull` where a to-one relationship is known to lead nowhere, nil for none.
  open func value(for prop: NSPropertyDescription) -> Any? { values[prop.name] }
}
