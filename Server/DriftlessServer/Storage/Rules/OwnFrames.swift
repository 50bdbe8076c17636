/// A replica's acknowledged change sets above its cursor. What they set is not news to it, and
/// nothing of others can lie between (the stale check of those pushes saw to that), so they never
/// make a push stale.
struct OwnFrames {
  private var frames: [(sequence: UInt64, objects: Range<UInt64>)] = []
  private var sequences: Set<UInt64> = []

  mutating func add(sequence: UInt64, firstObject: UInt64, count: UInt64) {
    sequences.insert(sequence)
    newest = max(newest ?? 0, sequence)
    frames.append((sequence, firstObject..<(firstObject &+ count)))
  }

  /// The last of them.
  private(set) var newest: UInt64?

  func contains(sequence: UInt64) -> Bool { sequences.contains(sequence) }

  func inserted(_ object: UInt64) -> Bool { frames.contains { $0.objects.contains(object) } }
}
