import Foundation
import Glibc
import Logging
import Synchronization

/// Answers requests on the daemon's unix socket: one line in, one line out, one thread a
/// connection.
final class DaemonListener: Sendable {
  typealias Handler = @Sendable (DaemonRequest) async -> DaemonReply

  /// Connections at a time; more wait in the socket's queue.
  private static let connectionsMax = 16
  /// Seconds that a client may take to send its line.
  private static let readSeconds = 10
  /// How often it is looked whether the socket is still there: what empties /tmp takes it for a file that nobody uses.
  private static let lookSeconds: TimeInterval = 2

  private struct State {
    var descriptor: Int32
    var isStopped = false
  }

  let path: String
  private let state: Mutex<State>
  private let handler: Handler
  private let log: Logger?
  private let slots = DispatchSemaphore(value: connectionsMax)
  /// Where answers are written: a client that does not read keeps a thread waiting, and none that tasks share.
  private let answers = DispatchQueue(label: "syncd.answers", attributes: .concurrent)

  init(path: String, log: Logger? = nil, handler: @escaping Handler) throws(Failure) {
    self.path = path
    self.log = log
    self.handler = handler
    let descriptor = try UnixSocket.listen(path)
    state = Mutex(State(descriptor: descriptor))
    accept(at: descriptor)
    let thread = Thread { [weak self] in
      while let self, !self.state.withLock(\.isStopped) {
        self.restore()
        // The thread does nothing else, and the next look is due then.
        Thread.sleep(forTimeInterval: Self.lookSeconds)
      }
    }
    thread.name = "syncd-look"
    thread.start()
  }

  /// Stops to listen and removes the socket.
  func stop() {
    let descriptor: Int32? = state.withLock { state in
      defer { state.isStopped = true }
      return state.isStopped ? nil : state.descriptor
    }
    guard let descriptor else { return }
    unlink(path)
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Listens anew where somebody removed the socket. What another put in its place stays.
  private func restore() {
    var information = stat()
    guard lstat(path, &information) != 0, errno == ENOENT,
      let fresh = try? UnixSocket.listen(path)
    else { return }
    let former: Int32? = state.withLock { state in
      guard !state.isStopped else { return nil }
      defer { state.descriptor = fresh }
      return state.descriptor
    }
    guard let former else {
      unlink(path)
      close(fresh)
      return
    }
    // Whoever is connected is answered; the thread that waits for others ends.
    shutdown(former, Int32(SHUT_RDWR))
    accept(at: fresh)
    log?.warning("the socket \(path) was removed, and is there again")
  }

  private func accept(at descriptor: Int32) {
    let thread = Thread { [self] in acceptAll(at: descriptor) }
    thread.name = "syncd-socket"
    thread.start()
  }

  private func acceptAll(at descriptor: Int32) {
    while true {
      let connection = Glibc.accept(descriptor, nil, nil)
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
