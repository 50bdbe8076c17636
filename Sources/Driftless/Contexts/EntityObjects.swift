extension EntityDescription {
  /// The entity of a context's model by name; nil when the model has none of that name.
  public static func entity(
    forEntityName name: String, in context: ManagedObjectContext
  ) -> EntityDescription? {
    context.persistentStoreCoordinator.managedObjectModel.entitiesByName[name]
  }

  /// A new object of an entity, of the entity's class. The context's thread only.
  ///
  /// - Throws: ``ObjectError`` for an unknown name, an abstract entity, or a context without a
  ///   store.
  public static func insertNewObject(
    forEntityName name: String, into context: ManagedObjectContext
  ) throws -> ManagedObject {
    try context.insert(entityNamed: name)
  }
}

extension EntityDescription: Sequence {
  /// Enumerates the properties, inherited ones first.
  public func makeIterator() -> IndexingIterator<[PropertyDescription]> {
    properties.makeIterator()
  }
}
