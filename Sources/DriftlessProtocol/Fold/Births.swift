package import Foundation

/// How the objects of a part of a snapshot came into the zone, by their numbers.
package struct Births {
  /// Runs of numbers, and the places of the first ones among all.
  private let numbers: [(run: SegmentPlaces.Run, place: Int)]
  /// The runs of new objects of the part's first change set, and the places of the first ones among all.
  private let objects: [(run: ChangeSetIndex.NewObjects, place: Int)]
  private let entities: [ChangeSetIndex.Entity]

  init(_ numbers: [SegmentPlaces.Run], _ index: ChangeSetIndex) {
    var place = 0
    self.numbers = numbers.map { run in
      defer { place += Int(clamping: run.count) }
      return (run, place)
    }
    place = 0
    objects = index.newObjects.map { run in
      defer { place += run.count }
      return (run, place)
    }
    entities = index.entities
  }

  /// The place of an object among the new ones of the first change set; nil where it is none of them.
  package func place(of number: UInt64) -> Int? {
    guard let (run, place) = numbers.lastHolding({ $0.run.first <= number }),
      number - run.first < run.count
    else { return nil }
    return place + Int(number - run.first)
  }

  /// The run of new objects that has a place, and the place within it.
  package func object(at place: Int) -> (run: ChangeSetIndex.NewObjects, offset: Int)? {
    guard let (run, first) = objects.lastHolding({ $0.place <= place }), place - first < run.count
    else { return nil }
    return (run, place - first)
  }

  /// Under which entity, and with which identity, an object came into the zone.
  ///
  /// - Throws: `ProtocolError` for a number that the part does not have.
  package func birth(of number: UInt64) throws(ProtocolError) -> (entity: String, identity: UUID) {
    guard let place = place(of: number), let (run, offset) = object(at: place) else {
      throw .malformed("The part does not have object \(number)")
    }
    return (entities[run.entity].name, run.identities[offset])
  }
}
