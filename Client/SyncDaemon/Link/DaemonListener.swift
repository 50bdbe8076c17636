import Foundation
import Glibc
import Logging
import ProgramStart
import Synchronization

/// Answers requests on the daemon's unix socket: one line in, one line out, one thread a
/// connection.
final class DaemonListener: Sendable {
  /// The request, and the store that it is about, with links resolved.
  typealias Handler = @Sendable (DaemonRequest, URL?) async -> DaemonReply

  /// Connections at a time; more wait in the socket's queue.
  private static let connectionsMax = 16
  /// Seconds that a client may take to send its line.
  private static let readSeconds = 10
  /// Between two who come while there are no files left.
  private static let shedSeconds: TimeInterval = 0.2
  /// How often it is looked whether the socket is still there: what empties /tmp takes it for a file that nobody uses.
  private static let lookSeconds: TimeInterval = 2

  private struct State {
    /// Below 0 while the socket's folder is waited for.
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
  /// Kept open, to have a file to spare for who comes when there is none left.
  private let spare = Mutex<Int32>(makeSpare())
  /// Whether the log has been told that none is left.
  private let isOutOfFiles = Atomic(false)
  /// Whether the log has been told that the socket cannot be made where it was.
  private let isKeptOut = Atomic(false)

  /// - Throws: `Failure` where nobody can listen there. A folder that is not there is waited for.
  init(path: String, log: Logger? = nil, handler: @escaping Handler) throws(Failure) {
    self.path = path
    self.log = log
    self.handler = handler
    let descriptor: Int32
    do throws(Failure) {
      descriptor = try UnixSocket.listen(path)
    } catch {
      guard error.code == UnixSocket.missingFolderCode else { throw error }
      descriptor = -1
    }
    state = Mutex(State(descriptor: descriptor))
    if descriptor >= 0 { accept(at: descriptor) }
    let thread = Thread { [weak self] in
      while let self, !self.state.withLock(\.isStopped) {
        self.restore()
        Thread.sleep(forTimeInterval: Self.lookSeconds)  // a thread of its own
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
    spare.withLock { spare in
      if spare >= 0 { close(spare) }
      spare = -1
    }
    guard descriptor >= 0 else { return }
    unlink(path)
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Whether it listens: its folder may not be there yet.
  var isListening: Bool { state.withLock { $0.descriptor >= 0 } }

  /// Listens anew where somebody removed the socket, and where its folder is there by now. What another put in its place stays.
  private func restore() {
    var information = stat()
    guard lstat(path, &information) != 0, errno == ENOENT else { return }
    let fresh: Int32
    do throws(Failure) {
      fresh = try UnixSocket.listen(path)
      isKeptOut.store(false, ordering: .relaxed)
    } catch {
      guard error.code != UnixSocket.missingFolderCode,
        !isKeptOut.exchange(true, ordering: .relaxed)
      else { return }
      log?.error("\(FailureText.line(error.message, try: error.suggestion))")
      return
    }
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
    if former >= 0 { shutdown(former, Int32(SHUT_RDWR)) }
    accept(at: fresh)
    if former >= 0 {
      log?.warning("the socket \(path) was removed, and is there again")
    } else {
      log?.notice("the socket's folder is there: listening at \(path)")
    }
  }

  private func accept(at descriptor: Int32) {
    let thread = Thread { [self] in acceptAll(at: descriptor) }
    thread.name = "syncd-socket"
    thread.start()
  }

  private func acceptAll(at descriptor: Int32) {
    while true {
      let connection = Glibc.accept(descriptor, nil, nil)
      let reason = errno
      if connection >= 0 {
        noteAnswer()
        slots.wait()
        Thread { [self] in serve(connection) }.start()
      } else if !isCurrent(descriptor) {
        break
      } else if reason != EINTR && reason != ECONNABORTED {
        // Whatever it is (no files, no memory), it may pass, and who looks after the stores comes to this socket alone.
        noteRefusal(reason)
        shed(at: descriptor)
      }
    }
    close(descriptor)
  }

  private func isCurrent(_ descriptor: Int32) -> Bool {
    state.withLock { !$0.isStopped && $0.descriptor == descriptor }
  }

  /// Once for all that come until somebody is answered.
  private func noteRefusal(_ reason: Int32) {
    guard !isOutOfFiles.exchange(true, ordering: .relaxed) else { return }
    log?.error(
      "\(FailureText.line("nobody is answered at the socket \(path) for now: \(String(cString: strerror(reason)))", try: Self.noFiles.suggestion))"
    )
  }

  /// It answers again once there is a file for one who comes, and one for the next.
  private func noteAnswer() {
    guard isOutOfFiles.load(ordering: .relaxed) else { return }
    let other = Self.makeSpare()
    guard other >= 0 else { return }
    close(other)
    guard isOutOfFiles.exchange(false, ordering: .relaxed) else { return }
    log?.notice("the socket answers again")
  }

  private static let noFiles = Failure(
    .tryAgain, code: "too-few-files", "The daemon has as many files open as the system lets it.",
    suggestion: "raise its limit (ulimit -n, or LimitNOFILE in a unit of systemd), or try again")

  private static func makeSpare() -> Int32 { open("/dev/null", O_RDONLY | O_CLOEXEC) }

  /// Tells one who waits why nobody answers, by the file that is kept for that; then waits a moment for others to be closed.
  private func shed(at descriptor: Int32) {
    spare.withLock { spare in
      if spare >= 0 { close(spare) }
      // Not waited for: the one who came may have gone.
      var place = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if poll(&place, 1, 0) > 0 {
        let connection = Glibc.accept(descriptor, nil, nil)
        if connection >= 0 {
          UnixSocket.setTimeout(connection, seconds: 1)
          send(DaemonReply(pid: getpid(), failure: Self.noFiles), to: connection)
          close(connection)
        }
      }
      spare = isCurrent(descriptor) ? Self.makeSpare() : -1
    }
    Thread.sleep(forTimeInterval: Self.shedSeconds)  // the thread does nothing else
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
    // Here, on the connection's thread: the path may be on a disk that does not answer.
    let store = request.store.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath() }
    Task {
      let reply = await handler(request, store)
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
