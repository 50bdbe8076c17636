import Driftless
package import DriftlessProtocol
package import Foundation
import Glibc

/// The token that a store's program made for a code, in a file beside the store, from before the code is sent until the store is
/// enrolled: what was killed meanwhile goes on with the same token, which the code may stand for already. From then on the
/// file has the token's ID alone, so that the same command said once more comes to the same.
package enum EnrolmentFile {
  private struct Kept: Codable {
    /// The SHA-256 of the code: it tells one code from another, and opens nothing.
    var code: String
    var server: String
    var zone: String
    /// The token's ID.
    var id: String
    /// The token; nil when it lies where tokens do.
    var token: String?
  }

  private static let suffix = "-driftless-code"
  private static let bytesMax = 16_384

  private static func url(forStore store: URL) -> URL { URL(fileURLWithPath: store.path + suffix) }

  /// The token for a code: the one that was made for it before, or a new one. It is on the disk when this returns.
  ///
  /// - Throws: `Failure` when it cannot be kept.
  package static func token(
    for code: String, server: URL, zone: String, store: URL
  ) throws(Failure) -> ReplicaToken {
    let hash = EnrolmentCode.hash(code).base64EncodedString()
    if let kept = read(store), kept.code == hash, kept.zone == zone,
      kept.server == server.absoluteString,
      let text = kept.token ?? (try? TokenFile.read(TokenFile.url(forStore: store))),
      let token = ReplicaToken(text), token.id == kept.id
    {
      return token
    }
    let token = ReplicaToken.make()
    try write(
      Kept(
        code: hash, server: server.absoluteString, zone: zone, id: token.id, token: token.text),
      store)
    return token
  }

  /// Takes the token out of it, once that lies where tokens do.
  ///
  /// - Throws: `Failure` when that cannot be written.
  package static func settle(forStore store: URL) throws(Failure) {
    guard var kept = read(store), kept.token != nil else { return }
    // Where tokens lie, it has to outlast a power cut before it goes from here.
    try synchronize(url(forStore: store))
    kept.token = nil
    try write(kept, store)
  }

  private static func write(_ kept: Kept, _ store: URL) throws(Failure) {
    let file = url(forStore: store)
    let text = (try? JSONEncoder().encode(kept)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    try SideFileDraft.put(text + "\n", at: file, beside: store.path) { failure(file, $0) }
    // The code is used up by what comes next.
    try synchronize(file)
  }

  /// Waits until the names of the files in a file's folder are on the disk.
  private static func synchronize(_ file: URL) throws(Failure) {
    let folder = open(file.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw failure(file, String(cString: strerror(errno))) }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw failure(file, String(cString: strerror(errno))) }
  }

  private static func failure(_ file: URL, _ reason: String) -> Failure {
    Failure(
      .failed, code: "token-unwritable", "The token cannot be kept in \(file.path): \(reason).",
      suggestion: "make the store's folder writable, and room in it")
  }

  /// Removes it. One that stays is taken for no other code.
  package static func remove(forStore store: URL) { unlink(url(forStore: store).path) }

  /// What is there; nil for what cannot be read: then the code gets another token, and the server says whether it may.
  private static func read(_ store: URL) -> Kept? {
    let descriptor = open(url(forStore: store).path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: bytesMax)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    return try? JSONDecoder().decode(Kept.self, from: Data(bytes.prefix(max(0, count))))
  }
}
