import Foundation

/// A real server in a process of its own, on a free port of the loopback interface.
final class ServerProcess {
  let data: URL
  private(set) var address = ""
  private var process: Process?

  /// Creates the zone and starts to serve.
  init(data: URL, zone: String) throws {
    self.data = data
    let created = try Programs.run(
      "driftless-server", ["zone", "create", zone, "--data", data.path])
    guard created.status == 0 else {
      throw HarnessError(description: "zone create: \(created.errors)")
    }
    try start()
  }

  deinit { kill() }

  /// A token for `zone`.
  func token(zone: String, verbs: String = "read,write") throws -> String {
    let made = try Programs.run(
      "driftless-server",
      ["token", "create", "--zone", zone, "--verbs", verbs, "--data", data.path])
    guard made.status == 0 else { throw HarnessError(description: "token create: \(made.errors)") }
    return made.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Starts the program; on the same port as before, if it ran before.
  func start() throws {
    let port = address.split(separator: ":").last.map(String.init) ?? "0"
    let process = Process()
    process.executableURL = Programs.url("driftless-server")
    process.arguments = ["serve", "--data", data.path, "--listen", "127.0.0.1:\(port)"]
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    self.process = process
    address = try Self.address(from: pipe.fileHandleForReading)
  }

  /// Stops the program where it is, until `resume`.
  func pause() throws {
    guard process?.suspend() == true else { throw HarnessError(description: "no server to pause") }
  }

  func resume() { _ = process?.resume() }

  /// Kill -9.
  func kill() {
    guard let process else { return }
    Foundation.kill(process.processIdentifier, SIGKILL)
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

  /// Reads standard output until the line that says where the server listens.
  private static func address(from handle: FileHandle) throws -> String {
    var text = ""
    while true {
      let data = handle.availableData
      guard !data.isEmpty else {
        throw HarnessError(description: "the server ended before it listened: \(text)")
      }
      text += String(decoding: data, as: UTF8.self)
      for line in text.split(separator: "\n") where line.hasPrefix("listening on ") {
        return String(line.dropFirst("listening on ".count))
      }
    }
  }
}
