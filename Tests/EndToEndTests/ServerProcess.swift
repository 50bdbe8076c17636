import Foundation

/// A real server in a process of its own, on a free port of the loopback interface, which it keeps.
final class ServerProcess {
  let data: URL
  /// What a command line says of where its zones are.
  let place: [String]
  /// A file of limits, if not the usual ones: from the next start on.
  var limits: URL?
  /// Further options of `serve`: from the next start on.
  var options: [String] = []
  /// What a shell does to run it (`"$0" "$@"`), if it is not run as it is.
  var script: String?
  /// Where it logs, if somebody reads that: from the next start on.
  var logFile: URL?
  private(set) var address = "http://127.0.0.1:0"
  private var process: Process?

  /// Creates the zone and starts to serve.
  init(data: URL, zone: String) throws {
    self.data = data
    place = ["--data", data.path]
    try create(zone)
    try start()
  }

  /// A node on a PostgreSQL database.
  ///
  /// - Parameter zone: what it creates, if it is not there.
  init(database: String, zone: String? = nil) throws {
    data = URL(fileURLWithPath: "/nowhere")
    place = ["--postgres", database]
    if let zone { try create(zone) }
    try start()
  }

  private func create(_ zone: String) throws {
    let created = try Programs.run("driftless-server", ["zone", "create", zone] + place)
    guard created.status == 0 else {
      throw HarnessError(description: "zone create: \(created.errors)")
    }
  }

  /// A server on a folder that another one made, at an address of its own. Nothing serves it yet.
  init(data: URL, listen: String) {
    self.data = data
    place = ["--data", data.path]
    address = "http://\(listen)"
  }

  /// A node on another database, at an address that it had before. Nothing serves there yet.
  init(database: String, at address: String) {
    data = URL(fileURLWithPath: "/nowhere")
    place = ["--postgres", database]
    self.address = address
  }

  deinit { kill() }

  /// A token for `zone`.
  func token(zone: String, verbs: String = "read,write") throws -> String {
    let made = try Programs.run(
      "driftless-server",
      ["token", "create", "--zone", zone, "--verbs", verbs] + place)
    guard made.status == 0 else { throw HarnessError(description: "token create: \(made.errors)") }
    return made.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Starts the program; false when the fault ended it before it listened.
  @discardableResult
  func start(_ fault: (kind: FileFault.Kind, number: Int)? = nil) throws -> Bool {
    let process = Process()
    process.executableURL = Programs.url("driftless-server")
    let listen = address.components(separatedBy: "://").last ?? ""
    process.arguments = ["serve", "--listen", listen] + place + options
    if let limits { process.arguments? += ["--limits", limits.path] }
    if let script {
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments =
        ["-c", script, Programs.url("driftless-server").path] + (process.arguments ?? [])
    }
    if let fault {
      process.environment = ProcessInfo.processInfo.environment.merging(
        try FileFault(fault.kind, at: fault.number, below: data).environment()
      ) { $1 }
    }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = try logHandle()
    process.standardInput = FileHandle.nullDevice
    try process.run()
    self.process = process
    if let address = Self.address(from: pipe.fileHandleForReading) {
      self.address = address
      return true
    }
    process.waitUntilExit()
    guard fault != nil else {
      throw HarnessError(description: "the server ended before it listened")
    }
    return false
  }

  private func logHandle() throws -> FileHandle {
    guard let logFile else { return FileHandle.nullDevice }
    if !FileManager.default.fileExists(atPath: logFile.path) { try Data().write(to: logFile) }
    let handle = try FileHandle(forWritingTo: logFile)
    try handle.seekToEnd()
    return handle
  }

  /// What it has logged to `logFile`.
  var log: String { logFile.flatMap { try? String(contentsOf: $0, encoding: .utf8) } ?? "" }

  /// What it says of itself (`/metrics`); for that it asks its database, at most once a second, and writes what it has seen of replicas.
  func figures() throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["curl", "-s", "--max-time", "30", address + "/metrics"]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let page = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return page
  }

  /// SIGHUP.
  func reload() { Foundation.kill(pid, SIGHUP) }

  var isRunning: Bool { process?.isRunning ?? false }
  var pid: Int32 { process?.processIdentifier ?? 0 }

  /// Stops the program where it is, until `resume`.
  func pause() throws {
    guard process?.suspend() == true else { throw HarnessError(description: "no server to pause") }
  }

  func resume() { _ = process?.resume() }

  /// Kill -9, where it has not ended.
  func kill() {
    guard let process else { return }
    if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    self.process = nil
  }

  /// SIGTERM, and the program's own exit code.
  func stop() -> Int32 {
    guard let process else { return -1 }
    process.terminate()
    process.waitUntilExit()
    self.process = nil
    return process.terminationStatus
  }

  /// Reads standard output until the line that says where the server listens; nil when it ends first.
  private static func address(from handle: FileHandle) -> String? {
    var text = ""
    while case let data = handle.availableData, !data.isEmpty {
      text += String(decoding: data, as: UTF8.self)
      for line in text.split(separator: "\n") where line.hasPrefix("listening on ") {
        return String(line.dropFirst("listening on ".count))
      }
    }
    return nil
  }
}
