import Driftless
import DriftlessProtocol

/// The zone's sequence of an ordered set: who is deleted stands in it where it would come back.
///
/// It follows from the log's rows by one rule (`ElementSequence`), here as where a log is added up, so that who joins by a
/// snapshot has the same as who read the log. That an element is deleted or comes back changes nothing in it.
extension PageApplier {
  /// A set as the zone has it, by root entities.
  func zoneSequence(
    of source: DanglingReferences.Source, _ property: SyncSchema.Property
  ) throws -> [ObjectKey] {
    let said = try zone.object(source.key)
    if let value = said.values[property.name] { return value.elements.map(rooted) }
    // Of an object that it has anew since, it had nothing.
    return said.mark?.life == .inserted ? [] : try settledSequence(of: source, property)
  }

  /// A set as the zone had it before what waits to be settled, by root entities.
  func settledSequence(
    of source: DanglingReferences.Source, _ property: SyncSchema.Property
  ) throws -> [ObjectKey] {
    guard case .elements(let relationship) = property.kind else { return [] }
    let elements =
      try BaseValues.keys(of: source.key, property.name, on: transaction.connection)
      ?? transaction.toManyKeys(of: source.key, relationship)
    let dead = try dangling.places(in: source)
    guard !dead.isEmpty else { return elements.map(rooted) }
    let gone = Set(dead.map(\.element))
    var sequence = elements.map(rooted).filter { !gone.contains($0) }
    for (place, element) in dead { sequence.insert(element, at: min(place, sequence.count)) }
    return sequence
  }

  /// An ordered set after a row; nil where no element of it is deleted.
  ///
  /// - Parameter isWhole: the row says the whole set.
  func sequence(
    adding adds: [Int], removing removes: [Int], to source: DanglingReferences.Source,
    _ relationship: RelationshipDescription, isWhole: Bool, _ frame: inout FrameContext
  ) throws -> [ObjectKey]? {
    guard relationship.isOrdered,
      let property = schema.entity(numbered: source.key.entity)?.property(named: source.property)
    else { return nil }
    let hadDead = try !isWhole && !dangling.targets(of: source).isEmpty
    guard try hadDead || adds.contains(where: { try life(of: $0, in: &frame)?.life == .dead })
    else { return nil }
    return ElementSequence.after(
      isWhole ? [] : try zoneSequence(of: source, property),
      adding: try rooted(admitted(adds, relationship, &frame), &frame),
      removing: try rooted(removes, &frame))
  }

  /// Notes where in a sequence its deleted elements are.
  func note(_ sequence: [ObjectKey], of source: DanglingReferences.Source) throws {
    guard !sequence.isEmpty else { return }
    let dead = Set(try dangling.targets(of: source))
    guard !dead.isEmpty else { return }
    for (place, element) in sequence.enumerated() where dead.contains(element) {
      try dangling.note(place: place, of: element, in: source)
    }
  }

  /// Notes what is deleted of a set that the zone has: it comes back into it.
  func noteDead(
    among elements: [ObjectKey], of source: DanglingReferences.Source,
    _ relationship: RelationshipDescription
  ) throws {
    let known = Set(try dangling.targets(of: source))
    var deletedHere: Set<ObjectKey>?
    for element in elements.map(rooted)
    where try !known.contains(element) && transaction.concreteKey(root: element) == nil {
      let own =
        deletedHere
        ?? Set(
          pending.objects.lazy.filter { $0.value.whole == .delete }.map { self.rooted($0.key) })
      deletedHere = own
      // What left the set with a delete that is pending here is in its base.
      guard !own.contains(element) else { continue }
      try dangling.add(source, root: element.entity, target: element.key)
    }
    if relationship.isOrdered { try note(elements.map(rooted), of: source) }
  }
}

extension [ObjectKey] {
  /// The keys in the order of a sequence of root entities' keys; what is not in that comes last.
  func inSequence(_ sequence: [ObjectKey], by rooted: (ObjectKey) -> ObjectKey) -> [ObjectKey] {
    let places = sequence.map(rooted).places
    return enumerated().map { (places[rooted($1)] ?? .max, $0, $1) }
      .sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
  }
}
