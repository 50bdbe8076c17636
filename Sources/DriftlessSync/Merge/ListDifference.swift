/// The edits that lead from one list to another: Myers' difference in linear space.
///
/// "An O(ND) Difference Algorithm and Its Variations" (1986), §4b: the middle of a shortest path is
/// sought from both ends, then either half is compared by itself. A search that took `searchMax`
/// steps from each end without meeting goes on from the furthest place that it reached, as GNU diff
/// does: the edits are still right, only not the fewest. So time is at most proportional to (N + M) ·
/// min(D, searchMax), and space to N + M.
struct ListDifference {
  /// A stretch of the old list and what stands in its place in the new one.
  struct Edit: Hashable {
    var old: Range<Int>
    var new: Range<Int>

    var isInsertion: Bool { old.isEmpty }
    var isRemoval: Bool { new.isEmpty }
  }

  /// Steps. Texts whose sides differ in fewer places are compared exactly; a megabyte of other text
  /// takes about a second.
  static let searchMax = 512

  private let old: [UInt32]
  private let new: [UInt32]
  private let searchMax: Int
  private var removed: [Bool]
  private var inserted: [Bool]
  /// The furthest place on each diagonal, from the front and from the back.
  private var forward: [Int]
  private var backward: [Int]
  /// The place of diagonal 0 in both.
  private let origin: Int

  /// The edits in order; between two of them at least one element stays.
  static func edits(
    _ old: [UInt32], _ new: [UInt32], searchMax: Int = searchMax
  ) -> [Edit] {
    var difference = ListDifference(old, new, searchMax: searchMax)
    difference.compare()
    let edits = difference.edits
    assert(
      difference.result(of: edits) == new, "the edits lead from one list to the other")
    return edits
  }

  /// The old list after the edits.
  private func result(of edits: [Edit]) -> [UInt32] {
    var list: [UInt32] = []
    var place = 0
    for edit in edits {
      list += old[place..<edit.old.lowerBound]
      list += new[edit.new]
      place = edit.old.upperBound
    }
    return list + old[place...]
  }

  private init(_ old: [UInt32], _ new: [UInt32], searchMax: Int) {
    self.old = old
    self.new = new
    self.searchMax = searchMax
    removed = Array(repeating: false, count: old.count)
    inserted = Array(repeating: false, count: new.count)
    origin = new.count + 1
    forward = Array(repeating: 0, count: old.count + new.count + 3)
    backward = forward
  }

  /// Parts of both lists that are to be compared.
  private struct Part {
    var old: Range<Int>
    var new: Range<Int>
  }

  private mutating func compare() {
    var parts = [Part(old: old.indices, new: new.indices)]
    while var part = parts.popLast() {
      trim(&part)
      if part.old.isEmpty {
        for place in part.new { inserted[place] = true }
      } else if part.new.isEmpty {
        for place in part.old { removed[place] = true }
      } else {
        let (x, y) = middle(of: part)
        let halves = [
          Part(old: part.old.lowerBound..<x, new: part.new.lowerBound..<y),
          Part(old: x..<part.old.upperBound, new: y..<part.new.upperBound),
        ]
        parts += halves.filter { !$0.old.isEmpty || !$0.new.isEmpty }
      }
    }
  }

  /// Takes away what both begin and end with.
  private func trim(_ part: inout Part) {
    var (oldStart, oldEnd) = (part.old.lowerBound, part.old.upperBound)
    var (newStart, newEnd) = (part.new.lowerBound, part.new.upperBound)
    while oldStart < oldEnd, newStart < newEnd, old[oldStart] == new[newStart] {
      oldStart += 1
      newStart += 1
    }
    while oldStart < oldEnd, newStart < newEnd, old[oldEnd - 1] == new[newEnd - 1] {
      oldEnd -= 1
      newEnd -= 1
    }
    part = Part(old: oldStart..<oldEnd, new: newStart..<newEnd)
  }

