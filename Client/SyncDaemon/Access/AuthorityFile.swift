import Driftless
package import Foundation
import Glibc

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
  package static func kept(forStore store: URL) -> URL? {
    let url = url(forStore: store)
    var status = stat()
    return lstat(url.path, &status) == 0 ? url : nil
  }

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
    // A pipe would be waited for without end.
    let descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let reason = errno
      if reason == EMFILE || reason == ENFILE { throw .noFileLeft(for: url.path) }
      throw failure(String(cString: strerror(reason)))
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw failure("it is no plain file")
    }
    let data: Data
    do {
      // Nothing is nil here, and no error.
      data = try file.read(upToCount: bytesMax + 1) ?? Data()
    } catch {
      throw failure("it cannot be read")
    }
    guard !data.isEmpty else { throw failure("it is empty") }
    guard data.count <= bytesMax else { throw failure("it has more than \(bytesMax) bytes") }
    let text = String(decoding: data, as: UTF8.self)
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
    try SideFileDraft.put(certificates, at: url(forStore: store), beside: store.path) { reason in
      Failure(
        .failed, code: "authority-unwritable",
        "The authorities cannot be kept in \(url(forStore: store).path): \(reason).",
        suggestion: "make the store's folder writable, and room in it")
    }
  }

  /// The store trusts the system's authorities from now on.
  package static func remove(forStore store: URL) throws(Failure) {
    let url = url(forStore: store)
    guard unlink(url.path) != 0, errno != ENOENT else { return }
    throw Failure(
      .failed, code: "authority-unwritable",
      "\(url.path) cannot be removed: \(String(cString: strerror(errno))).",
      suggestion: "make the store's folder writable, and room in it")
  }
}

/// Puts small files beside a store, whole or not at all.
enum SideFileDraft {
  /// Writes a new file for the store's owner alone, and moves it into place when it is on the disk.
  static func put(
    _ text: String, at url: URL, beside store: String, failure: (String) -> Failure
  ) throws(Failure) {
    let temporary = "\(url.path).\(getpid())"
    unlink(temporary)
    let descriptor = StoreSideFile.create(temporary, beside: store)
    guard descriptor >= 0 else { throw failure(String(cString: strerror(errno))) }
    var rest = Array(text.utf8)[...]
    var reason: Int32 = 0
    while reason == 0, !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { reason = count < 0 ? errno : EIO } else { rest = rest.dropFirst(count) }
    }
    if reason == 0, fsync(descriptor) != 0 { reason = errno }
    close(descriptor)
    if reason == 0, rename(temporary, url.path) != 0 { reason = errno }
    guard reason == 0 else {
      unlink(temporary)
      throw failure(String(cString: strerror(reason)))
    }
  }
}
