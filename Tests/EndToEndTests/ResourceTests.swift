import Foundation
import TestSupport
import Testing

/// Programs that the system lets open few files, or begin few threads.
@Suite(.serialized) struct ResourceTests {
  /// Changes a limit of a program that runs.
  private func limit(_ pid: Int32, files: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["prlimit", "--pid", "\(pid)", "--nofile=\(files)"]
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
  }

  private func log(_ world: FaultWorld) throws -> String {
    try String(contentsOf: world.directory.file("syncd.log"), encoding: .utf8)
  }

  private func isKept(_ replica: Replica) throws -> Bool {
    try replica.status()["daemon"] as? [String: Any] != nil
  }

  @Test(
    "F13 V7 A daemon that can open no more files says so once, and answers when it can again"
  )
  func noFileForTheSocket() throws {
    let world = try FaultWorld()
    let replica = try world.replica("first")
    let daemon = try DaemonProcess(
      stores: [replica.store], in: world.directory.url,
      script: "ulimit -n 90; exec \"$0\" \"$@\"")
    try eventually("the daemon keeps the store") { try self.isKept(replica) }
    // Nothing that is open is beyond the limit: closing the file to spare has to help.
    let holders = try takeAllFiles(of: daemon, world)
    try eventually("the log tells of it") {
      try self.log(world).contains("nobody is answered at the socket")
    }
    let told = try Programs.run(
      "syncctl", ["status", "--socket", world.directory.file("syncd.sock").path])
    #expect(told.status == 75, "\(told)")
    #expect(told.errors.contains("as many files open as the system lets it"), "\(told)")
    for holder in holders { close(holder) }
    try eventually(within: 20, "it answers again") {
      let asked = try Programs.run(
        "syncctl", ["status", "--socket", world.directory.file("syncd.sock").path])
      return asked.status == 0 && asked.output.contains("pid \(daemon.pid)")
    }
    let lines = try log(world).components(separatedBy: "nobody is answered at the socket").count - 1
    #expect(lines == 1)
    #expect(try log(world).contains("the socket answers again"))
    #expect(daemon.stop() == 0)
  }

  /// Lets the daemon open few files more than it has, and takes them by connections on which nothing is said.
  private func takeAllFiles(of daemon: DaemonProcess, _ world: FaultWorld) throws -> [Int32] {
    let open = Set(
      try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/fd")
        .compactMap { Int($0) })
    // What it was begun with may have any number, also one above the limit.
    var (limit, free) = (0, 0)
    while limit < 88, free < 8 {
      if !open.contains(limit) { free += 1 }
      limit += 1
    }
    try self.limit(daemon.pid, files: "\(limit):90")
    // One more than there is room for.
    return try (0...free).map { _ in try connection(world) }
  }

  private func connection(_ world: FaultWorld) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(world.directory.file("syncd.sock").path.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    try #require(isConnected)
    return descriptor
  }

  @Test("F13 A command that prints keys runs under the limit of files that the daemon began with")
  func formerLimit() throws {
    let world = try FaultWorld()
    let replica = try world.replica("first")
    let file = world.directory.file("limit.txt")
    let daemon = try DaemonProcess(
      stores: [replica.store], in: world.directory.url,
      settings: ["keyCommand": "ulimit -Sn > '\(file.path)'; exit 1"],
      script: "ulimit -Hn 400; ulimit -Sn 64; exec \"$0\" \"$@\"")
    try eventually("the command has run") {
      (try? String(contentsOf: file, encoding: .utf8))?.hasSuffix("\n") == true
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == "64\n")
    #expect(daemon.stop() == 0)
  }

