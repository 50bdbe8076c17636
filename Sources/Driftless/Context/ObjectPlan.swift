/// A store and the shapes of its objects: what all contexts of a coordinator share.
package final class ObjectPlan: Sendable {
  package let store: PersistentStore
  let schema: StoreSchema
  let hierarchyCount: Int
  /// By `Z_ENT`.
  private let shapesByNumber: [ObjectShape?]
  private let shapeByName: [String: ObjectShape]

  init(store: PersistentStore) {
    self.store = store
    schema = store.schema
    var hierarchies: [String: Int] = [:]
    var byName: [String: ObjectShape] = [:]
    var byNumber: [ObjectShape?] = []
    for entity in schema.model.entities {
      let root = entity.rootEntity.name
      let hierarchy = hierarchies[root] ?? hierarchies.count
      hierarchies[root] = hierarchy
      let number = schema.entityNumber(of: entity)
      let shape = ObjectShape(entity: entity, number: number, hierarchy: hierarchy)
      byName[entity.name] = shape
      guard number >= 0 else { continue }
      while byNumber.count <= Int(number) { byNumber.append(nil) }
      byNumber[Int(number)] = shape
    }
    hierarchyCount = hierarchies.count
    shapesByNumber = byNumber
    shapeByName = byName
  }

  /// One more than the greatest `Z_ENT`.
  var numberCount: Int { shapesByNumber.count }
  var shapes: [ObjectShape] { shapesByNumber.compactMap { $0 } }

  /// nil for a number that the model does not have.
  func shape(numbered number: Int32) -> ObjectShape? {
    number >= 0 && Int(number) < shapesByNumber.count ? shapesByNumber[Int(number)] : nil
  }

  func shape(named name: String) throws(ObjectError) -> ObjectShape {
    if let shape = shapeByName[name] { return shape }
    throw ObjectError(
      .unknownEntity, "The store's model has no entity \(name)",
      suggestion: "Use one of: \(shapeByName.keys.sorted().joined(separator: ", ")).")
  }

  /// The shape of the one entity that a class stands for; of a hierarchy whose entities share the
  /// class, the topmost.
  func shape(for type: ManagedObject.Type) throws(ObjectError) -> ObjectShape {
    var all = shapeByName.values.filter { ObjectClasses.represents(type, $0.entity) }
    let exact = all.filter { ObjectClasses.isWholeName(of: type, $0.entity) }
    if !exact.isEmpty { all = exact }
    let candidates = all.filter { [all] shape in
      !all.contains { $0 !== shape && shape.isKind(of: $0.entity) }
    }
    guard let shape = candidates.first, candidates.count == 1 else {
      throw ObjectError(
        .unknownEntity, "The class \(type) stands for \(candidates.count) entities of the model",
        suggestion: "Name the class in one entity, or use the entity's name in place of the class.")
    }
    shape.adopt(type)
    return shape
  }

  func objectID(_ key: ObjectKey) -> ManagedObjectID? {
    shape(numbered: key.entity).map {
      ManagedObjectID(entity: $0.entity, storeIdentifier: store.identifier, key: key)
    }
  }
}