  /// A place on a shortest path between the corners of a part whose ends differ, or on a good one;
  /// never a corner.
  private mutating func middle(of part: Part) -> (x: Int, y: Int) {
    let (left, right) = (part.old.lowerBound, part.old.upperBound)
    let (top, bottom) = (part.new.lowerBound, part.new.upperBound)
    let (least, greatest) = (left - bottom, right - top)
    let (front, back) = (left - top, right - bottom)
    let isOdd = (front - back) & 1 != 0
    var (frontLow, frontHigh, backLow, backHigh) = (front, front, back, back)
    forward[origin + front] = left
    backward[origin + back] = right
    var steps = 0
    while true {
      steps += 1
      if frontLow > least {
        frontLow -= 1
        forward[origin + frontLow - 1] = -1
      } else {
        frontLow += 1
      }
      if frontHigh < greatest {
        frontHigh += 1
        forward[origin + frontHigh + 1] = -1
      } else {
        frontHigh -= 1
      }
      for diagonal in stride(from: frontHigh, through: frontLow, by: -2) {
        let (below, above) = (
          forward[origin + diagonal - 1], forward[origin + diagonal + 1]
        )
        var x = below >= above ? below + 1 : above
        var y = x - diagonal
        while x < right, y < bottom, old[x] == new[y] {
          x += 1
          y += 1
        }
        forward[origin + diagonal] = x
        if isOdd, backLow <= diagonal, diagonal <= backHigh, backward[origin + diagonal] <= x {
          return inside(x, y, part)
        }
      }
      if backLow > least {
        backLow -= 1
        backward[origin + backLow - 1] = Int.max
      } else {
        backLow += 1
      }
      if backHigh < greatest {
        backHigh += 1
        backward[origin + backHigh + 1] = Int.max
      } else {
        backHigh -= 1
      }
      for diagonal in stride(from: backHigh, through: backLow, by: -2) {
        let (below, above) = (
          backward[origin + diagonal - 1], backward[origin + diagonal + 1]
        )
        var x = below < above ? below : above - 1
        var y = x - diagonal
        while x > left, y > top, old[x - 1] == new[y - 1] {
          x -= 1
          y -= 1
        }
        backward[origin + diagonal] = x
        if !isOdd, frontLow <= diagonal, diagonal <= frontHigh, x <= forward[origin + diagonal] {
          return inside(x, y, part)
        }
      }
      guard steps < searchMax else {
        return furthest(
          part, stride(from: frontHigh, through: frontLow, by: -2),
          stride(from: backHigh, through: backLow, by: -2))
      }
    }
  }

  /// The place that either search brought furthest.
  private func furthest(
    _ part: Part, _ front: StrideThrough<Int>, _ back: StrideThrough<Int>
  ) -> (x: Int, y: Int) {
    let (left, right) = (part.old.lowerBound, part.old.upperBound)
    let (top, bottom) = (part.new.lowerBound, part.new.upperBound)
    var ahead = (x: left, y: top)
    for diagonal in front {
      var x = min(forward[origin + diagonal], right)
      if x - diagonal > bottom { x = bottom + diagonal }
      if x + x - diagonal > ahead.x + ahead.y { ahead = (x, x - diagonal) }
    }
    var behind = (x: right, y: bottom)
    for diagonal in back {
      var x = max(backward[origin + diagonal], left)
      if x - diagonal < top { x = top + diagonal }
      if x + x - diagonal < behind.x + behind.y { behind = (x, x - diagonal) }
    }
    let isAheadBetter = ahead.x + ahead.y - left - top > right + bottom - behind.x - behind.y
    let place = isAheadBetter ? ahead : behind
    return inside(place.x, place.y, part)
  }

  /// The place, or one that cuts the part in two where it is a corner: each half is smaller than the
  /// whole, whatever the lists.
  private func inside(_ x: Int, _ y: Int, _ part: Part) -> (x: Int, y: Int) {
    let x = min(max(x, part.old.lowerBound), part.old.upperBound)
    let y = min(max(y, part.new.lowerBound), part.new.upperBound)
    if (x, y) == (part.old.lowerBound, part.new.lowerBound)
      || (x, y) == (part.old.upperBound, part.new.upperBound)
    {
      return (part.old.upperBound, part.new.lowerBound)
    }
    return (x, y)
  }

  private var edits: [Edit] {
    var edits: [Edit] = []
    var (place, written) = (0, 0)
    while place < old.count || written < new.count {
      let (start, first) = (place, written)
      while place < old.count, removed[place] { place += 1 }
      while written < new.count, inserted[written] { written += 1 }
      if place > start || written > first {
        edits.append(Edit(old: start..<place, new: first..<written))
      } else {
        place += 1
        written += 1
      }
    }
    return edits
  }
}
