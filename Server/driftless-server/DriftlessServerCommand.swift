import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart

@main enum DriftlessServerMain {
  static func main() {
    ProgramHeap.giveBack()
    // One that comes before the configuration is read asks for what is done anyway, and its usual meaning is to end.
    if CommandLine.arguments.dropFirst().first == "serve" { signal(SIGHUP, SIG_IGN) }
    // Its databases, and three files for each of its event loops, of which there is one a core.
    let cores = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    ProgramStart.run("driftless-server", files: 32 + 4 * cores) {
      await DriftlessServerCommand.run()
    }
  }
}

struct DriftlessServerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "driftless-server",
    abstract: "The sync server: keeps the order of changes of each zone.",
    discussion: """
      To begin: umask 077   # a token is for its owner alone
                driftless-server zone create shop --data DIR
                driftless-server token create --zone shop --data DIR > token
                driftless-server serve --data DIR

      With --json, errors are JSON too, on standard error.

      EXIT CODES
      \(exitCodes.map { "\($0.code)  \($0.meaning)" }.joined(separator: "\n"))
      """,
    version: ProgramVersion.line(of: "driftless-server"),
    subcommands: [
      ServeCommand.self, ZoneCommand.self, TokenCommand.self, CodeCommand.self,
      OperatorCommand.self,
      ReplicaCommand.self, LogCommand.self, ValuesCommand.self,
      CertificateCommand.self, BackupCommand.self, RestoreCommand.self, VerifyCommand.self,
      ClockCommand.self, AuditCommand.self,
    ])

  /// How commands end.
  private static let exitCodes: [(code: Int32, meaning: String)] = [
    (0, "done"), (1, "failed"), (64, "the command line is wrong"),
    (65, "bad data in a name, a file or the database"),
    (71, "the system lets the program open too few files"),
    (74, "no space is left, or the output cannot be written"),
    (75, "another server or command has the folder, or something is busy"),
    (77, "the rights of a file or folder do not allow it"),
  ]

  /// Runs the command line of this process; ends it where that fails.
  static func run() async {
    let arguments = NegativeValues.joined(Array(CommandLine.arguments.dropFirst()))
    if let unknown = UnknownCommand(arguments, program: "driftless-server", .init(Self.self)) {
      let status = ExitCode.validationFailure.rawValue
      Complaint(
        code: "usage", message: ConnectionText.hiding(inCommandLine: unknown.message),
        status: status, suggestion: unknown.suggestion
      ).put(json: arguments.contains("--json"))
      Foundation.exit(status)
    }
    if let option = RepeatedOption.first(in: arguments, except: lists(of: arguments)) {
      let status = ExitCode.validationFailure.rawValue
      Complaint(
        code: "usage", message: RepeatedOption.message(option), status: status,
        suggestion: RepeatedOption.suggestion
      ).put(json: arguments.contains("--json"))
      Foundation.exit(status)
    }
    do {
      var command = try parseAsRoot(arguments)
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
    } catch {
      if !(error is ExitCode), exitCode(for: error) == .success {
        let lines = fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false)
          .map(String.init)
        do throws(UnwrittenOutput) {
          try ProgramOutput.write(TerminalText.data(HelpText.withExitCodes(lines, exitCodes)))
        } catch  where !error.isReaderGone {
          Complaint(
            code: "unwritten-output", message: error.message, status: UnwrittenOutput.exitStatus,
            suggestion: error.suggestion
          ).put(json: arguments.contains("--json"))
          Foundation.exit(UnwrittenOutput.exitStatus)
        } catch {}
        Foundation.exit(0)
      }
      guard !(error is ExitCode), exitCode(for: error) == .validationFailure else {
        exit(withError: error)
      }
      let message = ConnectionText.hiding(inCommandLine: message(for: error))
      guard arguments.contains("--json") else {
        Self.put(ConnectionText.hiding(inCommandLine: fullMessage(for: error)))
        Foundation.exit(exitCode(for: error).rawValue)
      }
      let status = exitCode(for: error).rawValue
      Complaint(
        code: "usage", message: message, status: status, suggestion: "driftless-server help"
      ).put(json: true)
      Foundation.exit(status)
    }
  }

  /// The options of a command that may stand several times.
  private static func lists(of arguments: [String]) -> Set<String> {
    switch arguments.first {
    case "certificate": ["--name"]
    case "zone": ["--set", "--unset"]
    default: []
    }
  }

  /// For people, on standard error. One that is closed is no further error.
  private static func put(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    try? ProgramOutput.write(
      TerminalText.data(lines + ["Try: driftless-server help"]), to: STDERR_FILENO)
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
