package import DriftlessServer
package import Foundation
import X509

#if canImport(Glibc)
  import Glibc
#endif

extension CertificateFolder {
  /// What `create` did.
  package struct Made: Sendable {
    package let authority: CertificateSummary
    package let server: CertificateSummary
    /// Whether hosts have to be told of the authority.
    package let isAuthorityNew: Bool
    /// Names of the certificate that was there which the new one has not.
    package let droppedNames: [String]
    /// Whether the names of the certificate that was there could not be read.
    package let areFormerNamesUnknown: Bool
  }

  /// What `createClient` did.
  package struct MadeClient: Sendable {
    package let authority: CertificateSummary
    package let client: CertificateSummary
    /// Where the client's key and certificate lie.
    package let file: URL
    package let isAuthorityNew: Bool
  }

  /// Days that a certificate may be good for: as long as an authority at most.
  package static let daysMax = CertificateAuthority.days

  /// Makes a certificate for the server, and the authority that signs it where there is none.
  ///
  /// - Parameters:
  ///   - names: what clients call the server by, beside the names of the certificate that is there; where there are none
  ///     at all, this host's name. The loopback's names are always among them.
  ///   - dropsFormerNames: whether the names of the certificate that is there are left out, unless they are given again.
  ///   - replacesAuthority: whether a new authority takes the place of one that is there.
  /// - Throws: `ServerError`: `.badCertificate` for an authority that cannot be used, `.diskFull`, `.folder`.
  package func create(
    names: [CertificateName], days: Int, dropsFormerNames: Bool = false,
    replacesAuthority: Bool = false, now: Date = Date()
  ) throws -> Made {
    try makeFolder()
    let lock = try FileLock(folder: url)
    defer { lock.release() }
    let known = replacesAuthority ? nil : try knownAuthority()
    let authority = try known ?? CertificateAuthority(now: now)
    let former = try formerNames(isNeeded: names.isEmpty)
    let all = try complete((dropsFormerNames ? [] : former ?? []) + names)
    let issued = try authority.issue(all, days: days, now: now)
    let isNew = try keep(authority, isKnown: known != nil)
    try write(CertificateText.pem(issued.key, issued.certificate), to: server, 0o600)
    return Made(
      authority: try CertificateSummary(authority.certificate),
      server: try CertificateSummary(issued.certificate), isAuthorityNew: isNew,
      droppedNames: (former ?? []).filter { !all.contains($0) }.map(\.description),
      areFormerNamesUnknown: former == nil)
  }

  /// Makes a certificate for a client, by which it shows itself to a server that asks for one (`tlsClientCA`), and the authority
  /// that signs it where there is none. The server's own stays as it is.
  ///
  /// - Parameter name: what the client is called: letters, digits, `-`, `_` and `.`, 64 at most.
  /// - Throws: as `create`; `.badName`.
  package func createClient(
    _ name: String, days: Int, now: Date = Date()
  ) throws -> MadeClient {
    guard ZoneName.isValid(name), name.count <= 64 else {
      throw ServerError(
        .badName, "\"\(name.prefix(300))\" cannot be a client's name",
        suggestion: "Use 1 to 64 letters, digits, '-', '_' and '.', and begin with a letter or "
          + "digit, as in --client till-4.")
    }
    try makeFolder()
    let lock = try FileLock(folder: url)
    defer { lock.release() }
    let known = try knownAuthority()
    let authority = try known ?? CertificateAuthority(now: now)
    let issued = try authority.issue(client: name, days: days, now: now)
    let isNew = try keep(authority, isKnown: known != nil)
    let file = client(name)
    try write(CertificateText.pem(issued.key, issued.certificate), to: file, 0o600)
    return MadeClient(
      authority: try CertificateSummary(authority.certificate),
      client: try CertificateSummary(issued.certificate), file: file, isAuthorityNew: isNew)
  }

  /// Writes what of an authority is not there.
  ///
  /// - Returns: whether hosts have to be told of it.
  private func keep(_ authority: CertificateAuthority, isKnown: Bool) throws -> Bool {
    if !isKnown {
      try write(CertificateText.pem(authority.key, authority.certificate), to: authorityKey, 0o600)
    }
    let text = try CertificateText.pem(authority.certificate)
    // One that was killed before has not told anybody of its authority.
    let isUntold = (try? String(contentsOf: self.authority, encoding: .utf8)) != text
    if isUntold { try write(text, to: self.authority, 0o644) }
    return !isKnown || isUntold
  }

