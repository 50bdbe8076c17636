import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart

/// What every command takes, and how every command ends.
struct CommonOptions: ParsableArguments {
  @Option(help: "The server's data folder. By default DRIFTLESS_SERVER_DATA.")
  var data: String?

  @Option(
    help: """
      In place of a data folder, the PostgreSQL database, as libpq has it: 'host=db dbname=driftless'. \
      Its password comes from the file PGPASSFILE, not from here. By default DRIFTLESS_SERVER_POSTGRES.
      """)
  var postgres: String?

  @OptionGroup var report: ReportOptions

  var json: Bool { report.json }

  mutating func validate() throws {
    if data == nil, postgres == nil {
      let environment = ProcessInfo.processInfo.environment
      func variable(_ name: String) -> String? {
        environment[ServerSettings.variable(name)].flatMap { $0.isEmpty ? nil : $0 }
      }
      (data, postgres) = (variable("data"), variable("postgres"))
    }
    guard (data == nil) != (postgres == nil) else {
      throw ValidationError(
        "Say where zones are: --data DIR, or --postgres 'host=… dbname=…'; one of the two.")
    }
    // A variable of a shell that is not set, say: it would be the folder that one is in.
    guard data != "" else { throw ValidationError("--data names no folder: its value is empty.") }
  }

  /// The data folder of a command that is about one.
  ///
  /// - Throws: `ServerError` (`.folderOnly`) where a database was given in its place.
  func folder() throws -> URL {
    guard let data else {
      throw ServerError(
        .folderOnly, "this command is about a data folder, and --postgres was given",
        suggestion: "Name a folder: --data DIR.")
    }
    return URL(fileURLWithPath: data, isDirectory: true)
  }

  /// Runs a command; prints an error with what to do about it, and ends with its exit code.
  ///
  /// Not async, as no command but `serve` waits for anything: the optimizer of Swift 6.3.1 crashes on async closures that do
  /// not.
  func reporting(_ body: () throws -> Void) throws {
    defer { if let folder = try? folder() { DataFolder.giveToOwner(folder) } }
    try report.reporting(check: placeInWords, at: place, body)
  }

  /// As the command line says it.
  var place: String {
    data.map { "--data \(Self.word($0))" }
      ?? postgres.map { "--postgres \(Self.word(ConnectionText($0).shown))" } ?? ""
  }

  /// As one word of a shell.
  static func word(_ path: String) -> String {
    let isPlain = path.utf8.allSatisfy {
      $0 >= 0x80 || $0 >= 0x30 && $0 <= 0x39 || $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A
        || "/._-+:,@%".utf8.contains($0)
    }
    return isPlain && !path.isEmpty
      ? path
      : "'\(path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
  }

  /// What to look at when an error says nothing.
  private var placeInWords: String { data.map { "the data folder \($0)" } ?? "the database" }

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
  ) throws {
    try reporting {
      let administration = try Administration(folder: DataFolder(folder(), creates: creates))
      defer { administration.close() }
      try body(administration)
    }
  }

  /// Opens the data folder, or the PostgreSQL database, for what can be done to either while `body` runs.
  ///
  /// - Parameter creates: whether the command makes the folder where it is none yet.
  func administeringZones(
    creates: Bool = false, _ body: (any OperatedStorage) throws -> Void
  ) throws {
    guard let postgres else {
      return try administering(creates: creates) { try body($0) }
    }
    try reporting {
      #if PostgreSQL
        let administration = try PostgresAdministration(database: postgres)
        defer { administration.close() }
        try body(administration)
      #else
        throw ServerError.builtWithoutPostgres(postgres)
      #endif
    }
  }
}

/// How every command prints, and how it ends.
struct ReportOptions: ParsableArguments {
  @Flag(help: "Write JSON on standard output.")
  var json = false

  /// Runs a command; prints an error with what to do about it, and ends with its exit code.
  ///
  /// - Parameters:
  ///   - place: what to look at when the error says nothing.
  ///   - option: what names the data folder, or the database, in commands that are advised; nil where that is not known.
  func reporting(check place: String, at option: String? = nil, _ body: () throws -> Void) throws {
    do { try body() } catch { try report(error, check: place, at: option) }
  }

  /// Prints an error of a command, and ends with its exit code. A reader of the output that went away is no error.
  func report(_ error: any Error, check place: String, at option: String? = nil) throws {
    if error is ExitCode { throw error }
    if error is ValidationError {
      // What the command line says turned out wrong only when it was looked at.
      let status = ExitCode.validationFailure.rawValue
      Complaint(
        code: "usage", message: DriftlessServerCommand.message(for: error), status: status,
        suggestion: "driftless-server help"
      ).put(json: json)
      throw ExitCode(status)
    }
    if let error = error as? UnwrittenOutput {
      guard !error.isReaderGone else { return }
      Complaint(
        code: "unwritten-output", message: error.message, status: UnwrittenOutput.exitStatus,
        suggestion: error.suggestion
      ).put(json: json)
      throw ExitCode(UnwrittenOutput.exitStatus)
    }
    if let error = error as? TooFewFiles {
      Complaint(
        code: "too-few-files", message: error.message, status: error.exitStatus,
        suggestion: error.suggestion
      ).put(json: json)
      throw ExitCode(error.exitStatus)
    }
    if let error = error as? ServerError ?? ServerError(command: error) {
      let status = exitCode(of: error.code)
      Complaint(
        code: error.code.name, message: error.message, status: status,
        suggestion: option.map { AdvisedCommand.naming(place: $0, in: error.suggestion) }
          ?? error.suggestion
      ).put(json: json)
      throw ExitCode(status)
    }
    Complaint(
      code: "failed", message: "\(error)", status: 1,
      suggestion: "check \(place) and the server's log."
    ).put(json: json)
    throw ExitCode.failure
  }

  private func exitCode(of code: ServerError.Code) -> Int32 {
    switch code {
    case .badName, .badLimits, .badFormat, .badConfiguration, .folderOnly, .badCertificate,
      .damagedDatabase, .noData, .unreadableDatabase, .otherVersion:
      65
    case .locked, .busy: 75
    case .notConfirmed: 64
    case .folder: 77
    case .diskFull, .notHandedOut, .output: UnwrittenOutput.exitStatus
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
    try ProgramOutput.write(Data((line.inOneLine + "\n").utf8))
  }
}

extension ServerError {
  /// - Parameter text: the database that was asked for.
  static func builtWithoutPostgres(_ text: String) -> ServerError {
    ServerError(
      .refusedStart,
      "this program was built without PostgreSQL, and cannot use \"\(ConnectionText(text).shown)\"",
      suggestion: "Build it with: swift build -c release --traits PostgreSQL. Or give --data DIR.")
  }
}

extension String {
  /// What SQLite says of a damaged file has line breaks in it.
  var inOneLine: String { split(whereSeparator: \.isNewline).joined(separator: "; ") }
}
