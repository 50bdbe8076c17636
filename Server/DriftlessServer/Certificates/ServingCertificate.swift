import Foundation
import Logging
import NIOSSL

/// The certificate that a server shows, with its key, as files of the options have them.
struct ServingCertificate: Sendable {
  let configuration: TLSConfiguration
  let file: URL
  let ends: Date

  /// Nil when no TLS is asked for.
  ///
  /// - Throws: `ServerError` (`.refusedStart`) for files that are no certificate with its key.
  init?(_ options: ServeOptions) throws {
    guard let file = options.tlsCertificate, let key = options.tlsKey else { return nil }
    do {
      let chain = try NIOSSLCertificate.fromPEMFile(file.path)
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) },
        privateKey: .privateKey(try NIOSSLPrivateKey(file: key.path, format: .pem)))
      configuration.minimumTLSVersion = .tlsv12
      // A key that is another certificate's is found here, and not with the first client.
      _ = try NIOSSLContext(configuration: configuration)
      self.configuration = configuration
      self.file = file
      // The first to end of a chain ends it for clients.
      ends = Date(
        timeIntervalSince1970: TimeInterval(chain.map(\.notValidAfter).min() ?? .max))
    } catch {
      throw ServerError(
        .refusedStart, "cannot use the TLS certificate \(file.path): \(error)",
        suggestion: "Give a PEM file with the chain and a PEM file with its private key.")
    }
  }

  /// Says in the log that it ended, or is about to.
  func warn(_ logger: Logger, now: Date = Date()) {
    let left = ends.timeIntervalSince(now)
    guard left < CertificateFolder.warningSeconds else { return }
    let metadata: Logger.Metadata = [
      "certificate": "\(file.path)", "ends": "\(ends.formatted(.iso8601))",
      "try": "driftless-server certificate create, or get a new one; then start the server again",
    ]
    if left <= 0 {
      logger.error("the TLS certificate has ended: clients refuse it", metadata: metadata)
    } else {
      logger.warning(
        "the TLS certificate ends in \(Int((left / 86_400).rounded())) days", metadata: metadata)
    }
  }
}
