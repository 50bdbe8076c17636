/// How far one sync of a loop goes with large values that are not where they belong: they may take hours, and an edit waits for none of
/// them.
struct ValueTurn {
  typealias Instant = ContinuousClock.Instant

  private var seconds: Int?
  private var end: Instant?
  private var hasCome = false
  private var isLeft = false
  private var lacksRoom = false

  /// Whether some of it has come, and the rest is to come with the next sync. What found no room is let go of and would come again each
  /// time: the next one waits for room then.
  var hasMore: Bool { hasCome && isLeft && !lacksRoom }

  /// - Parameter seconds: so long it takes at most; nil for as long as it takes.
  mutating func begin(after seconds: Int?) {
    self = ValueTurn()
    self.seconds = seconds
  }

  /// Something else of it begins.
  mutating func restart(at now: Instant = .now) { end = seconds.map { now + .seconds($0) } }

  /// Others ask for what they need, without an end.
  mutating func stop() { (seconds, end) = (nil, nil) }

  func isOver(at now: Instant = .now) -> Bool { hasCome && end.map { now >= $0 } ?? false }
  mutating func noteCame() { hasCome = true }
  mutating func noteLeft() { isLeft = true }
  mutating func noteNoRoom() { lacksRoom = true }
}
