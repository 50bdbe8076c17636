/// A replica's acknowledged change sets above its cursor. What they set is not news to it, and
/// nothing of others can lie between (the stale check of those pushes saw to that), so they never
/// make a push stale.
public struct OwnFrames: Sendable {
  /// One of them.
  public struct Frame: Sendable {
    let sequence: UInt64
    let firstObject: UInt64
    let count: UInt64

    /// - Parameters:
    ///   - sequence: its sequence number.
    ///   - firstObject: the zone object number of the first object that it made.
    ///   - count: how many it made.
    public init(sequence: UInt64, firstObject: UInt64, count: UInt64) {
      self.sequence = sequence
      self.firstObject = firstObject
      self.count = count
    }
  }

  /// Those that made objects, by the numbers of these: they ascend with the log, and do not overlap.
  private let makers: [Frame]
  private let sequences: Set<UInt64>
  /// The last of them.
  let newest: UInt64?

  /// - Parameter frames: in any order.
  public init(_ frames: [Frame] = []) {
    makers = frames.filter { $0.count > 0 }.sorted { $0.firstObject < $1.firstObject }
    sequences = Set(frames.map(\.sequence))
    newest = sequences.max()
  }

  func contains(sequence: UInt64) -> Bool { sequences.contains(sequence) }

  /// Whether one of them made an object. It is asked of every object of a push.
  package func inserted(_ object: UInt64) -> Bool {
    var (low, high) = (0, makers.count)
    while low < high {
      let middle = (low + high) / 2
      if makers[middle].firstObject <= object { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return false }
    return object - makers[low - 1].firstObject < makers[low - 1].count
  }
}
