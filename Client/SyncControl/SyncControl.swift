import ArgumentParser
import Foundation
import Logging
import ProgramStart
import SyncDaemon

/// The program `syncctl`.
public enum SyncControl {
  /// Runs the command line of this process and ends it with the documented exit code.
  public static func main() async -> Never {
    // What the libraries note as they go is for a daemon's log; a person reads what commands say.
    LoggingSystem.bootstrap { label in
      var handler = StreamLogHandler.standardError(label: label)
      // Its objects are of no class.
      handler.logLevel = label == "driftless.classes" ? .error : .warning
      return handler
    }
    exit(await run(Array(CommandLine.arguments.dropFirst())))
  }

  /// Runs a command line.
  ///
  /// - Parameter words: Without the program's name.
  /// - Returns: The exit code.
  public static func run(_ words: [String]) async -> Int32 {
    let arguments = NegativeValues.joined(words)
    if let unknown = UnknownCommand(
      arguments, program: "syncctl", .init(SyncControlCommand.self))
    {
      OutputOptions.put(
        Failure(.usage, code: "usage", unknown.message, suggestion: unknown.suggestion),
        json: arguments.contains("--json"))
      return ExitStatus.usage.rawValue
    }
    if let option = RepeatedOption.first(in: arguments) {
      OutputOptions.put(
        Failure(
          .usage, code: "usage", RepeatedOption.message(option),
          suggestion: RepeatedOption.suggestion),
        json: arguments.contains("--json"))
      return ExitStatus.usage.rawValue
    }
    do {
      var command = try SyncControlCommand.parseAsRoot(arguments)
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
      return ExitStatus.done.rawValue
    } catch let code as ExitCode {
      return code.rawValue
    } catch {
      return explain(error, json: arguments.contains("--json"))
    }
  }

  /// Help goes to standard output, a wrong command line with a hint to standard error.
  private static func explain(_ error: any Error, json: Bool) -> Int32 {
    let code = SyncControlCommand.exitCode(for: error)
    // Help and usage are several lines; a word of the command line that they repeat cannot do more than begin one.
    let text = SyncControlCommand.fullMessage(for: error)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if code == .success {
      do throws(UnwrittenOutput) {
        try ProgramOutput.write(
          TerminalText.data(
            HelpText.withExitCodes(lines, ExitStatus.allCases.map { ($0.rawValue, $0.meaning) })))
        return ExitStatus.done.rawValue
      } catch {
        if error.isReaderGone { return ExitStatus.done.rawValue }
        OutputOptions.put(Failure(error), json: json)
        return ExitStatus.unwritten.rawValue
      }
    }
    if json {
      OutputOptions.put(
        Failure(
          .usage, code: "usage", SyncControlCommand.message(for: error),
          suggestion: "syncctl help"), json: true)
    } else {
      try? ProgramOutput.write(
        TerminalText.data(lines + ["Try: syncctl help"]), to: STDERR_FILENO)
    }
    return ExitStatus.usage.rawValue
  }
}

/// The root of the command line: one file a subcommand in `Commands/`.
struct SyncControlCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "syncctl",
    abstract: "Looks at and steers stores that sync.",
    discussion: """
      Every command takes --json. Errors go to standard error, with a line "Try:".

      EXIT CODES
      \(exitCodes)
      130  interrupted (Ctrl-C): what was not finished is finished by the next command
      """,
    version: ProgramVersion.line(of: "syncctl"),
    subcommands: [
      InitCommand.self, MigrateCommand.self, EnrollCommand.self, UnenrollCommand.self,
      StatusCommand.self, WatchCommand.self, SyncCommand.self,
      PushCommand.self, PullCommand.self, LogCommand.self, ConflictsCommand.self, WhyCommand.self,
      QuarantineCommand.self, ParkedCommand.self, ValuesCommand.self,
      ImportCommand.self, ExportCommand.self, DigestCommand.self, VerifyCommand.self,
      DiffCommand.self, ModelCommand.self,
      CodeCommand.self, StoreCommand.self, KeyCommand.self, DoctorCommand.self,
    ])

  private static var exitCodes: String {
    ExitStatus.allCases.map { "\($0.rawValue)  \($0.meaning)" }.joined(separator: "\n")
  }
}

extension UnknownCommand.Node {
  /// What a command line may name.
  fileprivate init(_ command: any ParsableCommand.Type) {
    let configuration = command.configuration
    let children = configuration.subcommands.map {
      ($0._commandName, UnknownCommand.Node($0))
    }
    self.init(
      children: Dictionary(children) { first, _ in first },
      isComplete: configuration.subcommands.isEmpty || configuration.defaultSubcommand != nil)
  }
}
