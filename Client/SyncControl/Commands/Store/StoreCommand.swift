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
  func inspect(_ output: OutputOptions) throws -> PersistentStore {
    try opened(output) { model, configuration in
      try PersistentStore.open(
        url: url, model: model, configuration: configuration, options: .inspecting(url))
    }
  }

  /// Opens the file for changing it.
  func open(_ output: OutputOptions) throws -> PersistentStore {
    try opened(output) { model, configuration in
      try StoreAccess.open(url, model: model, configuration: configuration)
    }
  }

  /// Opens the file with the model that was named: of several versions the one that it was written with, which is said;
  /// else the current one.
  private func opened(
    _ output: OutputOptions, by open: (ManagedObjectModel?, String?) throws -> PersistentStore
  ) throws -> PersistentStore {
    guard let model else { return try open(nil, nil) }
    let location = URL(fileURLWithPath: model)
    let versions = try ManagedObjectModel.versions(at: location)
    if let found = try WritingVersion.find(among: versions, for: url) {
      if versions.count > 1 {
        output.note("model version \(found.version.name) of \(location.lastPathComponent)")
      }
      return try open(found.model, found.configuration)
    }
    do {
      return try open(ManagedObjectModel(contentsOf: location), nil)
    } catch let error as StoreError where error.code == .incompatibleModel && versions.count > 1 {
      let names = versions.map(\.name).joined(separator: ", ")
      throw StoreError(
        error.code, "\(error.message) None of the versions \(names) fits.",
        suggestion: error.suggestion)
    }
  }
}
