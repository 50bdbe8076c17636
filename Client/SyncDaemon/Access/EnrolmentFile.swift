import Driftless
package import DriftlessProtocol
package import Foundation
import Glibc

/// The tokens that a store's program made for codes, in a file beside the store, each from before its code is sent until the store
/// is enrolled by it: what was killed meanwhile, or heard no answer, goes on with the same token, which the code may stand for
/// already. From then on an entry has the token's ID alone, so that the same command said once more comes to the same.
///
/// One process at a time has it, for as long as this lives.
package final class EnrolmentFile: Sendable {
  private struct Entry: Codable {
    /// The SHA-256 of the code: it tells one code from another, and opens nothing.
    var code: String
    var server: String
    var zone: String
    /// The token's ID.
    var id: String
    /// The token; nil when it lies where tokens do.
    var token: String?

    func isOf(_ hash: String, _ address: URL) -> Bool {
      code == hash && URL(string: server)?.isSameServer(as: address) ?? false
    }
  }

  private struct Entries: Codable {
    var entries: [Entry] = []
  }

  /// The token for the code.
  package let token: ReplicaToken
  /// Whether the store was enrolled by it before: the code need not be said again.
  package let isSettled: Bool

  private let store: URL
  private let server: URL
  private let hash: String
  private let lock: EnrolmentLock

  private static let suffix = "-driftless-code"
  /// Codes whose enrolments have not ended; nobody has so many, and each may be the only copy of a token.
  private static let entriesMax = 16
  private static let bytesMax = 131_072

  /// Where it lies.
  package static func path(forStore store: URL) -> String { url(forStore: store).path }

  private static func url(forStore store: URL) -> URL { URL(fileURLWithPath: store.path + suffix) }

  /// Finds the token for a code, the one that was made for it before or a new one. It is on the disk when this returns.
  ///
  /// - Throws: `Failure` when it cannot be kept, when what is there cannot be read, and while another process enrols the store.
  package init(code: String, server: URL, zone: String, store: URL) throws(Failure) {
    let lock = try EnrolmentLock(
      URL(fileURLWithPath: store.path + Self.suffix + "-lock"), beside: store.path)
    let hash = EnrolmentCode.hash(code).base64EncodedString()
    let kept = try Self.read(store)
    (self.store, self.server, self.hash, self.lock) = (store, server, hash, lock)
    if let entry = kept.entries.first(where: { $0.isOf(hash, server) }) {
      if let text = entry.token {
        guard let token = ReplicaToken(text), token.id == entry.id else {
          throw Self.damaged(Self.url(forStore: store))
        }
        (self.token, isSettled) = (token, false)
        return
      }
      if let token = try Self.inPlace(store), token.id == entry.id {
        (self.token, isSettled) = (token, true)
        return
      }
    }
    (token, isSettled) = (ReplicaToken.make(), false)
    var entries = Entries(entries: kept.entries.filter { !$0.isOf(hash, server) })
    // Of a token that lies where tokens do no copy is lost.
    while entries.entries.count >= Self.entriesMax {
      guard let settled = entries.entries.firstIndex(where: { $0.token == nil }) else {
        throw Self.full(Self.url(forStore: store))
      }
      entries.entries.remove(at: settled)
    }
    entries.entries.append(
      Entry(
        code: hash, server: server.absoluteString, zone: zone, id: token.id, token: token.text))
    try Self.write(entries, store)
  }

  /// Takes the token out of it, once that lies where tokens do.
  ///
  /// - Throws: `Failure` when that cannot be written.
  package func settle() throws(Failure) {
    var kept = try Self.read(store)
    guard let index = kept.entries.firstIndex(where: { $0.isOf(hash, server) && $0.token != nil })
    else { return }
    // Where tokens lie, it has to outlast a power cut before it goes from here.
    try Self.synchronize(Self.url(forStore: store))
    kept.entries[index].token = nil
    try Self.write(kept, store)
  }

  /// Removes it. One that stays is taken for no other code.
  package static func remove(forStore store: URL) { unlink(url(forStore: store).path) }

  /// The token that lies where tokens do.
  private static func inPlace(_ store: URL) throws(Failure) -> ReplicaToken? {
    guard let text = try TokenFile.textIfThere(at: TokenFile.url(forStore: store)) else {
      return nil
    }
    return ReplicaToken(text.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  private static func write(_ entries: Entries, _ store: URL) throws(Failure) {
    let file = url(forStore: store)
    let text =
      (try? JSONEncoder().encode(entries)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    try SideFile.put(text + "\n", at: file, beside: store.path) { unwritable(file, $0) }
    // The code is used up by what comes next.
    try synchronize(file)
  }

  /// What is there. What cannot be read may be the only copy of a token, and is not written over.
  private static func read(_ store: URL) throws(Failure) -> Entries {
    let file = url(forStore: store)
    guard let text = try TokenFile.textIfThere(at: file, bytesMax: bytesMax) else {
      return Entries()
    }
    guard let entries = try? JSONDecoder().decode(Entries.self, from: Data(text.utf8)) else {
      throw damaged(file)
    }
    return entries
  }

  /// Waits until the names of the files in a file's folder are on the disk.
  private static func synchronize(_ file: URL) throws(Failure) {
    let folder = open(file.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw unwritable(file, String(cString: strerror(errno))) }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw unwritable(file, String(cString: strerror(errno))) }
  }

  fileprivate static func unwritable(_ file: URL, _ reason: String) -> Failure {
    Failure(
      .failed, code: "token-unwritable", "The token cannot be kept in \(file.path): \(reason).",
      suggestion: "make the store's folder writable, and room in it")
  }

  private static func damaged(_ file: URL) -> Failure {
    Failure(
      .badData, code: "no-token", "\(file.path) does not hold what enroll keeps of codes.",
      suggestion: "it may be the only copy of a token that the server has: put it back as it was, "
        + "or move it away and ask the operator for another code (driftless-server code list "
        + "says which token to revoke)")
  }

  private static func full(_ file: URL) -> Failure {
    Failure(
      .failed, code: "token-unwritable",
      "\(file.path) has tokens of \(entriesMax) codes by which the store was not enrolled.",
      suggestion: "say enroll with a code of before, or move the file away")
  }
}

/// The right to enrol a store by a code: one process. It ends with this, and so does its file.
private final class EnrolmentLock: Sendable {
  private let path: String
  private let descriptor: Int32

  init(_ file: URL, beside store: String) throws(Failure) {
    path = file.path
    while true {
      let descriptor = open(file.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else {
        throw EnrolmentFile.unwritable(file, String(cString: strerror(errno)))
      }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        close(descriptor)
        throw Failure(
          .tryAgain, code: "busy", "Another process enrols \(store) by a code.",
          suggestion: "say it again when that has ended")
      }
      // Who had it before may have removed the file in between.
      var (own, named) = (stat(), stat())
      if fstat(descriptor, &own) == 0, stat(file.path, &named) == 0, own.st_ino == named.st_ino,
        own.st_dev == named.st_dev
      {
        self.descriptor = descriptor
        return
      }
      close(descriptor)
    }
  }

  deinit {
    unlink(path)
    close(descriptor)
  }
}

extension URL {
  /// Whether scheme, host and port are the same.
  package func isSameServer(as other: URL) -> Bool {
    scheme?.lowercased() == other.scheme?.lowercased()
      && host()?.lowercased() == other.host()?.lowercased() && ownPort == other.ownPort
  }

  private var ownPort: Int? {
    port ?? ["http": 80, "https": 443][scheme?.lowercased() ?? ""]
  }
}
