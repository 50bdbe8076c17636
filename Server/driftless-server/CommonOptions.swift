import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart

/// What every command takes, and how every command ends.
struct CommonOptions: ParsableArguments {
  @Option(help: "The server's data folder.")
  var data: String

  @Flag(help: "Write JSON on standard output.")
  var json = false

  var folder: URL { URL(fileURLWithPath: data, isDirectory: true) }

  /// Runs a command; prints an error with what to do about it, and ends with its exit code.
  func reporting(_ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as ExitCode {
      throw error
    } catch {
      if let error = error as? ServerError ?? ServerError(command: error) {
        complain("\(error.message) (\(error.code))", try: error.suggestion)
        throw ExitCode(exitCode(of: error.code))
      }
      complain("\(error)", try: "check the data folder \(data) and the server's log.")
      throw ExitCode.failure
    }
  }

  private func exitCode(of code: ServerError.Code) -> Int32 {
    switch code {
    case .badName, .badLimits, .damagedDatabase: 65
    case .locked, .busy: 75
    case .diskFull: 74
    default: 1
    }
  }

  private func complain(_ message: String, try suggestion: String) {
    try? FileHandle.standardError.write(
      contentsOf: TerminalText.failure(of: "driftless-server", message, try: suggestion))
  }

  /// Prints one JSON value as a line, its keys sorted.
  func printJSON(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// Opens the data folder for administration while `body` runs.
  func administering(_ body: (Administration) throws -> Void) async throws {
    try await reporting {
      let administration = try Administration(folder: DataFolder(folder))
      defer { administration.close() }
      try body(administration)
    }
  }
}
