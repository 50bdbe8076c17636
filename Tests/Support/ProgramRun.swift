public import Foundation

/// A program that ran to its end, with nothing to read. What it says of errors goes where that of the tests goes.
public struct ProgramRun {
  public let status: Int32
  public let output: String

  public var lines: [String] { output.split(separator: "\n").map(String.init) }

  /// - Parameter program: Where it lies; nil is an error.
  public init(_ program: URL?, _ arguments: [String]) throws {
    let pipe = Pipe()
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    try process.run()
    let bytes = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    output = String(decoding: bytes, as: UTF8.self)
    status = process.terminationStatus
  }

  /// Runs one of the host's.
  ///
  /// - Parameter words: Its name, which is looked for where programs lie, and what it is given.
  public init(_ words: [String]) throws {
    try self.init(URL(fileURLWithPath: "/usr/bin/env"), words)
  }
}
