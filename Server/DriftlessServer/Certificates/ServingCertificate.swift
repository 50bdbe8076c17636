import Crypto
package import Foundation
import Logging
import NIOCore
import NIOSSL
import Synchronization

/// The certificate that a server shows, with its key, as files of the options have them.
struct ServingCertificate: Sendable {
  let context: NIOSSLContext
  /// The SHA-256 of the certificate itself, so that one is told from another.
  let fingerprint: String
  let file: URL
  let ends: Date
  /// The authorities whose certificates clients have to show, as their file has them; nil where they need none.
  let clientAuthorities: [NIOSSLCertificate]?

  /// Nil when no TLS is asked for.
  ///
  /// - Throws: `ServerError` (`.badCertificate`) for files that are no certificate with its key.
  init?(_ options: ServeOptions) throws {
    guard let file = options.tlsCertificate, let key = options.tlsKey else { return nil }
    let clientAuthorities = try options.tlsClientCA.map { try Self.authorities($0) }
    self.clientAuthorities = clientAuthorities
    let chain = try Self.reading(file, "a certificate") {
      try NIOSSLCertificate.fromPEMFile($0)
    }
    let own = try Self.reading(key, "a private key", of: file) {
      try NIOSSLPrivateKey(file: $0, format: .pem)
    }
    do {
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(own))
      configuration.minimumTLSVersion = .tlsv12
      configuration.cipherSuiteValues = Self.suites
      if let clientAuthorities {
        configuration.trustRoots = .certificates(clientAuthorities)
        // A client has no name that could be looked at: what it may is a matter of its token.
        configuration.certificateVerification = .noHostnameVerification
      }
      // Who is hung up on and does not answer keeps its place no longer.
      configuration.shutdownTimeout = .seconds(1)
      // A key that is another certificate's is found here, and not with the first client.
      context = try NIOSSLContext(configuration: configuration)
      fingerprint = try chain.first.map { Self.fingerprint(try $0.toDERBytes()) } ?? ""
      self.file = file
      // The first to end of a chain ends it for clients.
      ends = Date(
        timeIntervalSince1970: TimeInterval(chain.map(\.notValidAfter).min() ?? .max))
    } catch {
      // BoringSSL says the same of both.
      let isOther =
        if case NIOSSLError.failedToLoadPrivateKey = error { true } else { false }
      throw Self.refusal(
        of: file, isOther ? "the key in \(key.path) is another certificate's" : "\(error)")
    }
  }

  /// - Parameter certificate: the file of the certificate, where `file` is that of its key.
  private static func reading<Value>(
    _ file: URL, _ what: String, of certificate: URL? = nil, _ body: (String) throws -> Value
  ) throws -> Value {
    do {
      return try body(file.path)
    } catch {
      let reason =
        access(file.path, R_OK) == 0
        ? "\(file.path) has not \(what) in PEM form, or not all of it"
        : "\(file.path): \(String(cString: strerror(errno)))"
      throw refusal(of: certificate ?? file, reason)
    }
  }

  private static func refusal(of file: URL, _ reason: String) -> ServerError {
    ServerError(
      .badCertificate, "cannot use the TLS certificate \(file.path): \(reason)",
      suggestion: "Give a PEM file with the chain and a PEM file with its private key.")
  }

  /// The certificates of a file of authorities.
  ///
  /// - Throws: `ServerError` (`.badCertificate`).
  private static func authorities(_ file: URL) throws -> [NIOSSLCertificate] {
    func refusal(_ reason: String) -> ServerError {
      ServerError(
        .badCertificate, "cannot use the clients' authorities \(file.path): \(reason)",
        suggestion: "Name a PEM file with the certificates of authorities, as authority.pem of "
          + "the folder that driftless-server certificate create writes.")
    }
    let found: [NIOSSLCertificate]
    do { found = try NIOSSLCertificate.fromPEMFile(file.path) } catch {
      throw refusal("\(error)")
    }
    guard !found.isEmpty else { throw refusal("it has no certificate") }
    return found
  }

  /// Of TLS 1.2 what keeps the past secret and says that nothing was changed; 1.3 has no other ones.
  private static let suites: [NIOTLSCipher] = [
    .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
  ]

  private static func fingerprint(_ bytes: [UInt8]) -> String {
    SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Says in the log that it ended, or is about to.
  func warn(_ logger: Logger, now: Date = Date()) {
    let left = ends.timeIntervalSince(now)
    guard left < CertificateFolder.warningSeconds else { return }
    let metadata: Logger.Metadata = [
      "certificate": "\(file.path)", "ends": "\(ends.formatted(.iso8601))",
      "try":
        "driftless-server certificate create, or get a new one; then reload the server (SIGHUP)",
    ]
    if left <= 0 {
      logger.error("the TLS certificate has ended: clients refuse it", metadata: metadata)
    } else {
      logger.warning(
        "the TLS certificate ends in \(Int((left / 86_400).rounded())) days", metadata: metadata)
    }
  }
}

/// The certificate that new connections are shown: another may take its place while the server serves.
final class LiveCertificate: Sendable {
  private let certificate: Mutex<ServingCertificate?>

  /// - Parameter certificate: nil where no TLS is spoken.
  init(_ certificate: ServingCertificate?) { self.certificate = Mutex(certificate) }

  /// Nil where no TLS is spoken.
  var current: ServingCertificate? { certificate.withLock { $0 } }

  func take(_ certificate: ServingCertificate) { self.certificate.withLock { $0 = certificate } }
}

extension ServeOptions {
  /// Reads the certificate as a server does that is about to serve.
  ///
  /// - Returns: when it ends; nil where no TLS is asked for.
  /// - Throws: `ServerError` (`.refusedStart`).
  package func certificateEnd() throws -> Date? { try ServingCertificate(self)?.ends }
}
