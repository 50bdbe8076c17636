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
  /// What was let go of for who asked, while more of that is to come.
  var letGo = LetGoReport()
  /// Values of the zone that came damaged, or not at all, by their digests.
  private var inVain: [Data: Attempt] = [:]

  /// An attempt at a value that was in vain.
  private struct Attempt {
    var time: ContinuousClock.Instant
    /// So long it is not asked for again. Seconds.
    var pause: Int
    /// Why the way to it broke; nil where it was answered.
    var broken: (any Error)?
    /// Whether the way to others was there once before, after it broke at this one.
    var isSuspect = false
  }

  /// The zone has all of them.
  mutating func forgetLacking() { (mark, lacking) = (nil, []) }

  /// Whether it is worth while to look for a value here.
  func mayLook(for value: LargeValue) -> Bool { Self.isLongAgo(notHere[value]) }
  mutating func noteNotHere(_ value: LargeValue) { notHere[value] = .now }

  /// Whether it is worth while to ask the zone for a value.
  func mayAsk(for value: LargeValue, at now: ContinuousClock.Instant = .now) -> Bool {
    inVain[value.digest].map { $0.time.duration(to: now) > .seconds($0.pause) } ?? true
  }
  mutating func noteInVain(_ value: LargeValue) {
    inVain[value.digest] = Attempt(time: .now, pause: SyncTuning.missingValuesSeconds)
  }

  /// The way to a value broke, and nobody knows whether at it alone: it comes last, and waits no longer.
  mutating func noteBroken(
    _ value: LargeValue, _ error: any Error, at now: ContinuousClock.Instant = .now
  ) {
    let before = inVain[value.digest].flatMap { $0.broken == nil ? nil : $0 }
    inVain[value.digest] = Attempt(
      time: now, pause: before?.pause ?? 0, broken: error, isSuspect: before?.isSuspect ?? false)
  }

  /// The way broke at a value and not at others: it is asked for after a while, which is twice as long each time.
  ///
  /// - Parameter mayBeWay: whether it broke at others as well until just now: then it is not this one's fault, unless that comes again.
  mutating func noteBrokenAlone(
    _ value: LargeValue, _ error: any Error, mayBeWay: Bool = false,
    at now: ContinuousClock.Instant = .now
  ) {
    let before = inVain[value.digest]
    let pause = before?.pause ?? 0
    let isExcused = mayBeWay && before?.isSuspect != true
    inVain[value.digest] = Attempt(
      time: now,
      pause: isExcused
        ? pause
        : min(max(SyncTuning.brokenValueSeconds, 2 * pause), SyncTuning.missingValuesSeconds),
      broken: error, isSuspect: true)
  }

  /// Why the way to a value broke, for one that has not come since.
  func broken(_ value: LargeValue) -> (any Error)? { inVain[value.digest]?.broken }
  /// A value has come.
  mutating func noteCame(_ value: LargeValue) { inVain[value.digest] = nil }
  /// The zone says that it has a value by now.
  mutating func noteBack(_ digest: Data) { inVain[digest] = nil }
  /// What was asked for in vain comes last, and of that the one that was asked for last.
  func isBefore(_ value: LargeValue, _ other: LargeValue) -> Bool {
    switch (inVain[value.digest]?.time, inVain[other.digest]?.time) {
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
