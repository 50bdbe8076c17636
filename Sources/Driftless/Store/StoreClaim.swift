import Foundation
import Synchronization

/// A process's claim to a file, by a name that the system keeps and no folder shows (an abstract socket): nobody can remove
/// it, and it goes with the process.
///
/// The name is that of the file on its device. Processes that do not share a network, in containers say, do not see each
/// other's: there the lock file alone keeps them apart.
final class StoreClaim: Sendable {
  enum Outcome {
    case held(StoreClaim)
    /// By a process, where that can be seen.
    case taken(Int32?)
    /// The system gives none, or somebody has the name who could not use the store.
    case unavailable
  }

  private let descriptor: Int32
  private let place: String

  private init(_ descriptor: Int32, _ place: String) {
    self.descriptor = descriptor
    self.place = place
  }

  deinit { close(descriptor) }

  private struct WeakClaim {
    weak var claim: StoreClaim?
  }

  /// Those of this process: a file that was moved has one for both places, whose locks each keep others of the process off.
  private static let claims = Mutex<[FileNumber: WeakClaim]>([:])

  /// - Parameters:
  ///   - place: The path of the file, where its lock lies.
  ///   - owner: The user whose the file is: besides this one, and root, nobody else's claim counts.
  static func take(_ file: FileNumber, at place: String, owner: UInt32?) -> Outcome {
    claims.withLock { claims in
      if let known = claims[file]?.claim {
        return known.place == place ? .taken(getpid()) : .held(known)
      }
      claims = claims.filter { $0.value.claim != nil }
      let descriptor = makeSocket()
      guard descriptor >= 0 else { return .unavailable }
      let name = "driftless-sync \(file.text)"
      guard call(bind, descriptor, name) == 0 else {
        let reason = errno
        close(descriptor)
        return reason == EADDRINUSE ? holder(of: name, owner) : .unavailable
      }
      // Who cannot be asked whose process it is has no claim.
      guard listen(descriptor, 64) == 0 else {
        close(descriptor)
        return .unavailable
      }
      let claim = StoreClaim(descriptor, place)
      claims[file] = WeakClaim(claim: claim)
      return .held(claim)
    }
  }

  private static func holder(of name: String, _ owner: UInt32?) -> Outcome {
    let descriptor = makeSocket()
    guard descriptor >= 0 else { return .unavailable }
    defer { close(descriptor) }
    guard call(connect, descriptor, name) == 0 else {
      // Its queue is full of those who asked, or it has just let go.
      return errno == EAGAIN ? .taken(nil) : .unavailable
    }
    var peer = Credentials()
    var length = socklen_t(MemoryLayout<Credentials>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0,
      [0, geteuid(), owner].contains(peer.uid)
    else { return .unavailable }
    return .taken(peer.pid > 0 ? peer.pid : nil)
  }

  /// The kernel's `struct ucred`, which Glibc's module leaves out.
  private struct Credentials {
    var pid: pid_t = 0
    var uid = uid_t.max
    var gid = gid_t.max
  }

  private static func makeSocket() -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    return socket(AF_UNIX, type, 0)
  }

  /// Calls the system with the address of a name that lies in no folder: its first byte is zero.
  private static func call(
    _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ descriptor: Int32,
    _ name: String
  ) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = [0] + Array(name.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes.prefix($0.count)) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { function(descriptor, $0, size) }
    }
  }
}
