/// Deletes all objects that a fetch finds, without a context: no callbacks, no validation, and constant memory. All of
/// it is one transaction of the history.
///
/// Delete rules are followed in the store: cascade deletes along, nullify frees the other end, and so does deny, which
/// does not keep a batch from deleting.
///
/// ```swift
/// try context.execute(BatchDeleteRequest(fetchRequest: oldLogs))
/// ```
public struct BatchDeleteRequest {
  enum Selection {
    case request(FetchRequest<ManagedObject>)
    case objectIDs([ManagedObjectID])
  }

  let selection: Selection
  /// What the result tells.
  public var resultType = BatchResultType.statusOnly
  /// The stores that it is sent to: all for nil. One that the coordinator has under another reference counts by its identifier.
  public var affectedStores: [PersistentStore]?

  /// Deletes what the request finds: its predicate, limit, offset and sort count.
  public init<Result>(fetchRequest: FetchRequest<Result>) {
    var request = FetchRequest<ManagedObject>(
      entityName: fetchRequest.entityName, predicate: fetchRequest.predicate,
      sort: fetchRequest.sort, limit: fetchRequest.limit, offset: fetchRequest.offset)
    request.includesSubentities = fetchRequest.includesSubentities
    affectedStores = fetchRequest.affectedStores
    request.resultType = fetchRequest.resultType == .dictionary ? .dictionary : .managedObject
    selection = .request(request)
  }

  /// Deletes these objects. Those that are gone already are no error.
  public init(objectIDs: [ManagedObjectID]) { selection = .objectIDs(objectIDs) }
}

extension ManagedObjectContext {
  /// Deletes rows. Objects of contexts know nothing of it until changes are merged:
  /// ``mergeChanges(inserted:updated:deleted:)``. The result tells of objects that were deleted along as well.
  /// - Throws: ``FetchError`` for a request that does not fit the model or gives dictionaries, ``ObjectError`` for an ID
  ///   that is temporary or of another store. Nothing is deleted then.
  @discardableResult
  public func execute(_ request: BatchDeleteRequest) throws -> BatchResult {
    try checkMayWrite()
    let asked = try plans().filter { $0.isAsked(by: request.affectedStores) }
    let plans: [ObjectPlan]
    var queries: [StoreQuery] = []
    var cut: [PlacedKey] = []
    switch request.selection {
    case .request(var fetch):
      guard fetch.resultType != .dictionary else {
        throw FetchError(
          .invalidRequest, "A batch delete cannot delete dictionaries",
          suggestion: "Give it a request for objects or object IDs.")
      }
      try fetch.check(gives: .managedObject)
      fetch.affectedStores = request.affectedStores
      queries = try self.queries(fetch, .keys)
      if queries.count > 1, fetch.limit > 0 || fetch.offset > 0 {
        // Which objects a cut leaves shows when what all stores found is together.
        fetch.resultType = .managedObjectID
        cut = try ManagedObjectContext(persistentStoreCoordinator).keys(for: fetch)
        queries = []
        plans = asked.filter { plan in cut.contains { $0.plan == plan.index } }
      } else {
        plans = try written(queries.map(\.plan)) { plan in
          try queries.contains { query in
            try query.plan === plan
              && plan.store.read { try $0.count(of: query.query.counted) } > 0
          }
        }
      }
    case .objectIDs(let ids):
      for id in ids where id.isTemporaryID || plan(identifier: id.storeIdentifier) == nil {
        throw ObjectError(
          .foreignObject, "\(id) is no saved object of this store",
          suggestion: "Save the object first, or delete it in its context.")
      }
      plans = asked.filter { plan in
        ids.contains { $0.storeIdentifier == plan.store.identifier }
      }
    }
    var tallies: [BatchTally] = []
    var written: [Written] = []
    defer { Self.tell(written) }
    try write(to: plans, batchInfo, &written) { plan, transaction in
      var deletion = try BatchDeletion(transaction, plan)
      defer { deletion.drop() }
      if case .objectIDs(let ids) = request.selection {
        try deletion.add(
          ids.filter { $0.storeIdentifier == plan.store.identifier }.map(\.key))
      }
      for query in queries where query.plan === plan { try deletion.add(query.query) }
      try deletion.add(cut.filter { $0.plan == plan.index }.map(\.key))
      var tally = BatchTally(request.resultType, plan)
      try deletion.run(&tally)
      tallies.append(tally)
    }
    return BatchResult(tallies, request.resultType)
  }

  /// Takes over what a batch request, or another process, changed: updated objects are read again under unsaved
  /// changes, deleted ones go.
  ///
  /// - Throws: ``ObjectError`` (`noStore`) where the coordinator has none.
  public func mergeChanges(
    inserted: [ManagedObjectID] = [], updated: [ManagedObjectID] = [],
    deleted: [ManagedObjectID] = []
  ) throws {
    _ = try plans()
    merge(inserted: inserted, updated: updated, deleted: deleted)
  }
}
