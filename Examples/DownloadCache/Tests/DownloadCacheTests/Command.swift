import Foundation

/// The command in a process of its own.
final class Command {
  private static let program: URL = {
    var url = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    while url.pathComponents.count > 1 {
      url.deleteLastPathComponent()
      let program = url.appendingPathComponent("download-cache")
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: program.path, isDirectory: &isFolder),
        !isFolder.boolValue
      {
        return program
      }
    }
    return url
  }()

  private let process = Process()
  private let output = Pipe()
  private let errors: URL

  init(_ arguments: [String], in folder: URL) throws {
    errors = folder.appendingPathComponent("errors-\(UUID().uuidString)")
    try Data().write(to: errors)
    process.executableURL = Self.program
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
  }

  deinit { if process.isRunning { kill() } }

  /// What the program prints next; empty when it ended.
  func read() -> Data { output.fileHandleForReading.availableData }

  /// All that it prints until it ends, and its status.
  func finish() -> (status: Int32, output: String) {
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }

  var errorText: String { (try? String(contentsOf: errors, encoding: .utf8)) ?? "" }

  /// `kill -9`.
  func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}

/// A folder of a test's own, removed with it.
final class Folder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory
      .appendingPathComponent("download-cache-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  var cache: URL { url.appendingPathComponent("Downloads.cache") }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }
}
