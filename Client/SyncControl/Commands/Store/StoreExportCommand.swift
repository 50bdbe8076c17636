import ArgumentParser
import Foundation
import SyncDaemon

struct StoreExportCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Print a store's objects as canonical JSON lines.",
    discussion: """
      The lines can be imported into another store. Ends with 65 when the file has rows that no \
      entity of its model stands for, or values that cannot be read, those whose files beside the store are gone \
      too: they are left out, and told on standard error.

      Example: syncctl store export theirs.sqlite > theirs.jsonl
      """)

  @OptionGroup var target: StoreFileArguments
  @Option(name: .long, help: "Only objects of this entity.")
  var entity: String?
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.inspect(output)
    try StoreFileArguments.export(store, entity: entity, output)
  }
}
