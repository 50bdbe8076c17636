/// Pushes that wait for the one that writes, first come first served. While one group is written, the next gathers.
struct PushQueue: Sendable {
  struct Pending: Sendable {
    let push: Push
    let zone: ZoneRecord
    let answer: CheckedContinuation<Appended, any Error>
  }

  private(set) var waiting: [Pending] = []
  private(set) var isDraining = false

  /// - Returns: whether somebody has to begin to drain the queue.
  mutating func add(_ pending: Pending) -> Bool {
    waiting.append(pending)
    defer { isDraining = true }
    return !isDraining
  }

  /// Those that are written together next; nil where nothing waits, and then nobody drains any more.
  mutating func nextGroup(_ limits: ServerLimits) -> [Pending]? {
    // One in several parts takes long: nobody waits for it who need not.
    if waiting.first?.push.part != nil { return [waiting.removeFirst()] }
    var bytes = 0
    let count = waiting.prefix(limits.groupPushesMax).prefix { pending in
      defer { bytes += pending.push.frame.count }
      return pending.push.part == nil
        && (bytes == 0
          || bytes + pending.push.frame.count <= limits.groupBytesMax)
    }.count
    guard count > 0 else {
      isDraining = false
      return nil
    }
    defer { waiting.removeFirst(count) }
    return Array(waiting.prefix(count))
  }
}
