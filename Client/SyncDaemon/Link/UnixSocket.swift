import Foundation
import Glibc

/// The calls of a stream socket in the file system.
enum UnixSocket {
  /// A request longer than this is none of ours.
  static let lineBytesMax = 1 << 20
  /// An answer longer than this is none of ours: it tells of every store of a daemon.
  static let answerBytesMax = 64 << 20

  /// The longest path of a socket: an address has a zero behind it.
  static let pathBytesMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// Fills the address for `path`; false when it is longer than an address can hold.
  private static func withAddress<Result>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard !bytes.isEmpty, bytes.count < capacity, !bytes.contains(0) else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  private static func make() -> Int32 {
    socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  /// Connects; nil when nobody listens.
  ///
  /// - Parameter seconds: how long a call of the socket may last; nil: for ever.
  /// - Throws: `Silence` when whoever listens lets connections wait that long.
  static func connect(_ path: String, seconds: Int? = nil) throws(Silence) -> Int32? {
    let descriptor = make()
    guard descriptor >= 0 else { return nil }
    if let seconds { setTimeout(descriptor, seconds: seconds) }
    let error = withAddress(path) { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
    if error == 0 { return descriptor }
    close(descriptor)
    if error == EAGAIN { throw Silence() }
    return nil
  }

  /// Why nobody can be reached at `path`, for a person.
  static func obstacle(at path: String) -> String {
    guard !path.isEmpty, path.utf8.count <= pathBytesMax else {
      return "a socket's path has 1 to \(pathBytesMax) bytes"
    }
    var information = stat()
    guard lstat(path, &information) == 0 else {
      return errno == ENOENT ? "there is no socket" : String(cString: strerror(errno))
    }
    guard information.st_mode & S_IFMT == S_IFSOCK else { return "it is no socket" }
    return access(path, W_OK) == 0 ? "nobody listens" : String(cString: strerror(errno))
  }

  /// Whoever listens does not take the connection.
  struct Silence: Error {}

  /// Listens at `path`, for this user only.
  static func listen(_ path: String) throws(Failure) -> Int32 {
    let isTaken: Bool
    var pid = ""
    do {
      let other = try connect(path, seconds: 10)
      isTaken = other != nil
      if let other {
        if let peer = peerPID(other) { pid = " (pid \(peer))" }
        close(other)
      }
    } catch {
      isTaken = true
    }
    guard !isTaken else {
      throw Failure(
        .tryAgain, code: "daemon-running", "Another daemon listens at \(path)\(pid).",
        suggestion: "stop it, or name another socket in the configuration")
    }
    var information = stat()
    if lstat(path, &information) == 0 {
      // Only a socket of ours is a left-over; anything else at this path is somebody's file or a
      // trap.
      guard information.st_mode & S_IFMT == S_IFSOCK, information.st_uid == geteuid() else {
        throw Failure(
          .notAllowed, code: "socket-path", "\(path) exists and is no socket of this user.",
          suggestion: "remove it, or name another socket in the configuration")
      }
      unlink(path)
    }
    let descriptor = make()
    // The mode is set before the socket can be seen: bind takes it from the socket. (A umask would be that of all threads.)
    fchmod(descriptor, 0o600)
    let isBound = withAddress(path) { bind(descriptor, $0, $1) == 0 } ?? false
    let reason = errno
    guard descriptor >= 0, isBound, Glibc.listen(descriptor, 16) == 0 else {
      if descriptor >= 0 { close(descriptor) }
      let isAwaited = reason == ENOENT && folderState(of: path) == .missing
      throw Failure(
        isAwaited ? .tryAgain : cannotBe(reason) ? .notAllowed : .failed,
        code: isAwaited ? missingFolderCode : "socket-path",
        "The daemon cannot listen at \(path): \(String(cString: strerror(reason))).",
        suggestion:
          "name a socket in a folder that this user may write, of at most \(pathBytesMax) bytes")
    }
    return descriptor
  }

  /// Whether there is a folder for a socket.
  enum FolderState: Equatable {
    /// It can be had there, as far as can be seen.
    case open
    /// The folder may still come.
    case missing
    /// What is there is no folder, or lets this user make no socket.
    case closed(reason: Int32)
  }

  /// Of the folder's failure: it may come by itself.
  static let missingFolderCode = "socket-folder"

  /// Looks at the folder of a socket.
  ///
  /// - Parameter tries: makes a socket beside it for a moment: of some file systems nothing else tells that they take none.
  static func folderState(of path: String, tries: Bool = false) -> FolderState {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    var information = stat()
    guard stat(folder, &information) == 0 else {
      return errno == ENOENT ? .missing : .closed(reason: errno)
    }
    guard information.st_mode & S_IFMT == S_IFDIR else { return .closed(reason: ENOTDIR) }
    guard access(folder, W_OK | X_OK) == 0 else { return .closed(reason: errno) }
    guard tries else { return .open }
    let other = "\(folder)/.s\(getpid())"
    let descriptor = make()
    guard descriptor >= 0 else { return .open }
    defer { close(descriptor) }
    // One that is too long for an address is not tried.
    guard let error = withAddress(other, { bind(descriptor, $0, $1) == 0 ? 0 : errno }) else {
      return .open
    }
    if error == 0 { unlink(other) }
    return cannotBe(error) ? .closed(reason: error) : .open
  }

  /// Whether a call failed for what this user may not do.
  private static func isAboutRights(_ reason: Int32) -> Bool {
    [EACCES, EPERM, EROFS].contains(reason)
  }

  /// Whether a socket failed for what waiting does not change. In a folder that is there, nothing is missing: its file system takes no
  /// sockets.
  private static func cannotBe(_ reason: Int32) -> Bool {
    isAboutRights(reason) || [ENOENT, ENOTDIR, ELOOP, EOPNOTSUPP].contains(reason)
  }

  /// The kernel's `struct ucred`, which Glibc's module leaves out.
  private struct Credentials {
    var pid: pid_t = 0
    var uid = uid_t.max
    var gid = gid_t.max
  }

  private static func credentials(of descriptor: Int32) -> Credentials? {
    var credentials = Credentials()
    var length = socklen_t(MemoryLayout<Credentials>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
      return nil
    }
    return credentials
  }

  /// The process at the other end.
  static func peerPID(_ descriptor: Int32) -> Int32? { credentials(of: descriptor)?.pid }

  /// Whether the peer is this user or root.
  static func isPeerTrusted(_ descriptor: Int32) -> Bool {
    guard let credentials = credentials(of: descriptor) else { return false }
    return credentials.uid == geteuid() || credentials.uid == 0
  }

  /// Gives up reads and writes that last longer.
  static func setTimeout(_ descriptor: Int32, seconds: Int) {
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
  }

  /// Reads up to a line feed; nil when the peer goes away, is silent for too long or sends too
  /// much.
  ///
  /// - Parameter goesOn: whether to wait on, asked whenever the peer was silent for as long as
  ///   `setTimeout` says.
  static func readLine(
    _ descriptor: Int32, bytesMax: Int = lineBytesMax, goesOn: () -> Bool = { false }
  ) -> Data? {
    var line = Data()
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while line.count < bytesMax {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN, goesOn() { continue }
      guard count > 0 else { return nil }
      let known = line.count
      line.append(contentsOf: buffer[..<count])
      if let end = line[known...].firstIndex(of: 0x0A) { return Data(line[..<end]) }
    }
    return nil
  }

  /// Writes a line; false when the peer is gone.
  @discardableResult static func writeLine(_ line: Data, to descriptor: Int32) -> Bool {
    var rest = line + [0x0A]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
