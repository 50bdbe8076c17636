import Foundation

/// What lies beneath a context: the values of faults, from the store or the parent context.
extension ManagedObjectContext: ObjectSource {
  /// Reads the values of a fault for an accessor.
  func fulfil(_ object: ManagedObject) {
    graph.deferError {
      guard !object.state.contains(.unreadable) else { throw object.unreadable(nil) }
      do {
        try read(object)
      } catch {
        graph.noteUnreadable(object)
        throw object.unreadable(error)
      }
      guard object.state.contains(.missing) else { return }
      if !(standIn.handlesInaccessible?(object) ?? shouldDeleteInaccessibleFaults) {
        throw ObjectError(
          .missingObject, "\(object.description) could not be read: its row is gone",
          suggestion: "It was deleted. Fetch again, and roll the context back.")
      }
      countAsDeleted(object)
    }
  }

  /// An object whose row is gone is a deleted one from when that was found out. Its save has nothing to check or to write of it.
  ///
  /// While a save goes on, what it writes is settled; and what is about to be deleted is so in a moment.
  private func countAsDeleted(_ object: ManagedObject) {
    guard !saving.isSaving, object.isIn(self), !object.isDeleted,
      !object.state.contains(.preparing)
    else { return }
    object.state.delete()
    graph.ledger.noteLost(object)
    graph.ledger.noteInEvent(object)
    object.state.note(.deletedInEvent)
  }

  /// An object that others deleted is a deleted one here, with the values that it has; a fault reads as empty. What unsaved changes
  /// made refer to it refers to nothing. The rules of its relationships were followed by the save that deleted it.
  ///
  /// - Returns: Whether it was not deleted already.
  func countAsDeletedByOthers(_ object: ManagedObject) -> Bool {
    guard !object.isInserted, !object.state.contains(.preparing) else { return false }
    let wasDeleted = object.isDeleted
    if object.lacksValues {
      end(object, false)
    } else {
      object.state.lackRow()
    }
    guard !wasDeleted else { return false }
    object.cutUnsavedReferences()
    object.state.delete()
    if saving.isSaving { graph.ledger.list(object) } else { graph.ledger.noteLost(object) }
    return true
  }

  /// Reads the values of a fault; an object without a row reads as empty.
  func read(_ object: ManagedObject) throws {
    end(object, try takeValuesBeneath(object))
  }

  /// Whether an object has a row, whose values it has then, or is new. A fault without one stays a fault, and no deleted object, until
  /// somebody asks for a value of it.
  func hasRow(_ object: ManagedObject) throws -> Bool {
    guard object.lacksValues else { return !object.state.contains(.missing) }
    try read(object)
    guard object.state.contains(.missing) else { return true }
    object.state.dropValues()
    return false
  }

  /// A fault has its values now, if there are any.
  func end(_ fault: ManagedObject, _ isThere: Bool) {
    fault.state.takeValues()
    if isThere { awaken(fault) } else { fault.state.lackRow() }
  }

  /// Takes the values that the store, or the parent, has now under the object's unsaved changes. False when there are
  /// none.
  func takeValuesBeneath(_ object: ManagedObject) throws -> Bool {
    if let parent {
      // The parent looks which stores there are, and this context has to know of the same ones.
      updatePlans()
      return try ask(parent) { parent in
        guard let above = try parent.readable(object), above.shape === object.shape else {
          return false
        }
        object.takeBeneathChanges(of: above)
        return true
      }
    }
    let plan = try plan(of: object.shape)
    try willReadRow(of: object, plan)
    // A row of another entity is another object's.
    guard let row = try read(plan, { try $0.row(object.objectKey, mapsFiles: true) }),
      row.key.entity == object.shape.number
    else { return false }
    object.takeBeneathChanges(row.values, version: row.version)
    return true
  }

  func awaken(_ object: ManagedObject) {
    object.whileAwakening { object.awakeFromFetch() }
  }

  /// What the store, or the parent, holds of a to-many relationship; nil when it cannot be read.
  func storedKeys(of object: ManagedObject, _ relation: Relation) -> [ObjectKey]? {
    var keys: [ObjectKey]?
    graph.deferError {
      if let parent {
        keys = try ask(parent) { parent in
          try parent.graph.throwingErrors {
            try parent.readable(object)?.destinationKeys(relation.slot) ?? []
          }
        }
      } else {
        let plan = try plan(of: object.shape)
        let told = try willReadObjects(of: relation, of: object, plan)
        keys =
          try told
          ?? read(plan) { try $0.toManyKeys(of: object.objectKey, relation.description) }
      }
    }
    return keys
  }

