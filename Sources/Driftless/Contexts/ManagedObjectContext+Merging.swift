import Foundation

/// Taking over what others saved.
extension ManagedObjectContext {
  /// Takes over another context's save: changed objects are read again under unsaved changes,
  /// deleted ones go. The other context may be on another coordinator that has the same store. What a child saved is with its parent, which has it as its own changes, and in no store: other
  /// children of that parent take it over.
  public func mergeChanges(fromContextDidSave changes: ContextChanges) {
    updatePlans()
    guard changes.source != number, changes.target == nil || changes.target == parent?.number
    else { return }
    merge(changes.parts)
  }

  /// Takes over what waits in the inbox, as one.
  func takeNews() {
    guard let news = inbox.takeAll() else { return }
    var parts = news.saves.filter { $0.source != number }.flatMap(\.parts)
    parts += news.doubtful.lazy.filter(stores.has).map(partOfAll)
    for commits in news.commits where stores.has(commits.plan) {
      guard commits.plan.store === commits.store else { continue }
      do {
        parts.append(try part(of: commits))
      } catch let error as StoreError where error.code == .damaged {
        // A history that cannot be read will not be at the next event either. Objects that cannot be read say so themselves.
        parts.append(partOfAll(in: commits.plan))
      } catch {
        inbox.putBack(commits)
      }
    }
    mergeAll(parts)
  }

  /// What transactions of a store changed. Where the history does not have them any more, that may be every object.
  private func part(of commits: ForeignCommits) throws -> ContextChanges.Part {
    var part = ContextChanges.Part(plan: commits.plan)
    try commits.store.read { transaction in
      guard try transaction.tellsHistory(after: commits.after) else {
        part = partOfAll(in: commits.plan)
        return
      }
      try transaction.forEachChange(after: commits.after, through: commits.through) {
        _, type, key, _ in
        switch type {
        case .insert: part.inserted.append(key)
        case .update: part.updated.append(key)
        case .delete: part.deleted.append(key)
        }
      }
    }
    part.lacksDerived = true
    return part
  }

  /// The objects here that show other derived values than before, which come from rows that changed: what the store works out by
  /// itself is in no history. Nothing else of them is taken over, so what others wrote of them is met at the next save.
  private func showDerived(after part: ContextChanges.Part) -> [ManagedObject] {
    let roots = Set(
      (part.inserted + part.updated + part.deleted).compactMap {
        part.plan.shape(numbered: $0.entity).map { ObjectIdentifier($0.entity.rootEntity) }
      })
    var slots: [ObjectIdentifier: [Int]] = [:]
    let followers = graph.keys.savedObjects.filter { object in
      guard object.shape.planIndex == part.plan.index, !object.lacksValues else { return false }
      let shape = ObjectIdentifier(object.shape)
      let known = slots[shape] ?? object.shape.derivedSlots(ofChangesIn: roots)
      slots[shape] = known
      return !known.isEmpty
    }
    var changed: [ManagedObject] = []
    guard !followers.isEmpty else { return changed }
    graph.deferError {
      try read(part.plan) { transaction in
        for object in followers {
          guard let values = try transaction.derivedValues(of: object.objectKey),
            let own = slots[ObjectIdentifier(object.shape)],
            object.showDerived(values, at: own)
          else { continue }
          changed.append(object)
        }
      }
    }
    return changed
  }

  /// Every object of a store that is here may have changed.
  private func partOfAll(in plan: ObjectPlan) -> ContextChanges.Part {
    var part = ContextChanges.Part(plan: plan)
    // Those that only the parent has, too.
    part.updated = graph.keys.objects.filter {
      $0.shape.planIndex == plan.index && !$0.isInserted
    }.map(\.objectKey)
    return part
  }

  private func mergeAll(_ parts: [ContextChanges.Part]) {
    var merged: [ContextChanges.Part] = []
    for part in parts {
      if let index = merged.firstIndex(where: { $0.plan === part.plan }) {
        merged[index].inserted += part.inserted
        merged[index].updated += part.updated
        merged[index].deleted += part.deleted
        if part.lacksDerived { merged[index].lacksDerived = true }
      } else {
        merged.append(part)
      }
    }
    if merged.contains(where: { $0.keyCount > 0 }) { merge(merged) }
  }

  /// Takes over what transactions of the history say, of this and other processes.
  ///
  /// - Throws: ``ObjectError`` (`noStore`) where the coordinator has none.
  public func mergeChanges(fromHistory transactions: [PersistentHistoryTransaction]) throws {
    var parts = try plans().map { ContextChanges.Part(plan: $0) }
    for transaction in transactions {
      guard
        let part = parts.firstIndex(where: {
          $0.plan.objects.storeIdentifier == transaction.storeID
        })
      else { continue }
      for change in transaction.changes ?? [] {
        switch change.changeType {
        case .insert: parts[part].inserted.append(change.changedObjectKey)
        case .update: parts[part].updated.append(change.changedObjectKey)
        case .delete: parts[part].deleted.append(change.changedObjectKey)
        }
      }
    }
    for index in parts.indices { parts[index].lacksDerived = true }
    merge(parts)
  }

