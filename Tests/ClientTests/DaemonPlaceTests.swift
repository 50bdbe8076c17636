import Driftless
import Foundation
import Logging
import TestSupport
import Testing

@testable import SyncDaemon

/// Where daemons are looked for, and what they say.
@Suite struct DaemonPlaceTests {
  private func daemon(_ directory: TemporaryDirectory, _ paths: [String]) throws -> Daemon {
    let file = directory.file("syncd.json")
    let stores = paths.map { #"{"path":"\#($0)"}"# }.joined(separator: ",")
    try Data(#"{"socket":"s.sock","stores":[\#(stores)]}"#.utf8).write(to: file)
    var log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    log.logLevel = .critical
    return try Daemon(configuration: file, log: log)
  }

  @Test("The usual places are those where syncd listens, of this user before the host's")
  func usual() {
    let environment = ["RUNTIME_DIRECTORY": "/run/x", "XDG_RUNTIME_DIR": "/run/user/7"]
    let places = DaemonPlace.usual(environment: environment, user: 7)
    #expect(
      places.map(\.socket).prefix(3) == [
        "/run/x/driftless-syncd.sock", "/run/user/7/driftless-syncd.sock",
        "/tmp/driftless-syncd-7.sock",
      ])
    #expect(places.last?.socket == "/run/driftless/driftless-syncd.sock")
    #expect(places.filter(\.isInSharedFolder).map(\.socket) == ["/tmp/driftless-syncd-7.sock"])
    #expect(Set(places.map(\.socket)).count == places.count)
    #expect(DaemonPlace.usual().contains { $0.socket == DaemonConfiguration.defaultSocket })
    let odd = DaemonPlace.usual(environment: ["XDG_RUNTIME_DIR": "", "RUNTIME_DIRECTORY": "x"])
    #expect(odd.allSatisfy { $0.socket.hasPrefix("/") })
  }

  @Test("Places that are no socket, refuse, or hang do not keep the next from being asked")
  func next() async throws {
    let directory = try TemporaryDirectory()
    let (file, deaf) = (directory.file("file"), directory.file("deaf").path)
    try Data("text".utf8).write(to: file)
    let descriptor = try UnixSocket.listen(deaf)
    defer { close(descriptor) }
    let daemon = try daemon(directory, ["b.sqlite", "a\\nb.sqlite"])
    try await daemon.start()
    let socket = directory.file("s.sock").path
    let bad = [
      DaemonPlace(directory.file("none").path), DaemonPlace(file.path), DaemonPlace(deaf),
      DaemonPlace("/" + String(repeating: "x", count: 200)), DaemonPlace(""),
    ]
    // A busy test process may keep the daemon in it waiting for long.
    let found = try await FoundDaemon.find(
      at: bad.filter { $0.socket != deaf } + [DaemonPlace(socket)], answerSeconds: 300)
    #expect(found.pid == getpid() && found.place.socket == socket)
    #expect(found.stores.map(\.lastPathComponent) == ["a\nb.sqlite", "b.sqlite"])
    await daemon.stop()
    let failure = await #expect(throws: Failure.self) {
      try await FoundDaemon.find(at: bad + [DaemonPlace(socket)], answerSeconds: 1)
    }
    #expect(failure?.code == "no-daemon" && failure?.suggestion.isEmpty == false)
    for text in [
      "none: there is no socket; ", "file: it is no socket; ", "\(deaf): The daemon at",
      "a socket's path has 1 to 107 bytes; ", "\(socket): there is no socket.",
    ] {
      #expect(failure?.message.contains(text) == true, "\(failure?.message ?? "")")
    }
    let alone = await #expect(throws: Failure.self) {
      try await FoundDaemon.find(at: [DaemonPlace(deaf)], answerSeconds: 1)
    }
    #expect(alone?.code == "daemon-silent")
  }

  @Test("A place where nobody takes up what is asked keeps the next waiting, and no longer")
  func afterDeaf() async throws {
    let directory = try TemporaryDirectory()
    let (deaf, socket) = (directory.file("deaf").path, directory.file("s.sock").path)
    let descriptor = try UnixSocket.listen(deaf)
    defer { close(descriptor) }
    let thread = try answer(#"{"pid":7,"stores":[],"paths":["/a"]}"#, at: socket)
    let found = try await FoundDaemon.find(
      at: [DaemonPlace(deaf), DaemonPlace(socket)], answerSeconds: 10)
    withExtendedLifetime(thread) {}
    #expect(found.pid == 7 && found.stores.map(\.path) == ["/a"])
  }

  /// Answers one request with a line, as another program would, and goes away.
  private func answer(_ line: String, at path: String) throws -> Thread {
    let descriptor = try UnixSocket.listen(path)
    let thread = Thread {
      let connection = accept(descriptor, nil, nil)
      _ = UnixSocket.readLine(connection)
      if !line.isEmpty { UnixSocket.writeLine(Data(line.utf8), to: connection) }
      close(connection)
      close(descriptor)
    }
    thread.start()
    return thread
  }

  @Test(
    "A daemon that is older, ends while it is asked, or says something else is named, with what to do",
    arguments: [
      (
        #"{"pid":1,"stores":[],"failure":{"status":65,"code":"bad-request","message":"m","suggestion":"s"}}"#,
        "daemon-older"
      ),
      (#"{"pid":1,"stores":[]}"#, "daemon-older"), ("", "daemon-silent"),
      ("hello", "daemon-silent"), (#"{"pid":"x"}"#, "daemon-silent"),
    ])
  func odd(line: String, code: String) async throws {
    let directory = try TemporaryDirectory()
    let socket = directory.file("s.sock").path
    let thread = try answer(line, at: socket)
    let failure = await #expect(throws: Failure.self) {
      try await FoundDaemon.find(at: [DaemonPlace(socket)], answerSeconds: 60)
    }
    withExtendedLifetime(thread) {}
    #expect(failure?.code == code, "\(failure?.message ?? "")")
    #expect(failure?.message.contains(socket) == true && failure?.suggestion.isEmpty == false)
  }

  @Test("An answer may be longer than a request, as that of a daemon with many stores is")
  func long() async throws {
    let directory = try TemporaryDirectory()
    let folder = String(repeating: "d", count: 200) + "/"
    let paths = (0..<6_000).map { "\(folder)\($0).sqlite" }
    let reply = try JSONEncoder().encode(
      DaemonReply(pid: 7, stores: paths.map { DaemonStoreState(store: $0, activity: .waiting) }))
    #expect(reply.count > UnixSocket.lineBytesMax)
    let socket = directory.file("s.sock").path
    let thread = try answer(String(decoding: reply, as: UTF8.self), at: socket)
    let client = DaemonClient(at: DaemonPlace(socket), answerSeconds: 60)
    #expect(try await client.ask(DaemonRequest(.status))?.stores.count == 6_000)
    withExtendedLifetime(thread) {}
  }
}
