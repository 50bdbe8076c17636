/// A store in memory that stands for one that an application keeps in a form of its own.
///
/// Its rows are filled from there as it is opened, or as they are read. A save writes rows as in any store, and tells it before they
/// are committed: where that throws, the save fails and nothing was written.
package protocol StandInStore: PersistentStore {
  /// The keys that new objects get, in their order.
  func keys(forNew objects: [ManagedObject]) throws -> [Int64]
  /// A save of this thread is about to write rows.
  ///
  /// - Parameter keys: Those whose rows it changes, as far as that is known.
  func didBegin(_ transaction: WriteTransaction, changing keys: Set<ObjectKey>)
  /// The rows of all stores of the save were written, in transactions that have not committed yet; contexts that are made now read
  /// them.
  func willCommit(_ changes: StoreChanges, _ coordinator: PersistentStoreCoordinator) throws
  /// What the save wrote was committed, as the transaction of this number.
  func didCommit(_ transaction: Int64)
  /// Its transaction is over.
  func didEnd()
  /// Where it `readsOutside`: an object's row is about to be read.
  func prepareRow(of id: ManagedObjectID, for context: ManagedObjectContext) throws
  /// Where it `readsOutside`: which objects a to-many relationship holds is about to be read.
  ///
  /// - Returns: their keys, where rows do not tell them.
  func prepareObjects(
    of relationship: RelationshipDescription, of id: ManagedObjectID,
    for context: ManagedObjectContext
  ) throws -> [ObjectKey]?
}

/// A store whose rows are all there is not asked.
extension StandInStore {
  package func didBegin(_ transaction: WriteTransaction, changing keys: Set<ObjectKey>) {}

  package func didCommit(_ transaction: Int64) {}

  package func didEnd() {}

  package func prepareRow(of id: ManagedObjectID, for context: ManagedObjectContext) throws {}

  package func prepareObjects(
    of relationship: RelationshipDescription, of id: ManagedObjectID,
    for context: ManagedObjectContext
  ) throws -> [ObjectKey]? { nil }
}

/// What a save writes to one store.
package struct StoreChanges {
  private let writer: SaveWriter
  /// What the rows were written in.
  package let transaction: WriteTransaction

  init(_ writer: SaveWriter, _ transaction: WriteTransaction) {
    self.writer = writer
    self.transaction = transaction
  }

  /// The context that saves.
  package var context: ManagedObjectContext { writer.context }

  // MARK: The IDs that objects have in the store

  package var inserted: [ManagedObjectID] {
    ids(writer.inserted.map { writer.newKey($0.objectKey) })
  }

  package var updated: [ManagedObjectID] {
    ids((writer.updated + merged).map(\.objectKey) + changedAlong)
  }

  package var deleted: [ManagedObjectID] { ids((writer.deleted + lost).map(\.objectKey)) }

  // MARK: The context's own objects

  package var insertedObjects: [ManagedObject] { writer.inserted }

  /// Those that were not changed here, and whose rows were, come as faults where the context does not have them.
  package var updatedObjects: [ManagedObject] {
    writer.updated + merged
      + changedAlong.compactMap {
        context.graph.object(for: $0, in: writer.plan.index, adopting: ManagedObject.self)
      }
  }

  package var deletedObjects: [ManagedObject] { writer.deleted + lost }

  /// Objects that were not changed, and whose conflicts were looked for.
  package var watchedObjects: [ManagedObject] {
    let settled = Set(writer.resolutions.lazy.map { ObjectIdentifier($0.object) })
    return context.graph.ledger.watched.filter { object in
      object.isIn(context) && object.shape.planIndex == writer.plan.index && !object.hasChanges
        && !settled.contains(ObjectIdentifier(object))
    }
  }

  /// Rows that are no more what they were before the save.
  package var writtenKeys: Set<ObjectKey> {
    let changed = writer.updated.lazy.filter { !$0.changedColumns.isEmpty }
    return Set(writer.inserted.lazy.map { writer.newKey($0.objectKey) })
      .union(changed.map(\.objectKey))
      .union((writer.deleted + writer.deletedAlong).map(\.objectKey))
      .union(writer.resolutions.map(\.object.objectKey))
  }

  // MARK: Steps

  private var merged: [ManagedObject] {
    writer.resolutions.filter { $0.values != nil }.map(\.object)
  }

  private var lost: [ManagedObject] {
    writer.resolutions.filter { $0.values == nil }.map(\.object)
  }

  private var changedAlong: [ObjectKey] { writer.derivedOnly + writer.formerHolders }

  private func ids(_ keys: [ObjectKey]) -> [ManagedObjectID] {
    var known: Set<ObjectKey> = []
    return keys.filter { known.insert($0).inserted }.compactMap(writer.plan.objectID)
  }
}

