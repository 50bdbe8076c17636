/// Pushes that wait for the one that writes. While one group is written, the next gathers.
struct PushQueue: Sendable {
  struct Pending: Sendable {
    let push: Push
    let zone: ZoneRecord
    let answer: CheckedContinuation<Appended, any Error>
  }

  /// What the pushes of a zone may cost in one group, where others wait for the same writer.
  static let turnCost = 1 << 20
  /// Above what all that may wait costs.
  private static let unboundedCost = 1 << 40

  private var turns: ZoneTurns<Pending>
  private(set) var isDraining = false
  var count: Int { turns.count }

  /// - Parameter isShared: Whether pushes of several zones wait here.
  init(isShared: Bool) { turns = ZoneTurns(credit: isShared ? Self.turnCost : Self.unboundedCost) }

  /// Whether a push has to be refused: a zone that has none waiting is heard whatever the others sent.
  func isFull(for zone: ZoneRecord, _ limits: ServerLimits) -> Bool {
    turns.count >= limits.queuedPushesMax && turns.isWaiting(for: zone.id)
  }

  /// - Returns: whether somebody has to begin to drain the queue.
  mutating func add(_ pending: Pending) -> Bool {
    turns.add(pending, of: pending.zone.id, cost: pending.push.cost)
    defer { isDraining = true }
    return !isDraining
  }

  /// Those that a group had no time for, as they came. The zone of the one before them has had its turn.
  mutating func putBack(_ rest: [Pending], after last: Pending) {
    turns.putBack(
      rest.map { ($0, $0.zone.id, $0.push.cost) }, after: last.zone.id)
  }

  /// Those that are written together next; nil where nothing waits, and then nobody drains any more.
  mutating func nextGroup(_ limits: ServerLimits) -> [Pending]? {
    // One in several parts takes long: nobody waits for it who need not.
    let group = turns.next(most: (limits.groupPushesMax, limits.groupBytesMax)) {
      $0.push.part != nil
    }
    guard !group.isEmpty else {
      isDraining = false
      return nil
    }
    return group
  }
}

extension Push {
  /// Its bytes, and what the index costs: of each object, of each property of each object, of each identity.
  package var cost: Int {
    let touched = contents.touches.reduce(0) { $0 + $1.objects.count * (1 + $1.properties.count) }
    let relied = contents.relied.reduce(0) { $0 + $1.objects.count * (1 + $1.properties.count) }
    let claimed = contents.claims.reduce(0) { $0 + $1.keys.count }
    let identities = contents.identities.count + contents.tombstones.count
    return frame.count
      + 32 * (touched + relied + claimed + identities + contents.named.count)
  }
}
