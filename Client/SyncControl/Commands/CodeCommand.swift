import ArgumentParser

struct CodeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "code", abstract: "Bring source that uses Core Data to Linux.",
    subcommands: [CodePortCommand.self])
}
