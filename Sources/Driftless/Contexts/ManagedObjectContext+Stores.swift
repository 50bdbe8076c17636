import Foundation

/// Stores: which the context works on, and where the objects of an entity are.
extension ManagedObjectContext {
  /// The coordinator's stores.
  func plans() throws(ObjectError) -> [ObjectPlan] {
    updatePlans()
    guard !stores.plans.isEmpty else {
      throw ObjectError(
        .noStore, "The coordinator has no store",
        suggestion: "Call addPersistentStore or loadPersistentStores first.")
    }
    return stores.plans
  }

  /// Takes over which stores the coordinator has now, and forgets the objects of those that it lost. Takes over which keys
  /// the parent's objects have now.
  func updatePlans() {
    updateStores()
    if let newKeys {
      for renamed in newKeys.takeAll() { rename(renamed) }
    } else if let parent {
      // Used where this is: what it has to take over from afar concerns this one as well.
      parent.updatePlans()
    }
  }

  private func updateStores() {
    // A save goes on with the stores that it began with.
    guard !saving.isWritingObjects else { return }
    guard stores.isOlder(than: persistentStoreCoordinator.storesVersion) else { return }
    let plans = persistentStoreCoordinator.plans
    for old in stores.plans where !plans.contains(where: { $0 === old }) { forgetObjects(of: old) }
    stores.attach(plans)
    let waiting = persistentStoreCoordinator.shapesWithoutStore
    graph.attach(plans.map(\.objects) + (waiting.map { [$0] } ?? []))
    if let waiting, !plans.isEmpty { placeObjects(madeAs: waiting) }
  }

  /// Objects that were made before there was a store go to the first that has their entity. Those that none has wait on.
  private func placeObjects(madeAs waiting: StoreShapes) {
    let objects = graph.keys.objects.filter { $0.shape.planIndex == waiting.index }
    guard !objects.isEmpty else { return }
    for object in objects {
      let shape = presentShape(for: object.shape)
      guard shape !== object.shape else { continue }
      let old = object.objectKey
      object.shape = shape
      if undoManager != nil, object.objectKey != old {
        graph.keys.noteRenamed(old, object.objectKey, in: shape.planIndex)
      }
    }
    // In the store entities may have other numbers.
    for object in objects {
      object.rename { key in graph.keys.object(temporary: key.key)?.objectKey ?? key }
      checkEnds(of: object)
    }
  }

  /// What an object of the shape is now: one that was made before there was a store is in the first that has its entity.
  func presentShape(for shape: ObjectShape) -> ObjectShape {
    guard persistentStoreCoordinator.shapesWithoutStore?.index == shape.planIndex,
      let found = stores.plans.lazy.compactMap({ $0.shape(named: shape.entity.name) }).first
    else { return shape }
    return found.hasSlots(of: shape) ? found : shape
  }

  /// Related objects may have come to several stores, of which the next save says that.
  private func checkEnds(of object: ManagedObject) {
    for slot in object.shape.toOneSlots {
      guard case .reference(let key) = object.values[slot], key.key < 0,
        let end = graph.keys.object(temporary: key.key),
        end.shape.planIndex != object.shape.planIndex
      else { continue }
      graph.deferError {
        throw ObjectError(
          .crossStore,
          "\(object.description) refers to \(end.description), whose entity another store has",
          suggestion: "Add stores before objects of several of them are related.")
      }
    }
  }

  /// Throws where objects wait for a store.
  func requireStores() throws(ObjectError) {
    guard let waiting = persistentStoreCoordinator.shapesWithoutStore else { return }
    let object = changedObjects.first {
      $0.hasChanges && $0.isIn(self) && $0.shape.planIndex == waiting.index
    }
    guard let object else { return }
    let names = stores.plans.map { $0.store.url?.lastPathComponent ?? "one in memory" }
    guard !names.isEmpty else {
      throw ObjectError(
        .noStore, "The coordinator has no store for the entity \(object.entity.name)",
        suggestion: "Add a store whose configuration has it, before the save.")
    }
    throw ObjectError(
      .entityWithoutStore,
      "No store of the coordinator has the entity \(object.entity.name) as it is: "
        + names.joined(separator: ", "),
      suggestion: "Add a store whose configuration has it, before the save.")
  }

