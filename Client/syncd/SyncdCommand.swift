import ArgumentParser
import Foundation
import Logging
import ProgramStart
import SyncDaemon

@main enum SyncdMain {
  static func main() {
    // One that comes before the configuration is read asks for what is done anyway, and its usual meaning is to end.
    signal(SIGHUP, SIG_IGN)
    ProgramHeap.giveBack()
    ProgramStart.run("syncd", mayBlock: true, files: Daemon.ownFiles) { await SyncdCommand.start() }
  }
}

/// `syncd`: keeps stores in step with their zones.
struct SyncdCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "syncd",
    abstract: "Keeps stores in step with their zones, in the foreground.",
    discussion: """
      SIGHUP reads the configuration again; SIGTERM ends it cleanly. Logs go to standard error.

      EXIT CODES
      \(exitCodes)
      """,
    version: ProgramVersion.line(of: "syncd"))

  private static var exitCodes: String {
    ExitStatus.allCases.filter { $0 != .unreachable }
      .map { "\($0.rawValue)  \($0.meaning)" }.joined(separator: "\n")
  }

  @Option(
    name: .long, help: "The configuration file (JSON, which may have comments).",
    completion: .file())
  var config: String?

  @Flag(name: .long, help: "Check the configuration file and end.")
  var check = false

  @Flag(name: .long, help: "Print a JSON Schema of the configuration file, for editors, and end.")
  var printSchema = false

  /// Runs the command line of this process, and ends it where that fails.
  static func start() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if let option = RepeatedOption.first(in: arguments) {
      try? ProgramOutput.write(
        TerminalText.failure(
          of: "syncd", RepeatedOption.message(option), try: "name it once"), to: STDERR_FILENO)
      Foundation.exit(ExitStatus.usage.rawValue)
    }
    do {
      var command = try parseAsRoot(arguments)
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
    } catch {
      guard !(error is ExitCode), exitCode(for: error) == .validationFailure else {
        exit(withError: error)
      }
      let lines = fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false)
        .map(String.init)
      try? ProgramOutput.write(
        TerminalText.data(lines + ["Try: syncd --help"]), to: STDERR_FILENO)
      Foundation.exit(ExitStatus.usage.rawValue)
    }
  }

  func validate() throws {
    guard config != nil || printSchema else {
      throw ValidationError("Say which stores to keep: --config FILE.")
    }
  }

  func run() async throws {
    let file = URL(fileURLWithPath: config ?? "")
    do {
      if printSchema {
        return try ProgramOutput.write(
          SettingsSchema.text("The configuration of syncd", DaemonSettings.all))
      }
      if check { return try report(DaemonConfiguration.read(file)) }
      // The daemon's own lines tell of what changes; the libraries say what keeps them from something each time that it does.
      let repeated = RepeatedLines()
      LoggingSystem.bootstrap { label in
        LineLogHandler(label: label, repeated: label.hasPrefix("driftless.") ? repeated : nil)
      }
      let log = Logger(label: "syncd")
      let signals = DaemonSignal.stream()
      let daemon = try Daemon(configuration: file, log: log)
      try await daemon.start()
      ServiceNotice.ready(log: log)
      ServiceNotice.keepWatchdog(log: log) { await daemon.ping() }
      loop: for await signal in signals {
        switch signal {
        case .reload: await daemon.reload()
        case .stop: break loop
        }
      }
      await daemon.stop()
    } catch let error as UnwrittenOutput where error.isReaderGone {
      return
    } catch let code as ExitCode {
      throw code
    } catch {
      let failure = Failure(error)
      FileHandle.standardError.write(
        TerminalText.failure(of: "syncd", failure.message, try: failure.suggestion))
      throw ExitCode(failure.status.rawValue)
    }
  }

  /// What is in the way of the stores of a configuration: what a person has to mend ends with 65, a socket that this user may not
  /// have with 77, and what may come by itself, a store's file, its zone or the folder of a service, is told.
  private func report(
    _ read: (configuration: DaemonConfiguration?, complaints: [Failure])
  ) throws {
    let faults = read.complaints + (read.configuration?.faults ?? [])
    for failure in faults + (read.configuration?.awaited ?? []) {
      FileHandle.standardError.write(
        TerminalText.failure(of: "syncd", failure.message, try: failure.suggestion))
    }
    let count = read.configuration?.stores.count ?? 0
    try ProgramOutput.write(
      TerminalText.data(["\(config ?? ""): \(count) store\(count == 1 ? "" : "s")"]))
    if !faults.isEmpty { throw ExitCode(DaemonConfiguration.status(of: faults).rawValue) }
  }
}
