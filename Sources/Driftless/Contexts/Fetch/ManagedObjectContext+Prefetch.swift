/// Reading related objects along, and objects by key: a query or two for all of them.
extension ManagedObjectContext {
  /// Rows read by one query.
  private static let rowsPerQuery = 10_000

  /// Reads the objects at the end of key paths along. The context holds them until it prefetches again or is reset.
  /// - Throws: ``ObjectError`` for a step that is no relationship.
  func prefetch(_ paths: [String], of objects: [ManagedObject]) throws {
    prefetched = []
    if let parent {
      try ask(parent) { parent in
        try parent.prefetch(paths, of: objects.compactMap { try parent.readable($0) })
      }
    }
    // What a fetch reads along is a fault towards the application as what it gives is.
    try graph.peeking {
      for path in paths {
        var level = objects
        for name in path.split(separator: ".") {
          level = try prefetch(String(name), of: level)
        }
      }
    }
  }

  private func prefetch(
    _ name: String, of objects: [ManagedObject]
  ) throws -> [ManagedObject] {
    try readCollections(name, of: objects)
    var seen: Set<ObjectIdentifier> = []
    var destinations: [ManagedObject] = []
    for object in objects {
      let relation = try relation(name, of: object)
      let found =
        relation.isToMany
        ? object.destinations(relation.slot)
        : [object.destination(of: relation, as: ManagedObject.self)].compactMap { $0 }
      destinations += found.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }
    prefetched += destinations
    try readFaults(destinations)
    return destinations
  }

  /// Reads which objects a to-many relationship of each of these holds.
  private func readCollections(_ name: String, of objects: [ManagedObject]) throws {
    // The parent has them at hand by now.
    guard parent == nil else { return }
    var unread: [Collections: (relation: Relation, objects: [ManagedObject])] = [:]
    for object in objects where !object.isInserted {
      let relation = try relation(name, of: object)
      guard relation.isToMany, !object.collection(relation.slot, reading: false).isRead else {
        continue
      }
      let collections = Collections(
        plan: object.shape.planIndex, relationship: ObjectIdentifier(relation.description))
      unread[collections, default: (relation, [])].objects.append(object)
    }
    for (relation, owners) in unread.values {
      guard let first = owners.first else { continue }
      let plan = try plan(of: first.shape)
      var told: [Int64: [ObjectKey]] = [:]
      for owner in owners {
        told[owner.key] = try willReadObjects(of: relation, of: owner, plan)
      }
      let asked = owners.map(\.key).filter { told[$0] == nil }
      let keys = try read(plan) { try $0.toManyKeys(of: asked, relation.description) }
        .merging(told) { $1 }
      for owner in owners {
        owner.take(
          keys[owner.key] ?? [], into: owner.collection(relation.slot, reading: false),
          of: relation)
      }
    }
  }

  /// A relationship in one of the stores.
  private struct Collections: Hashable {
    let plan: Int
    let relationship: ObjectIdentifier
  }

  private func relation(_ name: String, of object: ManagedObject) throws(ObjectError) -> Relation {
    guard let slot = object.shape.layout.index(named: name),
      let relation = object.shape.relations[slot]
    else { throw object.unknownProperty(name) }
    return relation
  }

  /// Reads the rows of those objects that are faults. Towards the application they may still be.
  func readFaults(_ objects: [ManagedObject]) throws {
    if let parent {
      let faults = objects.filter(\.lacksValues)
      var isThere: [Bool] = []
      try ask(parent) { parent in
        // Held until their values are taken.
        let above = faults.compactMap { parent.object(above: $0) }
        try parent.readFaults(above)
        for object in faults { isThere.append(try takeValuesBeneath(object)) }
        withExtendedLifetime(above) {}
      }
      // One that is gone stays a fault, as one whose row a query did not give.
      for (object, isThere) in zip(faults, isThere) where isThere && object.lacksValues {
        if graph.givesFaults, !object.hasChanges {
          object.state.takeValues()
          object.state.fallAsleep()
        } else {
          end(object, true)
        }
      }
      return
    }
    var keys: [Int: (shape: ObjectShape, keys: [Int64])] = [:]
    for object in objects where object.lacksValues && object.key > 0 {
      keys[object.shape.hierarchy, default: (object.shape, [])].keys.append(object.key)
    }
    for group in keys.values { try readRows(of: group.keys.sorted(), group.shape) }
  }

  /// Reads rows of a hierarchy by key; the caller holds the objects.
  private func readRows(of keys: [Int64], _ shape: ObjectShape) throws {
    let root = shape.entity.rootEntity
    let plan = try plan(of: shape)
    guard let rootShape = plan.shape(named: root.name) else { return }
    for start in stride(from: 0, to: keys.count, by: Self.rowsPerQuery) {
      let part = keys[start..<min(start + Self.rowsPerQuery, keys.count)]
      let list = FetchExpression.list(
        part.map { .constant(.reference(ObjectKey(entity: rootShape.number, key: $0))) })
      let query = try QueryCompiler(schema: plan.schema).compile(
        entity: root, predicate: .comparison(FetchComparison(.keyPath([]), .in, list)))
      _ = try readObjects(
        StoreQuery(plan: plan, shape: rootShape, query: query), asFaults: graph.givesFaults)
    }
  }
}
