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
    var held: [(number: Int, objects: [ManagedObject])] = []
  }

  /// An object that has a row is known by its key; one with unsaved changes is held.
  enum Place {
    case saved(ObjectKey, ObjectShape)
    case held(ManagedObject)
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
        let known = context.graph.registered(key, in: shape.planIndex)
        guard known.map({ $0 is Object }) ?? (shape.objectClass is Object.Type) else {
          throw fault(place).classMismatch(Object.self)
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
  /// thrown by the context's next save, as those of accessors are; ``object(at:)`` throws it at once.
  public subscript(position: Int) -> Object {
    do {
      return try object(at: position)
    } catch {
      context.graph.deferError { throw error }
      return cast(fault(places[position]))
    }
  }

  /// The object at a place.
  /// - Throws: ``ObjectError`` for a place that there is not, or what kept the page from being read.
  public func object(at position: Int) throws -> Object {
    guard places.indices.contains(position) else {
      throw ObjectError(
        .missingObject, "There is no object at place \(position) of \(places.count)",
        suggestion: "Ask for places from 0 up to the count.")
    }
    let number = position / batchSize
    if let page = pages.held.first(where: { $0.number == number }) {
      return cast(page.objects[position % batchSize])
    }
    let range = (number * batchSize)..<Swift.min((number + 1) * batchSize, places.count)
    let objects = places[range].map(fault)
    try context.readFaults(objects)
    if pages.held.count >= Self.pagesHeld { pages.held.removeFirst() }
    pages.held.append((number, objects))
    return cast(objects[position % batchSize])
  }

  private func fault(_ place: Place) -> ManagedObject {
    switch place {
    case .held(let object): object
    case .saved(let key, let shape):
      context.graph.registered(key, in: shape.planIndex)
        ?? context.graph.register(shape, key: key.key, state: .fault, as: shape.objectClass)
    }
  }

  /// Classes were looked at when the collection was made.
  private func cast(_ object: ManagedObject) -> Object { unsafeDowncast(object, to: Object.self) }
}
