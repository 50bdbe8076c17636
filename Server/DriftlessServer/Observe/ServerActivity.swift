import Synchronization

/// What the server was at lately, for the plots of the status page: a sample every ten seconds, for an hour.
final class ServerActivity: Sendable {
  /// What happened in one span.
  struct Sample: Sendable {
    var pushes = 0.0
    var stale = 0.0
    var bytesReceived = 0.0
    var bytesSent = 0.0
    /// At its end.
    var connections = 0
    var longPolls = 0
  }

  private struct State {
    var samples: [Sample] = []
    var last: (totals: ServerMetrics.Totals, at: ContinuousClock.Instant)?
  }

  private let state = Mutex(State())
  let began = ContinuousClock.now
  static let spanSeconds = 10
  static let samplesMax = 360

  /// The last ones, oldest first.
  var samples: [Sample] { state.withLock { $0.samples } }

  /// Takes samples until the task is cancelled.
  func run(_ metrics: ServerMetrics, _ news: ZoneNews) async {
    note(metrics.totals, longPolls: news.waiting)
    while (try? await Task.sleep(for: .seconds(Self.spanSeconds))) != nil {
      note(metrics.totals, longPolls: news.waiting)
    }
  }

  func note(
    _ totals: ServerMetrics.Totals, longPolls: Int, at now: ContinuousClock.Instant = .now
  ) {
    state.withLock { state in
      defer { state.last = (totals, now) }
      guard let last = state.last else { return }
      let seconds = max(0.001, (now - last.at) / .seconds(1))
      func rate(_ path: KeyPath<ServerMetrics.Totals, UInt64>) -> Double {
        Double(totals[keyPath: path] &- last.totals[keyPath: path]) / seconds
      }
      state.samples.append(
        Sample(
          pushes: rate(\.pushes), stale: rate(\.stale), bytesReceived: rate(\.bytesReceived),
          bytesSent: rate(\.bytesSent), connections: totals.connections, longPolls: longPolls))
      state.samples.removeFirst(max(0, state.samples.count - Self.samplesMax))
    }
  }
}
