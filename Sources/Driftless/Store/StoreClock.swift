import DriftlessSQLite
package import Foundation
import Synchronization

/// What a store takes for the time: the host's time of day, and the time since the host was started, which nobody sets.
struct StoreClock: Sendable {
  var wall: @Sendable () -> Date = { Date() }
  /// Milliseconds since the start of the host, those asleep included; nil where it is not to be asked.
  var sinceBoot: (@Sendable () -> Int64)? = { StoreClock.hostSinceBoot() }
  /// Which start of the host that is.
  var boot = StoreClock.hostBoot

  private static func hostSinceBoot() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  private static let hostBoot: String? =
    (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8))?
    .trimmingCharacters(in: .whitespacesAndNewlines)
}

/// How far a store's clock is behind the zone's, and what both clocks of the host said when that was learnt.
struct ClockOffset: Hashable {
  static let setting = "clock"

  /// Milliseconds to add to the host's time of day.
  var offset: Int64
  /// The host's time of day then, in milliseconds since 1970.
  var wall: Int64
  var sinceBoot: Int64?
  var boot: String?

  init(_ offset: Int64, by clock: StoreClock) {
    self.offset = offset
    wall = Self.milliseconds(clock.wall())
    sinceBoot = clock.boot == nil ? nil : clock.sinceBoot?()
    boot = sinceBoot == nil ? nil : clock.boot
  }

  init?(text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 4, let offset = Self.time(parts[0]), let wall = Self.time(parts[1]) else {
      return nil
    }
    self.offset = offset
    self.wall = wall
    sinceBoot = Self.time(parts[2])
    boot = parts[3].isEmpty ? nil : String(parts[3])
  }

  var text: String { "\(offset) \(wall) \(sinceBoot.map { "\($0)" } ?? "") \(boot ?? "")" }

  static func milliseconds(_ date: Date) -> Int64 {
    Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded(.down)) ?? 0
  }

  /// Milliseconds that a file says, as far as times can be reckoned with.
  private static func time(_ text: Substring) -> Int64? {
    Int64(text).flatMap { $0.magnitude < 1 << 53 ? $0 : nil }
  }

  /// By how many milliseconds the time of day was set since then; nil when the host was started anew, and nobody can tell.
  func step(_ clock: StoreClock) -> Int64? {
    guard let boot, boot == clock.boot, let then = sinceBoot, let now = clock.sinceBoot?() else {
      return nil
    }
    let step = (Self.milliseconds(clock.wall()) &- wall) &- (now &- then)
    return abs(step) < StoreTuning.leastClockStepMilliseconds ? 0 : step
  }

  /// The zone's time, as it is known here.
  ///
  /// A time of day that was set back is counted on from what it was. One that was set forward is taken as it is: a machine
  /// that was paused is set forward too, and is right. What then lies ahead of the zone is restamped at the next contact.
  func time(_ now: Date, _ clock: StoreClock) -> Date {
    let correction = min(0, step(clock) ?? 0)
    return now.addingTimeInterval(Double(offset &- correction) / 1000)
  }
}

extension PersistentStore {
  /// The time that a save gets: the host's time of day and the offset, which never goes back within what the store has
  /// written.
  func time(_ now: Date, _ offset: ClockOffset?) -> Date {
    offset?.time(now, clock.withLock { $0 }) ?? now
  }

  /// What this store, and the engine on it, take for the host's time of day: a test has a clock of its own.
  package var now: Date { clock.withLock { $0.wall }() }

  /// - Parameter sinceBoot: Nil for a test whose time of day is not to be compared with the host's other clock.
  package func setClock(
    _ wall: @escaping @Sendable () -> Date, sinceBoot: (@Sendable () -> Int64)? = nil
  ) {
    clock.withLock {
      $0 = StoreClock(wall: wall, sinceBoot: sinceBoot, boot: sinceBoot == nil ? nil : "test")
    }
  }

  /// Milliseconds between the host's time of day and the zone's, as they were last learnt; 0 for a store that has none.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read.
  public var clockOffsetMilliseconds: Int64 {
    get throws { try read { try $0.storedClockOffset()?.offset } ?? 0 }
  }

