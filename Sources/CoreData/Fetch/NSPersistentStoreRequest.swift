public import Driftless
import Foundation

/// What a fetch can give: objects, their IDs, dictionaries, a number.
public protocol NSFetchRequestResult {}

extension ManagedObject: NSFetchRequestResult {}
extension ManagedObjectID: NSFetchRequestResult {}
extension NSDictionary: NSFetchRequestResult {}
extension NSNumber: NSFetchRequestResult {}

/// A question to the stores of a context, or an order to change them.
open class NSPersistentStoreRequest: NSObject {
  /// The stores that are asked; all that can answer for nil.
  open var affectedStores: [NSPersistentStore]?

  /// What kind of request it is.
  open var requestType: NSPersistentStoreRequestType {
    preconditionFailure("\(type(of: self)) is no kind of request that there is")
  }

  /// What kind of request it is, and what it asks for.
  open override var description: String {
    "<\(type(of: self))\(batchEntityName.map { " entity: \($0)" } ?? "")>"
  }

  open override var debugDescription: String { description }

  /// The entity whose rows are changed without a context; nil for another kind of request.
  var batchEntityName: String? { nil }

  /// What the context does, on its queue.
  func run(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    throw CocoaError(.persistentStoreUnsupportedRequestType)
  }
}

/// The answer to a request.
open class NSPersistentStoreResult: NSObject {}

/// The answer to a request that is carried out while its caller goes on.
open class NSPersistentStoreAsynchronousResult: NSPersistentStoreResult,
  @unchecked Sendable  // its context writes it once, before others are told
{
  /// The context that carries the request out.
  public let managedObjectContext: NSManagedObjectContext
  /// How far it has come; nil where no progress was current as it was sent.
  public let progress: Progress?
  /// Why there is no result.
  public internal(set) var operationError: (any Error)?

  init(_ context: NSManagedObjectContext, _ progress: Progress?) {
    managedObjectContext = context
    self.progress = progress
  }

  /// Stops a request that has not begun; one that is over stays as it is.
  open func cancel() { progress?.cancel() }
}
