import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct StoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", abstract: "Look at a store's file, and take care of it.",
    discussion: """
      info, check, compare and export also read files that Core Data wrote. They change nothing.
      """,
    subcommands: [
      StoreInfoCommand.self, StoreCheckCommand.self, StoreCompareCommand.self,
      StoreExportCommand.self,
      StoreBackupCommand.self, StoreVacuumCommand.self, StoreAdoptCommand.self,
      StoreRekeyCommand.self,
      StoreSetAsideCommand.self, StoreGiveUpLostCommand.self,
    ])
}

/// The file that a command of the group works on.
struct StoreFileArguments: ParsableArguments {
  @Argument(help: "The store's file.", completion: .file())
  var file: String
  @OptionGroup var model: GivenModelArguments

  var url: URL { URL(fileURLWithPath: file).standardizedFileURL.resolvingSymlinksInPath() }

  /// Opens the file for looking at it: nothing in it or beside it changes.
  func inspect(_ output: OutputOptions) throws -> PersistentStore {
    try StoreAccess.requireFile(at: url)
    return try model.open(url, output) { model, configuration in
      try StoreAccess.inspect(url, model: model, configuration: configuration)
    }
  }

  /// Opens the file for changing it.
  func open(_ output: OutputOptions) throws -> PersistentStore { try model.open(url, output) }

  /// Says which rows of the file no entity of its model stands for, and ends with the exit code for bad data when there are any.
  static func reportUnknownRows(of store: PersistentStore, _ output: OutputOptions) throws {
    let unknown = try store.unknownRows()
    guard !unknown.isEmpty else { return }
    for rows in unknown { output.note(rows.text + " They are left out.") }
    throw ExitCode(ExitStatus.badData.rawValue)
  }
}
