import Synchronization

/// What a transport does right now.
public enum TransportPhase: Hashable, Sendable {
  /// No request is under way.
  case idle
  /// The server's name is looked up, or a connection is made.
  case connecting
  /// The request goes out, or its answer is awaited.
  case waiting
  /// The answer is coming in.
  case receiving
  /// A request failed in passing and will be made again.
  case pausing
}

/// The phase of a transport's newest request, told by the thread that runs it.
final class PhaseBox: Sendable {
  private let phase = Mutex(TransportPhase.idle)

  var value: TransportPhase { phase.withLock { $0 } }

  func set(_ value: TransportPhase) { phase.withLock { $0 = value } }
}
