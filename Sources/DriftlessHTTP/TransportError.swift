public import DriftlessProtocol

/// Why a request got no answer that can be used. What the server itself refused is a
/// `ProtocolError` instead.
///
/// The set of codes may grow: compare `code` with the constants below and keep a default.
public struct TransportError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is. Open: later versions may add codes.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The server's name, address or port gave no connection, or the connection broke.
    public static let unreachable = Code(rawValue: "unreachable")
    /// No byte came for too long.
    public static let timedOut = Code(rawValue: "timed-out")
    /// The server's certificate is of no authority that is trusted here, or the TLS handshake was refused.
    public static let untrusted = Code(rawValue: "untrusted")
    /// The server's certificate is for other names than the one in its address.
    public static let wrongHostName = Code(rawValue: "wrong-host-name")
    /// The server's certificate, or its authority's, has ended or not begun, by this host's clock.
    public static let certificateExpired = Code(rawValue: "certificate-expired")
    /// What answers at an `https` address speaks no TLS.
    public static let noTLS = Code(rawValue: "no-tls")
    /// The file of authorities to trust cannot be used.
    public static let badAuthorityFile = Code(rawValue: "bad-authority-file")
    /// The server asks for a certificate of this host, and none was shown.
    public static let clientCertificateRequired = Code(rawValue: "client-certificate-required")
    /// The certificate that this host shows has ended or not begun, by the server's clock.
    public static let clientCertificateExpired = Code(rawValue: "client-certificate-expired")
    /// The certificate that this host shows is of no authority that the server trusts for clients, or is none of a client.
    public static let clientCertificateRefused = Code(rawValue: "client-certificate-refused")
    /// The file with the certificate to show, or with its key, cannot be used.
    public static let badClientCertificate = Code(rawValue: "bad-client-certificate")
    /// Something that is no Driftless server answered: a captive portal, a proxy, another program.
    public static let notDriftless = Code(rawValue: "not-driftless")
    /// The body ended early or does not parse; nothing of it was used.
    public static let damagedBody = Code(rawValue: "damaged-body")
    /// The body is larger than this client takes.
    public static let tooLarge = Code(rawValue: "body-too-large")
    /// The server answered that it is overloaded or failing.
    public static let busy = Code(rawValue: "busy")
    /// The task that asked was cancelled, or the transport was closed.
    public static let cancelled = Code(rawValue: "cancelled")
    /// The server URL, the zone or the token cannot be used in a request.
    public static let badConfiguration = Code(rawValue: "bad-configuration")
  }

  /// What kind of failure it is.
  public let code: Code
  /// What went wrong, with the address that it went wrong with.
  public let message: String
  /// What the reader can do about it.
  public let suggestion: String
  /// How long the server asked to wait before the next attempt, in seconds.
  public let retryAfterSeconds: Double?

  /// - Parameters:
  ///   - code: What kind of failure it is.
  ///   - message: What went wrong, with the address.
  ///   - suggestion: What the reader can do about it.
  ///   - retryAfterSeconds: How long the server asked to wait.
  public init(
    _ code: Code, _ message: String, suggestion: String, retryAfterSeconds: Double? = nil
  ) {
    self.code = code
    self.message = message
    self.suggestion = suggestion
    self.retryAfterSeconds = retryAfterSeconds
  }

  public var description: String {
    // Some messages are sentences with their stop.
    "\(message.hasSuffix(".") ? message.dropLast() : message[...]) (\(code.rawValue)). \(suggestion)"
  }
}

extension TransportError: TransportFailure {
  public var name: String { code.rawValue }
  public var isTransient: Bool { code != .badConfiguration }
  public var needsPerson: Bool {
    [
      .untrusted, .wrongHostName, .certificateExpired, .noTLS, .badAuthorityFile,
      .clientCertificateRequired, .clientCertificateExpired, .clientCertificateRefused,
      .badClientCertificate,
    ].contains(code)
  }
}

extension TransportError {
  static func cancelled(_ address: String) -> TransportError {
    TransportError(
      .cancelled, "The request to \(address) was cancelled.",
      suggestion: "Ask again; a push that arrived after all has one effect.")
  }

  static func damagedBody(_ address: String, _ what: String) -> TransportError {
    TransportError(
      .damagedBody, "The answer of \(address) was damaged on the way: \(what).",
      suggestion: "Try again; when it stays, look for a proxy that rewrites answers.")
  }

  static func tooLarge(_ address: String, bytesMax: Int) -> TransportError {
    TransportError(
      .tooLarge, "The answer of \(address) is larger than \(bytesMax) bytes and was refused.",
      suggestion: "Check the server's limits, or that the address is a Driftless server's.")
  }
}
