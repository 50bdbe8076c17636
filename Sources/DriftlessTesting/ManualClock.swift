public import Driftless
public import Foundation
import Synchronization

/// A clock that stands still until it is told to go on. It begins in the year 2100, ahead of every
/// machine's clock, so that the times of a test are the test's own.
public final class ManualClock: Sendable {
  private let state: Mutex<UInt64>

  public init(milliseconds: UInt64 = 4_102_444_800_000) { state = Mutex(milliseconds) }

  public var milliseconds: UInt64 { state.withLock { $0 } }

  public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

  public var hybridTime: HybridTime { HybridTime(rawValue: milliseconds << 16) }

  public func advance(milliseconds: UInt64 = 1000) { state.withLock { $0 += milliseconds } }
}
