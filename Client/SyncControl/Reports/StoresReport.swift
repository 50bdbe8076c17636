import DriftlessSync
import Foundation
import SyncDaemon

/// What `status` prints of all stores of a daemon. In JSON it is an array.
struct StoresReport {
  /// A store of the daemon, or why it cannot be looked at.
  struct Row: Encodable {
    var path: String
    var daemon: StatusReport.Daemon?
    var report: Result<StatusReport, Failure>

    /// How `status --check` ends for this store.
    var exitCode: Int32 {
      switch report {
      case .success(let report): report.state.exitCode
      case .failure(let failure): failure.status.rawValue
      }
    }

    private enum ErrorKey: String, CodingKey { case error }

    /// The names of `StatusReport`, and `error`. What is not known of a store that cannot be looked at is null.
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: ErrorKey.self)
      switch report {
      case .success(let report):
        try report.encode(to: encoder)
        try container.encodeNil(forKey: .error)
      case .failure(let failure):
        var values = encoder.container(keyedBy: StatusReport.Key.self)
        for key in StatusReport.Key.allCases { try values.encodeNil(forKey: key) }
        try values.encode(path, forKey: .store)
        try values.encode(daemon, forKey: .daemon)
        try container.encode(failure, forKey: .error)
      }
    }
  }

  var pid: Int32
  var socket: String
  var rows: [Row]

  /// The greatest exit code of a store.
  var exitCode: Int32 { rows.map(\.exitCode).max() ?? 0 }

  /// Looks at every store of a daemon. One that says nothing of a store is asked about the next, unless it does not answer at
  /// all.
  init(of found: FoundDaemon, by look: StatusLook = StatusLook()) async {
    pid = found.pid
    socket = found.place.socket
    rows = []
    let client = DaemonClient(
      at: found.place, pid: found.pid, answerSeconds: look.answerSeconds)
    let silent = StatusReport.Daemon(pid: found.pid, socket: socket, isSilent: true)
    var isGone = false
    for url in found.stores {
      var daemon: StatusReport.Daemon? = silent
      if !isGone {
        daemon = await StatusLook.state(of: url, by: client, isListed: true)
        if daemon?.isSilent == true { isGone = await Self.isGone(found, look) }
      }
      rows.append(await Self.row(of: url, daemon, look))
    }
  }

  private static func row(
    of url: URL, _ daemon: StatusReport.Daemon?, _ look: StatusLook
  ) async -> Row {
    do {
      let report = try await look.report(of: url) { daemon }
      return Row(path: url.path, daemon: daemon, report: .success(report))
    } catch {
      return Row(path: url.path, daemon: daemon, report: .failure(Failure(error)))
    }
  }

  /// Whether the daemon answers nobody, and not only for one store.
  private static func isGone(_ found: FoundDaemon, _ look: StatusLook) async -> Bool {
    do throws(Failure) {
      _ = try await FoundDaemon.find(at: [found.place], answerSeconds: look.answerSeconds)
      return false
    } catch {
      return true
    }
  }

  /// Lines for a person: the daemon, and one a store.
  var lines: [String] {
    let cells = rows.map(\.cells)
    let widths = (0..<3).map { column in cells.map { $0[column].count }.max() ?? 0 }
    let count = rows.count == 1 ? "1 store" : "\(rows.count) stores"
    return ["daemon: pid \(pid) at \(socket), \(count)"]
      + cells.map { row in
        zip(row, widths).map { $0.padded(to: $1 + 2) }.joined() + row[3...].joined(separator: "  ")
      }
  }
}

extension StoresReport.Row {
  /// The state, the zone, what is pending, when it synced last, the path, and what is wrong.
  fileprivate var cells: [String] {
    switch report {
    case .failure(let failure): return ["unreadable", "-", "-", "-", path, failure.message]
    case .success(let report):
      let status = report.status
      let age = status.lastSync.map { Age.text($0, now: report.now) } ?? "never synced"
      return [
        report.state.rawValue, status.zone ?? "-",
        "\(status.pending.objects)\(status.pending.hasMore ? "+" : "") pending",
        age, path,
      ] + (report.daemon?.isSilent == true ? ["(the daemon does not answer)"] : [])
        + (report.reason.map { [$0] } ?? [])
    }
  }
}
