import Foundation
import TestSupport
import Testing

/// The programs tell systemd when they are up, as `Type=notify` asks for.
struct ServiceNoticeTests {
  /// A socket as systemd gives a service one.
  private final class NoticeSocket {
    /// What stands in `NOTIFY_SOCKET`.
    let name: String
    private let descriptor: Int32

    init(_ name: String) throws {
      self.name = name
      descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      var bytes = Array(name.utf8)
      if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
      try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
      let isBound = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
      }
      try #require(isBound == 0)
    }

    deinit { close(descriptor) }

    /// Reads all that has come.
    func drop() {
      var buffer = [UInt8](repeating: 0, count: 4_096)
      while recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
    }

    /// The next notice; empty when none came.
    func next(seconds: Int = 60) -> String {
      var time = timeval(tv_sec: seconds, tv_usec: 0)
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
      var buffer = [UInt8](repeating: 0, count: 4_096)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
  }

  private func start(
    _ program: String, _ arguments: [String], notice: String,
    environment: [String: String] = [:], output: Any?
  ) throws -> Process {
    let process = Process()
    process.executableURL = Programs.url(program)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(
      environment.merging(["NOTIFY_SOCKET": notice]) { $1 }
    ) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  @Test(
    "The server says that it is ready once it listens, at a path and at an abstract name",
    arguments: [false, true])
  func server(isAbstract: Bool) throws {
    let directory = try TemporaryDirectory()
    let name = isAbstract ? "@driftless-\(UUID().uuidString)" : directory.file("notice").path
    let notices = try NoticeSocket(name)
    let output = Pipe()
    let process = try start(
      "driftless-server",
      ["serve", "--data", try directory.folder("data").path, "--listen", "127.0.0.1:0"],
      notice: name, output: output)
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    #expect(notices.next() == "READY=1")
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    #expect(line.hasPrefix("listening on http://127.0.0.1:"), "\(line)")
  }

  @Test("The daemon says that it is ready once it answers at its socket")
  func daemon() throws {
    let directory = try TemporaryDirectory()
    let name = directory.file("notice").path
    let notices = try NoticeSocket(name)
    let configuration = directory.file("syncd.json")
    try Data(#"{"socket":"syncd.sock","stores":[{"path":"none.sqlite"}]}"#.utf8)
      .write(to: configuration)
    let process = try start(
      "syncd", ["--config", configuration.path], notice: name, output: FileHandle.nullDevice)
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    #expect(notices.next() == "READY=1")
    #expect(FileManager.default.fileExists(atPath: directory.file("syncd.sock").path))
  }

  @Test(
    "Both tell that they are alive as often as systemd wants to hear it, and not for another process",
    arguments: ["syncd", "driftless-server"])
  func watchdog(_ program: String) throws {
    let directory = try TemporaryDirectory()
    let name = directory.file("notice").path
    let notices = try NoticeSocket(name)
    let configuration = directory.file("syncd.json")
    try Data(#"{"socket":"syncd.sock","stores":[{"path":"none.sqlite"}]}"#.utf8)
      .write(to: configuration)
    let arguments =
      program == "syncd"
      ? ["--config", configuration.path]
      : ["serve", "--data", try directory.folder("data").path, "--listen", "127.0.0.1:0"]
    let process = try start(
      program, arguments, notice: name, environment: ["WATCHDOG_USEC": "300000"],
      output: FileHandle.nullDevice)
    #expect(notices.next() == "READY=1")
    for _ in 0..<3 { #expect(notices.next() == "WATCHDOG=1") }
    process.terminate()
    process.waitUntilExit()
    let other = try start(
      program, arguments, notice: name,
      environment: ["WATCHDOG_USEC": "300000", "WATCHDOG_PID": "1"], output: FileHandle.nullDevice)
    defer {
      other.terminate()
      other.waitUntilExit()
    }
    var notice = notices.next()
    // What the first one said last.
    while notice == "WATCHDOG=1" { notice = notices.next() }
    #expect(notice == "READY=1")
    #expect(notices.next(seconds: 1).isEmpty)
  }

  @Test("A daemon that can open no more files tells all the same that it is alive")
  func watchdogWithoutFiles() throws {
    let directory = try TemporaryDirectory()
    let name = directory.file("notice").path
    let notices = try NoticeSocket(name)
    let configuration = directory.file("syncd.json")
    try Data(#"{"socket":"syncd.sock","stores":[{"path":"none.sqlite"}]}"#.utf8)
      .write(to: configuration)
    let process = try start(
      "syncd", ["--config", configuration.path], notice: name,
      environment: ["WATCHDOG_USEC": "300000"], output: FileHandle.nullDevice)
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    #expect(notices.next() == "READY=1")
    #expect(notices.next() == "WATCHDOG=1")
    let lowering = Process()
    lowering.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    lowering.arguments = ["prlimit", "--pid", "\(process.processIdentifier)", "--nofile=3:90"]
    try lowering.run()
    lowering.waitUntilExit()
    try #require(lowering.terminationStatus == 0)
    // What was said before may still wait to be read.
    notices.drop()
    for _ in 0..<3 { #expect(notices.next(seconds: 10) == "WATCHDOG=1") }
  }

  @Test("A notice that nobody takes is logged, and the program goes on")
  func nobodyListens() throws {
    let directory = try TemporaryDirectory()
    let errors = Pipe()
    let process = Process()
    process.executableURL = Programs.url("driftless-server")
    process.arguments = [
      "serve", "--data", try directory.folder("data").path, "--listen", "127.0.0.1:0",
    ]
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["NOTIFY_SOCKET": directory.file("nobody").path]
    ) { $1 }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = errors
    try process.run()
    var log = ""
    while !log.contains("systemd does not hear"),
      case let data = errors.fileHandleForReading.availableData, !data.isEmpty
    {
      log += String(decoding: data, as: UTF8.self)
    }
    #expect(log.contains("systemd does not hear that this program is ready"), "\(log)")
    #expect(process.isRunning)
    process.terminate()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }
}