  /// Takes over changes of objects that are known by their IDs; those of other stores are passed over.
  func merge(
    inserted: [ManagedObjectID], updated: [ManagedObjectID], deleted: [ManagedObjectID]
  ) {
    updatePlans()
    merge(
      stores.plans.map { plan in
        func keys(_ ids: [ManagedObjectID]) -> [ObjectKey] {
          ids.filter { $0.storeIdentifier == plan.objects.storeIdentifier && !$0.isTemporaryID }
            .map(\.key)
        }
        var part = ContextChanges.Part(
          plan: plan, inserted: keys(inserted), updated: keys(updated), deleted: keys(deleted))
        part.lacksDerived = true
        return part
      })
  }

  private func merge(_ parts: [ContextChanges.Part]) {
    // Parts of stores that this coordinator does not have are no business of this context.
    var parts = parts.compactMap(known)
    guard !parts.isEmpty else { return }
    moveGeneration()
    var refreshed: [ManagedObject] = []
    var deleted: [ManagedObject] = []
    for part in parts { merge(part, &refreshed, &deleted) }
    for part in parts where part.lacksDerived { refreshed += showDerived(after: part) }
    let inserted = standIn.relay == nil ? [] : parts.flatMap(newcomers)
    // A new or deleted object may belong to any to-many relationship that was read.
    for object in graph.keys.savedObjects { object.forgetStoredCollections() }
    for index in parts.indices {
      let plan = parts[index].plan.index
      parts[index].updated.removeAll { graph.registered($0, in: plan) == nil }
    }
    let changes = ContextChanges(source: number, parts: parts)
    postObjectsDidChange(
      [.insertedObjects: inserted, .refreshedObjects: refreshed, .deletedObjects: deleted], changes)
    postDidMerge(changes)
    // Children that heard of it before may have read what was here then.
    if hasChildren {
      persistentStoreCoordinator.publish(
        ContextChanges(source: number, target: number, parts: parts))
    }
  }

  /// The part as one of a store of this coordinator: what was saved through another one, which has the same store, names objects by
  /// the same IDs. Nil for another store.
  private func known(_ part: ContextChanges.Part) -> ContextChanges.Part? {
    if stores.has(part.plan) { return part }
    let identifier = part.plan.objects.storeIdentifier
    guard let plan = stores.plans.first(where: { $0.objects.storeIdentifier == identifier }) else {
      return nil
    }
    var entities: [Int32: Bool] = [:]
    // The other coordinator may have had the store with another model.
    func known(_ keys: [ObjectKey]) -> [ObjectKey] {
      keys.filter { key in
        if let isKnown = entities[key.entity] { return isKnown }
        let name = part.plan.shape(numbered: key.entity)?.entity.name
        let isKnown = name != nil && plan.shape(numbered: key.entity)?.entity.name == name
        entities[key.entity] = isKnown
        return isKnown
      }
    }
    var own = ContextChanges.Part(
      plan: plan, inserted: known(part.inserted), updated: known(part.updated),
      deleted: known(part.deleted))
    own.lacksDerived = true
    return own
  }

  /// What others inserted, as faults: observers under Core Data's names are told of objects.
  private func newcomers(_ part: ContextChanges.Part) -> [ManagedObject] {
    let gone = Set(part.deleted)
    return part.inserted.lazy.filter { !gone.contains($0) }.compactMap {
      graph.object(for: $0, in: part.plan.index, adopting: ManagedObject.self)
    }
  }

  private func merge(
    _ part: ContextChanges.Part, _ refreshed: inout [ManagedObject],
    _ deleted: inout [ManagedObject]
  ) {
    for key in part.updated {
      guard let object = graph.registered(key, in: part.plan.index), !object.isInserted else {
        continue
      }
      graph.deferError { if try takeAnew(object, mergeChanges: true) { refreshed.append(object) } }
    }
    for key in part.deleted {
      // Under the key of what was deleted there may be an object of another entity by now.
      guard let object = graph.registered(key, in: part.plan.index),
        object.shape.number == key.entity
      else { continue }
      if standIn.keepsMergedDeletes {
        if countAsDeletedByOthers(object) { deleted.append(object) }
        continue
      }
      // Unsaved changes meet the delete at the save, where the merge policy decides.
      if object.isUpdated && !object.isOnlyTouched { continue }
      dismiss([object])
      object.state.stayDeleted()
      deleted.append(object)
    }
  }
}

extension ObjectShape {
  /// The slots of derived values that read objects of some hierarchies, by their roots.
  fileprivate func derivedSlots(ofChangesIn roots: Set<ObjectIdentifier>) -> [Int] {
    layout.slots.filter { slot in
      guard let format = (slot.property as? DerivedAttributeDescription)?.derivationExpressionFormat
      else { return false }
      return entity.relationshipsByName.values.contains { relationship in
        format.contains("\(relationship.name).")
          && relationship.destinationEntity.map {
            roots.contains(ObjectIdentifier($0.rootEntity))
          } ?? false
      }
    }.map(\.index)
  }
}
