import Foundation

struct HarnessError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A program in a process of its own, that says where it listens. It ends with its owner.
final class Program {
  private let process = Process()
  private let output = Pipe()
  /// The address that it printed.
  private(set) var address = ""

  init(_ program: URL, _ arguments: [String], errors: URL) throws {
    if !FileManager.default.fileExists(atPath: errors.path) { try Data().write(to: errors) }
    let log = try FileHandle(forWritingTo: errors)
    try log.seekToEnd()
    process.executableURL = program
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = log
    try process.run()
    var text = ""
    while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
      text += String(decoding: data, as: UTF8.self)
      for line in text.split(separator: "\n") where line.hasPrefix("listening on ") {
        address = String(line.dropFirst("listening on ".count))
        return
      }
    }
    process.waitUntilExit()
    throw HarnessError(
      "\(program.lastPathComponent) ended with \(process.terminationStatus): "
        + ((try? String(contentsOf: errors, encoding: .utf8)) ?? ""))
  }

  deinit { kill() }

  /// `kill -9`.
  func kill() {
    if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }

  /// SIGTERM, and the status with which it ends.
  func stop() -> Int32 {
    process.terminate()
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// Runs a program to its end.
  static func run(_ program: URL, _ arguments: [String]) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = program
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw HarnessError("\(program.lastPathComponent) ended with \(process.terminationStatus)")
    }
    return String(decoding: data, as: UTF8.self)
  }
}

/// A shop: a driftless-server with a zone, and a folder for the tills' stores.
final class ShopFloor {
  let folder: URL
  let token: URL
  private var server: Program?
  private var address = "http://127.0.0.1:0"

  /// Where the programs of the project are built: `DRIFTLESS_BIN`, or the build folder of the project.
  private static let serverProgram: URL = {
    let project = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().appendingPathComponent("../../../..").standardized
    let folder = ProcessInfo.processInfo.environment["DRIFTLESS_BIN"]
    return
      (folder.map { URL(fileURLWithPath: $0) }
      ?? project.appendingPathComponent(".build/debug"))
      .appendingPathComponent("driftless-server")
  }()

  private static let tillProgram: URL = {
    var url = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    while url.pathComponents.count > 1 {
      url.deleteLastPathComponent()
      let program = url.appendingPathComponent("till")
      if FileManager.default.isExecutableFile(atPath: program.path),
        !FileManager.default.fileExists(atPath: program.path + "/")
      {
        return program
      }
    }
    return url
  }()

  init() throws {
    folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("point-of-sale-\(UUID().uuidString)")
    token = folder.appendingPathComponent("token")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    guard FileManager.default.isExecutableFile(atPath: Self.serverProgram.path) else {
      throw HarnessError(
        "\(Self.serverProgram.path) is not there. Try: swift build --product driftless-server")
    }
    let data = folder.appendingPathComponent("server").path
    _ = try Program.run(Self.serverProgram, ["zone", "create", "shop", "--data", data])
    let text = try Program.run(
      Self.serverProgram, ["token", "create", "--zone", "shop", "--data", data])
    try Data(text.utf8).write(to: token)
  }

  deinit {
    server?.kill()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Starts the server, at the address that it had before.
  func startServer() throws {
    let place = address.dropFirst("http://".count)
    let program = try Program(
      Self.serverProgram,
      ["serve", "--data", folder.appendingPathComponent("server").path, "--listen", "\(place)"],
      errors: folder.appendingPathComponent("server.log"))
    address = program.address
    server = program
  }

  func killServer() {
    server?.kill()
    server = nil
  }

  func startTill(_ name: String) throws -> Till {
    let program = try Program(
      Self.tillProgram,
      [
        "--name", name, "--store", folder.appendingPathComponent("\(name).sqlite").path,
        "--server", address, "--token-file", token.path, "--port", "0",
      ], errors: folder.appendingPathComponent("\(name).log"))
    return try Till(name: name, program: program)
  }
}
