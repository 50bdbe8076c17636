/// Fetches that do not hold their caller up. Cancelling the task stops the query inside the store, and the fetch throws
/// a ``FetchError`` with the code `cancelled`.
///
/// ```swift
/// let fetch = Task { try await container.fetchIDs(request) { print("\($0.completed) of \($0.total)") } }
/// fetch.cancel()
/// ```
extension PersistentContainer {
  /// Called on a thread of the container, every some hundred rows and at the end.
  public typealias ProgressHandler = @Sendable (FetchProgress) -> Void

  /// The IDs of the objects that the request asks for.
  ///
  /// - Throws: ``FetchError`` with the code `cancelled` when the task was cancelled; otherwise as `fetch(_:)` of a context.
  public func fetchIDs<Result>(
    _ request: FetchRequest<Result>, progress: ProgressHandler? = nil
  ) async throws -> [ManagedObjectID] {
    try request.check(gives: .managedObjectID)
    return try await interruptible { context, interruption in
      let found = try context.keys(for: request, interruption, progress)
      if found.count > 1, !request.sort.isEmpty {
        // What is sorted by has to be read.
        var read = FetchRequest<ManagedObject>(
          entityName: request.entityName, sort: request.sort, limit: request.limit,
          offset: request.offset)
        read.ofClass = request.ofClass
        read.includesSubentities = request.includesSubentities
        return try context.objects(read, found).map(\.objectID)
      }
      let ids = found.flatMap { part in part.keys.compactMap(part.plan.objectID) }
      guard found.count > 1 else { return ids }
      let rest = ids.dropFirst(request.offset)
      return Array(request.limit > 0 ? rest.prefix(request.limit) : rest)
    }
  }

  /// The rows that the request asks for.
  ///
  /// - Throws: as ``fetchIDs(_:progress:)``; a to-many relationship cannot be fetched into a row.
  public func fetchRows<Result>(
    _ request: FetchRequest<Result>, progress: ProgressHandler? = nil
  ) async throws -> [FetchedRow] {
    try request.check(gives: .dictionary)
    return try await interruptible { context, interruption in
      guard let (plan, rows) = try context.rowQuery(request) else { return [] }
      return try plan.store.read { transaction in
        try interruption.during(transaction.connection) {
          let total = try progress.map { _ in try transaction.count(of: rows.query.counted) }
          let report = interruption.reporter(progress, total)
          let fetched = try transaction.fetchedRows(rows, objectID: plan.objectID, each: report)
          progress?(FetchProgress(completed: fetched.count, total: total ?? fetched.count))
          return fetched
        }
      }
    }
  }

  /// How many objects the request asks for.
  ///
  /// - Throws: as ``fetchIDs(_:progress:)``.
  public func count<Result>(for request: FetchRequest<Result>) async throws -> Int {
    try request.check(gives: .count)
    return try await interruptible { context, interruption in
      let queries = try context.queries(request, .count)
      guard queries.count == 1, let only = queries.first else {
        return try context.count(for: request)
      }
      return try only.plan.store.read { transaction in
        try interruption.during(transaction.connection) { try transaction.count(of: only.query) }
      }
    }
  }

  /// Fetches objects into a context of their own and works on them there. Objects cannot leave; values and IDs can.
  ///
  /// - Throws: as ``fetchIDs(_:progress:)``, and what `body` throws.
  public func fetch<Object: ManagedObject, Value: Sendable>(
    _ request: FetchRequest<Object>, progress: ProgressHandler? = nil,
    _ body: @escaping @Sendable (ManagedObjectContext, [Object]) throws -> Value
  ) async throws -> Value {
    try request.check(gives: .managedObject)
    return try await interruptible { context, interruption in
      let found = try context.keys(for: request, interruption, progress)
      let objects = try context.objects(request, found)
      try interruption.check()
      return try body(context, objects)
    }
  }

  private func interruptible<Value: Sendable>(
    _ work: @escaping @Sendable (ManagedObjectContext, FetchInterruption) throws -> Value
  ) async throws -> Value {
    let interruption = FetchInterruption()
    return try await withTaskCancellationHandler {
      do {
        return try await perform { context in
          try interruption.check()
          return try work(context, interruption)
        }
      } catch is StoreError where interruption.isCancelled {
        throw FetchInterruption.cancelled
      }
    } onCancel: {
      interruption.cancel()
    }
  }
}

extension ManagedObjectContext {
  /// The objects that a request found, of each store: in the request's order, and cut as it says.
  fileprivate func objects<Object: ManagedObject>(
    _ request: FetchRequest<Object>, _ found: [(plan: ObjectPlan, keys: [ObjectKey])]
  ) throws -> [Object] {
    var objects: [Object] = []
    for part in found {
      var rest = request
      // The keys are the cut already.
      rest.limit = 0
      rest.offset = 0
      rest.affectedStores = [part.plan.store]
      rest.predicate = .comparison(
        FetchComparison(.keyPath([]), .in, .list(part.keys.map { .constant(.reference($0)) })))
      objects += try fetch(rest)
    }
    return found.count > 1 ? try ordered(objects, by: request) : objects
  }
}
