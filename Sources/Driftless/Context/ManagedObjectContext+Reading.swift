/// Reading many objects at once.
extension ManagedObjectContext {
  /// The objects of the rows. New ones and faults take the row's values; values that are in place
  /// stay.
  func readObjects(_ query: CompiledQuery, _ shape: ObjectShape) throws -> [ManagedObject] {
    let plan = try plan()
    var objects: [ManagedObject] = []
    var current = shape
    var type = shape.objectClass
    let registry = registries[shape.hierarchy]
    func read(_ transaction: ReadTransaction) throws {
      try transaction.forEachRow(of: query) { row in
        let key = row.key
        if key.entity != current.number {
          guard let next = plan.shape(numbered: key.entity) else { return }
          current = next
          type = next.objectClass
        }
        let object: ManagedObject
        if let known = registry.object(key.key) {
          objects.append(known)
          guard known.isFault, !known.hasChanges else { return }
          object = known
        } else {
          object = register(current, key: key.key, state: .fault, as: type)
          objects.append(object)
        }
        object.state.remove(.fault)
        object.state.insert(.awakening)
        try row.decode(into: object.values)
        object.version = row.version
      }
    }
    do {
      try plan.store.read(read)
    } catch {
      // An object that was not read whole is a fault again.
      for object in objects where object.state.contains(.awakening) {
        object.state.remove(.awakening)
        object.turnIntoFault()
      }
      throw error
    }
    for object in objects where object.state.contains(.awakening) {
      object.awakeFromFetch()
      object.state.remove(.awakening)
    }
    return objects
  }

  /// Reads the objects at the end of key paths along.
  func prefetch(_ paths: [String], of objects: [ManagedObject]) throws {
    for path in paths {
      var level = objects
      for name in path.split(separator: ".") {
        level = try prefetch(String(name), of: level)
      }
    }
  }

  private func prefetch(
    _ name: String, of objects: [ManagedObject]
  ) throws -> [ManagedObject] {
    var destinations: [ManagedObject] = []
    var faults: [EntityFaults] = []
    for object in objects {
      guard let slot = object.shape.layout.index(named: name),
        let relation = object.shape.relations[slot]
      else { throw object.unknownProperty(name) }
      let found =
        relation.isToMany
        ? object.destinations(slot)
        : [object.destination(of: relation, as: ManagedObject.self)].compactMap { $0 }
      destinations += found
      for fault in found where fault.isFault && fault.key > 0 {
        EntityFaults.add(fault.objectKey, relation.destination, to: &faults)
      }
    }
    for group in faults { try read(group.keys, group.entity) }
    return destinations
  }

  private struct EntityFaults {
    var entity: EntityDescription
    var keys: Set<ObjectKey>

    static func add(_ key: ObjectKey, _ entity: EntityDescription, to list: inout [Self]) {
      if let index = list.firstIndex(where: { $0.entity === entity }) {
        list[index].keys.insert(key)
      } else {
        list.append(Self(entity: entity, keys: [key]))
      }
    }
  }

  /// Reads rows by key, some hundreds a query.
  private func read(_ keys: Set<ObjectKey>, _ entity: EntityDescription) throws {
    let plan = try plan()
    let shape = try plan.shape(named: entity.name)
    let keys = keys.sorted { $0.key < $1.key }
    for start in stride(from: 0, to: keys.count, by: 400) {
      let part = keys[start..<min(start + 400, keys.count)]
      let list = FetchExpression.list(part.map { .constant(.reference($0)) })
      let query = try QueryCompiler(schema: plan.schema).compile(
        entity: entity, predicate: .comparison(FetchComparison(.keyPath([]), .in, list)))
      _ = try readObjects(query, shape)
    }
  }
}
