import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct ExportCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Print a store as canonical JSON lines.",
    discussion: """
      Sorted by entity, then id; properties by name, ordered one-to-many relationships first: equal states give equal bytes. The \
      lines can be imported again, also of objects with values that the model refuses, which a \
      merge may leave: their properties are named in "unfit". Ends with 65 when values cannot be read, those whose \
      files beside the store are gone too, or rows are of no entity of the model: they are left out, and told on standard error.

      Example: syncctl export --store shop.sqlite --entity Item > items.jsonl
      """)

  @OptionGroup var target: StoreArguments
  @Option(name: .long, help: "Only objects of this entity.")
  var entity: String?
  @Flag(
    name: .long,
    help: "Lines that also go over what is there when they are imported: upsert in place of insert."
  )
  var upsert = false
  @OptionGroup var output: OutputOptions

  func perform() throws {
    // The lines are JSON with and without --json.
    let store = try target.open(reading: true)
    if let lost = try store.lostCommits() {
      output.note(
        AdvisedCommand.naming(
          store: target.store, in: lost.text(lastSync: try SyncEngine.status(of: store).lastSync)))
    }
    let operation: ReplicaExport.Operation = upsert ? .upsert : .insert
    try StoreFileArguments.export(store, entity: entity, as: operation, output)
  }
}
