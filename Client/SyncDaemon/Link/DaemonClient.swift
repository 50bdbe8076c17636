package import Foundation
import Glibc

/// Asks a daemon: the one that keeps a store in step, or the one at a socket.
package struct DaemonClient: Sendable {
  /// Where the daemon listens.
  package let socket: String
  /// The process that says so; nil where nobody has said it so far.
  package let pid: Int32?
  /// How long a daemon may take that has nothing to do but answer.
  private let answerSeconds: Int
  /// Whether root takes the word of a daemon of another user.
  private let isAnyUsersForRoot: Bool

  /// The daemon that says it keeps `store`; nil when none does. It may be gone: `ask` tells.
  package init?(store: URL, answerSeconds: Int = 15) {
    guard let mark = DaemonMark.read(forStore: store) else { return nil }
    socket = mark.socket
    pid = mark.pid
    self.answerSeconds = answerSeconds
    isAnyUsersForRoot = true
  }

  /// A daemon that may listen at a place.
  ///
  /// - Parameter pid: its process, where that is known.
  package init(at place: DaemonPlace, pid: Int32? = nil, answerSeconds: Int = 15) {
    socket = place.socket
    self.pid = pid
    self.answerSeconds = answerSeconds
    isAnyUsersForRoot = !place.isInSharedFolder
  }

  /// Whether a process that is there says beside `store` that it keeps that.
  static func isKept(store: URL) -> Bool {
    guard let mark = DaemonMark.read(forStore: store), mark.pid > 0 else { return false }
    return kill(mark.pid, 0) == 0 || errno == EPERM
  }

  /// The code of a daemon's answer about a store that it does not keep.
  package static let unknownStoreCode = "unknown-store"

  /// Removes what says beside `store` that this daemon keeps it, which the daemon denies: the files were moved or copied from
  /// where it keeps them.
  package func disown(store: URL) {
    guard let pid else { return }
    DaemonMark(pid: pid, socket: socket).remove(forStore: store)
  }

  /// Lets the daemon that keeps `store` sync at once, for a person has changed what that does. One that does not answer, or
  /// is too old for the word, finds out by itself.
  package static func wake(store: URL) async {
    guard let daemon = DaemonClient(store: store, answerSeconds: 2) else { return }
    _ = try? await daemon.ask(DaemonRequest(.wake, store: store.path))
  }

  /// Asks and waits for the answer, on a thread of its own: a sync may take long, and the tasks of
  /// this process go on.
  ///
  /// - Returns: nil when no daemon answers at the socket.
  /// - Throws: `Failure`, the daemon's own or about an answer that cannot be read, or does not come.
  package func ask(_ request: DaemonRequest) async throws(Failure) -> DaemonReply? {
    let result = await withCheckedContinuation { continuation in
      Thread {
        do throws(Failure) {
          continuation.resume(
            returning: Result<DaemonReply?, Failure>.success(try exchange(request)))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }.start()
    }
    return try result.get()
  }

  private func exchange(_ request: DaemonRequest) throws(Failure) -> DaemonReply? {
    let connected: Int32?
    do {
      connected = try UnixSocket.connect(socket, seconds: answerSeconds)
    } catch {
      throw silent(pid)
    }
    guard let descriptor = connected else { return nil }
    defer { close(descriptor) }
    // Root asks the daemon of any user: that is how the host's own is asked.
    guard geteuid() == 0 && isAnyUsersForRoot || UnixSocket.isPeerTrusted(descriptor) else {
      throw Failure(
        .notAllowed, code: "daemon-user", "The daemon at \(socket) belongs to another user.",
        suggestion: "run this as the user of the daemon")
    }
    var isSilent = false
    // Where it cannot be written, the daemon may have said why before it went away.
    if let line = try? JSONEncoder().encode(request) {
      UnixSocket.writeLine(line, to: descriptor)
    }
    guard
      let answer = UnixSocket.readLine(
        descriptor, bytesMax: UnixSocket.answerBytesMax,
        goesOn: {
          isSilent = !isAlive(request)
          return !isSilent
        }),
      let reply = try? JSONDecoder().decode(DaemonReply.self, from: answer)
    else {
      if isSilent { throw silent(UnixSocket.peerPID(descriptor) ?? pid) }
      throw Failure(
        .tryAgain, code: Self.silentCode, "The daemon at \(socket) ended before it answered.",
        suggestion: "try again")
    }
    if let failure = reply.failure { throw failure }
    return reply
  }

  /// Whether a daemon that has not answered yet is at work: it says how it does at once, while a sync
  /// may take long.
  private func isAlive(_ request: DaemonRequest) -> Bool {
    switch request.verb {
    case .status, .stores, .wake: return false
    case .sync, .push, .pull, .verify, .repair, .giveUpUnsent: break
    }
    do throws(Failure) {
      // Of this it knows without asking its stores, one of which may wait for its disk.
      return try exchange(DaemonRequest(.stores)) != nil
    } catch {
      // Who says no is alive.
      return error.code != Self.silentCode
    }
  }

  private static let silentCode = "daemon-silent"

  private func silent(_ pid: Int32?) -> Failure {
    guard let pid else {
      return Failure(
        .tryAgain, code: Self.silentCode, "The daemon at \(socket) does not answer.",
        suggestion: "let it go on if it was stopped (kill -CONT PID), or end it")
    }
    return Failure(
      .tryAgain, code: Self.silentCode,
      "The daemon at \(socket), process \(pid), does not answer.",
      suggestion: "let process \(pid) go on if it was stopped (kill -CONT \(pid)), or end it")
  }
}
