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
  /// The place among the stores that the coordinator ever had.
  let index: Int
  /// One more than the greatest number of a hierarchy.
  let hierarchyEnd: Int
  /// By `Z_ENT`.
  private let shapesByNumber: [ObjectShape?]
  private let shapeByName: [String: ObjectShape]

  init(store: PersistentStore, _ numbering: inout Numbering) {
    currentStore = Mutex(store)
    schema = store.schema
    index = numbering.plans
    numbering.plans += 1
    var hierarchies: [String: Int] = [:]
    var byName: [String: ObjectShape] = [:]
    var byNumber: [ObjectShape?] = []
    for entity in schema.model.entities {
      let root = entity.rootEntity.name
      let number = schema.entityNumber(of: entity)
      guard number > 0 else { continue }
      let hierarchy = hierarchies[root] ?? numbering.hierarchies
      if hierarchy == numbering.hierarchies { numbering.hierarchies += 1 }
      hierarchies[root] = hierarchy
      let shape = ObjectShape(
        entity: entity, number: number, planIndex: index, hierarchy: hierarchy,
        ordinal: numbering.shapes)
      numbering.shapes += 1
      byName[entity.name] = shape
      while byNumber.count <= Int(number) { byNumber.append(nil) }
      byNumber[Int(number)] = shape
    }
    hierarchyEnd = numbering.hierarchies
    shapesByNumber = byNumber
    shapeByName = byName
  }

  package var store: PersistentStore { currentStore.withLock { $0 } }

  /// Whether a request to these stores, to all for nil, is one to this: stores are told apart by their identifiers, since a
  /// file may be open under several coordinators.
  func isAsked(by stores: [PersistentStore]?) -> Bool {
    guard let stores else { return true }
    let identifier = store.identifier
    return stores.contains { $0.identifier == identifier }
  }

  /// Goes on with a store that has the same objects under the same identifier.
  /// - Throws: `StoreError` where its rows would be read as objects of other entities, or into more room than objects have.
  func move(to store: PersistentStore) throws {
    try schema.requireSameRows(in: store.schema, at: store.file.name)
    currentStore.withLock { $0 = store }
  }

  /// One more than the greatest `Z_ENT`.
  var numberCount: Int { shapesByNumber.count }
  var shapes: [ObjectShape] { shapesByNumber.compactMap { $0 } }

  /// nil for a number that the model does not have.
  func shape(numbered number: Int32) -> ObjectShape? {
    number >= 0 && Int(number) < shapesByNumber.count ? shapesByNumber[Int(number)] : nil
  }

  /// nil for an entity that is not in the store.
  func shape(named name: String) -> ObjectShape? { shapeByName[name] }

  func objectID(_ key: ObjectKey) -> ManagedObjectID? {
    shape(numbered: key.entity).map {
      ManagedObjectID(entity: $0.entity, storeIdentifier: store.identifier, key: key)
    }
  }
}
