// For the module that gives the library under Core Data's names, whose members hide those of the same name here.

extension ManagedObjectContext {
  /// Called, on any thread, when there is news to be taken over by ``processPendingChanges()`` and was none.
  package func setBell(_ bell: @escaping @Sendable () -> Void) { inbox.setBell(bell) }

  /// What a new object of a class is made with: of the entity, or of the one that the class stands for.
  package func birth(
    of type: ManagedObject.Type, entity: EntityDescription? = nil
  ) throws(ObjectError) -> ObjectBirth {
    let shape: ObjectShape
    if let entity {
      shape = try self.shape(named: entity.name)
    } else {
      shape = try self.shape(for: type)
    }
    guard !shape.isAbstract else {
      throw ObjectError(
        .unknownEntity, "\(shape.entity.name) is abstract and has no objects",
        suggestion: "Make an object of one of its subentities.")
    }
    guard shape.takes(type) else {
      throw ObjectError(
        .unknownEntity,
        "Objects of \(shape.entity.name) are of the class \(shape.objectClass), not of \(type)",
        suggestion: "Make the object of that class, or name this one in the entity.")
    }
    return graph.birth(of: shape)
  }

  /// Keeps what could not be thrown where it was met, so that the next save throws it.
  package func deferError(_ body: () throws -> Void) { graph.deferError(body) }

  /// Takes in an object that was just made here.
  package func welcome(_ object: ManagedObject) { take(object) }

  /// The attribute or relationship that a key path of a class reads.
  package func propertyName(
    of keyPath: AnyKeyPath, in type: ManagedObject.Type, _ read: (ManagedObject) -> Any?
  ) throws(FetchError) -> String {
    let probe = PropertyProbe(persistentStoreCoordinator)
    switch try probe.meaning(of: keyPath, in: type, read) {
    case .object: return "SELF"
    case .property(let name): return name
    }
  }
}

extension ManagedObject {
  /// The entity that the class stands for: ``entity()``.
  package class func knownEntity() throws(ObjectError) -> EntityDescription { try entity() }

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
