import HummingbirdCore

/// Lets no more than so many connections in; the rest wait in the listen queue.
struct ConnectionCount: AvailableConnectionsDelegate {
  let limits: LiveLimits
  let metrics: ServerMetrics
  private var count = 0

  init(limits: LiveLimits, metrics: ServerMetrics) {
    self.limits = limits
    self.metrics = metrics
  }

  mutating func connectionOpened() {
    count += 1
    metrics.connectionOpened()
    if count == limits.connectionsMax { metrics.countPausedAccept() }
  }

  mutating func connectionClosed() {
    count -= 1
    metrics.connectionClosed()
  }

  func isAcceptingNewConnections() -> Bool { count < limits.connectionsMax }
}
