/// How far an asynchronous fetch has come.
public struct FetchProgress: Sendable, Hashable {
  typealias Handler = @Sendable (FetchProgress) -> Void

  /// Rows read so far.
  public let completed: Int
  /// Rows that there were when the fetch began.
  public let total: Int
}

extension FetchInterruption {
  /// What a fetch calls for each row: it tells how far the fetch has come, and throws when it was stopped.
  func reporter(_ progress: FetchProgress.Handler?, _ total: Int?) -> (Int) throws -> Void {
    { count in
      guard count % 256 == 0 else { return }
      try self.check()
      if let total { progress?(FetchProgress(completed: count, total: max(count, total))) }
    }
  }
}

extension ManagedObjectContext {
  /// The keys of the objects that a request asks for, read so that another thread can stop it. Of several stores each gives its
  /// own in order, and no fewer than the cut of all may have of it.
  func keys<Result>(
    for request: FetchRequest<Result>, _ interruption: FetchInterruption,
    _ progress: FetchProgress.Handler?
  ) throws -> [(plan: ObjectPlan, keys: [ObjectKey])] {
    let queries = try queries(request, .keys)
    // Each is of all stores: what one of them has read is no more than a part.
    let total = try progress.map { _ in
      try queries.reduce(0) { sum, query in
        try sum
          + query.plan.store.read { transaction in
            try interruption.during(transaction.connection) {
              try transaction.count(of: query.query.counted)
            }
          }
      }
    }
    var done = 0
    let found = try queries.map { query in
      let keys = try query.plan.store.read { transaction in
        try interruption.during(transaction.connection) {
          let report = interruption.reporter(progress, total)
          var keys: [ObjectKey] = []
          try transaction.forEachKey(of: query.query) { key in
            keys.append(key)
            try report(done + keys.count)
          }
          return keys
        }
      }
      done += keys.count
      return (query.plan, keys)
    }
    progress?(FetchProgress(completed: done, total: max(done, total ?? done)))
    return found
  }
}

extension CompiledQuery {
  /// How many rows it gives.
  var counted: CompiledQuery {
    CompiledQuery(sql: "SELECT COUNT(*) FROM (\(sql))", bindings: bindings)
  }
}
