import Foundation

/// Finding objects.
extension ManagedObjectContext {
  /// The objects that the request asks for, unsaved changes of this context included.
  /// - Throws: ``FetchError`` for a predicate or sort key that does not fit the model or options that contradict each
  ///   other, ``ObjectError``, or what kept the store from being read.
  public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [Object] {
    try request.check(gives: .managedObject)
    for shape in try shapes(for: request) { shape.adopt(Object.self) }
    let objects = try objects(for: request)
    // All are of the root class, and asking each is a part of the fetch.
    if Object.self != ManagedObject.self {
      for object in objects where type(of: object) != Object.self && !(object is Object) {
        throw object.classMismatch(Object.self)
      }
    }
    // Arrays of objects lie in memory alike, and a cast of the array would cast and hold each object once more.
    return unsafeBitCast(objects, to: [Object].self)
  }

  /// Objects of a class.
  ///
  /// ```swift
  /// try context.fetch(Book.self, where: Book.pages > 300, order: Book.title.ascending, limit: 10)
  /// ```
  ///
  /// - Throws: as `fetch(_:)`.
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
  /// - Throws: as `fetch(_:)`.
  public func fetchBatches<Object: ManagedObject>(
    _ request: FetchRequest<Object>
  ) throws -> BatchedObjects<Object> {
    try request.check(gives: .managedObject)
    processPendingChanges()
    for shape in try shapes(for: request) { shape.adopt(Object.self) }
    let size = request.fetchBatchSize > 0 ? request.fetchBatchSize : 256
    let places: [BatchedObjects<Object>.Place]
    func place(of object: ManagedObject) -> BatchedObjects<Object>.Place {
      // A temporary key of the parent's is another one once the parent saves.
      object.hasChanges || object.key < 0 ? .held(object) : .saved(object.objectKey, object.shape)
    }
    if try needsOverlay(request) {
      places = try overlaid(request).map(place)
    } else if let parent {
      places = try found(by: request, in: parent).map(place)
    } else {
      places = try keys(for: request).compactMap { place in
        shape(at: place).map { .saved(place.key, $0) }
      }
    }
    return try BatchedObjects(self, places: places, batchSize: size)
  }

