import HummingbirdCore

/// Lets no more than so many connections in; the rest wait in the listen queue. `ConnectionRoom` sees to it that this is seldom.
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
    if count == most { metrics.countPausedAccept() }
  }

  mutating func connectionClosed() {
    count -= 1
    metrics.connectionClosed()
  }

  func isAcceptingNewConnections() -> Bool { count < most }

  /// Those that are being closed are among them.
  private var most: Int {
    let limits = limits.current
    return limits.connectionsMax + 2 * limits.connectionsReserve
  }
}