  /// The authority that is there; nil where none is.
  private func knownAuthority() throws -> CertificateAuthority? {
    guard attributes(of: authorityKey) != nil else {
      guard attributes(of: authority) == nil else {
        throw ServerError(
          .badCertificate,
          "\(authority.path) is there, and its key \(authorityKey.lastPathComponent) is not",
          suggestion: "Put the key back beside it. With --force there is a new authority, of which "
            + "all hosts have to be told.")
      }
      return nil
    }
    let mode = attributes(of: authorityKey.resolvingSymlinksInPath())?[.posixPermissions] as? Int
    guard (mode ?? 0) & 0o077 == 0 else {
      throw ServerError(
        .badCertificate, "other users may use the authority's key \(authorityKey.path)",
        suggestion: "Close it to them: chmod 600 '\(authorityKey.path)'. Where somebody may have "
          + "it, make a new authority with --force.")
    }
    return try BoundedText.parsed(
      authorityKey,
      suggestion: "Put it back from a copy. With --force there is a new authority, of which all "
        + "hosts have to be told."
    ) { try CertificateAuthority(pem: $0) }
  }

  /// The names of the server's certificate that is there; nil where they cannot be read.
  ///
  /// - Parameter isNeeded: whether none are given in their place.
  private func formerNames(isNeeded: Bool) throws -> [CertificateName]? {
    guard access(server.path, F_OK) == 0 else { return [] }
    do {
      let suggestion = "Its names are not known: give them again, each with --name."
      return try CertificateSummary.certificates(in: server, suggestion: suggestion).prefix(1)
        .flatMap { try CertificateSummary($0).names.map { try CertificateName($0) } }
    } catch {
      if isNeeded { throw error }
      return nil
    }
  }

  private func complete(_ names: [CertificateName]) throws -> [CertificateName] {
    var all = names
    if all.isEmpty {
      all = [ProcessInfo.processInfo.hostName].compactMap { try? CertificateName($0) }
    }
    var seen: Set<CertificateName> = []
    all = (all + CertificateName.loopback).filter { seen.insert($0).inserted }
    guard all.count <= CertificateName.countMax else {
      throw ServerError(
        .badName,
        "these are \(all.count) names, and a certificate has at most "
          + "\(CertificateName.countMax)",
        suggestion: "Name fewer; a star stands for all hosts of a domain: --name '*.example.com'. "
          + "With --drop-names those of the former certificate are left out.")
    }
    return all
  }

  // MARK: Files

  private func makeFolder() throws {
    // As `DataFolder` has it: what is around is for its owner alone, too.
    umask(0o077)
    let parent = url.deletingLastPathComponent()
    do {
      try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
    } catch {
      throw ServerError(
        .folder, "cannot create the folder \(parent.path): \(error.localizedDescription)",
        suggestion: "Name a folder that this user may write.")
    }
    if mkdir(url.path, 0o700) == 0 {
      let descriptor = open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      if descriptor >= 0 {
        giveToOwner(descriptor)
        close(descriptor)
      }
    } else if errno != EEXIST {
      throw unwritable(url, errno)
    }
  }

  /// Puts a file in its place when all of it is on the disk.
  private func write(_ text: String, to file: URL, _ mode: mode_t) throws {
    let draft = file.path + ".new"
    // Of a process that ended in the middle; the lock says that nobody writes it now.
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode & 0o600)
    guard descriptor >= 0 else { throw unwritable(file, errno) }
    var reason: Int32 = 0
    if fchmod(descriptor, mode) != 0 { reason = errno }
    giveToOwner(descriptor)
    var rest = Array(text.utf8)[...]
    while reason == 0, !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { reason = count < 0 ? errno : EIO } else { rest = rest.dropFirst(count) }
    }
    if reason == 0, fsync(descriptor) != 0 { reason = errno }
    if close(descriptor) != 0, reason == 0 { reason = errno }
    if reason == 0, rename(draft, file.path) != 0 { reason = errno }
    guard reason == 0 else {
      unlink(draft)
      throw unwritable(file, reason)
    }
    let folder = open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw unwritable(file, errno) }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw unwritable(file, errno) }
  }

  /// What root makes belongs to whoever has the folder around: the server's user would be locked out else.
  private func giveToOwner(_ descriptor: Int32) {
    guard geteuid() == 0,
      let folder = attributes(of: url.deletingLastPathComponent().resolvingSymlinksInPath()),
      let user = folder[.ownerAccountID] as? Int, let group = folder[.groupOwnerAccountID] as? Int
    else { return }
    _ = fchown(descriptor, uid_t(user), gid_t(group))
  }

  /// Of a file or a link itself; nil where there is none.
  private func attributes(of file: URL) -> [FileAttributeKey: Any]? {
    try? FileManager.default.attributesOfItem(atPath: file.path)
  }

  private func unwritable(_ file: URL, _ reason: Int32) -> ServerError {
    ServerError(
      reason == ENOSPC || reason == EDQUOT ? .diskFull : .folder,
      "cannot write \(file.path): \(String(cString: strerror(reason)))",
      suggestion: "Make room there, see that this user may write it, and run the command again.")
  }
}
