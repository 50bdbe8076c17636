/// Inserts rows without a context: no callbacks, no validation but unique constraints, and memory for some hundreds of
/// objects, however many rows there are. All of it is one transaction of the history.
///
/// ```swift
/// var lines = csv.makeIterator()
/// let request = BatchInsertRequest(entityName: "Item", dictionaryHandler: { item in
///   guard let line = lines.next() else { return true }
///   item["name"] = line.name
///   return false
/// })
/// try context.execute(request)
/// ```
///
/// Where a row meets another one under a unique constraint, the context's merge policy decides: `error` fails the whole
/// batch, the policies that trump with the object update the row with what is given, and those that trump with the
/// store leave it as it is.
public struct BatchInsertRequest {
  enum Source {
    case rows([[String: Any?]])
    case dictionaries((inout [String: Any?]) throws -> Bool)
    case objects((ManagedObject) throws -> Bool)
  }

  /// The entity of the new objects.
  public let entityName: String
  /// What the result tells.
  public var resultType = BatchResultType.statusOnly
  /// The rows go to the first of these stores that has the entity; for nil to the first of all.
  public var affectedStores: [PersistentStore]?
  let source: Source

  /// Inserts an object for each dictionary of attributes by name. What a dictionary leaves out has its default.
  public init(entityName: String, objects: [[String: Any?]]) {
    self.entityName = entityName
    source = .rows(objects)
  }

  /// Inserts an object for each dictionary that the handler fills, until it returns true.
  public init(
    entityName: String, dictionaryHandler: @escaping (inout [String: Any?]) throws -> Bool
  ) {
    self.entityName = entityName
    source = .dictionaries(dictionaryHandler)
  }

  /// Inserts each object that the handler fills, until it returns true. The object is good for that call only; its
  /// to-one relationships take objects of its own context: `object.managedObjectContext?.object(with: id)`.
  public init(
    entityName: String, managedObjectHandler: @escaping (ManagedObject) throws -> Bool
  ) {
    self.entityName = entityName
    source = .objects(managedObjectHandler)
  }
}

extension ManagedObjectContext {
  /// Inserts rows. Objects of contexts know nothing of it until changes are merged:
  /// ``mergeChanges(inserted:updated:deleted:)``.
  /// - Throws: ``ObjectError`` for an unknown entity or property, or a value that does not fit; `StoreError` with the
  ///   code `constraint` when a unique value exists and the type of ``mergePolicy`` is `.error`; what a handler threw. Nothing is
  ///   inserted then.
  @discardableResult
  public func execute(_ request: BatchInsertRequest) throws -> BatchResult {
    try checkMayWrite()
    let shape = try shape(named: request.entityName, in: request.affectedStores)
    let plan = try plan(of: shape)
    guard !shape.entity.isAbstract else {
      throw ObjectError(
        .unknownEntity, "\(shape.entity.name) is abstract and has no objects",
        suggestion: "Insert objects of one of its subentities.")
    }
    return try plan.store.write(batchInfo) { transaction in
      var inserter = BatchInserter(
        shape, ManagedObjectContext(scratchOn: persistentStoreCoordinator),
        policy: mergePolicy.mergeType,
        transaction: transaction, tally: BatchTally(request.resultType, plan))
      try inserter.insert(request.source)
      return BatchResult([inserter.tally], request.resultType)
    }.0
  }

  var batchInfo: TransactionInfo {
    TransactionInfo(author: transactionAuthor, contextName: name, kind: .local, hybridTime: nil)
  }
}