  /// The IDs of the objects that the request asks for.
  ///
  /// - Throws: as `fetch(_:)`.
  public func fetchIDs<Result>(_ request: FetchRequest<Result>) throws -> [ManagedObjectID] {
    try request.check(gives: .managedObjectID)
    processPendingChanges()
    if try needsOverlay(request) { return try overlaid(request).map(\.objectID) }
    if let parent { return try found(by: request, in: parent).map(\.objectID) }
    return try keys(for: request).compactMap { graph.shapes(at: $0.plan)?.objectID($0.key) }
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
  /// - Throws: as `fetch(_:)`; a to-many relationship cannot be fetched into a row.
  public func fetchRows<Result>(_ request: FetchRequest<Result>) throws -> [FetchedRow] {
    try request.check(gives: .dictionary)
    guard let (plan, rows) = try rowQuery(request) else { return [] }
    return try read(plan) { try $0.fetchedRows(rows, objectID: plan.objectID) }
  }

  /// The IDs, for a request whose `Result` says so.
  ///
  /// - Throws: as `fetch(_:)`.
  public func fetch(_ request: FetchRequest<ManagedObjectID>) throws -> [ManagedObjectID] {
    try fetchIDs(request)
  }

  /// The rows, for a request whose `Result` says so.
  ///
  /// - Throws: as ``fetchRows(_:)``.
  public func fetch(_ request: FetchRequest<FetchedRow>) throws -> [FetchedRow] {
    try fetchRows(request)
  }

  /// How many objects the request asks for.
  ///
  /// - Throws: as `fetch(_:)`.
  public func count<Result>(for request: FetchRequest<Result>) throws -> Int {
    try request.check(gives: .count)
    processPendingChanges()
    if try needsOverlay(request) { return try overlaid(request).count }
    if let parent {
      var asked = request
      asked.predicate = newest(request.predicate)
      return try ask(parent) { try $0.count(for: asked) }
    }
    // A cut is one of the whole result, which no store has alone.
    if try shapes(for: request).count > 1, request.limit > 0 || request.offset > 0 {
      return try keys(for: request).count
    }
    return try queries(request, .count).reduce(0) { sum, query in
      sum + (try read(query.plan) { try $0.count(of: query.query) })
    }
  }

  /// How many objects of a class there are.
  ///
  /// - Throws: as `fetch(_:)`.
  public func count<Object: ManagedObject>(
    _ type: Object.Type, where predicate: TypedPredicate<Object>? = nil
  ) throws -> Int {
    let shape = try self.shape(for: type)
    return try count(
      for: FetchRequest<Object>(
        entityName: shape.entity.name, predicate: predicate?.predicate))
  }

  // MARK: Steps

  func objects<Result>(for request: FetchRequest<Result>) throws -> [ManagedObject] {
    processPendingChanges()
    try checkHints(of: request)
    let objects = try needsOverlay(request) ? overlaid(request) : saved(request)
    if !request.relationshipKeyPathsForPrefetching.isEmpty {
      try prefetch(request.relationshipKeyPathsForPrefetching, of: objects)
    }
    return objects
  }

  /// What the stores, or the parent, find.
  private func saved<Result>(_ request: FetchRequest<Result>) throws -> [ManagedObject] {
    if let parent { return try found(by: request, in: parent) }
    guard request.includesPropertyValues else {
      return try keys(for: request).compactMap { place in
        graph.object(for: place.key, in: place.plan, adopting: ManagedObject.self)
      }
    }
    let queries = try queries(request, .rows)
    var objects: [ManagedObject] = []
    for query in queries {
      let found = try readObjects(
        query, asFaults: graph.givesFaults && request.returnsObjectsAsFaults)
      if objects.isEmpty { objects = found } else { objects += found }
      if request.shouldRefreshRefetchedObjects { try refresh(query) }
    }
    return queries.count > 1 ? try ordered(objects, by: request) : objects
  }

  /// Objects of several stores, of which each gave its own in order.
  func ordered<Result, Object: ManagedObject>(
    _ objects: [Object], by request: FetchRequest<Result>
  ) throws -> [Object] {
    var objects = objects
    try graph.peeking { try objects.sort { try request.sort.areInIncreasingOrder($0, $1) } }
    objects.removeFirst(min(request.offset, objects.count))
    return request.limit > 0 ? Array(objects.prefix(request.limit)) : objects
  }

  /// Gives objects that are in memory the store's values, beneath their unsaved changes.
  private func refresh(_ query: StoreQuery) throws {
    try read(query.plan) { transaction in
      try transaction.forEachRow(of: query.query) { row in
        guard let object = graph.registered(row.key, in: query.plan.index), !object.lacksValues,
          !object.isDeleted, object.shape.number == row.key.entity
        else { return }
        let values = try row.knownValues()
        // One that is gone does not take the place of what is known here.
        guard row.lost(of: values).isEmpty else { return }
        object.forgetStoredCollections()
        object.takeBeneathChanges(values, version: row.version)
      }
    }
  }

  /// The keys that the stores, or the parent, find.
  func keys<Result>(for request: FetchRequest<Result>) throws -> [PlacedKey] {
    if let parent {
      return try found(by: request, in: parent).map {
        PlacedKey(plan: $0.shape.planIndex, key: $0.objectKey)
      }
    }
    let queries = try queries(request, .keys)
    if queries.count > 1, !request.sort.isEmpty {
      // What is sorted by has to be read.
      var whole = request
      whole.includesPropertyValues = true
      return try saved(whole).map { PlacedKey(plan: $0.shape.planIndex, key: $0.objectKey) }
    }
    var keys: [PlacedKey] = []
    for query in queries {
      keys += try read(query.plan) { try $0.keys(of: query.query) }
        .map { PlacedKey(plan: query.plan.index, key: $0) }
    }
    guard queries.count > 1 else { return keys }
    keys.removeFirst(min(request.offset, keys.count))
    return request.limit > 0 ? Array(keys.prefix(request.limit)) : keys
  }

  private func shape(at place: PlacedKey) -> ObjectShape? {
    if place.key.key < 0 { return graph.keys.object(temporary: place.key.key)?.shape }
    return graph.shapes(at: place.plan)?.shape(numbered: place.key.entity)
  }

  /// The request's query in each store that it asks.
  func queries<Result>(
    _ request: FetchRequest<Result>, _ selection: QuerySelection
  ) throws -> [StoreQuery] {
    let shapes = try shapes(for: request)
    if shapes.isEmpty {
      // Asks no store, but has to make sense all the same.
      _ = try query(request, shape(of: request), selection)
    }
    // The cut is made when what several stores found is together.
    var part = request
    if shapes.count > 1 {
      part.limit = request.limit > 0 ? Self.limit(request.offset, request.limit) : 0
      part.offset = 0
    }
    return try shapes.map { try query(part, $0, selection) }
  }

  /// The sum of counts as a limit; none, which is 0, when there are never so many rows.
  private static func limit(_ counts: Int...) -> Int {
    var limit = 0
    for count in counts {
      let (sum, isTooLarge) = limit.addingReportingOverflow(count)
      if isTooLarge { return 0 }
      limit = sum
    }
    return limit
  }

  private func query<Result>(
    _ request: FetchRequest<Result>, _ shape: ObjectShape, _ selection: QuerySelection
  ) throws -> StoreQuery {
    let plan = try plan(of: shape)
    let query = try QueryCompiler(schema: plan.schema).compile(
      entity: shape.entity, predicate: predicate(of: request, in: plan), sort: request.sort,
      limit: request.limit, offset: request.offset,
      includesSubentities: request.includesSubentities, selection: selection)
    return StoreQuery(plan: plan, shape: shape, query: query)
  }

  /// The query for rows; nil when the request asks no store.
  /// - Throws: ``FetchError`` when more than one store has the entity: groups and totals are those of one store.
  func rowQuery<Result>(
    _ request: FetchRequest<Result>
  ) throws -> (plan: ObjectPlan, query: RowQuery)? {
    let shapes = try shapes(for: request)
    guard shapes.count <= 1 else {
      throw FetchError(
        .invalidRequest,
        "\(shapes.count) stores have \(request.entityName), and rows come from one",
        suggestion: "Name a store in affectedStores, and fetch from each.")
    }
    let first = try shapes.first ?? shape(of: request)
    let plan = try plan(of: first)
    var part = request
    part.predicate = predicate(of: request, in: plan)
    guard let shape = plan.shape(named: first.entity.name) else { return nil }
    let query = try QueryCompiler(schema: plan.schema).compileRows(part, of: shape.entity)
    return shapes.isEmpty ? nil : (plan, query)
  }

  /// ``FetchRequest/propertiesToFetch`` of objects is a hint, but one that has to make sense.
  private func checkHints<Result>(of request: FetchRequest<Result>) throws {
    guard !request.propertiesToFetch.isEmpty else { return }
    let shape = try shape(of: request)
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

  /// Whether unsaved changes of this context may make a difference to what the stores, or the parent, find.
  private func needsOverlay<Result>(_ request: FetchRequest<Result>) throws -> Bool {
    guard request.includesPendingChanges else { return false }
    let entity = try shape(of: request).entity
    return changedObjects.contains { $0.hasChanges && isOf(entity, $0, request) }
  }

  private func isOf<Result>(
    _ entity: EntityDescription, _ object: ManagedObject, _ request: FetchRequest<Result>
  ) -> Bool {
    guard request.includesSubentities ? object.shape.isKind(of: entity) : object.entity === entity
    else { return false }
    return stores.plan(at: object.shape.planIndex)?.isAsked(by: request.affectedStores)
      ?? (request.affectedStores == nil)
  }

  /// Saved objects without those that are deleted or no longer match, with those that now do; sorted, then cut.
  private func overlaid<Result>(_ request: FetchRequest<Result>) throws -> [ManagedObject] {
    let entity = try shape(of: request).entity
    let pending = changedObjects.filter { $0.hasChanges && isOf(entity, $0, request) }
    var whole = request
    whole.offset = 0
    // Each changed object takes at most one saved one out of the result.
    if request.limit > 0 {
      whole.limit = Self.limit(request.offset, request.limit, pending.count)
    }
    var objects = try saved(whole).filter { !$0.hasChanges }
    for object in pending where !object.isDeleted && !object.state.contains(.missing) {
      let predicate = predicate(of: request, in: try plan(of: object.shape))
      if try predicate?.matches(object) ?? true { objects.append(object) }
    }
    try graph.peeking { try objects.sort { try request.sort.areInIncreasingOrder($0, $1) } }
    objects = Array(objects.dropFirst(request.offset))
    return request.limit > 0 ? Array(objects.prefix(request.limit)) : objects
  }
}

/// A query of one of the coordinator's stores.
struct StoreQuery {
  let plan: ObjectPlan
  /// Of the entity that is asked for.
  let shape: ObjectShape
  let query: CompiledQuery
}