  /// The coordinator's stores, of which there may be none where objects may wait for one.
  private func plansForObjects() throws(ObjectError) -> [ObjectPlan] {
    guard standIn.makesObjectsWithoutStore else { return try plans() }
    updatePlans()
    return stores.plans
  }

  /// What new objects are before there is a store; empty where there is one, which may just have come: whoever asked
  /// the stores before asks them again.
  private func waitingShapes() throws(ObjectError) -> [ObjectShape] {
    guard stores.plans.isEmpty else { return [] }
    let shapes = try shapesWithoutStore()
    return stores.plans.isEmpty ? shapes : []
  }

  private func shapesWithoutStore() throws(ObjectError) -> [ObjectShape] {
    do {
      let shapes = try persistentStoreCoordinator.makeShapesWithoutStore().all
      updatePlans()
      return shapes
    } catch {
      throw ObjectError(
        .noStore, "The coordinator has no store, and its model cannot be used: \(error)",
        suggestion: "Correct the model.")
    }
  }

  private func forgetObjects(of plan: ObjectPlan) {
    func isLost(_ object: ManagedObject) -> Bool { object.shape.planIndex == plan.index }
    dismiss(registeredObjects.filter(isLost))
    graph.ledger.forget(where: isLost)
    prefetched.removeAll(where: isLost)
  }

  /// The store that the shape's objects are in.
  func plan(of shape: ObjectShape) throws(ObjectError) -> ObjectPlan {
    if let plan = stores.plan(at: shape.planIndex) { return plan }
    _ = try plans()
    throw lostStore(of: shape)
  }

  func lostStore(of shape: ObjectShape) -> ObjectError {
    ObjectError(
      .noStore, "The store of this \(shape.entity.name) was removed from the coordinator",
      suggestion: "Let go of the object, or add the store again and fetch.")
  }

  func plan(identifier: String) -> ObjectPlan? {
    updatePlans()
    return stores.plans.first { $0.objects.storeIdentifier == identifier }
  }

  /// What a new object of an entity is: where the context may have objects that wait for a store, it is made though none has it.
  func shapeOfNew(named name: String) throws(ObjectError) -> ObjectShape {
    do { return try shape(named: name) } catch {
      guard standIn.makesObjectsWithoutStore,
        let shape = try shapesWithoutStore().first(where: { $0.entity.name == name })
      else { throw error }
      return shape
    }
  }

  /// As above, of the entity that a class stands for.
  func shapeOfNew(for type: ManagedObject.Type) throws(ObjectError) -> ObjectShape {
    do { return try shape(for: type) } catch {
      let model = persistentStoreCoordinator.managedObjectModel
      let entities = model.entities.filter { ObjectClasses.represents(type, $0) }
      guard standIn.makesObjectsWithoutStore, entities.count == 1, let name = entities.first?.name
      else { throw error }
      let shape = try shapeOfNew(named: name)
      shape.adopt(type)
      return shape
    }
  }

  /// The entity in the first store that has it.
  func shape(named name: String) throws(ObjectError) -> ObjectShape {
    _ = try plansForObjects()
    let waiting = try waitingShapes()
    for plan in stores.plans { if let shape = plan.shape(named: name) { return shape } }
    if let shape = waiting.first(where: { $0.entity.name == name }) { return shape }
    let model = persistentStoreCoordinator.managedObjectModel
    if model.entitiesByName[name] != nil {
      throw ObjectError(
        .unknownEntity, "No store of the coordinator has the entity \(name)",
        suggestion: "Add a store whose configuration has it.")
    }
    throw ObjectError(
      .unknownEntity, "The store's model has no entity \(name)",
      suggestion: "Use one of: \(model.entities.map(\.name).sorted().joined(separator: ", ")).")
  }

  /// The shape of the one entity that a class stands for; of a hierarchy whose entities share the class, the topmost.
  func shape(for type: ManagedObject.Type) throws(ObjectError) -> ObjectShape {
    updatePlans()
    if let shape = stores.shape(for: type) { return shape }
    var seen: Set<String> = []
    _ = try plansForObjects()
    let waiting = try waitingShapes()
    let shapes = (stores.plans.flatMap(\.shapes) + waiting)
      .filter { seen.insert($0.entity.name).inserted }
    var all = shapes.filter { ObjectClasses.represents(type, $0.entity) }
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
    stores.keep(shape, for: type)
    return shape
  }

