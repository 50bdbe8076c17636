public import DriftlessProtocol
import Foundation

/// How requests are made: every bound, delay and retry limit of the transport, with its unit and
/// its reason.
public struct TransportOptions: Hashable, Sendable {
  /// Milliseconds. A host that does not answer within this is taken for absent (F21, F26).
  public var connectTimeoutMilliseconds = 10_000
  /// Seconds without one byte in either direction after which a request is given up. A long poll
  /// adds the time that it asked the server to wait. Slow links make progress and are left alone
  /// (F22).
  public var stallTimeoutSeconds = 30
  /// Seconds. The end of any request, so that a peer that trickles bytes cannot hold one for ever.
  public var requestTimeoutSeconds = 3_600
  /// Bytes of a JSON answer. The largest real one is far below 1 KB.
  public var jsonBytesMax = 64 << 10
  /// Bytes of a page of the log beyond what was asked for: one change set larger than the page
  /// still comes whole, and none is larger than the server's body limit.
  public var pageSlackBytes = 64 << 20
  /// How often and when a failed request is made again.
  public var retry = RetryPolicy()
  /// A file of certificates (PEM) to trust instead of the system's.
  public var certificateAuthorityFile: String? = ProcessInfo.processInfo.environment[
    "SSL_CERT_FILE"]
  /// A file with the certificate (PEM) by which this host shows itself to a server that asks for one, and its private key, which
  /// no passphrase closes. Nil for none.
  public var clientCertificateFile: String?
  /// A file with that private key (PEM), where it lies apart from the certificate.
  public var clientKeyFile: String?
  /// The name by which the server's operator knows the replica; it is told with each request. Nil for none.
  public var replicaName: ReplicaName?
  /// Whether the token may go over plain HTTP to a host other than this one.
  public var allowsPlaintext = false

  /// The bounds above.
  public init() {}
}
