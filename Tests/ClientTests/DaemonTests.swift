import Driftless
import DriftlessSync
import Foundation
import Logging
import TestSupport
import Testing

@testable import SyncDaemon

@Suite struct DaemonTests {
  @Test("A disk without room is one cause, whatever it has free; other numbers are other causes")
  func oneCause() {
    func failure(_ code: String, _ number: Int) -> SyncStatus.Failure {
      SyncStatus.Failure(
        kind: .offline, code: code, message: "It has \(number) free.", suggestion: "",
        since: Date())
    }
    #expect(failure("disk-full", 10).isOfCause(failure("disk-full", 9).message))
    #expect(!failure("disk-full", 10).isOfCause("There is no token."))
    #expect(!failure("disk-full", 10).isOfCause(nil))
    #expect(!failure("busy", 10).isOfCause(failure("busy", 9).message))
    #expect(failure("busy", 10).isOfCause(failure("busy", 10).message))
  }

  /// A daemon over one store that is not enrolled: it answers, and says why it does not sync.
  private func daemon(_ directory: TemporaryDirectory, socket: String = "s.sock") throws -> Daemon {
    let store = directory.file("shop.sqlite")
    if !FileManager.default.fileExists(atPath: store.path) {
      try PersistentStore.open(url: store, model: Shop.model()).close()
    }
    let file = directory.file("\(socket).json")
    try Data(#"{"socket":"\#(socket)","stores":[{"path":"shop.sqlite"}]}"#.utf8).write(to: file)
    var log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    log.logLevel = .critical
    return try Daemon(configuration: file, log: log)
  }

  /// A client of the daemon at `socket`.
  private func ask(
    _ directory: TemporaryDirectory, _ request: DaemonRequest, socket: String = "s.sock"
  ) async throws -> DaemonReply? {
    let store = directory.file("asked.sqlite")
    try DaemonMark(pid: getpid(), socket: directory.file(socket).path).write(forStore: store)
    // A busy test process may keep the daemon in it waiting for long.
    return try await DaemonClient(store: store, answerSeconds: 300)?.ask(request)
  }

  @Test("The socket is for its owner only, answers, and goes with the daemon")
  func socket() async throws {
    let directory = try TemporaryDirectory()
    let daemon = try daemon(directory)
    try await daemon.start()
    let socket = directory.file("s.sock").path
    let mode =
      try FileManager.default.attributesOfItem(atPath: socket)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let reply = try #require(try await ask(directory, DaemonRequest(.status)))
    #expect(reply.pid == getpid())
    #expect(reply.stores.map(\.store) == [directory.file("shop.sqlite").path])
    await daemon.stop()
    #expect(!FileManager.default.fileExists(atPath: socket))
    #expect(try await ask(directory, DaemonRequest(.status)) == nil)
  }

  @Test("A request that cannot be done comes back with its exit code and what to try")
  func refusedRequests() async throws {
    let directory = try TemporaryDirectory()
    let daemon = try daemon(directory)
    try await daemon.start()
    for (store, code) in [("shop.sqlite", "not-enrolled"), ("other.sqlite", "unknown-store")] {
      do {
        _ = try await ask(directory, DaemonRequest(.sync, store: directory.file(store).path))
        Issue.record("\(store) was synced")
      } catch let error as Failure {
        #expect(error.code == code)
        #expect(!error.suggestion.isEmpty)
      }
    }
    // How a store does is told all the same.
    let request = DaemonRequest(.status, store: directory.file("shop.sqlite").path)
    #expect(
      try await ask(directory, request)?.stores.first?.failure?.code == "not-enrolled")
    await daemon.stop()
  }

