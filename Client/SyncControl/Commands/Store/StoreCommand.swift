import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import ProgramStart
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

  /// Prints the export of a store; says what is left out of it, and ends with the exit code for bad data when anything is.
  static func export(
    _ store: PersistentStore, entity: String?, as operation: ReplicaExport.Operation = .insert,
    _ output: OutputOptions
  ) throws {
    var left = LeftOutValues(store.url?.path ?? "FILE", output)
    var broken: [String: Int] = [:]
    try ReplicaExport.write(
      store, entity: entity, as: operation, lost: { left.note($0) },
      brokenArchive: { broken[$0, default: 0] += 1 },
      unreadable: { try left.note($0, $1) }, to: { try ProgramOutput.write($0) })
    left.finish()
    for (name, count) in broken.sorted(by: { $0.key < $1.key }) {
      output.note(
        "\(count) value\(count == 1 ? "" : "s") of \(name) \(count == 1 ? "is" : "are") no archive that can be read: exported "
          + "byte for byte, as stored")
    }
    try reportUnknownRows(of: store, output)
    if !left.isEmpty { throw ExitCode(ExitStatus.badData.rawValue) }
  }

  /// Says which rows of the file no entity of its model stands for, and ends with the exit code for bad data when there are any.
  private static func reportUnknownRows(of store: PersistentStore, _ output: OutputOptions) throws {
    let unknown = try store.unknownRows()
    guard !unknown.isEmpty else { return }
    for rows in unknown { output.note(rows.text + " They are left out.") }
    throw ExitCode(ExitStatus.badData.rawValue)
  }
}
