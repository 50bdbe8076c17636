import DriftlessProtocol
import Foundation

/// What an engine remembers of large values that are not where they belong, so that nothing is asked or looked for each time.
struct ValueMemory {
  /// What the zone said of the values that it lacks when `lacking` was asked for.
  var mark: String?
  /// The values that the zone lacks.
  var lacking: Set<LargeValue> = []
  /// Those of them that this store did not have, or the server did not take, and when that was.
  private var notHere: [LargeValue: ContinuousClock.Instant] = [:]
  /// Values of the zone that came damaged, or not at all, by their digests, and when that was.
  private var inVain: [Data: ContinuousClock.Instant] = [:]

  /// The zone has all of them.
  mutating func forgetLacking() { (mark, lacking) = (nil, []) }

  /// Whether it is worth while to look for a value here.
  func mayLook(for value: LargeValue) -> Bool { Self.isLongAgo(notHere[value]) }
  mutating func noteNotHere(_ value: LargeValue) { notHere[value] = .now }

  /// Whether it is worth while to ask the zone for a value.
  func mayAsk(for value: LargeValue) -> Bool { Self.isLongAgo(inVain[value.digest]) }
  mutating func noteInVain(_ value: LargeValue) { inVain[value.digest] = .now }
  /// The zone says that it has a value by now.
  mutating func noteBack(_ digest: Data) { inVain[digest] = nil }
  /// What was asked for in vain comes last, and of that the one that was asked for last.
  func isBefore(_ value: LargeValue, _ other: LargeValue) -> Bool {
    switch (inVain[value.digest], inVain[other.digest]) {
    case (let time?, let second?): time < second
    case (nil, nil): value < other
    case (nil, _?): true
    case (_?, nil): false
    }
  }

  private static func isLongAgo(_ time: ContinuousClock.Instant?) -> Bool {
    time.map { $0.duration(to: .now) > .seconds(SyncTuning.missingValuesSeconds) } ?? true
  }
}
