/// A store in memory that stands for one that an application keeps in a form of its own.
///
/// Its rows are filled from there as it is opened. A save writes rows as in any store, and tells it before they are committed:
/// where that throws, the save fails and nothing was written.
package protocol StandInStore: PersistentStore {
  /// The keys that new objects get, in their order.
  func keys(forNew objects: [ManagedObject]) throws -> [Int64]
  /// Rows were written in a transaction that has not committed yet; contexts that are made now read them.
  func willCommit(_ changes: StoreChanges, _ coordinator: PersistentStoreCoordinator) throws
  /// Where it `readsOutside`: an object's row is about to be read.
  func prepareRow(of id: ManagedObjectID, for context: ManagedObjectContext) throws
  /// Where it `readsOutside`: which objects a to-many relationship holds is about to be read.
  func prepareObjects(
    of relationship: RelationshipDescription, of id: ManagedObjectID,
    for context: ManagedObjectContext
  ) throws
}

/// A store whose rows are all there is not asked.
extension StandInStore {
  package func prepareRow(of id: ManagedObjectID, for context: ManagedObjectContext) throws {}

  package func prepareObjects(
    of relationship: RelationshipDescription, of id: ManagedObjectID,
    for context: ManagedObjectContext
  ) throws {}
}

/// What a save writes to one store.
package struct StoreChanges {
  package let inserted: [ManagedObjectID]
  package let updated: [ManagedObjectID]
  package let deleted: [ManagedObjectID]
}

extension SaveWriter {
  /// What was written, by the IDs that the objects have in the store.
  var storeChanges: StoreChanges {
    func ids(_ keys: [ObjectKey]) -> [ManagedObjectID] {
      var known: Set<ObjectKey> = []
      return keys.filter { known.insert($0).inserted }.compactMap(plan.objectID)
    }
    let merged = resolutions.filter { $0.values != nil }.map(\.object.objectKey)
    let lost = resolutions.filter { $0.values == nil }.map(\.object.objectKey)
    return StoreChanges(
      inserted: ids(inserted.map { newKey($0.objectKey) }),
      updated: ids(updated.map(\.objectKey) + merged + derivedOnly + formerHolders),
      deleted: ids(deleted.map(\.objectKey) + lost))
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
  func willReadObjects(
    of relation: Relation, of object: ManagedObject, _ plan: ObjectPlan
  ) throws {
    guard plan.store.readsOutside, let store = plan.store as? any StandInStore else { return }
    try store.prepareObjects(of: relation.description, of: object.objectID, for: self)
  }
}