  func storedEnd(
    of member: ManagedObject, _ slot: Int, of owner: ManagedObject, in relation: Relation
  ) -> ManagedObject.StoredEnd? {
    var end: ManagedObject.StoredEnd?
    graph.deferError {
      if let parent {
        end = try ask(parent) { parent in
          guard let above = try parent.readable(member), above.shape === member.shape else {
            return .gone
          }
          // The parent's own end may be older as well.
          try parent.readable(owner)?.bringInLine(above, in: relation, reading: true)
          return .value(above.values[slot])
        }
      } else {
        let plan = try plan(of: member.shape)
        try willReadRow(of: member, plan)
        let row = try read(plan) { try $0.row(member.objectKey) }
        guard let row, row.key.entity == member.shape.number else { return end = .gone }
        end = .value(row.values[slot])
      }
    }
    return end
  }

  func storedHolders(
    of object: ManagedObject, in relation: Relation
  ) throws -> [ObjectKey]? {
    if let parent {
      return ask(parent) { parent in
        guard let above = parent.object(above: object) else { return [] }
        return parent.graph.holders(of: above, in: relation)?.map(\.objectKey)
      }
    }
    let plan = try plan(of: object.shape)
    return try read(plan) { transaction in
      if !relation.isExclusive, try transaction.isReplica { return nil }
      let holders = try transaction.sources(holding: object.objectKey, in: relation.description)
      // They may hold another object, which has the key by now.
      guard
        try holders.isEmpty || plan.store.readsOutside
          || transaction.hasOwnRow(object.objectKey)
      else { return [] }
      return holders
    }
  }

  func identity(of object: ManagedObject) throws -> UUID {
    if let identity = graph.keys.identity(of: object.key) { return identity }
    if object.isInserted, object.key < 0 {
      let identity = UUID()
      graph.keys.give(identity, to: object.key)
      return identity
    }
    if let parent, !object.isInserted {
      return try ask(parent) { parent in
        guard let above = try parent.readable(object) else {
          throw ObjectError(
            .missingObject, "\(object.description) is gone from the parent context",
            suggestion: "It was deleted there; fetch again.")
        }
        return try parent.identity(of: above)
      }
    }
    return try read(plan(of: object.shape)) { try $0.identity(of: object.objectKey) }
  }

  func objectOfParent(
    for key: ObjectKey, in plan: Int, adopting type: ManagedObject.Type
  ) -> ManagedObject? {
    guard let parent else { return nil }
    return ask(parent) { parent in
      // Asking may have brought the key that the object has now.
      if let place = graph.keys.permanentKey(for: key.key), place.key.key > 0 {
        return graph.object(for: place.key, in: place.plan, adopting: type)
      }
      return parent.object(forChild: key, in: plan, adopting: type).flatMap(object(under:))
    }
  }

  func objects(
    of property: FetchedPropertyDescription, for object: ManagedObject
  ) throws(ObjectError) -> [ManagedObject] {
    do {
      guard var request = try property.request() else { return [] }
      request.predicate = try request.predicate?.withSubstitutionVariables([
        "FETCH_SOURCE": object, "FETCHED_PROPERTY": DescribedProperty(property),
      ])
      return try fetch(request)
    } catch {
      throw ObjectError(
        .unreadable, "\(object.entity.name).\(property.name) cannot be fetched: \(error)",
        suggestion: "Correct the fetch request of the property in the model.")
    }
  }

  func objects(foundBy fetch: SubFetch) throws(FetchError) -> [any PropertySource] {
    var request = FetchRequest<ManagedObject>(
      entityName: fetch.entityName, predicate: fetch.predicate, sort: fetch.sort,
      limit: fetch.limit, offset: fetch.offset)
    request.includesSubentities = fetch.includesSubentities
    do {
      return try self.fetch(request)
    } catch let error as FetchError {
      throw error
    } catch {
      throw FetchError(
        .unsupported, "FETCH failed: \(error)", suggestion: "Fetch first, and compare with IN.")
    }
  }
}
