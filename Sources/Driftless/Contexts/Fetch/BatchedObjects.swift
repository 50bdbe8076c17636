/// The objects of a fetch, read page by page as they are looked at.
///
/// Only keys are in memory from the start, and the objects of the pages used last; so the result of a fetch of a
/// million objects can be walked in little memory. What stands where is fixed when it is made.
///
/// It belongs to its context and is used where the context is.
public struct BatchedObjects<Object: ManagedObject>: RandomAccessCollection {
  /// Pages whose objects are held.
  private static var pagesHeld: Int { 4 }

  private final class Pages {
    /// No object where another one has the key by now.
    var held: [(number: Int, objects: [Object?])] = []
  }

  /// An object that has a row is known by its key; one with unsaved changes is held.
  enum Place {
    case saved(ObjectKey, ObjectShape)
    case held(ManagedObject)

    /// Whether it is the object's place still: a row that was read may say that it is another entity's now, whose object took
    /// the fault's place in the context.
    fileprivate func isOf(_ object: Object?, in context: ManagedObjectContext) -> Bool {
      if case .saved = self { object?.isIn(context) ?? false } else { true }
    }
  }

  private let context: ManagedObjectContext
  private let places: [Place]
  private let pages = Pages()
  /// How many objects a query reads.
  public let batchSize: Int

  /// - Throws: ``ObjectError`` for an object whose class is not `Object`.
  init(_ context: ManagedObjectContext, places: [Place], batchSize: Int) throws(ObjectError) {
    self.context = context
    self.places = places
    self.batchSize = batchSize
    for place in places {
      switch place {
      case .held(let object):
        guard object is Object else { throw object.classMismatch(Object.self) }
      case .saved(let key, let shape):
        // What the store, or the parent, said just now.
        let known = try context.graph.keeping(
          context.graph.registered(key, in: shape.planIndex), as: shape)
        guard known.map({ $0 is Object }) ?? (shape.objectClass is Object.Type) else {
          throw known?.classMismatch(Object.self) ?? shape.classMismatch(Object.self)
        }
      }
    }
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { places.count }

  /// The IDs of all, which are at hand without reading.
  public var objectIDs: [ManagedObjectID] {
    places.compactMap { place in
      switch place {
      case .held(let object): object.objectID
      case .saved(let key, let shape): context.graph.objectID(for: key, in: shape.planIndex)
      }
    }
  }

  /// The object at a place. One that was deleted since the fetch is a fault without values. An error of the read is
  /// thrown by the context's next save, as those of accessors are, and what is returned is a fault in no context;
  /// ``object(at:)`` throws it at once.
  public subscript(position: Int) -> Object {
    do {
      return try object(at: position)
    } catch {
      context.graph.deferError { throw error }
      return standIn(for: places[position])
    }
  }

  /// The object at a place.
  /// - Throws: ``ObjectError`` for a place that there is not, or one whose object became one of another entity since the
  ///   fetch, or what kept the page from being read.
  public func object(at position: Int) throws -> Object {
    guard places.indices.contains(position) else {
      throw ObjectError(
        .missingObject, "There is no object at place \(position) of \(places.count)",
        suggestion: "Ask for places from 0 up to the count.")
    }
    let number = position / batchSize
    let place = position % batchSize
    let objects: [Object?]
    if let page = pages.held.first(where: { $0.number == number }) {
      objects = page.objects
    } else {
      let range = (number * batchSize)..<Swift.min((number + 1) * batchSize, places.count)
      let faults = places[range].map(fault)
      try context.readFaults(faults.compactMap { $0 })
      objects = zip(places[range], faults).map { $0.isOf($1, in: context) ? $1 : nil }
      if pages.held.count >= Self.pagesHeld { pages.held.removeFirst() }
      pages.held.append((number, objects))
    }
    guard let object = objects[place] else { throw replaced(places[position]) }
    return object
  }

  /// The object of a place, made as a fault where it is not here; nil where the object of the key is one of another shape
  /// by now.
  private func fault(_ place: Place) -> Object? {
    switch place {
    case .held(let object): return object as? Object
    case .saved(let key, let shape):
      let known = context.graph.registered(key, in: shape.planIndex)
      guard let known else {
        return context.graph.register(shape, key: key.key, state: .fault, as: shape.classToMake)
          as? Object
      }
      return known.shape === shape ? known as? Object : nil
    }
  }

  private func replaced(_ place: Place) -> ObjectError {
    switch place {
    case .held(let object): return object.classMismatch(Object.self)
    case .saved(let key, let shape):
      let now = context.graph.registered(key, in: shape.planIndex)?.entity.name
      return ObjectError(
        .missingObject,
        "\(shape.entity.name) p\(key.key) became \(now.map { "one of \($0)" } ?? "another") "
          + "since the fetch",
        suggestion: "Fetch again.")
    }
  }

  /// A fault in no context, of the class of the place's objects.
  private func standIn(for place: Place) -> Object {
    let (key, shape) =
      switch place {
      case .held(let object): (object.key, object.shape)
      case .saved(let key, let shape): (key.key, shape)
      }
    let type = shape.classToMake as? Object.Type ?? Object.self
    let object = type.init(
      ObjectBirth(shape: shape, graph: context.graph, key: key, state: .fault))
    object.detach()
    return object
  }
}
