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

  /// Makes a new object of an entity, in the context or, for nil, in none: of the class that the entity names, and of an
  /// entity without one a plain ``ManagedObject``.
  ///
  /// An object in no context has its attributes and no relationships, until ``ManagedObjectContext/insert(_:)`` takes it in.
  ///
  /// ```swift
  /// let book = try Book(entity: model.entitiesByName["Book"]!, insertInto: context)
  /// ```
  /// - Throws: ``ObjectError`` when the context's stores do not have the entity, it is of no model, it is abstract, or its
  ///   objects are of another class than this.
  @_disfavoredOverload
  public convenience init(
    entity: EntityDescription, insertInto context: ManagedObjectContext?
  ) throws(ObjectError) {
    let shape =
      if let context { try context.shape(named: entity.name) } else {
        try ObjectShape(outside: entity)
      }
    try shape.check(makes: Self.self)
    guard let context else {
      let graph = ObjectGraph(
        number: ManagedObjectContext.nextNumber(), isCallersOwn: true)
      self.init(graph.birth(of: shape))
      detach()
      return
    }
    self.init(context.graph.birth(of: shape))
    context.take(self)
  }

  /// The entity that the class stands for, in the models of the process: in the latest one that has such an entity.
  /// - Throws: ``ObjectError`` when there is none, or that model has several.
  @_disfavoredOverload
  public class func entity() throws(ObjectError) -> EntityDescription {
    var count = 0
    for model in FrozenModels.all.reversed() {
      let all = model.entities.filter { ObjectClasses.represents(self, $0) }
      let exact = all.filter { ObjectClasses.isWholeName(of: self, $0) }
      let candidates = exact.isEmpty ? all : exact
      let topmost = candidates.filter { entity in
        !candidates.contains { $0 !== entity && entity.isKindOf(entity: $0) }
      }
      if topmost.count == 1 { return topmost[0] }
      count = topmost.count
      if count > 1 { break }
    }
    throw ObjectError(
      .unknownEntity, "The class \(self) stands for \(count) entities of the models in use",
      suggestion: "Name the class in one entity of the model, or use the entity's name.")
  }

  /// A request for the objects of the entity that the class stands for.
  /// - Throws: as ``entity()``.
  @_disfavoredOverload
  public class func fetchRequest() throws(ObjectError) -> FetchRequest<ManagedObject> {
    FetchRequest(entityName: try entity().name)
  }

  /// nil once the object is gone from its context.
  @_disfavoredOverload
  public final var managedObjectContext: ManagedObjectContext? {
    graph?.source as? ManagedObjectContext
  }

  @inline(__always)
  final func isIn(_ context: ManagedObjectContext) -> Bool { isIn(context.graph) }
}
