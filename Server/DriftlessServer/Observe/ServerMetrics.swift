import Foundation
import Synchronization

/// Counters of the server. Totals only: no names of zones or clients.
package final class ServerMetrics: Sendable {
  struct Values: Sendable {
    /// By route and status.
    var requests: [String: [Int: UInt64]] = [:]
    /// By route.
    var durations: [String: Histogram] = [:]
    var bytesReceived: UInt64 = 0
    var bytesSent: UInt64 = 0
    var commits = Histogram()
    var pushesCommitted: UInt64 = 0
    var refusals: [String: UInt64] = [:]
    var connections: Int = 0
    /// Times that no further connection was let in.
    var pausedAccepts: UInt64 = 0
    /// Times that a connection could not be accepted.
    var failedAccepts: UInt64 = 0
    /// Connections without a token that were closed for others.
    var closedStrangers: UInt64 = 0
    /// Pushes that wait for the storage, or are written.
    var pendingPushes: Int = 0
    /// Errors that say that the database's file is damaged.
    var damagedReads: UInt64 = 0
    var folds: UInt64 = 0
    var failedFolds: UInt64 = 0
    var heldCheckpoints: UInt64 = 0
  }

  private let values = Mutex(Values())

  package init() {}

  /// All of them, as they are now.
  var current: Values { values.withLock { $0 } }

  /// A request was answered.
  ///
  /// - Parameters:
  ///   - route: one of the server's own names, never a client's text.
  ///   - duration: what the server was at it; without the time for which a long poll waited for news.
  func count(route: String, status: Int, duration: Duration) {
    values.withLock {
      $0.requests[route, default: [:]][status, default: 0] += 1
      $0.durations[route, default: Histogram()].count(duration)
    }
  }

  func countReceived(bytes: Int) {
    values.withLock { $0.bytesReceived &+= UInt64(clamping: bytes) }
  }

  func countSent(bytes: Int) { values.withLock { $0.bytesSent &+= UInt64(clamping: bytes) } }

  func countCommit(pushes: Int, duration: Duration) {
    values.withLock {
      $0.commits.count(duration)
      $0.pushesCommitted += UInt64(clamping: pushes)
    }
  }

  /// Has a push counted as pending while `body` runs.
  func pending<Result>(_ body: () async throws -> Result) async rethrows -> Result {
    values.withLock { $0.pendingPushes += 1 }
    defer { values.withLock { $0.pendingPushes -= 1 } }
    return try await body()
  }

  func countRefusal(_ code: ServerError.Code) {
    values.withLock { $0.refusals[code.name, default: 0] += 1 }
  }

  /// A zone's log was added up, or could not be.
  func countFold(failed: Bool) {
    values.withLock { if failed { $0.failedFolds += 1 } else { $0.folds += 1 } }
  }

  /// The write-ahead log could not be copied and begun anew, since somebody else is at the database.
  func countHeldCheckpoint() { values.withLock { $0.heldCheckpoints += 1 } }

  /// The database said that its file is damaged.
  func countDamagedRead() { values.withLock { $0.damagedReads += 1 } }

  /// There are as many connections as may be: further ones wait.
  func countPausedAccept() { values.withLock { $0.pausedAccepts += 1 } }

  /// A connection could not be accepted: the process can open no more files, say.
  func countFailedAccept() { values.withLock { $0.failedAccepts += 1 } }

  /// A connection that showed no token was closed to make room for another.
  func countClosedStranger() { values.withLock { $0.closedStrangers += 1 } }

  func connectionOpened() { values.withLock { $0.connections += 1 } }

  func connectionClosed() { values.withLock { $0.connections -= 1 } }

  /// Group commits and the pushes in them, so far.
  package var commits: (groups: UInt64, pushes: UInt64) {
    values.withLock { ($0.commits.total, $0.pushesCommitted) }
  }

  /// What the status page shows of them.
  struct Totals: Sendable {
    var pushes: UInt64 = 0
    /// Pushes that met changes which their replica did not know of: what becomes of such, the replica settles.
    var stale: UInt64 = 0
    var bytesReceived: UInt64 = 0
    var bytesSent: UInt64 = 0
    var connections = 0
    var failedFolds: UInt64 = 0
  }

  var totals: Totals {
    values.withLock {
      Totals(
        pushes: $0.pushesCommitted, stale: $0.refusals[ServerError.Code.stale.name] ?? 0,
        bytesReceived: $0.bytesReceived, bytesSent: $0.bytesSent, connections: $0.connections,
        failedFolds: $0.failedFolds)
    }
  }
}
