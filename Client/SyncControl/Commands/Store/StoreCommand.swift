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
    try PersistentStore.open(url: url, model: givenModel(), options: .inspecting(url))
  }

  /// Opens the file for changing it.
  func open() throws -> PersistentStore { try StoreAccess.open(url, model: givenModel()) }

  /// The model that was named: of several versions the one that the file was written with, else the current one.
  private func givenModel() throws -> ManagedObjectModel? {
    guard let model else { return nil }
    let location = URL(fileURLWithPath: model)
    let versions = try ManagedObjectModel.versions(at: location)
    if versions.count > 1,
      let metadata = try? PersistentStoreCoordinator.metadataForPersistentStore(at: url)
    {
      for version in versions {
        let model = try version.model()
        if model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) {
          return model
        }
      }
    }
    return try ManagedObjectModel(contentsOf: location)
  }
}