extension SaveWriter {
  /// Objects of conflicts show what was decided about them while `body` runs.
  fileprivate func showingDecisions(_ body: () throws -> Void) rethrows {
    var former: [(object: ManagedObject, slot: Int, value: PropertyValue)] = []
    for resolution in resolutions {
      let object = resolution.object
      guard let values = resolution.values, !object.lacksValues else { continue }
      for slot in object.shape.layout.slots where !slot.isToMany && !slot.isTransient {
        former.append((object, slot.index, object.values[slot.index]))
        object.values[slot.index] = values[slot.index]
      }
    }
    defer { for (object, slot, value) in former { object.values[slot] = value } }
    try body()
  }
}

extension ManagedObjectContext {
  /// Stores that stand for others choose the keys of new objects: these have them before rows are written.
  func nameForStandIns(_ plans: [ObjectPlan]) throws {
    for plan in plans where plan.store is any StandInStore {
      try obtainPermanentIDs(
        for: changedObjects.selected { object in
          object.isIn(self) && object.isInserted && !object.isDeleted
            && object.shape.planIndex == plan.index
        })
      // Whoever chooses may have read what cannot be read.
      try throwAccessorError()
    }
  }

  /// An object that is deleted and was not read has its values before its row goes: a store that is asked for rows as they are
  /// read has none of it after that. One that cannot be read stays as it is.
  func readDeletedForStandIns(_ plans: [ObjectPlan]) {
    for plan in plans where plan.store.readsOutside {
      let doomed = changedObjects.selected { object in
        object.isIn(self) && object.isDeleted && !object.isInserted && object.lacksValues
          && !object.state.contains(.missing) && object.shape.planIndex == plan.index
      }
      for object in doomed {
        guard let isThere = try? takeValuesBeneath(object), isThere else { continue }
        end(object, true)
      }
    }
  }

  /// Stores that stand for others know who writes: what is read on this thread meanwhile is part of the transaction.
  func beginStandIn(_ plan: ObjectPlan, _ transaction: WriteTransaction) {
    guard plan.store.readsOutside, let store = plan.store as? any StandInStore else { return }
    let changed = changedObjects.selected { object in
      object.isIn(self) && object.shape.planIndex == plan.index
        && (object.isDeleted || object.isInserted || !object.changedColumns.isEmpty)
    }
    store.didBegin(transaction, changing: Set(changed.map(\.objectKey)))
  }

  func endStandIns(_ plans: [ObjectPlan]) {
    for plan in plans { (plan.store as? any StandInStore)?.didEnd() }
  }

  /// Tells stores that stand for others what a save wrote, once all rows are written: what keeps rows from being written does so
  /// before anything is told.
  ///
  /// What cannot be read meanwhile fails the save: somebody may have worked with it as if it were empty.
  func tellStandIns(_ writers: [(writer: SaveWriter, transaction: WriteTransaction)]) throws {
    for (writer, transaction) in writers {
      guard let store = writer.plan.store as? any StandInStore else { continue }
      try writer.showingDecisions {
        try store.willCommit(StoreChanges(writer, transaction), persistentStoreCoordinator)
      }
      try throwRefusal()
      try throwAccessorError()
    }
  }
}

extension ManagedObjectContext {
  /// Before the row of an object is read.
  func willReadRow(of object: ManagedObject, _ plan: ObjectPlan) throws {
    guard plan.store.readsOutside, let store = plan.store as? any StandInStore else { return }
    try store.prepareRow(of: object.objectID, for: self)
  }

  /// Before it is read which objects a to-many relationship holds.
  ///
  /// - Returns: their keys, where rows do not tell them.
  func willReadObjects(
    of relation: Relation, of object: ManagedObject, _ plan: ObjectPlan
  ) throws -> [ObjectKey]? {
    guard plan.store.readsOutside, let store = plan.store as? any StandInStore else { return nil }
    return try store.prepareObjects(of: relation.description, of: object.objectID, for: self)
  }
}
