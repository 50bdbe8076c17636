import Synchronization

/// A fetch that a ``BackgroundContext`` carries out while its caller goes on.
///
/// ```swift
/// let request = AsynchronousFetchRequest(fetchRequest: long) { context, result in
///   guard let books = result.finalResult(in: context) else { return report(result.operationError) }
///   show(books.map(\.title))
/// }
/// let result = background.execute(request)
/// result.cancel()
/// ```
public struct AsynchronousFetchRequest<Object: ManagedObject>: Sendable {
  /// Called where the context is, once the fetch is over, for whatever reason.
  public typealias CompletionBlock =
    @Sendable (ManagedObjectContext, AsynchronousFetchResult<Object>) -> Void

  /// What is asked for.
  public let fetchRequest: FetchRequest<Object>
  /// Called once; nil for a caller that awaits the result.
  public let completionBlock: CompletionBlock?
  /// What progress tells as the total until the fetch knows better.
  public var estimatedResultCount = 0

  /// - Parameters:
  ///   - fetchRequest: What is asked for.
  ///   - completionBlock: Called where the context is, once the fetch is over.
  public init(fetchRequest: FetchRequest<Object>, completionBlock: CompletionBlock? = nil) {
    self.fetchRequest = fetchRequest
    self.completionBlock = completionBlock
  }
}

/// How an asynchronous fetch is getting on, and what it found.
public final class AsynchronousFetchResult<Object: ManagedObject>: Sendable {
  private struct State {
    var progress: FetchProgress
    var outcome: Result<[ManagedObjectID], any Error>?
    var waiting: [CheckedContinuation<[ManagedObjectID], any Error>] = []
  }

  /// What was asked for.
  public let fetchRequest: FetchRequest<Object>
  private let state: Mutex<State>
  fileprivate let interruption = FetchInterruption()

  fileprivate init(_ request: AsynchronousFetchRequest<Object>) {
    fetchRequest = request.fetchRequest
    state = Mutex(
      State(progress: FetchProgress(completed: 0, total: request.estimatedResultCount)))
  }

  /// How far the fetch has come.
  public var progress: FetchProgress { state.withLock { $0.progress } }

  /// Why there is no result: a ``FetchError`` with the code `cancelled`, or what kept the store from being read.
  public var operationError: (any Error)? {
    state.withLock { state in
      if case .failure(let error)? = state.outcome { error } else { nil }
    }
  }

  /// What was found; nil until it is, and when nothing was because of an error.
  public var objectIDs: [ManagedObjectID]? {
    state.withLock { state in try? state.outcome?.get() }
  }

  /// The objects that were found, in a context: the fetch's own, where it has read them, or another one.
  public func finalResult(in context: ManagedObjectContext) -> [Object]? {
    objectIDs?.compactMap { context.object(with: $0) as? Object }
  }

  /// Waits until the fetch is over.
  /// - Throws: ``operationError``.
  public func wait() async throws -> [ManagedObjectID] {
    try await withCheckedThrowingContinuation { continuation in
      let outcome = state.withLock { state -> Result<[ManagedObjectID], any Error>? in
        if state.outcome == nil { state.waiting.append(continuation) }
        return state.outcome
      }
      if let outcome { continuation.resume(with: outcome) }
    }
  }

  /// Stops the query inside the store. A fetch that is over stays as it is.
  public func cancel() { interruption.cancel() }

  fileprivate func advance(_ progress: FetchProgress) { state.withLock { $0.progress = progress } }

  fileprivate func finish(_ outcome: Result<[ManagedObjectID], any Error>) {
    let waiting = state.withLock { state in
      state.outcome = outcome
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume(with: outcome) }
  }
}

extension BackgroundContext {
  /// Begins a fetch, after the work that was sent before, and returns at once.
  @discardableResult
  public func execute<Object: ManagedObject>(
    _ request: AsynchronousFetchRequest<Object>
  ) -> AsynchronousFetchResult<Object> {
    let result = AsynchronousFetchResult(request)
    send { context in
      let fetched = Result { try context.fetch(request.fetchRequest, result) }
      // Held until the block is through, so that it meets the objects as they were read.
      withExtendedLifetime(try? fetched.get()) {
        result.finish(fetched.map { $0.map(\.objectID) })
        request.completionBlock?(context, result)
      }
    }
    return result
  }
}

extension ManagedObjectContext {
  fileprivate func fetch<Object: ManagedObject>(
    _ request: FetchRequest<Object>, _ result: AsynchronousFetchResult<Object>
  ) throws -> [Object] {
    try result.interruption.check()
    try request.check(gives: .managedObject)
    do {
      // The part that takes long, and that can be stopped. What a child finds is its parent's to say: how many rows the
      // stores have tells nothing of that.
      var progress: FetchProgress.Handler?
      if parent == nil { progress = { result.advance($0) } }
      _ = try keys(for: request, result.interruption, progress)
    } catch is StoreError where result.interruption.isCancelled {
      throw FetchInterruption.cancelled
    }
    try result.interruption.check()
    let objects = try fetch(request)
    if parent != nil {
      result.advance(FetchProgress(completed: objects.count, total: objects.count))
    }
    return objects
  }
}
