import Foundation

/// Finding objects.
extension ManagedObjectContext {
  /// The objects that the request asks for, unsaved changes of this context included.
  /// - Throws: ``FetchError`` for a predicate or sort key that does not fit the model or options that contradict each
  ///   other, ``ObjectError``, or what kept the store from being read.
  public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [Object] {
    try request.check(gives: .managedObject)
    let shape = try plan().shape(named: request.entityName)
    shape.adopt(Object.self)
    let objects = try objects(for: request, shape)
    for object in objects where type(of: object) != Object.self && !(object is Object) {
      throw object.classMismatch(Object.self)
    }
    // Arrays of objects lie in memory alike, and a cast of the array would cast and hold each object once more.
    return unsafeBitCast(objects, to: [Object].self)
  }

  /// Objects of a class.
  ///
  /// ```swift
  /// try context.fetch(Book.self, where: Book.pages > 300, order: Book.title.ascending, limit: 10)
  /// ```
  public func fetch<Object: ManagedObject>(
    _ type: Object.Type, where predicate: TypedPredicate<Object>? = nil,
    order: TypedSort<Object>..., limit: Int = 0, offset: Int = 0
  ) throws -> [Object] {
    let shape = try self.shape(for: type)
    return try fetch(
      FetchRequest<Object>(
        entityName: shape.entity.name, predicate: predicate?.predicate, sort: order.map(\.sort),
        limit: limit, offset: offset))
  }

  /// The objects that the request asks for, read page by page as they are looked at: `fetchBatchSize` at a time.
  ///
  /// ```swift
  /// request.fetchBatchSize = 100
  /// for book in try context.fetchBatches(request) { print(book.title) }
  /// ```
  /// - Throws: as ``fetch(_:)``.
  public func fetchBatches<Object: ManagedObject>(
    _ request: FetchRequest<Object>
  ) throws -> BatchedObjects<Object> {
    try request.check(gives: .managedObject)
    let plan = try plan()
    let shape = try plan.shape(named: request.entityName)
    shape.adopt(Object.self)
    let size = request.fetchBatchSize > 0 ? request.fetchBatchSize : 256
    processPendingChanges()
    let places: [BatchedObjects<Object>.Place]
    if request.includesPendingChanges, hasPendingChanges(of: shape.entity, in: request) {
      places = try overlaid(request, shape).map { object in
        object.hasChanges ? .held(object) : .saved(object.objectKey, object.shape)
      }
    } else {
      places = try keys(for: request, shape).compactMap { key in
        plan.shape(numbered: key.entity).map { .saved(key, $0) }
      }
    }
    return try BatchedObjects(self, places: places, batchSize: size)
  }

  /// The IDs of the objects that the request asks for.
  public func fetchIDs<Result>(_ request: FetchRequest<Result>) throws -> [ManagedObjectID] {
    try request.check(gives: .managedObjectID)
    let plan = try plan()
    let shape = try plan.shape(named: request.entityName)
    processPendingChanges()
    if request.includesPendingChanges, hasPendingChanges(of: shape.entity, in: request) {
      return try overlaid(request, shape).map(\.objectID)
    }
    return try keys(for: request, shape).compactMap(plan.objectID)
  }

  /// The rows that the request asks for: properties, expressions, aggregates of groups. They tell what the store has.
  ///
  /// ```swift
  /// var request = FetchRequest<FetchedRow>(entityName: "Book")
  /// request.propertiesToGroupBy = ["author.name"]
  /// request.propertiesToFetch = [
  ///   "author.name", .expression("total", try FetchExpression(format: "sum:(pages)")),
  /// ]
  /// ```
  /// - Throws: as ``fetch(_:)``; a to-many relationship cannot be fetched into a row.
  public func fetchRows<Result>(_ request: FetchRequest<Result>) throws -> [FetchedRow] {
    try request.check(gives: .dictionary)
    let plan = try plan()
    let rows = try rowQuery(request)
    guard affects(request) else { return [] }
    return try plan.store.read { try $0.fetchedRows(rows, objectID: plan.objectID) }
  }

  /// The IDs, for a request whose `Result` says so.
  public func fetch(_ request: FetchRequest<ManagedObjectID>) throws -> [ManagedObjectID] {
    try fetchIDs(request)
  }

  /// The rows, for a request whose `Result` says so.
  public func fetch(_ request: FetchRequest<FetchedRow>) throws -> [FetchedRow] {
    try fetchRows(request)
  }

  /// How many objects the request asks for.
  public func count<Result>(for request: FetchRequest<Result>) throws -> Int {
    try request.check(gives: .count)
    let plan = try plan()
    let shape = try plan.shape(named: request.entityName)
    processPendingChanges()
    if request.includesPendingChanges, hasPendingChanges(of: shape.entity, in: request) {
      return try overlaid(request, shape).count
    }
    let query = try query(request, shape, .count)
    return affects(request) ? try plan.store.read { try $0.count(of: query) } : 0
  }

  /// How many objects of a class there are.
  public func count<Object: ManagedObject>(
    _ type: Object.Type, where predicate: TypedPredicate<Object>? = nil
  ) throws -> Int {
    let shape = try self.shape(for: type)
    return try count(
      for: FetchRequest<Object>(
        entityName: shape.entity.name, predicate: predicate?.predicate))
  }

