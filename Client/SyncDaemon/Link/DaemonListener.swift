import Foundation
import Glibc
import Synchronization

/// Answers requests on the daemon's unix socket: one line in, one line out, one thread a
/// connection.
final class DaemonListener: Sendable {
  typealias Handler = @Sendable (DaemonRequest) async -> DaemonReply

  /// Connections at a time; more wait in the socket's queue.
  private static let connectionsMax = 16
  /// Seconds that a client may take to send its line.
  private static let readSeconds = 10

  let path: String
  private let descriptor: Int32
  private let handler: Handler
  private let isStopped = Mutex(false)
  private let slots = DispatchSemaphore(value: connectionsMax)
  /// Where answers are written: a client that does not read keeps a thread waiting, and none that tasks share.
  private let answers = DispatchQueue(label: "syncd.answers", attributes: .concurrent)

  init(path: String, handler: @escaping Handler) throws(Failure) {
    self.path = path
    self.handler = handler
    descriptor = try UnixSocket.listen(path)
    let thread = Thread { [self] in acceptAll() }
    thread.name = "syncd-socket"
    thread.start()
  }

  /// Stops to listen and removes the socket.
  func stop() {
    let wasStopped = isStopped.withLock { stopped in
      defer { stopped = true }
      return stopped
    }
    guard !wasStopped else { return }
    unlink(path)
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  private func acceptAll() {
    while true {
      let connection = accept(descriptor, nil, nil)
      if connection < 0 {
        if errno == EINTR || errno == ECONNABORTED { continue }
        break
      }
      slots.wait()
      Thread { [self] in serve(connection) }.start()
    }
    close(descriptor)
  }

  /// Reads the request here; the answer is written by another thread.
  private func serve(_ connection: Int32) {
    UnixSocket.setTimeout(connection, seconds: Self.readSeconds)
    guard UnixSocket.isPeerTrusted(connection) else {
      let failure = Failure(
        .notAllowed, code: "daemon-user", "The daemon at \(path) belongs to another user.",
        suggestion: "run this as the user of the daemon")
      send(DaemonReply(pid: getpid(), failure: failure), to: connection)
      return end(connection)
    }
    guard let line = UnixSocket.readLine(connection) else { return end(connection) }
    guard let request = try? JSONDecoder().decode(DaemonRequest.self, from: line) else {
      let failure = Failure(
        .badData, code: "bad-request", "The daemon does not know this request.",
        suggestion: "use the syncctl of the same version as syncd")
      send(DaemonReply(pid: getpid(), failure: failure), to: connection)
      return end(connection)
    }
    Task {
      let reply = await handler(request)
      answers.async { [self] in
        send(reply, to: connection)
        end(connection)
      }
    }
  }

  private func send(_ reply: DaemonReply, to connection: Int32) {
    guard let line = try? JSONEncoder().encode(reply) else { return }
    UnixSocket.writeLine(line, to: connection)
  }

  private func end(_ connection: Int32) {
    close(connection)
    slots.signal()
  }
}
