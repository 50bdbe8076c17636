import Driftless
import Foundation

/// Deletes all objects that a fetch finds, without a context: no callbacks, no validation. All of it is one transaction of
/// the history. Delete rules are followed in the store.
open class NSBatchDeleteRequest: NSPersistentStoreRequest {
  /// What the objects are found by. Of a request with IDs it has their entity, and none of its own.
  public let fetchRequest: NSFetchRequest<any NSFetchRequestResult>
  private let objectIDs: [NSManagedObjectID]?
  /// What the result tells.
  open var resultType = NSBatchDeleteRequestResultType.resultTypeStatusOnly

  /// Deletes what the request finds, as below: an `NSFetchRequest(entityName:)` without a type is one of these.
  public init(fetchRequest fetch: NSFetchRequest<any NSFetchRequestResult>) {
    fetchRequest = NSFetchRequest()
    objectIDs = nil
    super.init()
    fetchRequest.take(fetch)
  }

  /// Deletes what the request finds: its predicate, limit, offset and sort descriptors count.
  public init<T>(fetchRequest fetch: NSFetchRequest<T>) {
    fetchRequest = NSFetchRequest()
    objectIDs = nil
    super.init()
    fetchRequest.take(fetch)
  }

  /// Deletes these objects. Those that are gone already are no error.
  public init(objectIDs objects: [NSManagedObjectID]) {
    fetchRequest = NSFetchRequest()
    fetchRequest.entity = objects.first?.entity
    objectIDs = objects
  }

  open override var requestType: NSPersistentStoreRequestType { .batchDeleteRequestType }

  override var batchEntityName: String? { fetchRequest.entityName }

  override func run(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    var request =
      if let objectIDs {
        BatchDeleteRequest(objectIDs: objectIDs)
      } else {
        BatchDeleteRequest(fetchRequest: try fetchRequest.known(in: context))
      }
    if let affectedStores { request.affectedStores = affectedStores }
    request.resultType = BatchResultType(rawValue: Int(resultType.rawValue)) ?? .statusOnly
    return NSBatchDeleteResult(try context.base.execute(request), resultType)
  }
}

/// What a batch delete did.
open class NSBatchDeleteResult: NSPersistentStoreResult {
  /// What the request asked for.
  public let resultType: NSBatchDeleteRequestResultType
  /// That it was done, as a `Bool`; the IDs of the objects, in an array; or how many, as an `Int`.
  public let result: Any?

  init(_ result: BatchResult, _ type: NSBatchDeleteRequestResultType) {
    resultType = type
    self.result = result.value
  }
}
