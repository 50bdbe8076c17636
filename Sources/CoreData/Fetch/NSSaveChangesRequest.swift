public import Driftless
import Foundation

/// What a context's save asks of a store: an `NSIncrementalStore` gets it in `execute(_:with:)`. Contexts and coordinators carry
/// out none that an application makes.
open class NSSaveChangesRequest: NSPersistentStoreRequest {
  /// Objects that the store does not have yet, with the IDs that they have for good.
  public let insertedObjects: Set<NSManagedObject>?
  /// Objects that were changed.
  public let updatedObjects: Set<NSManagedObject>?
  /// Objects that are to go.
  public let deletedObjects: Set<NSManagedObject>?
  /// Objects that were not changed and whose conflicts are looked for.
  public let lockedObjects: Set<NSManagedObject>?

  /// A request for these objects; nil for none.
  public init(
    inserted insertedObjects: Set<NSManagedObject>?, updated updatedObjects: Set<NSManagedObject>?,
    deleted deletedObjects: Set<NSManagedObject>?, locked lockedObjects: Set<NSManagedObject>?
  ) {
    self.insertedObjects = insertedObjects
    self.updatedObjects = updatedObjects
    self.deletedObjects = deletedObjects
    self.lockedObjects = lockedObjects
  }

  open override var requestType: NSPersistentStoreRequestType { .saveRequestType }

  override func run(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    throw CocoaError(
      .persistentStoreUnsupportedRequestType,
      userInfo: [NSLocalizedDescriptionKey: "A context saves by save(), not by a request."])
  }
}