  // MARK: Steps

  private func objects<Result>(
    for request: FetchRequest<Result>, _ shape: ObjectShape
  ) throws -> [ManagedObject] {
    processPendingChanges()
    try checkHints(of: request, shape)
    let objects: [ManagedObject]
    if request.includesPendingChanges, hasPendingChanges(of: shape.entity, in: request) {
      objects = try overlaid(request, shape)
    } else {
      objects = try saved(request, shape)
    }
    if !request.relationshipKeyPathsForPrefetching.isEmpty {
      try prefetch(request.relationshipKeyPathsForPrefetching, of: objects)
    }
    return objects
  }

  /// What the store finds.
  private func saved<Result>(
    _ request: FetchRequest<Result>, _ shape: ObjectShape
  ) throws -> [ManagedObject] {
    guard affects(request) else { return [] }
    guard request.includesPropertyValues else {
      return try keys(for: request, shape).compactMap {
        object(for: $0, adopting: shape.objectClass)
      }
    }
    let query = try query(request, shape, .rows)
    let objects = try readObjects(query, shape)
    if request.shouldRefreshRefetchedObjects { try refresh(query) }
    return objects
  }

  /// Gives objects that are in memory the store's values, beneath their unsaved changes.
  private func refresh(_ query: CompiledQuery) throws {
    try plan().store.read { transaction in
      try transaction.forEachRow(of: query) { row in
        guard let object = registered(row.key), !object.isFault, !object.isDeleted else { return }
        for state in object.collections { state?.forgetStored() }
        object.takeBeneathChanges(try row.values(), version: row.version)
      }
    }
  }

  private func keys<Result>(
    for request: FetchRequest<Result>, _ shape: ObjectShape
  ) throws -> [ObjectKey] {
    let query = try query(request, shape, .keys)
    return affects(request) ? try plan().store.read { try $0.keys(of: query) } : []
  }

  func query<Result>(
    _ request: FetchRequest<Result>, _ shape: ObjectShape, _ selection: QuerySelection
  ) throws -> CompiledQuery {
    try QueryCompiler(schema: plan().schema).compile(
      entity: shape.entity, predicate: request.predicate, sort: request.sort,
      limit: request.limit, offset: request.offset,
      includesSubentities: request.includesSubentities, selection: selection)
  }

  func rowQuery<Result>(_ request: FetchRequest<Result>) throws -> RowQuery {
    let plan = try plan()
    return try QueryCompiler(schema: plan.schema).compileRows(
      request, of: plan.shape(named: request.entityName).entity)
  }

  /// Whether the request asks the context's store.
  func affects<Result>(_ request: FetchRequest<Result>) -> Bool {
    guard let stores = request.affectedStores, let plan = try? plan() else { return true }
    return stores.contains { $0 === plan.store }
  }

  /// ``FetchRequest/propertiesToFetch`` of objects is a hint, but one that has to make sense.
  private func checkHints<Result>(
    of request: FetchRequest<Result>, _ shape: ObjectShape
  ) throws(FetchError) {
    for property in request.propertiesToFetch {
      guard let slot = shape.layout.index(named: property.name) else {
        throw FetchError(
          .unknownKey, "\(shape.entity.name) has no property \"\(property.name)\" to fetch",
          suggestion: "Name attributes and to-one relationships, or call fetchRows.")
      }
      if shape.layout.slots[slot].isToMany {
        throw FetchError(
          .toManyNotAllowed, "propertiesToFetch names the to-many relationship \(property.name)",
          suggestion: "Use relationshipKeyPathsForPrefetching for it.")
      }
    }
  }

  // MARK: Unsaved changes

  private func hasPendingChanges<Result>(
    of entity: EntityDescription, in request: FetchRequest<Result>
  ) -> Bool {
    changedObjects.contains { $0.hasChanges && isOf(entity, $0, request) }
  }

  private func isOf<Result>(
    _ entity: EntityDescription, _ object: ManagedObject, _ request: FetchRequest<Result>
  ) -> Bool {
    request.includesSubentities ? object.shape.isKind(of: entity) : object.entity === entity
  }

  /// Saved objects without those that are deleted or no longer match, with those that now do; sorted, then cut.
  private func overlaid<Result>(
    _ request: FetchRequest<Result>, _ shape: ObjectShape
  ) throws -> [ManagedObject] {
    let pending = changedObjects.filter { $0.hasChanges && isOf(shape.entity, $0, request) }
    var whole = request
    whole.offset = 0
    // Each changed object takes at most one saved one out of the result.
    if request.limit > 0 { whole.limit = request.offset + request.limit + pending.count }
    var objects = try saved(whole, shape).filter { !$0.hasChanges }
    for object in pending where !object.isDeleted && !object.state.contains(.missing) {
      if try request.predicate?.matches(object) ?? true { objects.append(object) }
    }
    try objects.sort { try request.sort.areInIncreasingOrder($0, $1) }
    objects = Array(objects.dropFirst(request.offset))
    return request.limit > 0 ? Array(objects.prefix(request.limit)) : objects
  }
}
