import Foundation

extension PersistentContainer {
  /// What a fetch finds in the store, now and after every commit that changes it, of whatever context, process or
  /// import. The first update inserts what is there.
  ///
  /// ```swift
  /// for try await update in try container.fetchedResults(request, sectionKeyPath: "genre") { … }
  /// ```
  /// - Throws: ``FetchError`` when the request has no sort key, or its first one is not the section's. The sequence
  ///   throws what kept the store from being read.
  public func fetchedResults<Result>(
    _ request: FetchRequest<Result>, sectionKeyPath: String? = nil
  ) throws -> AsyncThrowingStream<FetchedResultsUpdate, any Error> {
    try request.checkSections(sectionKeyPath)
    guard let query = try newContext().rowQuery(request.snapshotRows(sectionKeyPath)) else {
      throw ObjectError(
        .noStore, "The request asks no store", suggestion: "Name attached stores in affectedStores."
      )
    }
    // Asked for before the first fetch, so that no commit falls between.
    let commits = query.plan.store.changes()
    return AsyncThrowingStream { continuation in
      let task = Task {
        do {
          var latest = FetchedResultsSnapshot([])
          func follow(isFirst: Bool) async throws {
            let rows = try await self.fetchRows(request.snapshotRows(sectionKeyPath))
            let snapshot = FetchedResultsSnapshot(rows, sectionKeyPath)
            let update = snapshot.update(from: latest)
            latest = snapshot
            if isFirst || !update.isEmpty { continuation.yield(update) }
          }
          try await follow(isFirst: true)
          for await _ in commits { try await follow(isFirst: false) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
