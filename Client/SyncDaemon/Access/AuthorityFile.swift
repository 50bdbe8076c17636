package import Foundation

/// The authorities that a store trusts in place of the system's, in a file beside it: certificates, which are no secret.
package enum AuthorityFile {
  /// Where those of the store at `store` are kept.
  package static func url(forStore store: URL) -> URL {
    URL(fileURLWithPath: store.path + "-driftless-ca")
  }

  /// The word in place of a file that means the system's authorities.
  package static let systemWord = "system"

  /// More is no file of certificates: all authorities of a system are a quarter of it.
  private static let bytesMax = 1 << 20

  /// The file of a store, where it has one.
  package static func kept(forStore store: URL) -> URL? { SideFile.kept(url(forStore: store)) }

  /// Reads certificates in PEM.
  ///
  /// - Throws: `Failure` that names the file when it cannot be read, or holds something else.
  package static func read(_ url: URL) throws(Failure) -> String {
    func failure(_ reason: String) -> Failure {
      Failure(
        .badData, code: "bad-authority", "\(url.path) is no file of authorities: \(reason).",
        suggestion: "copy authority.pem from the server (the folder tls of its data folder), and "
          + "name it: syncctl enroll … --ca FILE")
    }
    let content = try SideFile.read(url, bytesMax: bytesMax + 1) { failure($0.reason) }
    guard !content.data.isEmpty else { throw failure("it is empty") }
    guard content.data.count <= bytesMax else {
      throw failure("it has more than \(bytesMax) bytes")
    }
    let text = content.text
    guard !text.contains("PRIVATE KEY-----") else {
      throw failure("it holds a private key, which stays on the server")
    }
    guard holdsCertificates(text) else { throw failure("it holds no certificate in PEM") }
    return text
  }

  /// Whether each certificate in the text is whole: libcurl takes those before a broken one without a word.
  private static func holdsCertificates(_ text: String) -> Bool {
    let parts = text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst()
    return !parts.isEmpty
      && parts.allSatisfy { part in
        guard let end = part.range(of: "-----END CERTIFICATE-----"),
          let bytes = Data(
            base64Encoded: String(part[..<end.lowerBound].filter { !$0.isWhitespace }))
        else { return false }
        // A sequence in DER, as long as it says.
        return bytes.count > 64 && bytes.first == 0x30
      }
  }

  /// Keeps certificates beside a store: a new file, moved into place.
  package static func write(_ certificates: String, forStore store: URL) throws(Failure) {
    try SideFile.put(certificates, at: url(forStore: store), beside: store.path) { reason in
      unwritable("The authorities cannot be kept in \(url(forStore: store).path): \(reason).")
    }
  }

  /// The store trusts the system's authorities from now on.
  package static func remove(forStore store: URL) throws(Failure) {
    let url = url(forStore: store)
    try SideFile.remove(url) { unwritable("\(url.path) cannot be removed: \($0).") }
  }

  private static func unwritable(_ message: String) -> Failure {
    Failure(
      .failed, code: "authority-unwritable", message,
      suggestion: "make the store's folder writable, and room in it")
  }
}
