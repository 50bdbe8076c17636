/// Fetched objects as the context shows them.
extension ManagedObjectContext {
  /// The objects that a fetch finds, in the order of the values that they have here, and without those that do not match by these:
  /// others may have saved since the objects were read, and the store finds and sorts by its rows.
  ///
  /// - Throws: as `fetch(_:)`.
  package func shown<Result>(
    _ request: FetchRequest<Result>, _ find: () throws -> [ManagedObject]
  ) throws -> [ManagedObject] {
    hasMetOtherVersions = false
    let objects = try find()
    // Values of related objects may be older as well, and a parent's unsaved ones are of no version.
    guard hasMetOtherVersions || parent != nil || request.readsRelatedObjects else {
      return objects
    }
    // What a fetch prefetched is held on after it.
    let former = prefetched
    defer { prefetched = former }
    readRelated(request, of: objects)
    return try graph.peeking {
      let matching = try objects.filter { object in
        let predicate = predicate(of: request, in: try plan(of: object.shape))
        return try predicate?.matches(object) ?? true
      }
      return try matching.sorted { try request.sort.areInIncreasingOrder($0, $1) }
    }
  }

  /// Reads what the request asks of related objects along, and holds it: one by one, each would be a query.
  private func readRelated<Result>(_ request: FetchRequest<Result>, of objects: [ManagedObject]) {
    guard parent == nil else { return }
    let names = request.relatedNames.filter { name in
      objects.allSatisfy { object in
        guard let slot = object.shape.layout.index(named: name) else { return false }
        return object.shape.relations[slot] != nil
      }
    }
    // What cannot be read says so where it is asked for.
    if !names.isEmpty { try? prefetch(names.sorted(), of: objects) }
  }
}

extension FetchRequest {
  /// What key paths to values of other objects begin with; composite attributes as well.
  fileprivate var relatedNames: Set<String> {
    var paths = sort.map(\.keyPath)
    _ = predicate?.mapExpressions { expression in
      if case .keyPath(let path) = expression { paths.append(path) }
      return expression
    }
    return Set(paths.filter { $0.count > 1 }.compactMap(\.first))
  }

  /// Whether it is answered by more than the objects' own values.
  fileprivate var readsRelatedObjects: Bool {
    if sort.contains(where: { $0.keyPath.count > 1 }) { return true }
    var isRelated = false
    _ = predicate?.mapExpressions { expression in
      switch expression {
      case .keyPath(let path): if path.count > 1 { isRelated = true }
      case .collection, .subquery, .fetch, .element, .property, .distinct: isRelated = true
      default: break
      }
      return expression
    }
    return isRelated
  }
}