  @Test(
    "A daemon that was stopped is named, with what to do, and nobody waits for it for ever",
    arguments: [DaemonRequest.Verb.status, .sync])
  func silent(_ verb: DaemonRequest.Verb) async throws {
    let directory = try TemporaryDirectory()
    let store = directory.file("shop.sqlite")
    let socket = directory.file("s.sock").path
    // As of a stopped process: the system takes connections, and nobody reads them.
    let descriptor = try UnixSocket.listen(socket)
    defer { close(descriptor) }
    try DaemonMark(pid: getpid(), socket: socket).write(forStore: store)
    let client = try #require(DaemonClient(store: store, answerSeconds: 1))
    do {
      _ = try await client.ask(DaemonRequest(verb, store: store.path))
      Issue.record("nobody answered")
    } catch {
      #expect(error.code == "daemon-silent")
      #expect(error.message.contains("process \(getpid())"))
      #expect(error.suggestion.contains("kill -CONT"))
    }
  }

  @Test("A daemon that says no while a long sync runs is not silent")
  func noWhileLong() async throws {
    let directory = try TemporaryDirectory()
    let store = directory.file("asked.sqlite")
    let socket = directory.file("s.sock").path
    // On threads of its own: a busy test process has none for tasks.
    let descriptor = try UnixSocket.listen(socket)
    defer { shutdown(descriptor, Int32(SHUT_RDWR)) }
    let denied = DispatchSemaphore(value: 0)
    Thread {
      while case let connection = accept(descriptor, nil, nil), connection >= 0 {
        Thread {
          let request = UnixSocket.readLine(connection)
            .flatMap { try? JSONDecoder().decode(DaemonRequest.self, from: $0) }
          var reply = DaemonReply(pid: getpid())
          if request?.verb == .sync {
            // It takes until the client has asked twice whether anybody is there.
            for _ in 0..<2 { denied.wait() }
          } else {
            denied.signal()
            reply.failure = Failure(.tryAgain, code: "too-few-files", "m", suggestion: "s")
          }
          if let line = try? JSONEncoder().encode(reply) {
            UnixSocket.writeLine(line, to: connection)
          }
          close(connection)
        }.start()
      }
    }.start()
    try DaemonMark(pid: getpid(), socket: socket).write(forStore: store)
    let client = try #require(DaemonClient(store: store, answerSeconds: 1))
    let reply = try await client.ask(DaemonRequest(.sync, store: store.path))
    #expect(reply?.pid == getpid())
  }

  @Test(
    "F78 A second daemon at one socket is refused; a socket that was left behind is not in the way")
  func secondDaemon() async throws {
    let directory = try TemporaryDirectory()
    let first = try daemon(directory)
    try await first.start()
    let second = try daemon(directory)
    await #expect(throws: Failure.self) { try await second.start() }
    #expect(try await ask(directory, DaemonRequest(.status)) != nil, "the first one still answers")
    await first.stop()
    let third = try daemon(directory)
    try await third.start()
    await third.stop()
  }

  @Test("Something else at the socket's path is left alone")
  func occupiedPath() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s.sock")
    try Data("somebody's file".utf8).write(to: path)
    let daemon = try daemon(directory)
    await #expect(throws: Failure.self) { try await daemon.start() }
    #expect(try Data(contentsOf: path) == Data("somebody's file".utf8))
  }

  @Test("A reload takes stores in and out, and a wrong file changes nothing")
  func reload() async throws {
    let directory = try TemporaryDirectory()
    let daemon = try daemon(directory)
    try await daemon.start()
    let file = directory.file("s.sock.json")
    try Data("{".utf8).write(to: file)
    await daemon.reload()
    #expect(try await ask(directory, DaemonRequest(.status))?.stores.count == 1)
    try Data(
      #"{"socket":"s.sock","stores":[{"path":"x.sqlite"},{"path":"y.sqlite"}]}"#.utf8
    ).write(to: file)
    await daemon.reload()
    #expect(
      try await ask(directory, DaemonRequest(.status))?.stores.map { $0.store.suffix(8) }
        == ["x.sqlite", "y.sqlite"])
    await daemon.stop()
  }
}
