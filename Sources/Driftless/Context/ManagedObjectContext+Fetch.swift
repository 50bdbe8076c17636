import Foundation

/// Finding objects.
extension ManagedObjectContext {
  /// The objects that the request asks for, unsaved changes of this context included.
  /// - Throws: ``FetchError`` for a predicate or sort key that does not fit the model,
  ///   ``ObjectError``, or what kept the store from being read.
  public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [Object] {
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

  /// The IDs of the objects that the request asks for.
  public func fetchIDs<Object>(_ request: FetchRequest<Object>) throws -> [ManagedObjectID] {
    let plan = try plan()
    let shape = try plan.shape(named: request.entityName)
    processPendingChanges()
    if request.includesPendingChanges, hasPendingChanges(of: shape.entity, in: request) {
      return try objects(for: request, shape).map(\.objectID)
    }
    let query = try query(request, shape, .keys)
    return try plan.store.read { try $0.keys(of: query) }.compactMap(plan.objectID)
  }

  /// How many objects the request asks for.
  public func count<Object>(for request: FetchRequest<Object>) throws -> Int {
    let plan = try plan()
    let shape = try plan.shape(named: request.entityName)
    processPendingChanges()
    if request.includesPendingChanges, hasPendingChanges(of: shape.entity, in: request) {
      return try objects(for: request, shape).count
    }
    let query = try query(request, shape, .count)
    return try plan.store.read { try $0.count(of: query) }
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

  private func objects<Object>(
    for request: FetchRequest<Object>, _ shape: ObjectShape
  ) throws -> [ManagedObject] {
    processPendingChanges()
    guard request.includesPendingChanges, hasPendingChanges(of: shape.entity, in: request) else {
      let objects = try readObjects(try query(request, shape, .rows), shape)
      try prefetch(request.relationshipKeyPathsForPrefetching, of: objects)
      return objects
    }
    // The cut comes after the overlay.
    var whole = request
    whole.limit = 0
    whole.offset = 0
    let saved = try readObjects(try query(whole, shape, .rows), shape)
    var objects = try overlay(saved, request)
    try sort(&objects, by: request.sort)
    objects = Array(objects.dropFirst(max(0, request.offset)))
    if request.limit > 0 { objects = Array(objects.prefix(request.limit)) }
    try prefetch(request.relationshipKeyPathsForPrefetching, of: objects)
    return objects
  }

  private func query<Object>(
    _ request: FetchRequest<Object>, _ shape: ObjectShape, _ selection: QuerySelection
  ) throws -> CompiledQuery {
    try QueryCompiler(schema: plan().schema).compile(
      entity: shape.entity, predicate: request.predicate, sort: request.sort,
      limit: request.limit, offset: request.offset,
      includesSubentities: request.includesSubentities, selection: selection)
  }

  private func hasPendingChanges<Object>(
    of entity: EntityDescription, in request: FetchRequest<Object>
  ) -> Bool {
    changedObjects.contains { $0.hasChanges && isOf(entity, $0, request) }
  }

  private func isOf<Object>(
    _ entity: EntityDescription, _ object: ManagedObject, _ request: FetchRequest<Object>
  ) -> Bool {
    request.includesSubentities ? object.shape.isKind(of: entity) : object.entity === entity
  }

  /// Saved objects without those that are deleted or no longer match, with those that now do.
  private func overlay<Object>(
    _ saved: [ManagedObject], _ request: FetchRequest<Object>
  ) throws -> [ManagedObject] {
    let entity = try plan().shape(named: request.entityName).entity
    var objects = saved.filter { !$0.hasChanges }
    for object in saved where object.isUpdated {
      if try request.predicate?.matches(object) ?? true { objects.append(object) }
    }
    let found = Set(objects.lazy.map { ObjectIdentifier($0) })
    for object in changedObjects
    where object.hasChanges && !object.isDeleted && isOf(entity, object, request) {
      guard !found.contains(ObjectIdentifier(object)), !object.state.contains(.missing) else {
        continue
      }
      if try request.predicate?.matches(object) ?? true { objects.append(object) }
    }
    return objects
  }

  /// Saved objects in the order of their keys, new ones behind, unless sort keys say otherwise.
  private func sort(_ objects: inout [ManagedObject], by keys: [FetchSort]) throws {
    func place(_ object: ManagedObject) -> (Int, Int64) {
      object.key > 0 ? (0, object.key) : (1, -object.key)
    }
    try objects.sort { left, right in
      for key in keys {
        let order = try Self.order(left.sortValue(key.keyPath), right.sortValue(key.keyPath), key)
        if order != .orderedSame { return order == .orderedAscending }
      }
      return place(left) < place(right)
    }
  }

  private static func order(
    _ left: PropertyValue, _ right: PropertyValue, _ key: FetchSort
  ) throws(FetchError) -> ComparisonResult {
    let order: ComparisonResult
    switch (left.isNull, right.isNull) {
    case (true, true): return .orderedSame
    case (true, false): order = .orderedAscending
    case (false, true): order = .orderedDescending
    case (false, false): order = try left.order(right, key.options) ?? .orderedSame
    }
    return key.ascending ? order : order.reversed
  }
}

extension ManagedObject {
  /// The value at the end of a key path through to-one relationships.
  fileprivate final func sortValue(_ path: [String]) -> PropertyValue {
    var object: ManagedObject = self
    for (index, name) in path.enumerated() {
      // A leaf of a composite attribute has a dot in its name.
      let rest = path[index...].joined(separator: ".")
      if let slot = object.shape.layout.index(named: rest), object.shape.relations[slot] == nil {
        return object.read(slot)
      }
      guard let slot = object.shape.layout.index(named: name),
        let relation = object.shape.relations[slot], !relation.isToMany,
        let next = object.destination(of: relation, as: ManagedObject.self)
      else { return .null }
      object = next
    }
    return .null
  }
}
