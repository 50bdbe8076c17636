/// What an object in no context keeps until one takes it in: what its accessors could not do, and what its relationships are
/// to hold.
final class LooseParts {
  private(set) var errors: [any Error] = []
  /// By slot, in their order; one at most of a to-one relationship.
  private(set) var ends: [Int: [ManagedObject]] = [:]
  /// As many as a context keeps.
  private static let errorsMax = ObjectGraph.accessorErrorsMax

  func note(_ error: any Error) {
    if errors.count < Self.errorsMax { errors.append(error) }
  }

  /// Throws the first error that `body` meets; those that wait go on waiting.
  func throwingErrors<Result>(of body: () throws -> Result) throws -> Result {
    let waiting = errors
    errors = []
    defer { errors = waiting }
    let result = try body()
    if let error = errors.first { throw error }
    return result
  }

  func set(_ objects: [ManagedObject], at slot: Int) {
    ends[slot] = objects.isEmpty ? nil : objects
  }
}

// Relationships of an object in no context are what was set, at the one end where it was: the other ends follow when a
// context takes the objects in.
extension ManagedObject {
  /// What an object in no context was given for a relationship.
  final func looseEnds(_ slot: Int) -> [ManagedObject] { looseParts?.ends[slot] ?? [] }

  final func setLooseEnds(
    _ objects: [ManagedObject], of relation: Relation
  ) throws(ObjectError) {
    for object in objects where !object.isNamed(relation.destination) {
      throw wrongEntity(of: object, in: relation)
    }
    var seen: Set<ObjectIdentifier> = []
    let distinct = objects.filter { seen.insert(ObjectIdentifier($0)).inserted }
    keptParts.set(distinct, at: relation.slot)
  }

  /// Whether it is of an entity of that name or of one beneath it: the models may be two copies.
  private final func isNamed(_ other: EntityDescription) -> Bool {
    sequence(first: entity) { $0.superentity }.contains { $0.name == other.name }
  }

  /// What is there, or made now to be kept.
  final var keptParts: LooseParts {
    if let looseParts { return looseParts }
    let parts = LooseParts()
    looseParts = parts
    return parts
  }

  /// The objects in no context that are reached from it and come with it.
  final var looseNeighbours: [ManagedObject] {
    guard let ends = looseParts?.ends else { return [] }
    return ends.keys.sorted().flatMap { ends[$0] ?? [] }.filter(\.isLoose)
  }

  /// Just taken in by a graph, it hands that its errors, and its relationships get what was kept for them.
  final func settle(in graph: ObjectGraph) {
    guard let parts = looseParts else { return }
    looseParts = nil
    for error in parts.errors { graph.deferError { throw error } }
    for slot in parts.ends.keys.sorted() {
      guard let relation = shape.relations[slot], let objects = parts.ends[slot] else { continue }
      guard relation.isToMany else {
        graph.deferError { try setDestination(objects.first, of: relation) }
        continue
      }
      // What came from the other ends stays.
      for object in objects { graph.deferError { try addDestination(object, to: relation) } }
      let isAll = destinations(slot).count == objects.count
      if relation.isOrdered, isAll, objects.allSatisfy({ contains($0, in: slot) }) {
        arrange(objects, at: slot)
      }
    }
  }
}
