// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The names are Core Data's.
import Foundation

/// What is called once an asynchronous fetch is over, of whatever result.
public typealias NSPersistentStoreAsynchronousFetchResultCompletionBlock = (
  NSAsynchronousFetchResult<any NSFetchRequestResult>
) -> Void

/// A fetch that a context carries out on its queue while its caller goes on.
open class NSAsynchronousFetchRequest<ResultType>: NSPersistentStoreRequest {
  /// What is asked for.
  public let fetchRequest: NSFetchRequest<ResultType>
  /// Called on the context's queue once the fetch is over, for whatever reason.
  public let completionBlock: ((NSAsynchronousFetchResult<ResultType>) -> Void)?
  /// What progress tells as the total.
  open var estimatedResultCount = 0

  /// - Parameters:
  ///   - request: What is asked for.
  ///   - blk: Called on the context's queue once the fetch is over.
  public init(
    fetchRequest request: NSFetchRequest<ResultType>,
    completionBlock blk: ((NSAsynchronousFetchResult<ResultType>) -> Void)? = nil
  ) {
    fetchRequest = request
    completionBlock = blk
  }

  open override var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  override func run(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    let progress = Progress(totalUnitCount: Int64(max(1, estimatedResultCount)))
    let result = NSAsynchronousFetchResult(self, context, progress)
    let work = Carried(self)
    context.perform {
      let request = work.value
      do {
        if progress.isCancelled { throw CocoaError(.userCancelled) }
        let asked = NSFetchRequest<ResultType>()
        asked.take(request.fetchRequest)
        if let stores = request.affectedStores { asked.affectedStores = stores }
        result.finalResult = try context.fetch(asked)
        progress.completedUnitCount = progress.totalUnitCount
      } catch {
        result.operationError = error
      }
      request.completionBlock?(result)
    }
    return result
  }
}

/// What an asynchronous fetch found.
open class NSAsynchronousFetchResult<ResultType>: NSPersistentStoreAsynchronousResult,
  @unchecked Sendable  // its context writes it once, before others are told
{
  /// What was asked for.
  public let fetchRequest: NSAsynchronousFetchRequest<ResultType>
  /// What was found; nil until it is, and when nothing was because of an error.
  public internal(set) var finalResult: [ResultType]?

  init(
    _ request: NSAsynchronousFetchRequest<ResultType>, _ context: NSManagedObjectContext,
    _ progress: Progress
  ) {
    fetchRequest = request
    super.init(context, progress)
  }
}
