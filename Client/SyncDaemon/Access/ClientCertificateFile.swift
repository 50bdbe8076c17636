import Driftless
package import Foundation

/// The certificate by which a store's host shows itself to its server, where that asks for one, and its private key: one file
/// beside the store that nobody else may read, so that no end of a process parts the two.
package enum ClientCertificateFile {
  /// Where that of the store at `store` is kept.
  package static func url(forStore store: URL) -> URL {
    URL(fileURLWithPath: store.path + "-driftless-client")
  }

  /// The word in place of a file that means that none is shown.
  package static let noneWord = "none"

  /// More is no file of a certificate.
  private static let bytesMax = 1 << 20

  /// The file of a store, where it has one.
  package static func kept(forStore store: URL) -> URL? { SideFile.kept(url(forStore: store)) }

  /// Reads a certificate and its key in PEM.
  ///
  /// - Parameter key: the file with the key, where it lies apart.
  /// - Throws: `Failure` that names the file which cannot be read, holds something else, or has a key that others may read.
  package static func read(_ url: URL, key: URL? = nil) throws(Failure) -> String {
    var text = try plainText(of: url)
    if let key { text += "\n" + (try plainText(of: key)) }
    let keys = text.components(separatedBy: "PRIVATE KEY-----").count / 2
    guard text.contains("-----BEGIN CERTIFICATE-----") else {
      throw failure(url, "it holds no certificate in PEM")
    }
    guard keys > 0 else {
      throw failure(
        key ?? url,
        key == nil
          ? "it holds no private key, and --client-key names none" : "it holds no private key")
    }
    guard keys == 1 else { throw failure(url, "it holds more than one private key") }
    guard !text.contains("ENCRYPTED") else {
      throw failure(key ?? url, "a passphrase closes its private key, and nobody is asked for it")
    }
    return text
  }

  private static func failure(_ url: URL, _ reason: String) -> Failure {
    Failure(
      .badData, code: "bad-client-certificate",
      "\(url.path) is no certificate with its key: \(reason).",
      suggestion: "take the file that the server's operator makes (driftless-server certificate "
        + "create --client NAME), and name it: syncctl enroll … --client-certificate FILE")
  }

  /// What a plain file holds; one with a private key is for its owner alone.
  private static func plainText(of url: URL) throws(Failure) -> String {
    let content = try SideFile.read(url, bytesMax: bytesMax + 1) { failure(url, $0.reason) }
    guard content.data.count <= bytesMax else {
      throw failure(url, "it has more than \(bytesMax) bytes")
    }
    let text = content.text
    guard !text.contains("PRIVATE KEY-----") || content.isForOwnerAlone else {
      throw Failure(
        .notAllowed, code: "client-key-readable",
        "\(url.path) has a private key and can be read by others (mode \(content.modeText)).",
        suggestion: "chmod 600 \(url.path.shellWord)")
    }
    return text
  }

  /// Keeps a certificate with its key beside a store: a new file for its owner alone, moved into place.
  package static func write(_ text: String, forStore store: URL) throws(Failure) {
    try SideFile.put(text, at: url(forStore: store), beside: store.path) { reason in
      unwritable("cannot be kept in \(url(forStore: store).path): \(reason)")
    }
  }

  /// The store's host shows none from now on.
  package static func remove(forStore store: URL) throws(Failure) {
    let url = url(forStore: store)
    try SideFile.remove(url) { unwritable("in \(url.path) cannot be removed: \($0)") }
  }

  private static func unwritable(_ what: String) -> Failure {
    Failure(
      .failed, code: "client-certificate-unwritable", "The certificate of this host \(what).",
      suggestion: "make the store's folder writable, and room in it")
  }
}
