import ArgumentParser
import DriftlessSync
import SyncDaemon

struct SyncCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Pull and push until nothing is left to do.",
    discussion: "A daemon that keeps the store does it, when one runs.")

  @OptionGroup var target: StoreArguments
  @OptionGroup var keys: KeyArguments
  @OptionGroup var model: GivenModelArguments
  @OptionGroup var deletes: MassDeleteArguments
  @Flag(
    name: .long,
    help:
      "Come back to a server that was put back or replaced, where the sync waits for this word.")
  var reconcile = false
  @Flag(
    name: .long,
    help: "Keep the objects whose deletes wait for a person: they were not meant to be deleted.")
  var keepMassDeleted = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard keepMassDeleted, deletes.allowMassDelete else { return }
    throw ValidationError("Either --allow-mass-delete or --keep-mass-deleted.")
  }

  func perform() async throws {
    try model.adopt(target.url, output)
    if reconcile { try SyncEngine.allowReconciliation(of: target.open()) }
    if keepMassDeleted { try SyncEngine.keepMassDeleted(of: target.open()) }
    let summary = try await SyncRunner(url: target.url, output: output, keys: keys.source).run(
      .sync, allowsMassDelete: deletes.allowMassDelete)
    try output.put(summary, line: summary.text)
  }
}
