import ArgumentParser

@main
struct DriftlessServerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "driftless-server",
    abstract: "The sync server: keeps the order of changes of each zone.",
    discussion: """
      To begin: driftless-server zone create shop --data DIR
                driftless-server token create --zone shop --data DIR > token
                driftless-server serve --data DIR

      Exit codes: 0 done, 1 failed, 64 wrong usage, 65 bad data, 75 another server serves the folder.
      """,
    subcommands: [ServeCommand.self, ZoneCommand.self, TokenCommand.self])
}
