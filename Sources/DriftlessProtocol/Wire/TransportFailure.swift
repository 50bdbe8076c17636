/// An error of a transport, when no usable answer came: it says whether time may heal it.
///
/// An error of a transport that is no `TransportFailure` counts as one that time heals.
public protocol TransportFailure: Error {
  /// A short name that programs can compare.
  var name: String { get }
  var message: String { get }
  /// What the reader can do about it.
  var suggestion: String { get }
  /// Whether the same request can succeed later without anybody doing anything.
  var isTransient: Bool { get }
  /// Whether a person has to do something before it can succeed, here or at the server. False where a transport does not say.
  var needsPerson: Bool { get }
  /// How long the server asked to wait before the next attempt, in seconds.
  var retryAfterSeconds: Double? { get }
}

extension TransportFailure {
  public var needsPerson: Bool { false }
}
