// For the module that gives the library under Core Data's names, whose members hide those of the same name here.

extension ManagedObjectContext {
  /// Called, on any thread, when there is news to be taken over by ``processPendingChanges()`` and was none.
  package func setBell(
    where isNear: @escaping @Sendable () -> Bool, _ bell: @escaping @Sendable () -> Void
  ) {
    inbox.setBell(where: isNear, bell)
  }

  /// What a new object of a class is made with: of the entity, or of the one that the class stands for.
  package func birth(
    of type: ManagedObject.Type, entity: EntityDescription? = nil
  ) throws(ObjectError) -> ObjectBirth {
    let shape: ObjectShape
    if let entity {
      shape = try shapeOfNew(named: entity.name)
    } else {
      shape = try shapeOfNew(for: type)
    }
    try shape.check(makes: type)
    return graph.birth(of: shape)
  }

  /// The class of an entity's objects.
  package func objectClass(
    of entity: EntityDescription
  ) throws(ObjectError) -> ManagedObject.Type { try shapeOfNew(named: entity.name).objectClass }

  /// The class of the objects of an entity that no store has.
  package static func objectClass(
    outside entity: EntityDescription
  ) throws(ObjectError) -> ManagedObject.Type { try ObjectShape(outside: entity).objectClass }

  /// What an object in no context is made with, which is to be kept until the object is ``becomeLoose()``.
  package static func looseBirth(
    of type: ManagedObject.Type, entity: EntityDescription
  ) throws(ObjectError) -> ObjectBirth {
    let shape = try ObjectShape(outside: entity)
    try shape.check(makes: type)
    return ObjectGraph(number: nextNumber(), isCallersOwn: true).birth(of: shape)
  }

  /// Gives up a new object, which is a fault in no context then. Undoing brings it back.
  package func giveUp(_ object: ManagedObject) {
    graph.ledger.noteInEvent(object)
    object.state.note(.deletedInEvent)
    registerBringingBack(object)
    vanish(object)
    object.state.becomeForeignFault()
  }

  /// Whether an object holds the members of its to-many relationships once they were read, until it is a fault, as in Core Data.
  /// Two that hold each other stay until one is made a fault or the context is reset or goes.
  package var holdsMembers: Bool {
    get { graph.holdsMembers }
    set { graph.holdsMembers = newValue }
  }

  /// Whether objects of a fetch with ``FetchRequest/returnsObjectsAsFaults`` are faults until one of their values is asked for,
  /// which costs no read, as in Core Data. `awakeFromFetch()` is called then.
  package var givesFaults: Bool {
    get { graph.givesFaults }
    set { graph.givesFaults = newValue }
  }

  /// Keeps what could not be thrown where it was met, so that the next save throws it.
  package func deferError(_ body: () throws -> Void) { graph.deferError(body) }

  /// The object of the ID as a fault, also of a temporary ID that no object here has: such a fault has no row.
  package func fault(of id: ManagedObjectID) -> ManagedObject? {
    if let object = object(with: id) { return object }
    guard id.isTemporaryID, let shape = try? shape(named: id.entity.name) else { return nil }
    return graph.register(shape, key: id.key.key, state: .fault, as: shape.classToMake)
  }

  /// The ID of the object of a key which another object refers to.
  package func objectID(
    of key: ObjectKey, beside owner: ManagedObjectID
  ) -> ManagedObjectID? {
    let known = registeredObject(for: owner)?.shape.planIndex
    let index = known ?? plan(identifier: owner.storeIdentifier)?.index
    return index.flatMap { graph.objectID(for: key, in: $0) }
  }

  /// Takes in an object that was just made here.
  package func welcome(_ object: ManagedObject) { take(object) }

  /// The attribute or relationship that a key path of a class reads.
  package func propertyName(
    of keyPath: AnyKeyPath, in type: ManagedObject.Type, _ read: (ManagedObject) -> Any?
  ) throws(FetchError) -> String {
    try PropertyProbe(persistentStoreCoordinator).name(of: keyPath, in: type, read)
  }
}

extension PropertyProbe {
  /// The name of what a key path reads, or the names that it leads through.
  fileprivate func name(
    of keyPath: AnyKeyPath, in type: ManagedObject.Type, _ read: (ManagedObject) -> Any?
  ) throws(FetchError) -> String {
    if let path = try path(of: keyPath, in: type, read) { return path.joined(separator: ".") }
    switch try meaning(of: keyPath, in: type, read) {
    case .object: return "SELF"
    case .property(let name): return name
    }
  }
}

extension ManagedObject {
  /// The entity that the class stands for: ``entity()``.
  package class func knownEntity() throws(ObjectError) -> EntityDescription { try entity() }

  /// The name of the property that a key path of the class reads, by the model that the class's entity is of.
  package class func knownPropertyName(
    of keyPath: AnyKeyPath, _ read: (ManagedObject) -> Any?
  ) throws(FetchError) -> String {
    let model: ManagedObjectModel?
    do throws(ObjectError) { model = try entity().knownModel } catch {
      throw FetchError(.unknownKey, error.message, suggestion: error.suggestion)
    }
    let probe = PropertyProbe(
      PersistentStoreCoordinator(managedObjectModel: model ?? ManagedObjectModel()))
    return try probe.name(of: keyPath, in: self, read)
  }

  /// Is in no context, after it was made for none.
  package final func becomeLoose() { detach() }

  /// ``managedObjectContext``.
  package final var knownContext: ManagedObjectContext? { managedObjectContext }
}

extension PersistentStoreCoordinator {
  /// ``remove(_:)``.
  package func detach(_ store: PersistentStore) { remove(store) }

}

extension FetchedPropertyDescription {
  /// ``fetchRequest``.
  package var knownRequest: FetchRequest<ManagedObject>? {
    get { fetchRequest }
    set { fetchRequest = newValue }
  }
}
