public import Foundation
import Synchronization

/// Tells those who wait for a zone's log to grow that it did: the long polls. A log is known by its
/// generation, so that one that begins anew is waited for anew.
public final class ZoneNews: Sendable {
  /// How a wait ended.
  public enum Ending: Sendable {
    /// It waited, and was woken.
    case woken
    /// There was nothing to wait for, or nobody waits any more.
    case over
    /// Too many wait already.
    case full
  }

  private struct State {
    var nextWaiter: UInt64 = 0
    var waiters: [UUID: [UInt64: Waiter]] = [:]
    var count = 0
  }

  private struct Waiter {
    let after: UInt64
    let continuation: CheckedContinuation<Ending, Never>
  }

  private let state = Mutex(State())
  private let ends = Mutex<[UUID: UInt64]>([:])
  private let waitersMax: @Sendable () -> Int

  /// - Parameter waitersMax: asked anew for each who waits.
  public init(waitersMax: @autoclosure @escaping @Sendable () -> Int) {
    self.waitersMax = waitersMax
  }

  /// How many wait now.
  public var waiting: Int { state.withLock { $0.count } }

  /// Where logs end, as far as that was told, by their generations.
  package var heads: [UUID: UInt64] { ends.withLock { $0 } }

  /// Forgets the ends of logs that are no more: else they would pile up with each zone that is deleted or renewed.
  ///
  /// - Parameter living: the generations that there are, asked after those that are known here were looked up: one that begins
  ///   meanwhile stays.
  package func forgetDead(_ living: () async throws -> Set<UUID>) async rethrows {
    let known = Set(heads.keys)
    guard !known.isEmpty else { return }
    let dead = known.subtracting(try await living())
    ends.withLock { for generation in dead { $0[generation] = nil } }
  }

  /// Says that a generation's log has lost what it had above `head`: who waits for it to grow past that waits from now on.
  ///
  /// - Parameter told: where it was told to end; a log of which something else is known by now is left alone.
  package func putBack(_ zone: UUID, from told: UInt64, to head: UInt64) {
    ends.withLock { if $0[zone] == told { $0[zone] = head } }
  }

  /// Says that a generation's log now ends at `head`.
  public func publish(_ zone: UUID, head: UInt64) {
    ends.withLock { $0[zone] = max($0[zone] ?? 0, head) }
    let woken = state.withLock { state in
      let reached = state.waiters[zone, default: [:]].filter { $0.value.after < head }
      for id in reached.keys { state.waiters[zone]?[id] = nil }
      if state.waiters[zone]?.isEmpty == true { state.waiters[zone] = nil }
      state.count -= reached.count
      return reached.values.map(\.continuation)
    }
    for continuation in woken { continuation.resume(returning: .woken) }
  }

  /// Ends all waiting, so that each looks again whether it may go on.
  public func wakeAll() {
    let woken = state.withLock { state in
      defer {
        state.waiters = [:]
        state.count = 0
      }
      return state.waiters.values.flatMap { $0.values.map(\.continuation) }
    }
    for continuation in woken { continuation.resume(returning: .woken) }
  }

  /// Returns when the zone's log has grown past `after`, when the task is cancelled, or at once
  /// when too many wait already.
  ///
  /// - Returns: how the wait ended.
  @discardableResult public func wait(_ zone: UUID, after: UInt64) async -> Ending {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ending: Ending? = state.withLock { state in
          let grown = ends.withLock { $0[zone] ?? 0 } > after
          // Cancellation that came first finds no waiter; this check then sees it.
          if grown || Task.isCancelled { return .over }
          if state.count >= waitersMax() { return .full }
          state.waiters[zone, default: [:]][id] = Waiter(after: after, continuation: continuation)
          state.count += 1
          return nil
        }
        if let ending { continuation.resume(returning: ending) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        let waiter = state.waiters[zone]?.removeValue(forKey: id)
        if waiter != nil { state.count -= 1 }
        if state.waiters[zone]?.isEmpty == true { state.waiters[zone] = nil }
        return waiter
      }
      waiter?.continuation.resume(returning: .over)
    }
  }
}
