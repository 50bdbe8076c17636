public import Driftless
public import Foundation
import Synchronization

/// A clock that stands still until it is told to go on. It begins in the year 2100, ahead of every
/// machine's clock, so that the times of a test are the test's own.
public final class ManualClock: Sendable {
  private let state: Mutex<UInt64>

  /// - Parameter milliseconds: Since 1970; the beginning of 2100 unless another is given.
  public init(milliseconds: UInt64 = 4_102_444_800_000) { state = Mutex(milliseconds) }

  /// Milliseconds since 1970.
  public var milliseconds: UInt64 { state.withLock { $0 } }

  /// The time as a date.
  public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

  /// The time with a counter of 0.
  public var hybridTime: HybridTime { HybridTime(rawValue: milliseconds << 16) }

  /// Sets the time, back too, as a person sets a host's clock.
  public func set(milliseconds: UInt64) { state.withLock { $0 = milliseconds } }

  /// Goes on by so many milliseconds.
  public func advance(milliseconds: UInt64 = 1000) { state.withLock { $0 += milliseconds } }
}
