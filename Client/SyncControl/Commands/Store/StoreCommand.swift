import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct StoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", abstract: "Look at a store's file, and take care of it.",
    discussion: "info, check and export also read files that Core Data wrote. They change nothing.",
    subcommands: [
      StoreInfoCommand.self, StoreCheckCommand.self, StoreExportCommand.self,
      StoreBackupCommand.self, StoreVacuumCommand.self, StoreRekeyCommand.self,
    ])
}

/// The file that a command of the group works on.
struct StoreFileArguments: ParsableArguments {
  @Argument(help: "The store's file.", completion: .file())
  var file: String
  @Option(
    name: .long, help: "The model, for a file of Core Data's that does not carry it.",
    completion: .file())
  var model: String?

  var url: URL { URL(fileURLWithPath: file).standardizedFileURL.resolvingSymlinksInPath() }

  /// Opens the file for looking at it: nothing in it or beside it changes.
  func inspect() throws -> PersistentStore {
    let model = try model.map { try ManagedObjectModel(contentsOf: URL(fileURLWithPath: $0)) }
    return try PersistentStore.open(url: url, model: model, options: .inspecting(url))
  }

  /// Opens the file for changing it.
  func open() throws -> PersistentStore { try StoreAccess.open(url) }
}
