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
    let context = newContext()
    let rows = try request.snapshotRows(sectionKeyPath, in: context)
    guard let query = try context.rowQuery(rows) else {
      throw ObjectError(
        .noStore, "The request asks no store", suggestion: "Name attached stores in affectedStores."
      )
    }
    // Asked for before the first fetch, so that no commit falls between.
    let following = ResultsFollowing(
      container: self, request: rows,
      sectionKeyPath: sectionKeyPath, commits: query.plan.store.changes())
    return AsyncThrowingStream { try await following.next() }
  }
}

/// Results that are fetched when somebody asks for the next update: commits until then are one.
private actor ResultsFollowing {
  private let container: PersistentContainer
  private let request: FetchRequest<FetchedRow>
  private let sectionKeyPath: String?
  private let commits: AsyncStream<Int64>
  /// What was told last; nil before the first update, which comes also when nothing was found.
  private var latest: FetchedResultsSnapshot?

  init(
    container: PersistentContainer, request: FetchRequest<FetchedRow>, sectionKeyPath: String?,
    commits: AsyncStream<Int64>
  ) {
    self.container = container
    self.request = request
    self.sectionKeyPath = sectionKeyPath
    self.commits = commits
  }

  /// Nil when the store is gone, or the task is cancelled.
  func next() async throws -> FetchedResultsUpdate? {
    guard let former = latest else { return try await update(from: FetchedResultsSnapshot([])) }
    for await _ in commits {
      let update = try await update(from: latest ?? former)
      if !update.isEmpty { return update }
    }
    return nil
  }

  private func update(from former: FetchedResultsSnapshot) async throws -> FetchedResultsUpdate {
    let snapshot = FetchedResultsSnapshot(try await container.fetchRows(request), sectionKeyPath)
    latest = snapshot
    return snapshot.update(from: former)
  }
}
