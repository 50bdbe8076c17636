import Driftless
import Foundation
import Testing

/// Places of ordered relationships.
struct OrderPlacesTests {
  private func apply(_ current: [Int64?]) -> (places: [Int64?], changed: Int) {
    let changes = OrderPlaces.changes(current)
    var places = current
    for (index, place) in changes { places[index] = place }
    return (places, changes.count)
  }

  private func isAscending(_ places: [Int64?]) -> Bool {
    places.allSatisfy { $0 != nil }
      && zip(places, places.dropFirst()).allSatisfy { ($0 ?? 0) < ($1 ?? 0) }
  }

  @Test("Any places become ascending ones, and places in order stay as they are")
  func ascending() {
    for count in 0..<40 {
      for _ in 0..<20 {
        let current = (0..<count).map { _ -> Int64? in
          switch Int.random(in: 0..<4) {
          case 0: nil
          case 1: Int64.random(in: -5...5)
          case 2: Int64.random(in: .min ... .max)
          default: Int64.random(in: 0..<100) * OrderPlaces.step
          }
        }
        let once = apply(current)
        #expect(isAscending(once.places), "\(current)")
        #expect(apply(once.places).changed == 0)
      }
    }
  }

  @Test("One object that moves is one change")
  func oneMove() {
    let places = apply(Array(repeating: nil, count: 50)).places
    for from in 0..<50 {
      for to in [0, 17, 49] {
        var moved = places
        moved.insert(moved.remove(at: from), at: to)
        #expect(apply(moved).changed == (from == to ? 0 : 1))
      }
    }
  }

  @Test("Two that are put at one place by themselves end at different places")
  func distinct() {
    let places: [Int64?] = [OrderPlaces.step, nil, OrderPlaces.step * 2]
    let chosen = Set((0..<200).map { _ in apply(places).places[1] })
    #expect(chosen.count > 190)
  }

  @Test(
    "S14 Two runs that are put into one gap by themselves stay runs",
    arguments: [
      [], [OrderPlaces.step], [OrderPlaces.step, OrderPlaces.step * 3],
    ], [2, 20, 300])
  func runs(around: [Int64], count: Int) {
    var apart = 0
    for _ in 0..<100 {
      func run() -> [Int64] {
        var places: [Int64?] = around.map { $0 }
        places.insert(contentsOf: Array(repeating: nil, count: count), at: min(1, around.count))
        let all = apply(places).places.compactMap { $0 }
        return Array(all.dropFirst(min(1, around.count)).prefix(count))
      }
      let (one, other) = (run(), run())
      #expect(isAscending(one.map { $0 }) && one.count == count)
      #expect(Set(one).isDisjoint(with: other))
      if (one.last ?? 0) < (other.first ?? 0) || (other.last ?? 0) < (one.first ?? 0) { apart += 1 }
    }
    // Where a run begins is chance: now and then two overlap.
    #expect(apart >= 90)
  }

  @Test("S14 There is room between the objects of a run")
  func room() {
    var crowded = 0
    for _ in 0..<100 {
      var places = apply(Array(repeating: nil, count: 500)).places
      for _ in 0..<6 {
        places.insert(nil, at: 250)
        let (next, changed) = apply(places)
        #expect(changed == 1 || next.count == changed)
        if changed > 1 { crowded += 1 }
        places = next
      }
    }
    // Where in a gap an object goes is chance: now and then a gap is used up, and all get new places.
    #expect(crowded <= 2)
  }
}
