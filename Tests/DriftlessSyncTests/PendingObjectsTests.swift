import Driftless
import DriftlessTesting
import Testing

@testable import DriftlessSync

/// What is pending, kept in runs, is what a dictionary of all of it would be.
struct PendingObjectsTests {
  private static func state(_ transaction: Int64, _ slots: [Int] = [0, 1]) -> PendingObject {
    var object = PendingObject()
    object.record(.insert, by: transaction, all: PropertyMask(slots))
    return object
  }

  private func expect(
    _ objects: PendingObjects, are expected: [ObjectKey: PendingObject],
    _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(objects.count == expected.count, sourceLocation: location)
    #expect(objects.isEmpty == expected.isEmpty, sourceLocation: location)
    var found: [ObjectKey: PendingObject] = [:]
    for (key, object) in objects {
      #expect(found.updateValue(object, forKey: key) == nil, sourceLocation: location)
    }
    #expect(found == expected, sourceLocation: location)
    var keys: [ObjectKey] = []
    objects.forEachInOrder { key, object in
      keys.append(key)
      #expect(expected[key] == object, sourceLocation: location)
    }
    let sorted = expected.keys.sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
    #expect(keys == sorted, sourceLocation: location)
    var counts: [PendingObject: Int] = [:]
    objects.forEachState { counts[$1, default: 0] += $2 }
    #expect(
      counts == Dictionary(grouping: expected.values, by: { $0 }).mapValues(\.count),
      sourceLocation: location)
  }

  @Test(
    "Whatever is set, changed and forgotten, in whatever order",
    arguments: 1...40 as ClosedRange<UInt64>)
  func anything(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var objects = PendingObjects()
    var expected: [ObjectKey: PendingObject] = [:]
    for step in 0..<300 {
      let key = ObjectKey(
        entity: Int32.random(in: 1...2, using: &random),
        key: Int64.random(in: 1...24, using: &random))
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<10:
        let object = Self.state(Int64.random(in: 1...3, using: &random))
        objects[key] = object
        expected[key] = object
      case 10..<13:
        objects[key] = nil
        expected[key] = nil
      case 13..<16:
        // A run, as an import makes one.
        for number in key.key..<key.key + 6 {
          let next = ObjectKey(entity: key.entity, key: number)
          objects[next] = Self.state(Int64(step))
          expected[next] = Self.state(Int64(step))
        }
      case 16..<18:
        let kept = Set(expected.keys.filter { $0.key % 5 == 0 })
        let through = Int64(step / 2)
        objects.changeStates(except: kept) { $1.acknowledge(through: through) }
        for (key, var object) in expected where !kept.contains(key) {
          object.acknowledge(through: through)
          expected[key] = object.isEmpty ? nil : object
        }
      default:
        #expect(objects[key] == expected[key])
        let isNew = expected.values.contains { $0.wholeTransaction == 2 }
        #expect(objects.containsState { $0.wholeTransaction == 2 } == isNew)
      }
    }
    expect(objects, are: expected)
  }

  @Test("A part of a run that is acknowledged apart stays known by its keys")
  func partOfRun() {
    var objects = PendingObjects()
    for key in 1...10 as ClosedRange<Int64> {
      objects[ObjectKey(entity: 1, key: key)] = Self.state(1)
    }
    let kept = ObjectKey(entity: 1, key: 4)
    objects.changeStates(except: [kept]) { $1.acknowledge(through: 1) }
    expect(objects, are: [kept: Self.state(1)])
    // Keys that a run held once can be pending again.
    objects[ObjectKey(entity: 1, key: 3)] = Self.state(2)
    objects[ObjectKey(entity: 1, key: 5)] = Self.state(2)
    expect(
      objects,
      are: [
        kept: Self.state(1), ObjectKey(entity: 1, key: 3): Self.state(2),
        ObjectKey(entity: 1, key: 5): Self.state(2),
      ])
  }

  @Test("What a push takes is what is pending up to there, without what it leaves out")
  func taken() {
    func edited(_ edits: (Int64, Int)...) -> PendingObject {
      var object = PendingObject()
      for (transaction, slot) in edits { object.set(PropertyMask([slot]), by: transaction) }
      return object
    }
    func key(_ number: Int64) -> ObjectKey { ObjectKey(entity: 1, key: number) }
    var pending = PendingSet(through: 9)
    pending.objects[key(1)] = Self.state(1)
    pending.objects[key(2)] = Self.state(5)
    pending.objects[key(3)] = edited((1, 0), (5, 1))
    pending.objects[key(4)] = Self.state(1)
    pending.objects[key(5)] = edited((1, 0), (2, 1))
    var omitted = OmittedParts()
    omitted.objects = [key(4)]
    omitted.properties = [key(5): PropertyMask([0])]
    expect(
      pending.taken(through: 4, omitting: omitted).objects,
      are: [key(1): Self.state(1), key(3): edited((1, 0)), key(5): edited((2, 1))])
  }

  @Test("The last key that there is is one like any other")
  func lastKey() {
    let keys = [Int64.max - 2, .max - 1, .max].map { ObjectKey(entity: 1, key: $0) }
    var objects = PendingObjects()
    var expected: [ObjectKey: PendingObject] = [:]
    for key in keys {
      objects[key] = Self.state(1)
      expected[key] = Self.state(1)
    }
    expect(objects, are: expected)
    objects[keys[2]] = nil
    expected[keys[2]] = nil
    expect(objects, are: expected)
    var places = NewPlaces(keys) { $0.entity }
    for (place, key) in keys.enumerated() {
      #expect(places.place(root: 1, key: key.key) == Int32(place))
    }
    #expect(places.keyRuns.map(\.count) == [3])
  }

  @Test("New objects have the places that they have one after the other, whatever their runs")
  func places() {
    let keys = [(2, 5), (2, 6), (2, 7), (3, 1), (3, 2), (2, 1), (4, 9), (2, 8)].map {
      ObjectKey(entity: $0.0, key: $0.1)
    }
    // Entities 2 and 4 are of one hierarchy.
    var places = NewPlaces(keys) { $0.entity == 4 ? 2 : $0.entity }
    for (place, key) in keys.enumerated() {
      #expect(places.place(root: key.entity == 4 ? 2 : key.entity, key: key.key) == Int32(place))
    }
    #expect(places.place(root: 2, key: 4) == nil)
    #expect(places.place(root: 3, key: 9) == nil)
    #expect(places.place(root: 5, key: 1) == nil)
    #expect(places.count == keys.count)
    #expect(places.keyRuns.map(\.count) == [3, 2, 1, 1, 1])
  }
}