  /// What was learnt of the zone's clock last.
  package struct LearntClock {
    /// Milliseconds between the host's time of day and the zone's; 0 where none was ever learnt.
    package let offset: Int64
    /// Whether one was ever learnt.
    package let isKnown: Bool
    /// By how many milliseconds the host's time of day was set since then: less than zero when it was set back. Nil when the
    /// host was started anew since then, or no offset was learnt.
    package let step: Int64?
  }

  /// What was learnt of the zone's clock last, by one look at the store.
  package func learntClock() throws -> LearntClock {
    let stored = try read { try $0.storedClockOffset() }
    return LearntClock(
      offset: stored?.offset ?? 0, isKnown: stored != nil,
      step: stored?.step(clock.withLock { $0 }))
  }

  /// Notes how far the host's time of day is behind the zone's. What hardly differs from what is known is not written.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read or written.
  public func setClockOffset(milliseconds: Int64) throws {
    let clock = self.clock.withLock { $0 }
    let bound: Int64 = 1 << 48
    let present = ClockOffset(min(max(milliseconds, -bound), bound), by: clock)
    let known = try read { try $0.storedClockOffset() }
    if let known, known.boot == present.boot, known.step(clock) ?? 0 == 0,
      abs(known.offset - present.offset) < StoreTuning.leastClockChangeMilliseconds
    {
      return
    }
    _ = try write(TransactionInfo()) {
      try $0.setSetting(ClockOffset.setting, .text(present.text))
    }
  }

  /// By how many milliseconds the host's time of day was set since the offset was learnt, as ``LearntClock/step``.
  package func clockStep() throws -> Int64? { try learntClock().step }
}

extension ReadTransaction {
  /// The times of the transactions after one that are no imports, oldest first.
  package func localTimes(after number: Int64) throws -> [HybridTime] {
    try TransactionNotes.times(after: number, through: .max, on: connection)
      .map { HybridTime(rawValue: UInt64(bitPattern: $0.time)) }
  }

  func storedClockOffset() throws -> ClockOffset? {
    guard case .text(let text)? = try setting(ClockOffset.setting) else { return nil }
    return ClockOffset(text: text)
  }
}

extension WriteTransaction {
  /// Moves the times of local transactions that lie ahead of a time back to it, in their own order. It is for what the zone
  /// never acknowledged: what it has keeps its time.
  ///
  /// A time that is moved stays above the newest time of an import, and of an acknowledged transaction, that is not ahead
  /// itself: what was seen when the edit was made came before it.
  /// - Parameters:
  ///   - number: The last transaction that the zone acknowledged.
  ///   - last: The last transaction that may be moved.
  /// - Returns: How many were moved.
  @discardableResult
  package func restamp(
    after number: Int64, through last: Int64 = .max, ceiling: HybridTime
  ) throws -> Int {
    let bound = Int64(bitPattern: min(ceiling.rawValue, UInt64(Int64.max)))
    let transactions = try TransactionNotes.times(after: number, through: last, on: connection)
    let numbers = transactions.map(\.number)
    // A time beyond the sign's bit is far ahead.
    var times = transactions.map { $0.time < 0 ? .max : $0.time }
    let former = times
    guard times.contains(where: { $0 > bound }) else { return 0 }
    // From the newest on, each just before the next.
    var upper = bound
    for place in times.indices.reversed() {
      if times[place] > bound { times[place] = max(upper, 0) }
      upper = min(upper, times[place]) - 1
    }
    var lower = try TransactionNotes.newestTime(through: bound, upTo: number, on: connection)
    for place in times.indices {
      if former[place] > bound { times[place] = max(times[place], lower + 1) }
      lower = max(lower, times[place])
    }
    var count = 0
    for place in times.indices where times[place] != former[place] {
      try TransactionNotes.setTime(times[place], of: numbers[place], on: connection)
      count += 1
    }
    return count
  }
}

extension WriteTransaction {
  /// What each transaction needs to know: another process may have changed it since the last.
  static func settings(
    _ connection: SQLiteConnection
  ) throws -> (isSyncing: Bool, isCounting: Bool, clock: ClockOffset?) {
    let settings = try StoreSettings.values(
      of: StoreSettings.syncing, ClockOffset.setting, StoreSettings.counting, on: connection)
    var clock: ClockOffset?
    if case .text(let text)? = settings.second { clock = ClockOffset(text: text) }
    return (settings.first == .integer(1), settings.third == .integer(1), clock)
  }
}
