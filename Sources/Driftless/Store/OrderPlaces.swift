/// Places of an ordered relationship's objects: integers with room between them, so that an object
/// that moves gets a new place and the others keep theirs.
///
/// Replicas give places without asking each other. So a new place is chosen at random within its
/// gap: two objects that two replicas put between the same two others end with different places,
/// and their order is the same everywhere. Objects that are put there together stay together.
package enum OrderPlaces {
  /// The distance of objects that are added at an end. An Int64 holds some four million of them.
  package static let step: Int64 = 1 << 40
  /// A smaller gap is no room to choose in: then all get new places.
  static let leastGap: Int64 = 1 << 20

  /// The places to write, by index, for objects that are to be in this order.
  ///
  /// - Parameter current: their places so far; nil for those that are new.
  package static func changes(
    _ current: [Int64?], random: (Range<Int64>) -> Int64 = { Int64.random(in: $0) }
  ) -> [Int: Int64] {
    let kept = longestAscent(current)
    var changes: [Int: Int64] = [:]
    var before: Int64?
    var start = 0
    for end in kept + [current.count] {
      let after = end < current.count ? current[end] : nil
      let count = Int64(end - start)
      if count > 0 {
        guard let places = places(count, between: before, and: after, random: random) else {
          return renumbered(current)
        }
        for (offset, place) in places.enumerated() { changes[start + offset] = place }
      }
      before = after
      start = end + 1
    }
    assert(
      Self.ascend(current.indices.map { changes[$0] ?? current[$0] }), "places are in their order")
    return changes
  }

  private static func ascend(_ places: [Int64?]) -> Bool {
    zip(places, places.dropFirst()).allSatisfy { ($0 ?? .max) < ($1 ?? .min) }
  }

  /// Ascending places in a gap; nil when it has no room.
  ///
  /// The first takes a random place, and the others follow it closely: two runs that two replicas put into one gap stay
  /// runs, one after the other.
  private static func places(
    _ count: Int64, between before: Int64?, and after: Int64?,
    random: (Range<Int64>) -> Int64
  ) -> [Int64]? {
    guard count < Int64.max / 4 / step else { return nil }
    // What follows an end may come anywhere within half a step; what begins a list is alone, and has more room.
    let width = before == nil && after == nil ? step << 10 : step / 2
    let spacing = spacing(count, within: width)
    let length = spacing * (count - 1)
    let reach = step + width + length
    switch (before, after) {
    case (let before?, let after?): return places(count, within: before..<after, random)
    case (let before?, nil):
      guard before < Int64.max - reach - step else { return nil }
      return run(count, from: before + step + random(0..<width), spacing, random)
    case (nil, let after?):
      guard after > Int64.min + reach + step else { return nil }
      return run(count, from: after - step - random(0..<width) - length, spacing, random)
    case (nil, nil): return run(count, from: step + random(0..<width), spacing, random)
    }
  }

  private static func places(
    _ count: Int64, within gap: Range<Int64>, _ random: (Range<Int64>) -> Int64
  ) -> [Int64]? {
    let (size, isWide) = gap.upperBound.subtractingReportingOverflow(gap.lowerBound)
    let width = isWide ? .max : size
    let part = width / (count + 1)
    guard part >= leastGap else { return nil }
    let spacing = min(spacing(count, within: width), part / 2)
    let free = width - spacing * (count - 1)
    return run(
      count, from: gap.lowerBound + free / 4 + random(0..<free / 2), spacing, random)
  }

  /// How closely the objects of a run follow each other: so that the run is short beside the room that it may begin in, and
  /// there is room between them.
  private static func spacing(_ count: Int64, within width: Int64) -> Int64 {
    min(max(width / 256 / count, leastGap * 4), step >> 10)
  }

  private static func run(
    _ count: Int64, from first: Int64, _ spacing: Int64, _ random: (Range<Int64>) -> Int64
  ) -> [Int64] {
    // Two runs that overlap have no place in common.
    (0..<count).map { $0 == 0 ? first : first + spacing * $0 - random(0..<spacing / 4) }
  }

  /// Equal places on every replica that comes to this.
  private static func renumbered(_ current: [Int64?]) -> [Int: Int64] {
    var changes: [Int: Int64] = [:]
    for (index, place) in current.enumerated() where place != step * Int64(index + 1) {
      changes[index] = step * Int64(index + 1)
    }
    assert(
      ascend(current.indices.map { changes[$0] ?? current[$0] }), "new places are in their order")
    return changes
  }

  /// The indexes of objects that need not move: of the unchanged ones the longest run that is in order already, and between these
  /// as many of the changed ones as fit. An unchanged one moves only where the order turned about without any of them.
  ///
  /// - Parameter places: Where each was before.
  package static func kept(_ places: [Int64], isChanged: (Int) -> Bool) -> [Int] {
    let unchanged = longestAscent(places.indices.map { isChanged($0) ? nil : places[$0] })
    var kept: [Int] = []
    var (start, before) = (0, Int64.min)
    for end in unchanged + [places.count] {
      let after = end < places.count ? places[end] : .max
      let between = (start..<end).map { index in
        isChanged(index) && before < places[index] && places[index] < after ? places[index] : nil
      }
      kept += longestAscent(between).map { start + $0 }
      if end < places.count { kept.append(end) }
      (start, before) = (end + 1, after)
    }
    assert(ascend(kept.map { places[$0] }), "what stays is in order already")
    return kept
  }

  /// The indexes of the longest run of objects that are in order already, in a time that grows as n log n does.
  package static func longestAscent(_ places: [Int64?]) -> [Int] {
    // Patience sorting: `tails[n]` ends the ascent of length n + 1 whose last place is least.
    var tails: [Int] = []
    var previous = [Int](repeating: -1, count: places.count)
    for (index, place) in places.enumerated() {
      guard let place else { continue }
      var low = 0
      var high = tails.count
      while low < high {
        let middle = (low + high) / 2
        if let tail = places[tails[middle]], tail < place {
          low = middle + 1
        } else {
          high = middle
        }
      }
      if low > 0 { previous[index] = tails[low - 1] }
      if low == tails.count { tails.append(index) } else { tails[low] = index }
    }
    var ascent: [Int] = []
    var index = tails.last ?? -1
    while index >= 0 {
      ascent.append(index)
      index = previous[index]
    }
    ascent.reverse()
    assert(ascend(ascent.map { places[$0] }), "what stays is in order already")
    assert(zip(ascent, ascent.dropFirst()).allSatisfy { $0 < $1 }, "each stays where it is, once")
    return ascent
  }
}
