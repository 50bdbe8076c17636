import Foundation
import TestSupport
import Testing

@testable import SyncDaemon

/// Where a daemon's socket is to lie, and cannot yet, or not at all.
struct SocketFolderTests {
  private func configuration(_ socket: String, in directory: TemporaryDirectory) throws
    -> DaemonConfiguration
  {
    let file = directory.file("syncd.json")
    try Data(#"{"socket":"\#(socket)","stores":[{"path":"none.sqlite"}]}"#.utf8).write(to: file)
    return try DaemonConfiguration(contentsOf: file)
  }

  @Test("A folder that is not there is waited for, and the daemon answers once it is")
  func awaited() async throws {
    let directory = try TemporaryDirectory()
    let folder = directory.file("later")
    let path = folder.appendingPathComponent("s").path
    let read = try configuration("later/s", in: directory)
    #expect(read.faults == [])
    #expect(
      read.awaited.contains { $0.message.contains("waited for") && $0.message.contains(path) })
    let listener = try DaemonListener(path: path) { _, _ in DaemonReply(pid: getpid()) }
    defer { listener.stop() }
    #expect(!listener.isListening)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let deadline = ContinuousClock.now + .seconds(60)
    while !listener.isListening, .now < deadline {
      try await Task.sleep(for: .milliseconds(20))  // between two looks
    }
    #expect(listener.isListening)
    let client = try #require(try UnixSocket.connect(path))
    close(client)
  }

  @Test("A folder that is none, or takes no sockets, ends with 77, as --check says")
  func never() throws {
    let directory = try TemporaryDirectory()
    try Data("x".utf8).write(to: directory.file("file"))
    for path in [directory.file("file/s").path, "/proc/driftless.sock"] {
      let failure = #expect(throws: Failure.self) {
        _ = try DaemonListener(path: path) { _, _ in DaemonReply(pid: getpid()) }
      }
      #expect(failure?.status == .notAllowed, "\(path): \(String(describing: failure))")
      let faults = try configuration(path, in: directory).faults
      #expect(DaemonConfiguration.status(of: faults) == .notAllowed, "\(path): \(faults)")
    }
  }
}
