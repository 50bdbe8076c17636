import Synchronization

/// A store of a coordinator and the shapes of its objects: what all contexts of the coordinator share.
package final class ObjectPlan: Sendable {
  /// What a coordinator counts on over all its stores, so that a context tells their objects apart by place in an array.
  struct Numbering {
    var plans = 0
    var hierarchies = 0
    var shapes = 0
  }

  /// The same objects may go on in another store: see ``PersistentStoreCoordinator/migratePersistentStore(_:to:options:)``.
  private let currentStore: Mutex<PersistentStore>
  let schema: StoreSchema
  /// What objects know of the store.
  let objects: StoreShapes

  init(store: PersistentStore, _ numbering: inout Numbering) {
    currentStore = Mutex(store)
    schema = store.schema
    objects = StoreShapes(of: store, &numbering)
  }

  package var store: PersistentStore { currentStore.withLock { $0 } }

  /// Whether a request to these stores, to all for nil, is one to this: stores are told apart by their identifiers, since a
  /// file may be open under several coordinators.
  func isAsked(by stores: [PersistentStore]?) -> Bool {
    guard let stores else { return true }
    return stores.contains { $0.identifier == objects.storeIdentifier }
  }

  /// Goes on with a store that has the same objects under the same identifier.
  /// - Throws: `StoreError` where its rows would be read as objects of other entities, or into more room than objects have.
  func move(to store: PersistentStore) throws {
    try schema.requireSameRows(in: store.schema, at: store.file.name)
    currentStore.withLock { $0 = store }
  }

  /// The place among the stores that the coordinator ever had.
  var index: Int { objects.index }
  /// One more than the greatest `Z_ENT`.
  var numberCount: Int { objects.numberCount }
  var shapes: [ObjectShape] { objects.all }

  /// To-many relationships without inverse, each as its own entity has it.
  var oneSidedRelations: [Relation] { objects.oneSidedRelations }

  /// nil for a number that the model does not have.
  func shape(numbered number: Int32) -> ObjectShape? { objects.shape(numbered: number) }

  /// nil for an entity that is not in the store.
  func shape(named name: String) -> ObjectShape? { objects.shape(named: name) }

  func objectID(_ key: ObjectKey) -> ManagedObjectID? { objects.objectID(key) }
}