  /// The request's entity in each of the stores that it asks.
  func shapes<Result>(for request: FetchRequest<Result>) throws(ObjectError) -> [ObjectShape] {
    let name = try shape(of: request).entity.name
    var shapes: [ObjectShape] = []
    for plan in stores.plans {
      guard plan.isAsked(by: request.affectedStores) else { continue }
      if let shape = plan.shape(named: name) { shapes.append(shape) }
    }
    return shapes
  }

  /// The request's entity in the first store that has it.
  func shape<Result>(of request: FetchRequest<Result>) throws(ObjectError) -> ObjectShape {
    guard let type = request.ofClass as? ManagedObject.Type else {
      return try shape(named: request.entityName)
    }
    return try shape(for: type)
  }

  /// The entity in the first of these stores that has it; of all for nil.
  func shape(
    named name: String, in stores: [PersistentStore]?
  ) throws(ObjectError) -> ObjectShape {
    let first = try shape(named: name)
    guard stores != nil else { return first }
    for plan in self.stores.plans where plan.isAsked(by: stores) {
      if let shape = plan.shape(named: name) { return shape }
    }
    throw ObjectError(
      .unknownEntity, "None of the affectedStores is attached and has the entity \(name)",
      suggestion: "Name stores of the context's coordinator whose configurations have it.")
  }

  /// The predicate with the keys that objects have now: it may have been made before they were saved.
  func newest(_ predicate: FetchPredicate?) -> FetchPredicate? {
    guard let predicate, graph.keys.haveChanged else { return predicate }
    return predicate.mapExpressions { expression in
      guard case .constant(.reference(let key)) = expression, key.key < 0,
        var newest = graph.keys.permanentKey(for: key.key)?.key
      else { return expression }
      newest.store = key.store
      return .constant(.reference(newest))
    }
  }

  /// The predicate as it is in one of the stores, where objects of the others are nobody.
  func predicate<Result>(of request: FetchRequest<Result>, in plan: ObjectPlan) -> FetchPredicate? {
    self.predicate(request.predicate, in: plan)
  }

  /// As `predicate(of:in:)`.
  func predicate(_ predicate: FetchPredicate?, in plan: ObjectPlan) -> FetchPredicate? {
    let predicate = newest(predicate)
    guard stores.plans.count > 1 else { return predicate }
    let tag = plan.objects.storeTag
    return predicate?.mapExpressions { expression in
      guard case .constant(.reference(let key)) = expression, key.store != 0, key.store != tag
      else { return expression }
      return .constant(.reference(ObjectKey(entity: 0, key: 0)))
    }
  }

  /// Says in which store a new object is to be saved. Without it that is the first store that has its entity.
  ///
  /// Do it before the object is related to others.
  /// - Throws: ``ObjectError`` for an object that was saved or has relationships, or a store that is not the
  ///   coordinator's or has not its entity.
  public func assign(_ object: ManagedObject, to store: PersistentStore) throws(ObjectError) {
    guard object.isIn(self), object.isInserted, object.key < 0 else {
      throw ObjectError(
        .crossStore, "\(object.description) is not new in this context and stays in its store",
        suggestion: "Insert a new object, assign it, and copy the values.")
    }
    guard let shape = plan(identifier: store.identifier)?.shape(named: object.entity.name) else {
      throw ObjectError(
        .crossStore, "The store \(store.identifier) has no objects of \(object.entity.name)",
        suggestion: "Add the store to the coordinator with a configuration that has the entity.")
    }
    guard shape !== object.shape else { return }
    guard shape.hasSlots(of: object.shape) else {
      throw ObjectError(
        .crossStore, "The store \(store.identifier) has other properties of \(object.entity.name)",
        suggestion: "Open both stores with one model.")
    }
    let isRelated =
      object.shape.toOneSlots.contains { !object.values[$0].isNull }
      || object.collections.contains { $0?.content.isEmpty == false }
    guard !isRelated else {
      throw ObjectError(
        .crossStore, "\(object.description) is related to objects of its store",
        suggestion: "Assign an object before its relationships are set.")
    }
    object.shape = shape
  }
}
