/// Reading many objects at once.
extension ManagedObjectContext {
  /// The objects of the rows. New ones and faults take the row's values; values that are in place
  /// stay.
  ///
  /// - Parameter asFaults: Whether those that took them are faults towards the application.
  func readObjects(
    _ query: StoreQuery, asFaults: Bool = false
  ) throws -> [ManagedObject] {
    let plan = query.plan
    var objects: [ManagedObject] = []
    var current = query.shape
    var type = current.classToMake
    // The row's work asks the graph alone: a count of the context for each row is a tenth of it.
    let graph = graph
    let registry = graph.keys.registry(of: current)
    func read(_ transaction: ReadTransaction) throws {
      try transaction.forEachRow(of: query.query) { row in
        let key = row.key
        if key.entity != current.number {
          guard let next = plan.shape(numbered: key.entity) else { return }
          // Objects of another hierarchy have keys of their own.
          guard next.hierarchy == query.shape.hierarchy else {
            throw StoreError(
              .damaged,
              "Row \(key.key) says that it is of \(next.entity.name), whose rows lie in another table.",
              suggestion: "Check the store, and restore its file from a copy.")
          }
          current = next
          type = next.classToMake
        }
        let object: ManagedObject
        if let known = try graph.keeping(registry.object(key.key), as: current) {
          objects.append(known)
          guard known.lacksValues, !known.hasChanges else {
            if known.version != row.version { hasMetOtherVersions = true }
            return
          }
          object = known
        } else {
          object = graph.register(current, key: key.key, state: .fault, as: type, in: registry)
          objects.append(object)
        }
        object.state.takeRow()
        do {
          try row.decode(into: object.values, object.shape.slotCount, of: current.entity)
        } catch let error as StoreError where error.code == .lostFile {
          // The others can be read. Who asks this one for a value is told.
          object.state.endAwakening()
          object.turnIntoFault()
          return
        }
        object.version = row.version
      }
    }
    do {
      try self.read(plan, read)
    } catch {
      // An object that was not read whole is a fault again.
      for object in objects where object.state.contains(.untold) {
        object.state.endAwakening()
        object.turnIntoFault()
      }
      throw error
    }
    awaken(objects, asFaults: asFaults)
    return objects
  }

  /// Objects that took values are told so, or sleep until one is asked for.
  func awaken(_ objects: [ManagedObject], asFaults: Bool) {
    objects.walk { object in
      // One whose own method is running, and that fetches itself in it, is awake.
      guard object.state.contains(.untold) else {
        if !asFaults, object.state.contains(.asleep) { object.fire() }
        return
      }
      object.state.endReading()
      if asFaults, !object.hasChanges {
        object.state.endAwakening()
        object.state.fallAsleep()
      } else {
        object.awakeFromFetch()
        object.state.endAwakening()
      }
    }
  }
}
