// What an object knows of its context.

extension ManagedObject {
  /// Makes a new object of the entity that the class stands for, in the context.
  /// - Throws: ``ObjectError`` when that is not one entity of the model, or it is abstract.
  public convenience init(context: ManagedObjectContext) throws(ObjectError) {
    let shape = try context.shape(for: Self.self)
    guard !shape.entity.isAbstract else {
      throw ObjectError(
        .unknownEntity, "\(shape.entity.name) is abstract and has no objects",
        suggestion: "Make an object of one of its subentities.")
    }
    self.init(context.graph.birth(of: shape))
    context.take(self)
  }

  /// nil once the object is gone from its context.
  public final var managedObjectContext: ManagedObjectContext? {
    graph?.source as? ManagedObjectContext
  }

  @inline(__always)
  final func isIn(_ context: ManagedObjectContext) -> Bool { isIn(context.graph) }
}
