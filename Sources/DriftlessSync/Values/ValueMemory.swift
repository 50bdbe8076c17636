import Driftless
import DriftlessProtocol
import Foundation

/// Where the bytes of a large value are in the store.
struct ValuePlace {
  let key: ObjectKey
  let slot: Int

  func bytes(_ transaction: ReadTransaction) throws -> Data? {
    guard let values = try transaction.knownRow(key)?.values, values.indices.contains(slot),
      case .data(let data) = values[slot]
    else { return nil }
    return data
  }
}

/// What an engine remembers of large values that are not where they belong, so that nothing is asked or looked for each time.
struct ValueMemory {
  /// What the zone said of the values that it lacks when `lacking` was asked for.
  var mark: String?
  /// The values that the zone lacks.
  var lacking: Set<LargeValue> = []
  /// Where those of them are that this store has, as far as they were looked for.
  var places: [LargeValue: ValuePlace] = [:]
  /// Those of them that this store did not have, or the server did not take, and when that was.
  private var notHere: [LargeValue: ContinuousClock.Instant] = [:]
  /// How long a piece of those of them may take that are sent and did not go in time before. Seconds.
  private var patience: [LargeValue: Int] = [:]
  /// Values that were to be let go of and that the zone does not have, until all that was asked for is done.
  var notInZone: Set<LargeValue> = []
  /// Since when the zone is asked which values it names, which adds up its log before it says so.
  var addsUpSince: ContinuousClock.Instant?
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
  mutating func forgetLacking() {
    (mark, lacking, places, patience) = (nil, [], [:], [:])
  }

  /// Whether it is worth while to look for a value here.
  func mayLook(for value: LargeValue) -> Bool { Self.isLongAgo(notHere[value]) }
  mutating func noteNotHere(_ value: LargeValue) { notHere[value] = .now }

  /// Seconds in which a piece of a value that the zone lacks has to go.
  func pieceSeconds(for value: LargeValue) -> Int {
    patience[value] ?? SyncTuning.offeredPieceSeconds
  }
  /// A piece of a value did not go in time: it is tried again as late as one that is not here, and has twice as long then, up to what a
  /// server waits for it. So it goes in the end, over a slow line too.
  mutating func noteSlowToSend(_ value: LargeValue) {
    patience[value] = min(2 * pieceSeconds(for: value), SyncTuning.offeredPieceSecondsMax)
    noteNotHere(value)
  }

  /// Whether it is worth while to ask the zone for a value.
  func mayAsk(for value: LargeValue, at now: ContinuousClock.Instant = .now) -> Bool {
    inVain[value.digest].map { $0.time.duration(to: now) > .seconds($0.pause) } ?? true
  }
  /// The disk has no room for a value, which was looked at before it was asked for: it comes last, and is looked at each time. One that
  /// came all the same, and did not fit, waits as long as it did.
  mutating func noteNoRoom(_ value: LargeValue, at now: ContinuousClock.Instant = .now) {
    guard mayAsk(for: value, at: now) else { return }
    inVain[value.digest] = Attempt(time: now, pause: 0)
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

  /// Of a value little came in the time that a turn had for it: it comes last, and waits no longer.
  mutating func noteSlow(_ value: LargeValue, at now: ContinuousClock.Instant = .now) {
    inVain[value.digest] = Attempt(
      time: now, pause: 0, isSuspect: inVain[value.digest]?.isSuspect ?? false)
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
