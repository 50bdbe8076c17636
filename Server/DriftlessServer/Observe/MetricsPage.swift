import Foundation

/// The page of `/metrics`, in the text format of Prometheus.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/
struct MetricsPage {
  var values: ServerMetrics.Values
  /// Replicas that wait for news.
  var waiting = 0
  var damagedEntries = 0
  var certificateEnds: Date?
  /// Nil where the database cannot be read.
  var storage: StorageLook?
  /// Nil where the system does not tell.
  var process: ProcessFigures?

  private typealias Samples = [(suffix: String, value: String)]

  var text: String {
    var lines: [String] = []
    func metric(_ name: String, _ type: String, _ help: String, _ samples: Samples) {
      lines.append("# HELP driftless_\(name) \(help)")
      lines.append("# TYPE driftless_\(name) \(type)")
      lines += samples.map { "driftless_\(name)\($0.suffix) \($0.value)" }
    }
    func counter(_ name: String, _ help: String, _ value: UInt64) {
      metric(name, "counter", help, [("", "\(value)")])
    }
    func gauge(_ name: String, _ help: String, _ value: Int64?) {
      metric(name, "gauge", help, value.map { [("", "\($0)")] } ?? [])
    }
    metric("requests_total", "counter", "Requests answered, by route and status.", requests)
    metric(
      "request_duration_seconds", "histogram",
      "Time that the server was at requests, without waiting for news.", durations)
    metric("refusals_total", "counter", "Requests refused, by code.", refusals)
    counter("bytes_received_total", "Bytes of pushes.", values.bytesReceived)
    counter("bytes_sent_total", "Bytes of log sent.", values.bytesSent)
    metric(
      "commit_duration_seconds", "histogram", "Group commits, and how long they took.",
      values.commits.samples())
    counter(
      "committed_pushes_total", "Pushes in group commits, refused ones included.",
      values.pushesCommitted)
    gauge(
      "pending_pushes", "Pushes that wait for the storage or are written.",
      Int64(values.pendingPushes))
    counter("folds_total", "Logs added up to snapshots.", values.folds)
    counter("failed_folds_total", "Logs that could not be added up.", values.failedFolds)
    counter(
      "held_checkpoints_total", "Times that others kept the write-ahead log from ending.",
      values.heldCheckpoints)
    gauge("connections", "Open connections.", Int64(values.connections))
    counter(
      "paused_accepts_total", "Times that further connections had to wait.", values.pausedAccepts)
    counter(
      "failed_accepts_total", "Times that no connection could be accepted.", values.failedAccepts)
    counter(
      "closed_connections_total", "Connections without a token that were closed for others.",
      values.closedStrangers)
    gauge("long_polls", "Long polls that wait.", Int64(waiting))
    gauge(
      "damaged_entries", "Entries of logs found damaged since the start.", Int64(damagedEntries))
    counter(
      "damaged_reads_total", "Errors that say that the database's file is damaged.",
      values.damagedReads)
    gauge("zones", "Zones.", storage.map { Int64($0.zoneCount) })
    gauge("database_bytes", "Size of the database.", storage?.databaseBytes)
    gauge("wal_bytes", "Size of the write-ahead log's file.", storage?.logFileBytes)
    gauge(
      "staged_bytes", "Parts of pushes that wait for the last one.", storage?.stagedBytes)
    gauge("value_bytes", "Large values, those too that come.", storage?.valueBytes)
    gauge(
      "unnamed_value_bytes", "Large values that no change set names so far.",
      storage?.unnamedValueBytes)
    gauge(
      "lost_values", "Large values that change sets name and the server lacks.",
      storage?.lostValues)
    gauge("free_bytes", "What the file system has free.", storage?.freeBytes)
    gauge(
      "certificate_end_seconds", "When the TLS certificate ends, in seconds since 1970.",
      certificateEnds.map { Int64($0.timeIntervalSince1970) })
    return (lines + (process?.lines ?? [])).joined(separator: "\n") + "\n"
  }

  private var requests: Samples {
    values.requests.sorted { $0.key < $1.key }.flatMap { route, statuses in
      statuses.sorted { $0.key < $1.key }.map {
        ("{route=\"\(route)\",status=\"\($0.key)\"}", "\($0.value)")
      }
    }
  }

  private var durations: Samples {
    values.durations.sorted { $0.key < $1.key }.flatMap { route, durations in
      durations.samples("route=\"\(route)\"")
    }
  }

  private var refusals: Samples {
    values.refusals.sorted { $0.key < $1.key }.map { ("{code=\"\($0.key)\"}", "\($0.value)") }
  }
}
