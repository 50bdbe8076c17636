import ArgumentParser
import DriftlessSync
import Foundation
import SyncDaemon

struct StoreExportCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Print a store's objects as canonical JSON lines.",
    discussion: "The lines can be imported into another store.")

  @OptionGroup var target: StoreFileArguments
  @Option(name: .long, help: "Only objects of this entity.")
  var entity: String?
  @OptionGroup var output: OutputOptions

  func perform() throws {
    try ReplicaExport.write(try target.inspect(output), entity: entity) { piece in
      try FileHandle.standardOutput.write(contentsOf: piece)
    }
  }
}
