package import Foundation
import Glibc

/// Asks the daemon that keeps a store in step.
package struct DaemonClient: Sendable {
  /// Where the daemon listens.
  package let socket: String

  /// The daemon that says it keeps `store`; nil when none does. It may be gone: `ask` tells.
  package init?(store: URL) {
    guard let mark = DaemonMark.read(forStore: store) else { return nil }
    socket = mark.socket
  }

  /// Asks and waits for the answer, on a thread of its own: a sync may take long, and the tasks of
  /// this process go on.
  ///
  /// - Returns: nil when no daemon answers at the socket.
  /// - Throws: `Failure`, the daemon's own or about an answer that cannot be read.
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
    guard let descriptor = UnixSocket.connect(socket) else { return nil }
    defer { close(descriptor) }
    guard UnixSocket.isPeerTrusted(descriptor) else {
      throw Failure(
        .notAllowed, code: "daemon-user", "The daemon at \(socket) belongs to another user.",
        suggestion: "run this as the user of the daemon")
    }
    guard let line = try? JSONEncoder().encode(request),
      UnixSocket.writeLine(line, to: descriptor), let answer = UnixSocket.readLine(descriptor),
      let reply = try? JSONDecoder().decode(DaemonReply.self, from: answer)
    else {
      throw Failure(
        .tryAgain, code: "daemon-silent", "The daemon at \(socket) ended before it answered.",
        suggestion: "try again")
    }
    if let failure = reply.failure { throw failure }
    return reply
  }
}
