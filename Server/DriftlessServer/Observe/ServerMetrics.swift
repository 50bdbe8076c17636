import Foundation
import Synchronization

/// Counters of the server, in the text format of Prometheus. Totals only: no names of zones or
/// clients.
package final class ServerMetrics: Sendable {
  private struct Values {
    var requests: [String: [Int: UInt64]] = [:]
    var seconds: [String: Double] = [:]
    var bytesReceived: UInt64 = 0
    var bytesSent: UInt64 = 0
    var commits: UInt64 = 0
    var pushesCommitted: UInt64 = 0
    var refusals: [String: UInt64] = [:]
    var connections: Int = 0
    var folds: UInt64 = 0
    var failedFolds: UInt64 = 0
    var heldCheckpoints: UInt64 = 0
  }

  private let values = Mutex(Values())

  package init() {}

  /// A request was answered. `route` is one of the server's own names, never a client's text.
  func count(route: String, status: Int, duration: Duration) {
    let (seconds, attoseconds) = duration.components
    values.withLock {
      $0.requests[route, default: [:]][status, default: 0] += 1
      $0.seconds[route, default: 0] += Double(seconds) + Double(attoseconds) * 1e-18
    }
  }

  func countReceived(bytes: Int) {
    values.withLock { $0.bytesReceived &+= UInt64(clamping: bytes) }
  }

  func countSent(bytes: Int) { values.withLock { $0.bytesSent &+= UInt64(clamping: bytes) } }

  func countCommit(pushes: Int) {
    values.withLock {
      $0.commits += 1
      $0.pushesCommitted += UInt64(clamping: pushes)
    }
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

  func connectionOpened() { values.withLock { $0.connections += 1 } }

  func connectionClosed() { values.withLock { $0.connections -= 1 } }

  /// Group commits and the pushes in them, so far.
  package var commits: (groups: UInt64, pushes: UInt64) {
    values.withLock { ($0.commits, $0.pushesCommitted) }
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

  /// The page of `/metrics`.
  func text(waiting: Int, damagedEntries: Int, certificateEnds: Date? = nil) -> String {
    let values = values.withLock { $0 }
    var lines: [String] = []
    func metric(_ name: String, _ type: String, _ help: String, _ samples: [(String, String)]) {
      lines.append("# HELP driftless_\(name) \(help)")
      lines.append("# TYPE driftless_\(name) \(type)")
      lines += samples.map { "driftless_\(name)\($0.0) \($0.1)" }
    }
    metric(
      "requests_total", "counter", "Requests answered, by route and status.",
      values.requests.sorted { $0.key < $1.key }.flatMap { route, statuses in
        statuses.sorted { $0.key < $1.key }.map {
          ("{route=\"\(route)\",status=\"\($0.key)\"}", "\($0.value)")
        }
      })
    metric(
      "request_seconds_total", "counter", "Time spent on requests, waiting included.",
      values.seconds.sorted { $0.key < $1.key }.map { ("{route=\"\($0.key)\"}", "\($0.value)") })
    metric(
      "refusals_total", "counter", "Requests refused, by code.",
      values.refusals.sorted { $0.key < $1.key }.map { ("{code=\"\($0.key)\"}", "\($0.value)") })
    metric("bytes_received_total", "counter", "Bytes of pushes.", [("", "\(values.bytesReceived)")])
    metric("bytes_sent_total", "counter", "Bytes of log sent.", [("", "\(values.bytesSent)")])
    metric("commits_total", "counter", "Group commits.", [("", "\(values.commits)")])
    metric(
      "committed_pushes_total", "counter", "Pushes in group commits, refused ones included.",
      [("", "\(values.pushesCommitted)")])
    metric("folds_total", "counter", "Logs added up to snapshots.", [("", "\(values.folds)")])
    metric(
      "failed_folds_total", "counter", "Logs that could not be added up.",
      [("", "\(values.failedFolds)")])
    metric(
      "held_checkpoints_total", "counter",
      "Times that others kept the write-ahead log from ending.",
      [("", "\(values.heldCheckpoints)")])
    metric("connections", "gauge", "Open connections.", [("", "\(values.connections)")])
    metric("long_polls", "gauge", "Long polls that wait.", [("", "\(waiting)")])
    metric(
      "damaged_entries", "gauge", "Entries of logs found damaged since the start.",
      [("", "\(damagedEntries)")])
    metric(
      "certificate_end_seconds", "gauge", "When the TLS certificate ends, in seconds since 1970.",
      certificateEnds.map { [("", "\(Int64($0.timeIntervalSince1970))")] } ?? [])
    return lines.joined(separator: "\n") + "\n"
  }
}
