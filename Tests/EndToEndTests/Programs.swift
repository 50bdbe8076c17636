import Foundation
import Synchronization
import TestSupport

/// What a program printed and how it ended.
struct Outcome: Sendable {
  var status: Int32
  var output: String
  var errors: String
}

/// The programs of this package, as built beside the tests.
enum Programs {
  /// The folder that holds the built programs: the test bundle's own.
  static let folder = (ProgramFile.built("syncctl") ?? URL(fileURLWithPath: "/none/syncctl"))
    .deletingLastPathComponent()

  static func url(_ name: String) -> URL { folder.appendingPathComponent(name) }

  /// Runs `name` to its end. Output goes through files: a full pipe can never stop the program. A server that is run so is to refuse:
  /// one that serves all the same is ended after two minutes, with a status of no program here.
  ///
  /// - Parameters:
  ///   - filesMax: how many files it may have open, if not as many as the tests.
  ///   - script: what a shell does to run it (`"$0" "$@"`), if it is not run as it is.
  static func run(
    _ name: String, _ arguments: [String], environment: [String: String] = [:],
    filesMax: Int? = nil, script: String? = nil
  ) throws -> Outcome {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("driftless-run-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let output = folder.appendingPathComponent("out")
    let errors = folder.appendingPathComponent("err")
    for file in [output, errors] {
      try Data().write(to: file)
    }
    let process = Process()
    process.executableURL = url(name)
    process.arguments = arguments
    let bound = arguments.first == "serve" ? "timeout 120 " : ""
    let files = filesMax.map { "ulimit -n \($0); " } ?? ""
    let shell = bound + files == "" ? nil : "\(files)exec \(bound)\"$0\" \"$@\""
    if let script = script ?? shell {
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", script, url(name).path] + arguments
    }
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
    process.waitUntilExit()
    return Outcome(
      status: process.terminationStatus,
      output: String(decoding: try Data(contentsOf: output), as: UTF8.self),
      errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self))
  }
}

/// A failure of the harness or of a program that it ran.
struct HarnessError: Error, CustomStringConvertible {
  var description: String
}
