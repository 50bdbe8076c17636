/// How far one sync of a loop goes with large values: they may take hours, and an edit waits for none of them.
///
/// A third of its time is for what the pulls fetch, the rest for what is sent back, let go of and fetched after all else, each of which
/// gets a part of what those before it left. What pushes send has a third more. A transfer that is under way when its part is over ends there, with what came of it.
struct ValueTurn {
  typealias Instant = ContinuousClock.Instant

  private var seconds: Int?
  /// When all that comes after the push is over.
  private var lastEnd: Instant?
  /// When what is under way is over.
  private var end: Instant?
  private var hasTried = false
  private var hasCome = false
  private var isLeft = false
  private var lacksRoom = false
  private var letsGoOfMore = false
  /// Whether values were let go of before all else, since that had no room.
  private(set) var hasLetGo = false
  private var leavesUnsent = false

  /// Whether some of it has come, and the rest is to come with the next sync. What found no room is let go of and would come again each
  /// time: the next one waits for room then. What lets go of values waits for none.
  var hasMore: Bool { letsGoOfMore || leavesUnsent || hasCome && isLeft && !lacksRoom }

  /// Whether it has an end.
  var isBounded: Bool { end != nil }

  /// A sync begins, and its pulls.
  ///
  /// - Parameter seconds: so long all takes at most; nil for as long as it takes.
  mutating func begin(after seconds: Int?, at now: Instant = .now) {
    self = ValueTurn()
    self.seconds = seconds
    end = seconds.map { now + .seconds($0) / 3 }
  }

  /// What is pending is sent.
  mutating func beginSending(at now: Instant = .now) {
    hasTried = false
    end = seconds.map { now + .seconds($0) / 3 }
  }

  /// All else is done.
  mutating func beginMending(at now: Instant = .now) {
    lastEnd = seconds.map { now + .seconds($0) * 2 / 3 }
  }

  /// Something of that begins.
  ///
  /// - Parameter count: of how many such that share what is left it is the first.
  mutating func restart(ofParts count: Int = 1, at now: Instant = .now) {
    hasTried = false
    end = lastEnd.map { now + max(.zero, $0 - now) / count }
  }

  /// Others ask for what they need, without an end.
  mutating func stop() { (seconds, end, lastEnd, hasLetGo) = (nil, nil, nil, false) }

  /// Whether nothing more begins: something was tried, and what is left is too little to bring anything.
  func isOver(at now: Instant = .now) -> Bool {
    hasTried && end.map { now + .seconds(SyncTuning.valueGraceSeconds) >= $0 } ?? false
  }

  /// When a transfer that begins now ends at the latest; nil for when it is done.
  func patience(at now: Instant = .now) -> Instant? {
    end.map { max($0, now + .seconds(SyncTuning.valueGraceSeconds)) }
  }

  /// Something is asked for.
  ///
  /// - Returns: whether that is the first: then it has all the time that there is, and it fails where nothing comes in that.
  mutating func noteTried() -> Bool {
    defer { hasTried = true }
    return !hasTried
  }

  mutating func noteCame() { (hasTried, hasCome) = (true, true) }
  mutating func noteLeft() { isLeft = true }
  mutating func noteNoRoom() { lacksRoom = true }
  mutating func noteUnsent() { leavesUnsent = true }
  mutating func noteLetGoLeft() { letsGoOfMore = true }
  mutating func noteLetGo() { hasLetGo = true }
}
