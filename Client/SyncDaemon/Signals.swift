@preconcurrency import Dispatch  // its signal sources are thread-safe, but not marked Sendable
import Foundation

/// The signals that steer a daemon, as a sequence.
package enum DaemonSignal: Sendable {
  /// SIGHUP: read the configuration again.
  case reload
  /// SIGTERM or SIGINT: end.
  case stop

  /// Takes the signals over from the system. Call it once, before the daemon starts, so that none
  /// is missed.
  package static func stream() -> AsyncStream<DaemonSignal> {
    // Of many reloads at once one tells all. What stops a daemon is the last: nothing that comes after it takes its place.
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let sources = [
        source(SIGHUP, .reload, continuation), source(SIGTERM, .stop, continuation),
        source(SIGINT, .stop, continuation),
      ]
      // A client of the socket that goes away must not end the daemon.
      signal(SIGPIPE, SIG_IGN)
      continuation.onTermination = { _ in sources.forEach { $0.cancel() } }
    }
  }

  private static func source(
    _ number: Int32, _ event: DaemonSignal, _ continuation: AsyncStream<DaemonSignal>.Continuation
  ) -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler {
      continuation.yield(event)
      if event == .stop { continuation.finish() }
    }
    source.resume()
    return source
  }
}
