import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart

/// What every command takes, and how every command ends.
struct CommonOptions: ParsableArguments {
  @Option(help: "The server's data folder.")
  var data: String

  @OptionGroup var report: ReportOptions

  var json: Bool { report.json }

  var folder: URL { URL(fileURLWithPath: data, isDirectory: true) }

  /// Runs a command; prints an error with what to do about it, and ends with its exit code.
  func reporting(_ body: () async throws -> Void) async throws {
    defer { DataFolder.giveToOwner(folder) }
    try await report.reporting(check: "the data folder \(data)", body)
  }

  /// Prints one JSON value as a line, its keys sorted.
  func printJSON(_ value: some Encodable) throws { try report.printJSON(value) }

  /// Prints one line for a person or a script.
  func printLine(_ line: String) throws { try report.printLine(line) }

  /// Asks whether what a command does is meant; returns when it is.
  ///
  /// - Throws: `ServerError` (`.notConfirmed`) when it is not, and where nobody can be asked.
  func confirm(_ question: String, unless isConfirmed: Bool) throws {
    guard !isConfirmed else { return }
    guard isatty(STDIN_FILENO) == 1 else {
      throw ServerError(
        .notConfirmed, "\(question) Nobody is here to answer",
        suggestion: "Say the command with --yes.")
    }
    try ProgramOutput.write(Data("\(question) [y/N] ".utf8), to: STDERR_FILENO)
    guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
      throw ServerError(.notConfirmed, "nothing was changed", suggestion: "Answer y, or say --yes.")
    }
  }

  /// Opens the data folder for administration while `body` runs.
  ///
  /// - Parameter creates: whether the command makes the folder where it is none yet.
  func administering(
    creates: Bool = false, _ body: (Administration) throws -> Void
  ) async throws {
    try await reporting {
      let administration = try Administration(folder: DataFolder(folder, creates: creates))
      defer { administration.close() }
      try body(administration)
    }
  }
}

/// How every command prints, and how it ends.
struct ReportOptions: ParsableArguments {
  @Flag(help: "Write JSON on standard output.")
  var json = false

  /// Runs a command; prints an error with what to do about it, and ends with its exit code.
  ///
  /// - Parameter place: what to look at when the error says nothing.
  func reporting(check place: String, _ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as ExitCode {
      throw error
    } catch {
      if let error = error as? UnwrittenOutput {
        guard !error.isReaderGone else { return }
        Complaint(
          code: "unwritten-output", message: error.message, status: UnwrittenOutput.exitStatus,
          suggestion: error.suggestion
        ).put(json: json)
        throw ExitCode(UnwrittenOutput.exitStatus)
      }
      if let error = error as? ServerError ?? ServerError(command: error) {
        let status = exitCode(of: error.code)
        Complaint(
          code: error.code.name, message: error.message, status: status,
          suggestion: error.suggestion
        ).put(json: json)
        throw ExitCode(status)
      }
      Complaint(
        code: "failed", message: "\(error)", status: 1,
        suggestion: "check \(place) and the server's log."
      ).put(json: json)
      throw ExitCode.failure
    }
  }

  private func exitCode(of code: ServerError.Code) -> Int32 {
    switch code {
    case .badName, .badLimits, .badCertificate, .damagedDatabase, .noData,
      .unreadableDatabase:
      65
    case .locked, .busy: 75
    case .notConfirmed: 64
    case .diskFull, .notHandedOut: UnwrittenOutput.exitStatus
    default: 1
    }
  }

  /// Prints one JSON value as a line, its keys sorted.
  func printJSON(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    try ProgramOutput.write(encoder.encode(value) + [0x0A])
  }

  /// Prints one line for a person or a script.
  func printLine(_ line: String) throws {
    try ProgramOutput.write(Data((line + "\n").utf8))
  }
}
