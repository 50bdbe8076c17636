/// The shapes of one store's objects, and what their IDs say of the store: all that objects know of it. It does not hold the
/// store, which may be closed while somebody still has an object.
package final class StoreShapes: Sendable {
  /// The place among the stores that the coordinator ever had.
  let index: Int
  /// The store's identifier, which it keeps while it is attached.
  let storeIdentifier: String
  /// Tells keys of the store from those of others of the process.
  let storeTag: UInt32
  /// One more than the greatest number of a hierarchy.
  let hierarchyEnd: Int
  /// By `Z_ENT`.
  private let shapesByNumber: [ObjectShape?]
  private let shapeByName: [String: ObjectShape]
  /// To-many relationships without inverse, each as its own entity has it.
  let oneSidedRelations: [Relation]

  convenience init(of store: PersistentStore, _ numbering: inout ObjectPlan.Numbering) {
    self.init(of: store.schema, identifier: store.identifier, tag: store.tag, &numbering)
  }

  init(
    of schema: StoreSchema, identifier: String, tag: UInt32,
    _ numbering: inout ObjectPlan.Numbering
  ) {
    index = numbering.plans
    storeIdentifier = identifier
    storeTag = tag
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
        ordinal: numbering.shapes, isExclusive: schema.isExclusive)
      numbering.shapes += 1
      byName[entity.name] = shape
      while byNumber.count <= Int(number) { byNumber.append(nil) }
      byNumber[Int(number)] = shape
    }
    hierarchyEnd = numbering.hierarchies
    shapesByNumber = byNumber
    shapeByName = byName
    oneSidedRelations = byName.values.flatMap { shape in
      shape.relations.compactMap { $0 }
        .filter { $0.isOneSided && $0.description.entity === shape.entity }
    }
  }

  /// One more than the greatest `Z_ENT`.
  var numberCount: Int { shapesByNumber.count }
  var all: [ObjectShape] { shapesByNumber.compactMap { $0 } }

  /// nil for a number that the model does not have.
  func shape(numbered number: Int32) -> ObjectShape? {
    number >= 0 && Int(number) < shapesByNumber.count ? shapesByNumber[Int(number)] : nil
  }

  /// nil for an entity that is not in the store.
  func shape(named name: String) -> ObjectShape? { shapeByName[name] }

  func objectID(_ key: ObjectKey) -> ManagedObjectID? {
    shape(numbered: key.entity).map {
      ManagedObjectID(entity: $0.entity, storeIdentifier: storeIdentifier, key: key)
    }
  }
}