  @Test("A command that prints keys can be ended by the signals that end others")
  func signals() throws {
    let world = try FaultWorld()
    let replica = try world.replica("first")
    let file = world.directory.file("signals.txt")
    let daemon = try DaemonProcess(
      stores: [replica.store], in: world.directory.url,
      settings: [
        "keyCommand":
          "grep -E '^Sig(Ign|Blk)' /proc/self/status > '\(file.path).new'; mv '\(file.path).new' '\(file.path)'; exit 1"
      ])
    try eventually("the command has run") {
      FileManager.default.fileExists(atPath: file.path)
    }
    let text = try String(contentsOf: file, encoding: .utf8)
    let numbers = text.split(separator: "\n").map { $0.split(separator: "\t").last ?? "" }
    // The C library keeps two more for itself.
    let asked = [SIGHUP, SIGINT, SIGPIPE, SIGTERM].reduce(UInt64(0)) { $0 | 1 << ($1 - 1) }
    #expect(
      numbers.count == 2
        && numbers.allSatisfy { UInt64($0, radix: 16).map { $0 & asked == 0 } == true }, "\(text)")
    #expect(daemon.stop() == 0)
  }

  @Test("F13 Stores that need more files than the lower limit allows are kept under the higher one")
  func raisedLimit() throws {
    let world = try FaultWorld()
    let replicas = try (0..<8).map { try world.replica("r\($0)") }
    let daemon = try DaemonProcess(
      stores: replicas.map(\.store), in: world.directory.url,
      script: "ulimit -Hn 400; ulimit -Sn 64; exec \"$0\" \"$@\"")
    for replica in replicas { try replica.importLines([FaultWorld.insertion(replica.name)]) }
    try eventually("the daemon has sent what all have") {
      try replicas.allSatisfy { try self.isKept($0) && $0.pendingObjects == 0 }
    }
    #expect(daemon.stop() == 0)
  }

  @Test("F13 A reload that brings more stores than files allow changes nothing, and says so")
  func reloadTooMany() throws {
    let world = try FaultWorld()
    let replicas = try (0..<4).map { try world.replica("r\($0)") }
    let daemon = try DaemonProcess(
      stores: [replicas[0].store], in: world.directory.url,
      script: "ulimit -n 70; exec \"$0\" \"$@\"")
    try eventually("the daemon keeps the store") { try self.isKept(replicas[0]) }
    try daemon.reload(stores: replicas.map(\.store))
    try eventually("the log tells of it") { try self.log(world).contains("it needs 96") }
    #expect(try log(world).contains("the former configuration stays: "))
    #expect(try isKept(replicas[0]))
    #expect(try !isKept(replicas[1]))
    try daemon.reload(stores: [replicas[0].store, replicas[1].store])
    try eventually("as many as can be are kept") { try self.isKept(replicas[1]) }
    #expect(daemon.stop() == 0)
  }

  @Test("F13 A store for which there is no file left is tried again, and waits for nobody")
  func passingWant() throws {
    let world = try FaultWorld()
    let first = try world.replica("first")
    let second = try world.replica("second")
    let away = world.directory.file("away")
    try FileManager.default.moveItem(at: second.folder, to: away)
    let daemon = try DaemonProcess(
      stores: [first.store, second.store], in: world.directory.url,
      script: "ulimit -n 90; exec \"$0\" \"$@\"")
    try eventually("the daemon keeps the first") { try self.isKept(first) }
    try limit(daemon.pid, files: "12:90")
    try FileManager.default.moveItem(at: away, to: second.folder)
    try eventually("the log tells of it") {
      try self.log(world).contains("as many files open as the system lets it")
    }
    try limit(daemon.pid, files: "90:90")
    try first.importLines([FaultWorld.insertion("a")])
    try second.importLines([FaultWorld.insertion("b")])
    try eventually("both were sent") {
      try first.pendingObjects == 0 && second.pendingObjects == 0
    }
    #expect(daemon.stop() == 0)
  }

  @Test(
    "V8 A program that may begin too few threads says so and ends, where it would wait without end",
    .enabled(if: geteuid() == 0, "another user is needed, which root alone can become"),
    arguments: 1...8)
  func fewThreads(_ count: Int) throws {
    for (program, arguments) in [("syncctl", ["--version"]), ("syncctl", ["status"])] {
      let outcome = try Programs.run(
        program, arguments,
        script: """
          exec timeout 20 setpriv --reuid=61234 --regid=61234 --clear-groups \
          prlimit --nproc=\(count) "$0" "$@"
          """)
      #expect(outcome.status != 124, "\(program) \(arguments) waits without end")
      guard count <= 4 else { continue }
      #expect(outcome.status == 71, "\(outcome)")
      #expect(outcome.errors.contains("Try: "), "\(outcome)")
    }
  }

  @Test("V4 A server where one may wait for news is not asked without end by the others")
  func oneWaiter() throws {
    let world = try FaultWorld()
    let limits = world.directory.file("limits.json")
    try Data(#"{"waitersMax": 1}"#.utf8).write(to: limits)
    world.server.kill()
    world.server.limits = limits
    try world.server.start()
    let replicas = try (0..<3).map { try world.replica("r\($0)") }
    let daemon = try DaemonProcess(stores: replicas.map(\.store), in: world.directory.url)
    try eventually("the daemon keeps all") { try replicas.allSatisfy { try self.isKept($0) } }
    let (before, start) = (try polls(world), ContinuousClock.now)
    sleep(3)
    let asked = try polls(world) - before
    // A rate, over the time that it really was.
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    #expect(Double(asked) < 7 * seconds, "\(asked) requests in \(seconds) s")
    // News comes all the same.
    try replicas[0].importLines([FaultWorld.insertion("a")])
    try eventually("the others have it") {
      try replicas.allSatisfy { try $0.export().contains("\"a\"") }
    }
    #expect(daemon.stop() == 0)
  }

  @Test("F84 V7 A server that can open no more files takes no processor, and answers in the end")
  func serverWithoutFiles() throws {
    let world = try FaultWorld()
    let server = world.server
    let open = Set(
      try FileManager.default.contentsOfDirectory(atPath: "/proc/\(server.pid)/fd")
        .compactMap { Int($0) })
    // A few more than it has. What it was begun with may have any number, also one above the limit.
    var (most, free) = (0, 0)
    while free < 8 {
      if !open.contains(most) { free += 1 }
      most += 1
    }
    try limit(server.pid, files: "\(most):20000")
    let port = try #require(server.address.split(separator: ":").last.flatMap { UInt16($0) })
    let silent = try (0..<120).map { _ in try connection(port) }
    defer { for descriptor in silent { close(descriptor) } }
    try eventually("it says that it cannot accept") {
      try self.metric("driftless_failed_accepts_total", world) > 0
    }
    let (before, start) = (try ticks(of: server.pid), ContinuousClock.now)
    sleep(2)
    let taken = try ticks(of: server.pid) - before
    // A hundred a second are a whole processor.
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    #expect(Double(taken) < 30 * seconds, "\(taken) in \(seconds) s")
    #expect(try metric("driftless_closed_connections_total", world) > 0)
  }

  private func connection(_ port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(UInt32(0x7f00_0001).bigEndian)
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    try #require(isConnected)
    return descriptor
  }

  /// The processor's time of a process, in hundredths of a second.
  private func ticks(of pid: Int32) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
    let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
    return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
  }

  private func metric(_ name: String, _ world: FaultWorld) throws -> Int {
    let page = try world.server.figures()
    return page.split(separator: "\n").first { $0.hasPrefix(name + " ") }
      .flatMap { $0.split(separator: " ").last.flatMap { Int($0) } } ?? 0
  }

  /// How many requests for the log the server has answered.
  private func polls(_ world: FaultWorld) throws -> Int {
    let page = try world.server.figures()
    try #require(page.contains("driftless_requests_total"), "curl gives no page")
    return page.split(separator: "\n").filter {
      $0.hasPrefix("driftless_requests_total") && $0.contains("GET ") && $0.contains("/changes")
    }.compactMap { $0.split(separator: " ").last.flatMap { Int(String($0)) } }.reduce(0, +)
  }
}
