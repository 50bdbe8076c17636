import DriftlessServer
import Testing

/// Turns are counted, and no time: how long one takes is the disk's.
struct ZoneTurnsTests {
  private static let most = (count: 64, cost: 32_000)

  /// In which turn each element comes, from 1 on.
  private static func turns(
    _ turns: inout ZoneTurns<String>, isAlone: (String) -> Bool = { _ in false }
  ) -> [[String]] {
    var groups: [[String]] = []
    while true {
      let group = turns.next(most: most, isAlone: isAlone)
      if group.isEmpty { return groups }
      groups.append(group)
    }
  }

  @Test("What is small goes with the next turn, however much another zone has waiting")
  func smallBesideMuch() {
    var turns = ZoneTurns<String>(credit: 1_000)
    for index in 0..<500 { turns.add("large \(index)", of: 1, cost: 900) }
    turns.add("small", of: 2, cost: 10)
    let groups = Self.turns(&turns)
    #expect(groups[0].contains("small") && groups[0].count == 2)
    // The other zone lost nothing of it but the turn, and its order is as it was.
    let large = groups.joined().filter { $0 != "small" }
    #expect(large == (0..<500).map { "large \($0)" } && turns.count == 0)
  }

  @Test(
    "What costs more than a turn comes after some of them, while small ones of another zone go on coming"
  )
  func nobodyStarves() {
    var turns = ZoneTurns<String>(credit: 1_000)
    turns.add("huge", of: 1, cost: 5_500)
    var seen = 0
    for round in 0..<100 {
      turns.add("small \(round)", of: 2, cost: 10)
      let group = turns.next(most: Self.most) { _ in false }
      #expect(group.contains("small \(round)") || round > 5, "round \(round)")
      if group.contains("huge") { seen = round }
    }
    #expect(seen == 5)
  }

  @Test("A zone for itself waits for nobody, in groups of what a turn allows")
  func alone() {
    var turns = ZoneTurns<String>(credit: 1_000)
    turns.add("huge", of: 1, cost: 100_000)
    for index in 0..<10 { turns.add("\(index)", of: 1, cost: 300) }
    #expect(Self.turns(&turns).map(\.count) == [1, 3, 3, 4])
  }

  @Test("A line that never empties saves no credit up")
  func endless() {
    var turns = ZoneTurns<String>(credit: Int.max / 4)
    for _ in 0..<20 {
      for _ in 0..<100 { turns.add("one", of: 1, cost: 1_000) }
      #expect(turns.next(most: Self.most) { _ in false }.count == 32)
    }
  }

  @Test("What is done by itself shares no group, and comes in its zone's order")
  func byItself() {
    var turns = ZoneTurns<String>(credit: 1_000)
    for (element, zone) in [("a", 1), ("b", 2), ("in parts", 1), ("c", 1), ("d", 2)] {
      turns.add(element, of: Int64(zone), cost: 1)
    }
    let groups = Self.turns(&turns) { $0 == "in parts" }
    #expect(groups.contains(["in parts"]))
    let order = Array(groups.joined())
    #expect(order.filter { ["a", "in parts", "c"].contains($0) } == ["a", "in parts", "c"])
    #expect(order.filter { ["b", "d"].contains($0) } == ["b", "d"])
  }

  @Test("A group has no more elements than it may, and the rest come next", arguments: [1, 2, 7])
  func bounds(zones: Int) {
    var turns = ZoneTurns<Int>(credit: 1_000)
    for index in 0..<300 { turns.add(index, of: Int64(index % zones), cost: 1) }
    var all: [Int] = []
    while true {
      let group = turns.next(most: (64, 10)) { _ in false }
      if group.isEmpty { break }
      #expect(group.count <= 10)
      all += group
    }
    #expect(all.sorted() == Array(0..<300))
    for zone in 0..<zones {
      let own = all.filter { $0 % zones == zone }
      #expect(own == own.sorted())
    }
  }
}
