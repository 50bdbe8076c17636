public import Foundation

/// How `driftless-server serve` was asked to serve.
public struct ServeOptions: Sendable {
  /// Host and port; port 0 takes a free one.
  public var host = "127.0.0.1"
  /// Its port.
  public var port = 8080
  /// A file with the certificate (PEM), and those up to its authority; nil for no TLS.
  public var tlsCertificate: URL?
  /// A file with its private key (PEM), which other users may not read.
  public var tlsKey: URL?
  /// Authorities: who shows no certificate of one of them is refused at the handshake. Nil where a client needs none.
  public var tlsClientCA: URL?
  /// Whether tokens and data may cross a network in clear text, say behind a proxy that speaks TLS.
  public var allowsPlaintext = false
  /// The bounds.
  public var limits = ServerLimits()
  /// Gives memory that is free back to the system: called after a large push, and while a log is added up.
  public var trimsMemory: @Sendable () -> Void = {}
  /// After so many milliseconds what large bodies took goes back, once for all that came until then; 0 at once.
  public var trimMilliseconds = 200

  /// The loopback interface without TLS, on port 8080.
  public init() {}

  /// Reads `127.0.0.1:8080`, `[::1]:8080` or `localhost:0`.
  ///
  /// - Throws: `ServerError` (`.badName`).
  package mutating func listen(on text: String) throws {
    guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
      let port = UInt16(text[text.index(after: colon)...])
    else {
      throw ServerError(
        .badName, "\"\(text)\" is not an address to listen on",
        suggestion: "Write HOST:PORT, as in 127.0.0.1:8080.")
    }
    host = text[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    self.port = Int(port)
  }

  /// Takes the certificate of a data folder, where it has one and other hosts, or clients with certificates, are served without
  /// a word about the server's own.
  package mutating func takeCertificate(ofData data: URL) {
    guard !isLoopback || tlsClientCA != nil, !allowsPlaintext, tlsCertificate == nil, tlsKey == nil
    else { return }
    let own = CertificateFolder(data: data).server
    // What is there and cannot be used is refused: nobody means to serve without it.
    guard (try? FileManager.default.attributesOfItem(atPath: own.path)) != nil else { return }
    tlsCertificate = own
    tlsKey = own
  }

  /// The host as a URL has it.
  package var urlHost: String { host.contains(":") ? "[\(host)]" : host }

  package var isLoopback: Bool {
    host == "localhost" || host == "::1" || isLoopbackIPv4
  }

  private var isLoopbackIPv4: Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  /// - Throws: `ServerError` (`.refusedStart`, `.badCertificate`) for what would not be safe.
  package func check() throws {
    try checkListening()
    try checkKey()
  }

  /// All that `check` and a certificate that cannot be used refuse, each once.
  package var faults: [any Error] {
    var faults: [any Error] = []
    func look(_ body: () throws -> Void) {
      do { try body() } catch {
        let known = faults.contains { "\($0)" == "\(error)" }
        if !known { faults.append(error) }
      }
    }
    look(checkListening)
    look(checkKey)
    look { _ = try certificateEnd() }
    // What is wrong with the clients' authorities says nothing of the server's own certificate.
    var own = self
    own.tlsClientCA = nil
    look { _ = try own.certificateEnd() }
    return faults
  }

  private func checkKey() throws {
    guard let tlsKey,
      let attributes = try? FileManager.default.attributesOfItem(
        atPath: tlsKey.resolvingSymlinksInPath().path),
      let permissions = attributes[.posixPermissions] as? Int, permissions & 0o077 != 0
    else { return }
    throw ServerError(
      .badCertificate, "other users may use the TLS key \(tlsKey.path)",
      suggestion: "Close it to them: chmod 600 \(tlsKey.path)")
  }

  private func checkListening() throws {
    guard (tlsCertificate == nil) == (tlsKey == nil) else {
      throw ServerError(
        .badCertificate, "TLS needs a certificate and its key",
        suggestion: "Give both --tls-certificate and --tls-key.")
    }
    guard tlsClientCA == nil || tlsCertificate != nil else {
      throw ServerError(
        .refusedStart, "clients cannot show certificates where the server speaks no TLS",
        suggestion: "Give --tls-certificate and --tls-key beside --tls-client-ca, or make a "
          + "certificate in the data folder: driftless-server certificate create.")
    }
    guard isLoopback || tlsCertificate != nil || allowsPlaintext else {
      throw ServerError(
        .refusedStart, "\(host) is not a loopback address, and without TLS tokens could be read",
        suggestion:
          "Make a certificate in the data folder: driftless-server certificate create. Or give "
          + "--tls-certificate and --tls-key, or --allow-plaintext when a proxy speaks TLS.")
    }
  }
}
